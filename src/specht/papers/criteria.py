"""Criteria: rules that say in words what a number must be, and decide whether it is.

A criterion is written once. Its text comes from it, so that no bound stands in two places; and it must say no to its null, the number
that would be measured if the claim were false.

>>> rule = at_most(0.6, "exponent of a power law")
>>> rule.text
'exponent of a power law at most 0.6'
>>> rule.judge(Finding(0.4, 0.1, "T = 25 to 200.")).outcome
'holds'
>>> rule.says_no_to(1.0)
True
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from specht.papers.claims import Verdict, holds_if, undecided

_WORDS = ("no", "one", "two", "three", "four", "five", "six")


@dataclasses.dataclass(frozen=True)
class Finding:
    """A number that a criterion judges."""

    value: float
    stderr: float | None = None
    regime: str = ""
    """Where it was measured, as a sentence."""
    interval: tuple[float, float] | None = None
    shown: tuple[float, float | None] | None = None
    """The number and the error that a reader sees, where they are not the ones that are judged."""


Answer = Finding | float | Sequence["Answer"] | Mapping[Any, "Answer"]
"""What the function of a claim returns: a number or several."""


class Criterion(ABC):
    """A rule for what a claim's function returns."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The rule in words."""

    @abstractmethod
    def judge(self, answer: Any) -> Verdict:
        """Whether it is met."""

    @abstractmethod
    def room(self, answer: Any) -> float:
        """By how much it is met; below zero where it is not."""

    def says_no_to(self, null: Any) -> bool:
        """Whether the rule refuses a number, or several for a rule of several parts, that were measured without error."""
        return self.judge(null).outcome == "fails"


@dataclasses.dataclass(frozen=True)
class Bounds(Criterion):
    """A number must lie between two ends, one of which may be infinite."""

    words: str
    low: float = -math.inf
    high: float = math.inf
    strict: bool = False
    """Whether the ends themselves are refused."""
    sigmas: float = 0.0
    """Standard errors that must lie between the number and an end; below zero, errors by which it may miss it."""
    undecided: float = 0.0
    """Standard errors around an end within which nothing is decided."""
    unclear: float = 0.0
    """The same, as a number."""
    whole_interval: bool = False
    """Whether all of the interval of the finding must keep the rule."""
    by_interval: bool = False
    """The same, and an interval that reaches across an end decides nothing."""

    @property
    def text(self) -> str:
        return self.words

    def room(self, answer: Finding | float) -> float:
        finding = _finding(answer)
        values = finding.interval if (self.whole_interval or self.by_interval) and finding.interval else (finding.value,)
        distance = min(min(value - self.low, self.high - value) for value in values)
        return distance - self.sigmas * (finding.stderr or 0.0) if self.sigmas else distance

    def judge(self, answer: Any) -> Verdict:
        finding = _finding(answer)
        value, stderr = finding.shown or (finding.value, finding.stderr)
        room = self.room(finding)
        low, high = finding.interval or (finding.value, finding.value)
        if math.isnan(room):
            return Verdict("not tested", regime=f"What was measured is not a number. {finding.regime}".strip())
        if abs(room) <= max(self.undecided * (finding.stderr or 0.0), self.unclear) and (self.undecided or self.unclear):
            end = self.low if abs(finding.value - self.low) < abs(finding.value - self.high) else self.high
            around = _errors(self.undecided) if self.undecided else f"{self.unclear:g}"
            return undecided(value, stderr, f"{end:g} is within {around}. {finding.regime}")
        is_met = room > 0.0 if self.strict else room >= 0.0
        if self.by_interval and not is_met and (low <= self.low <= high or low <= self.high <= high):
            return undecided(value, stderr, f"the interval reaches from {low:.2f} to {high:.2f}. {finding.regime}")
        return holds_if(is_met, value, stderr, finding.regime)


@dataclasses.dataclass(frozen=True)
class Every(Criterion):
    """Each of several numbers must keep one rule. The one that is nearest to breaking it is shown."""

    rule: Criterion
    where: str

    @property
    def text(self) -> str:
        return f"{self.rule.text}, {self.where}"

    def room(self, answer: Any) -> float:
        return min(self.rule.room(part) for part in _parts(answer))

    def judge(self, answer: Any) -> Verdict:
        return _worst([self.rule.judge(part) for part in sorted(_parts(answer), key=self.rule.room)])

    def says_no_to(self, null: Any) -> bool:
        return super().says_no_to(null if isinstance(null, Sequence | Mapping) else [null])


@dataclasses.dataclass(frozen=True)
class Both(Criterion):
    """Several rules for as many findings. The first of them is shown, whichever decides."""

    rules: tuple[Criterion, ...]

    @property
    def text(self) -> str:
        return ", and ".join(rule.text for rule in self.rules)

    def room(self, answer: Any) -> float:
        return min(rule.room(part) for rule, part in zip(self.rules, _parts(answer), strict=True))

    def judge(self, answer: Any) -> Verdict:
        verdicts = [rule.judge(part) for rule, part in zip(self.rules, _parts(answer), strict=True)]
        worst, first = _worst(verdicts), verdicts[0]
        return dataclasses.replace(worst, measured=first.measured, stderr=first.stderr, regime=worst.regime or first.regime)


def at_most(bound: float, what: str, *, strict: bool = False, percent: bool = False, called: str = "", **errors: Any) -> Bounds:
    """A number that must not be above a bound, which may be `called` by a symbol. `errors` are standard errors:

    `by` how many the rule must be met, `allowing` how many it may be missed by, `undecided` within how many nothing is decided, or
    `whole_interval` if all of the finding's interval must meet it, or `decided_by` the name of an interval of which all must meet or all
    must miss it; and `where` this is asked.

    >>> at_most(0.1, "relative error", percent=True, allowing=3, where="in every cell").text
    'relative error at most 10 % and three standard errors in every cell'
    """
    words = f"{what} {'below' if strict else 'at most'} {called or _number(bound, percent)}"
    return _with_errors(Bounds(words, high=bound, strict=strict), **errors)


def at_least(bound: float, what: str, *, strict: bool = False, percent: bool = False, called: str = "", **errors: Any) -> Bounds:
    """A number that must not be below a bound."""
    words = f"{what} {'above' if strict else 'at least'} {called or _number(bound, percent)}"
    return _with_errors(Bounds(words, low=bound, strict=strict), **errors)


def below(bound: float, what: str, **options: Any) -> Bounds:
    """A number that must be smaller than a bound."""
    return at_most(bound, what, strict=True, **options)


def above(bound: float, what: str, **options: Any) -> Bounds:
    """A number that must be larger than a bound.

    >>> above(0.25, "mean error", by=3).judge(Finding(0.5, 0.1)).outcome  # 0.2 would do if errors were ignored
    'fails'
    """
    return at_least(bound, what, strict=True, **options)


def positive(what: str, **options: Any) -> Bounds:
    """A number that must be above zero.

    >>> positive("correlation", by=2).text
    'correlation positive by more than two standard errors'
    """
    return _with_errors(Bounds(f"{what} positive", low=0.0, strict=True), **options)


def larger(what: str, than: str, **options: Any) -> Bounds:
    """A number that must exceed another one; the function gives their difference.

    >>> larger("R² against ln T", than="R² against T").text
    'R² against ln T above R² against T'
    """
    return _with_errors(Bounds(f"{what} above {than}", low=0.0, strict=True), **options)


def prefers(law: str, over: str, by: float) -> Bounds:
    """Akaike's criterion must prefer a law to another one; the function gives by how much it does.

    >>> rule = prefers("the logarithm", "a power law", by=4)
    >>> rule.text
    "Akaike's criterion prefers the logarithm to a power law by more than 4; undecided within 4"
    >>> [rule.judge(advantage).outcome for advantage in (5.0, -5.0, 3.0)]
    ['holds', 'fails', 'not tested']
    """
    words = f"Akaike's criterion prefers {law} to {over} by more than {by:g}; undecided within {by:g}"
    return Bounds(words, low=0.0, strict=True, unclear=by)


def near(target: float, within: float, what: str, *, percent: bool = False, **errors: Any) -> Bounds:
    """A number that must be another one, give or take.

    >>> near(-1, 0.3, "log-log slope").text
    'log-log slope −1 ± 0.3'
    """
    words = f"{what} {_number(target, False)} ± {_number(within, percent)}"
    return _with_errors(Bounds(words, target - within, target + within), **errors)


def exponent(target: float, *, within: float, of: str, **errors: Any) -> Bounds:
    """The exponent of a power law, which `common.exponent_of` fits.

    >>> exponent(-0.5, within=0.1, of="the error against the width").text
    'log-log slope of the error against the width −0.5 ± 0.1'
    """
    return near(target, within, f"log-log slope of {of}", **errors)


def between(low: float, high: float, what: str, *, percent: bool = False, **errors: Any) -> Bounds:
    """A number that must lie strictly between two others."""
    words = f"{what} between {_number(low, percent)} and {_number(high, percent)}"
    return _with_errors(Bounds(words, low, high, strict=True), **errors)


def is_true(statement: str) -> Bounds:
    """What is no number: the function gives a finding whose value is whether it is so, and a number to show.

    >>> is_true("all sign patterns occur").judge(Finding(False, shown=(0.9, None)))
    Verdict(outcome='fails', measured=0.9, stderr=None, regime='', missing=False)
    """
    return Bounds(statement, low=1.0)


def every(rule: Criterion, where: str) -> Every:
    """A rule for each of several numbers.

    >>> rule = every(below(0.05, "loss"), "at every length")
    >>> rule.text, rule.judge({8: 0.01, 16: 0.2}).measured
    ('loss below 0.05, at every length', 0.2)
    """
    return Every(rule, where)


def both(*rules: Criterion) -> Both:
    """Several rules, for as many numbers.

    >>> rule = both(below(0.9, "accuracy"), below(0.01, "loss"))
    >>> rule.text
    'accuracy below 0.9, and loss below 0.01'
    >>> rule.says_no_to((0.5, 0.1))
    True
    """
    return Both(rules)


def _with_errors(
    rule: Bounds,
    *,
    by: float = 0,
    allowing: float = 0,
    undecided: float = 0,
    whole_interval: bool = False,
    decided_by: str = "",
    where: str = "",
) -> Bounds:
    """The rule with its standard errors, and these in its words."""
    words = rule.words
    words += f" by more than {_errors(by)}" if by else ""
    words += f" {'less' if math.isinf(rule.high) else 'and'} {_errors(allowing)}" if allowing else ""
    words += " with its whole interval" if whole_interval else ""
    words += f" {where}" if where else ""
    words += f"; undecided within {_errors(undecided)}" if undecided else ""
    words += f"; undecided where {decided_by} reaches across" if decided_by else ""
    errors: Any = {"sigmas": by - allowing, "undecided": undecided, "whole_interval": whole_interval, "by_interval": bool(decided_by)}
    return dataclasses.replace(rule, words=words, **errors)


def _number(value: float, percent: bool) -> str:
    return (
        f"{100 * value:g} %"
        if percent
        else f"{value:g}".replace("e-0", "e-")
        if abs(value) < 1e-4 and value
        else f"{value:g}".replace("-", "−")
    )


def _errors(count: float) -> str:
    words = _WORDS[int(count)] if count == int(count) < len(_WORDS) else f"{count:g}"
    return f"{words} standard error{'s' * (count != 1)}"


def _finding(answer: Finding | float) -> Finding:
    return answer if isinstance(answer, Finding) else Finding(float(answer))


def _parts(answer: Any) -> list[Any]:
    """Several numbers; a mapping names them for whoever reads the code."""
    return list(answer.values()) if isinstance(answer, Mapping) else list(answer)


def _worst(verdicts: Sequence[Verdict]) -> Verdict:
    """What fails decides, then what is not decided; of several the first."""
    rank = {"fails": 0, "not tested": 1, "holds": 2}
    return min(verdicts, key=lambda verdict: rank[verdict.outcome])
