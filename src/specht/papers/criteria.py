"""Criteria: rules that say in words what a number must be, and decide whether it is.

A criterion is written once. Its text comes from it, so that no bound stands in two places; and it must say no to its null, the number
that would be measured if the claim were false.

One rule decides for all: a claim holds if the whole interval of what was measured keeps its criterion, fails if none of it does, and is
undecided otherwise. A number without an error is an interval of one point.

>>> rule = at_most(0.6, "exponent of a power law")
>>> rule.text
'exponent of a power law at most 0.6'
>>> [rule.judge(Finding(value, 0.1, "T = 25 to 200.")).outcome for value in (0.4, 0.55, 0.8)]
['holds', 'undecided', 'fails']
>>> rule.says_no_to(1.0)
True
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from specht.papers.claims import Outcome, Verdict

CONFIDENCE = 0.9
"""Of the intervals of all measurements: an end is passed by chance in one case of twenty."""
NORMAL = 1.645
"""Standard errors between a number and the ends of its interval, where it has an error and no interval of its own."""


@dataclasses.dataclass(frozen=True)
class Finding:
    """A number that a criterion judges."""

    value: float
    stderr: float | None = None
    regime: str = ""
    """Where it was measured, as a sentence."""
    interval: tuple[float, float] | None = None
    """Of 90 %; where it is not given, from the standard error."""
    shown: tuple[float, float | None] | None = None
    """The number and the error that a reader sees, where they are not the ones that are judged."""

    @property
    def ends(self) -> tuple[float, float]:
        """The interval that a criterion looks at."""
        reach = NORMAL * (self.stderr or 0.0)
        return self.interval or (self.value - reach, self.value + reach)


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
    unclear: float = 0.0
    """How far from an end nothing is decided, whatever the error."""

    @property
    def text(self) -> str:
        return self.words

    def room(self, answer: Finding | float) -> float:
        return min(map(self._room_at, finding(answer).ends))

    def _room_at(self, value: float) -> float:
        return min(value - self.low, self.high - value)

    def _keeps(self, value: float) -> bool:
        room = self._room_at(value)
        return room > 0.0 if self.strict else room >= 0.0

    def judge(self, answer: Any) -> Verdict:
        what = finding(answer)
        low, high = what.ends
        if any(map(math.isnan, (what.value, low, high))):
            return Verdict("not tested", regime=f"What was measured is not a number. {what.regime}".strip())
        value, stderr = what.shown or (what.value, what.stderr)
        interval = (float(low), float(high)) if high > low and not what.shown else None
        return Verdict(self._outcome(what.value, low, high), float(value), None if stderr is None else float(stderr), what.regime, interval)

    def _outcome(self, value: float, low: float, high: float) -> Outcome:
        """Holds if the whole interval keeps the rule, fails if none of it does."""
        if self.unclear and abs(self._room_at(value)) <= self.unclear:
            return "undecided"
        if self._keeps(low) and self._keeps(high):
            return "holds"
        reaches = low < self.high and high > self.low if self.strict else low <= self.high and high >= self.low
        return "undecided" if reaches else "fails"


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
        return dataclasses.replace(first, outcome=worst.outcome, regime=worst.regime or first.regime)


def at_most(bound: float, what: str, *, strict: bool = False, percent: bool = False, called: str = "", where: str = "") -> Bounds:
    """A number that must not be above a bound, which may be `called` by a symbol; and `where` this is asked.

    >>> at_most(0.1, "relative error", percent=True, where="in every cell").text
    'relative error at most 10 % in every cell'
    """
    words = f"{what} {'below' if strict else 'at most'} {called or _number(bound, percent)}"
    return Bounds(_placed(words, where), high=bound, strict=strict)


def at_least(bound: float, what: str, *, strict: bool = False, percent: bool = False, called: str = "", where: str = "") -> Bounds:
    """A number that must not be below a bound."""
    words = f"{what} {'above' if strict else 'at least'} {called or _number(bound, percent)}"
    return Bounds(_placed(words, where), low=bound, strict=strict)


def below(bound: float, what: str, **options: Any) -> Bounds:
    """A number that must be smaller than a bound."""
    return at_most(bound, what, strict=True, **options)


def above(bound: float, what: str, **options: Any) -> Bounds:
    """A number that must be larger than a bound.

    >>> above(0.25, "mean error").judge(Finding(0.35, 0.1)).outcome  # it would hold if errors were ignored
    'undecided'
    """
    return at_least(bound, what, strict=True, **options)


def positive(what: str, *, where: str = "") -> Bounds:
    """A number that must be above zero.

    >>> positive("correlation", where="over m").text
    'correlation positive over m'
    """
    return Bounds(_placed(f"{what} positive", where), low=0.0, strict=True)


def larger(what: str, than: str, *, where: str = "") -> Bounds:
    """A number that must exceed another one; the function gives their difference.

    >>> larger("R² against ln T", than="R² against T").text
    'R² against ln T above R² against T'
    """
    return Bounds(_placed(f"{what} above {than}", where), low=0.0, strict=True)


def prefers(law: str, over: str, by: float) -> Bounds:
    """Akaike's criterion must prefer a law to another one; the function gives by how much it does.

    >>> rule = prefers("the logarithm", "a power law", by=4)
    >>> rule.text
    "Akaike's criterion prefers the logarithm to a power law by more than 4; undecided within 4"
    >>> [rule.judge(advantage).outcome for advantage in (5.0, -5.0, 3.0)]
    ['holds', 'fails', 'undecided']
    """
    words = f"Akaike's criterion prefers {law} to {over} by more than {by:g}; undecided within {by:g}"
    return Bounds(words, low=0.0, strict=True, unclear=by)


def near(target: float, within: float, what: str, *, percent: bool = False, where: str = "") -> Bounds:
    """A number that must be another one, give or take.

    >>> near(-1, 0.3, "log-log slope").text
    'log-log slope −1 ± 0.3'
    """
    words = f"{what} {_number(target, False)} ± {_number(within, percent)}"
    return Bounds(_placed(words, where), target - within, target + within)


def exponent(target: float, *, within: float, of: str, where: str = "") -> Bounds:
    """The exponent of a power law, which `common.exponent_of` fits.

    >>> exponent(-0.5, within=0.1, of="the error against the width").text
    'log-log slope of the error against the width −0.5 ± 0.1'
    """
    return near(target, within, f"log-log slope of {of}", where=where)


def between(low: float, high: float, what: str, *, percent: bool = False, where: str = "") -> Bounds:
    """A number that must lie strictly between two others."""
    words = f"{what} between {_number(low, percent)} and {_number(high, percent)}"
    return Bounds(_placed(words, where), low, high, strict=True)


def is_true(statement: str) -> Bounds:
    """What is no number: the function gives a finding whose value is whether it is so, and a number to show.

    >>> verdict = is_true("all sign patterns occur").judge(Finding(False, shown=(0.9, None)))
    >>> verdict.outcome, verdict.measured
    ('fails', 0.9)
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


def _placed(words: str, where: str) -> str:
    return f"{words} {where}".rstrip()


def _number(value: float, percent: bool) -> str:
    return (
        f"{100 * value:g} %"
        if percent
        else f"{value:g}".replace("e-0", "e-")
        if abs(value) < 1e-4 and value
        else f"{value:g}".replace("-", "−")
    )


def finding(answer: Finding | float) -> Finding:
    """A number as a finding, if it is none."""
    return answer if isinstance(answer, Finding) else Finding(float(answer))


def _parts(answer: Any) -> list[Any]:
    """Several numbers; a mapping names them for whoever reads the code."""
    return list(answer.values()) if isinstance(answer, Mapping) else list(answer)


def _worst(verdicts: Sequence[Verdict]) -> Verdict:
    """What fails decides, then what is not decided; of several the first."""
    rank = {"fails": 0, "not tested": 1, "undecided": 2, "holds": 3}
    return min(verdicts, key=lambda verdict: rank[verdict.outcome])
