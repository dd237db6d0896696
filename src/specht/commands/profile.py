"""specht profile: how many positions a function singles out, level by level, and what that costs to learn."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter
from pydantic import Field

from specht.callables import digest_of_code, load_callable
from specht.commands.command import Command, command_line
from specht.commands.task_flags import SUPPORTED, TOKENED, SourceFlags
from specht.errors import InputError, in_one_line
from specht.lab import Config
from specht.report import Column, Page, Step, Table, percent
from specht.trees import Along, along, facts, tree

if TYPE_CHECKING:
    import numpy as np
    import xarray

    from specht.progress import Progress
    from specht.sequences import Source

LEVEL_HEADER = ("level", "weight", "interval", "share", "interval of the share", "share of the variance")
NOTABLE = 0.05
"""Share of the variance from which on the answer speaks of a level."""


class ProfileConfig(Config):
    """The profile of one function: a named target, or `module:function`.

    >>> ProfileConfig(target="parity", support=3).flags()
    ['parity', '--support', '3']
    """

    positional = "target"

    target: Annotated[str, Parameter(show_default=False)] = ""
    """A named function (and, counts, level, majority, next-token, or, parity), or module:function from what is installed or from the
    current folder: it takes tokens (n, columns) to values (n,) or (n, outputs)."""
    source: Annotated[SourceFlags, Parameter(name="*", group=Group("Source", sort_key=1))] = SourceFlags()
    vocab: Annotated[int, Field(gt=0)] = 2
    """Number of tokens V."""
    length: Annotated[int, Field(gt=0)] = 16
    """Number of context positions L, those that are shuffled."""
    readout: Literal["last", "mean"] = "last"
    """One more token that stays in place (last), or none (mean)."""
    support: Annotated[int, Field(ge=0)] | None = None
    """Positions that and, or, majority and parity read (2, of majority 3, unless given); the level of level (1)."""
    token: Annotated[int, Field(ge=0)] = 1
    """Token that a named target looks for."""
    samples: Annotated[int, Field(ge=100)] = 4000
    """Sequences drawn; errors fall as one over the root of it."""
    max_level: Annotated[int, Field(ge=0, le=7)] = 4
    """Levels up to here are measured one by one, higher ones are pooled; one more doubles the work."""
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.95
    """Confidence of each interval."""
    interval: Literal["likelihood", "bootstrap"] = "likelihood"
    """All weights that fit (likelihood), or percentiles over sequences drawn again (bootstrap), narrower and somewhat less reliable."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """Seed of sequences and shuffles, and of a mixture."""

    def build_source(self) -> Source:
        return self.source.build(self.vocab, self.seed)

    def build_function(self, source: Source) -> tuple[str, Callable[..., Any]]:
        """What the function is called in a sentence, and the function."""
        from specht.sequences import Setting, target  # loads SciPy, which help does not need

        if self.is_own:
            return self.target, load_callable(self.target)
        named_target = target(self.target, Setting(source, self.length, self.number, self.token))
        return named_target.name, named_target

    def identity(self) -> dict[str, Any]:
        self._require_a_target()
        self._refuse_flags_of_another_target()
        fields = self.model_dump(include={"target", "vocab", "length", "readout", "samples", "max_level", "confidence", "seed"})
        fields |= {} if self.interval == "likelihood" else {"interval": self.interval}  # added later: old results keep their names
        fields |= {"support": self.number} if self.target in SUPPORTED else {}
        fields |= {"token": self.token} if self.target in TOKENED else {}
        # Another function under the same name is another configuration.
        return self.source.identity() | fields | ({"code": digest_of_code(self.target)} if self.is_own else {})

    @property
    def is_own(self) -> bool:
        """Whether the function is one of the user's."""
        return ":" in self.target

    @property
    def number(self) -> int:
        """The support, or what it is unless given."""
        return SUPPORTED.get(self.target, 0) if self.support is None else self.support

    def _require_a_target(self) -> None:
        if not self.target:
            from specht.sequences import TARGETS

            raise InputError(f"specht profile needs a function: one of {', '.join(sorted(TARGETS))}, or your own as module:function.")

    def _refuse_flags_of_another_target(self) -> None:
        known = self.is_own or self.target in (*TOKENED, "next-token")  # an unknown name gets a sentence of its own
        for name, targets in (("support", tuple(SUPPORTED)), ("token", TOKENED)):
            value = getattr(self, name)
            if known and self.target not in targets and value != type(self).model_fields[name].default:
                raise InputError(f"--{name} {value} says nothing about {self.target}: leave it out.")


class ProfileCommand(Command):
    """The symmetry profile of a function: how much of it ignores order or singles out 1, 2, ... positions, hence what it costs to learn.

    For example:

        specht profile parity --support 3
        specht profile majority --support 5 --length 32
        specht profile next-token --source graded --epsilon 0.3 --vocab 4
        specht profile mine:score --vocab 50 --length 64
        specht profile level --support 2 --json
    """

    name = "profile"
    config = ProfileConfig
    csv = "parts"

    def compute(self, config: ProfileConfig, progress: Progress | None = None) -> xarray.DataTree:
        # Loaded now and not above, so that --help stays quick.
        from specht.profiles import profile
        from specht.sequences import exchangeability_gap

        source = config.build_source()
        name, function = config.build_function(source)
        cpu, wall = time.process_time(), time.perf_counter()
        settings = config.model_dump(include={"samples", "max_level", "confidence", "interval", "readout"})
        result = profile(_guarded(function, name), source, config.length, config.seed, **settings, progress=progress)
        gap = None
        if not source.is_exchangeable:
            gap = dataclasses.asdict(exchangeability_gap(source, config.length, readout=config.readout, seed=config.seed))
        numbers = result.summary()
        curves = numbers["correlation"].items()
        numbers["correlation"] = {key: Along(curve, "curve_positions" if "curve" in key else "positions") for key, curve in curves}
        return tree(
            {
                "target": name,
                "source": {"name": config.source.source, "exchangeable": source.is_exchangeable},
                "gap": gap,
                "vocab": config.vocab,
                **along("levels", numbers),
                "interval": config.interval,
                "cpu_seconds": time.process_time() - cpu,
                "wall_seconds": time.perf_counter() - wall,
            }
        )

    def page(self, data: xarray.DataTree) -> Page:
        from specht.report import correlation_plot, share_plot

        result = facts(data)
        shares = share_plot(
            result,
            title="How much of the function lies at each level",
            caption=f"Shares of E[f²], with intervals of {100 * result.confidence:g} %. "
            "Level m singles out m positions; constant functions are of level 0.",
        )
        curve = correlation_plot(
            result,
            title="What is left after shuffling",
            caption="The correlation of the function with itself when j random positions are shuffled, with standard errors. At j = 0 it "
            f"is E[f²]; at j = {result.length} what ignores order is left.",
        )
        irreps_note = (
            "Irreps of one level differ in the rows below the first: [L−2, 2] is symmetric in two positions and [L−2, 1, 1] antisymmetric. "
            "The longer the sequence, the less shuffles tell them apart; their sum by level stays known."
        )
        return Page(
            title="The symmetry profile of a function",
            subtitle=f"{result.target} · V={result.vocab} L={result.length} · {result.source.name} source",
            question="How many positions does this function single out, hence how many samples does it need at least?",
            answer=_answer(result),
            plots=[shares, curve],
            tables=[
                Table(LEVEL_HEADER, level_rows(result), note="\n".join(remarks(result)), title="Weights by level"),
                Table.of(result.shapes, IRREP_COLUMNS, note=irreps_note, title="Weights by irrep", brief=False),
            ],
            method=_method(result),
        )


def _guarded(function: Callable[..., Any], name: str) -> Callable[[np.ndarray], Any]:
    """The function, with what it raises said in one sentence."""

    def call(x: np.ndarray) -> Any:
        try:
            return function(x)
        except InputError:
            raise
        except Exception as error:  # a function of somebody else may raise anything
            shape = f"tokens of shape {x.shape}"
            raise InputError(f"{name} raised {in_one_line(error)} for {shape}: it must take arrays (n, columns).") from error

    return call


def _answer(result: SimpleNamespace) -> str:
    if result.total == 0.0:
        return "The function is zero for every sequence that was drawn, so it has no profile."
    shares = [part.variance_share for part in result.parts]
    if result.variance <= 0.0 or not any(shares):
        return "The function is constant: it ignores order, and there is nothing to learn but one number."
    length, levels = result.length, result.levels
    best = max(range(len(shares)), key=lambda place: shares[place])
    first = "Most" if shares[best] > 0.5 else "The largest part"
    lies = f"{first} of the variance of this function, {percent(shares[best])}, lies {_where(best, levels)}"
    # The highest level that is not negligible decides what all of the function costs.
    hardest = max(place for place, share in enumerate(shares) if share >= NOTABLE)
    rest = f"the {percent(shares[hardest])} {_where(hardest, levels)}"
    if best == 0:
        grows = f"; {rest} need at least of the order of {_samples(hardest, length, levels)}" if hardest else ""
        return (
            f"{lies}: it ignores the order of the tokens. The irrep of level 0 has dimension one, so for this part the number of samples "
            f"that a transformer in the kernel limit needs has no factor that grows with the length{grows}."
        )
    positions = f"more than {levels[-1]} positions" if best == len(levels) else "one position" if best == 1 else f"{best} positions"
    further = f", and {_samples(hardest, length, levels)} for {rest}" if hardest > best else ""
    return (
        f"{lies}: it singles out {positions}. A transformer in the kernel limit needs at least of the order of "
        f"{_samples(best, length, levels)} to learn this part{further}."
    )


def _where(place: int, levels: Sequence[int]) -> str:
    return f"above level {levels[-1]}" if place == len(levels) else f"at level {place}"


def _samples(level: int, length: int, levels: Sequence[int]) -> str:
    number = length**level
    mantissa, exponent = f"{number:.1e}".split("e")
    count = str(number) if number < 10**6 else f"{mantissa} · 10^{{{int(exponent)}}}"
    power = f"L = {length}" if level == 1 else f"L^{{{level}}} = {count}"
    return f"{power} samples" + " or more" * (level == len(levels))


def level_rows(result: SimpleNamespace) -> list[list[str]]:
    """One row a level, one for those above if there are any, and the total."""
    *levels, above = result.parts
    rows = [
        [
            part.level.replace(">", "above "),
            weight(part.weight),
            between(part.low, part.high),
            percent(part.share),
            between(part.share_low, min(part.share_high, 1.0), percent),
            percent(part.variance_share),
        ]
        for part in [*levels, *([above] if above.high > 0.0 else [])]
    ]
    return [*rows, ["total", weight(result.total), "", "", "", ""]]


def weight(value: float) -> str:
    """Four digits, and plain zero for what is nothing against a weight.

    >>> weight(0.43441), weight(3e-17)
    ('0.4344', '0')
    """
    return "0" if abs(value) < 1e-12 else f"{value:.4g}"


def between(low: float, high: float, write: Callable[[float], str] = weight) -> str:
    """An interval.

    >>> between(0.1, 0.25), between(0.1, 0.25, percent)
    ('0.1 to 0.25', '10.0 to 25.0 %')
    """
    return f"{write(low).removesuffix(' %')} to {write(high)}"


IRREP_COLUMNS: dict[str, Column] = {
    "irrep": "irrep",
    "level": "level",
    "weight": lambda shape: weight(shape.weight),
    "interval": lambda shape: between(shape.low, shape.high),
}


def remarks(result: SimpleNamespace) -> list[str]:
    """What has to be known to read the numbers, one sentence or two each."""
    order, gap = result.order, result.gap
    lines = [
        f"Of the variance {percent(order.value)} needs order ({between(order.low, order.high, percent)}). "
        f"Level 0 ignores order; the constant part of it, E[f]², is {weight(result.mean_square.value)}.",
        f"Intervals hold with {100 * result.confidence:g} % confidence, each by itself; "
        f"{result.samples} sequences, {result.evaluations} evaluations.",
    ]
    if result.shuffled and gap is not None:
        distance = f"{gap.value:.2g}" if gap.exact else f"{gap.value:.2g} ± {gap.stderr:.1g}"
        lines.append(
            f"The source is not exchangeable: permuting {result.length} positions changes its law by a total variation of {distance}. "
            "Sequences were shuffled first, so this is the profile under shuffled sequences."
        )
    return lines


_INTERVALS = {
    "likelihood": Step(
        "The interval of a level holds every value that some weights have which fit almost as well, q being the quantile of a squared "
        "normal variable:",
        ["interval of W_m: all values with χ² ≤ χ²_{min} + q"],
    ),
    "bootstrap": Step("Intervals are percentiles of the weights fitted to 1000 samples of the same size, drawn again from the sequences."),
}


def _method(result: SimpleNamespace) -> list[Step]:
    steps = [
        Step(
            "Under permutations of the L context positions the function splits into parts, one an irrep λ of the symmetric group. Its "
            "weight at level m is the mean square of all parts whose first row has L − m boxes; they live in irreps of dimension about "
            "L^m, and an eigenvalue of the kernel is at most E[k] over that dimension:",
            ["f = Σ_λ f_λ,   W_m = Σ ‖f_λ‖² over λ_1 = L − m,   Σ_m W_m = E[f²]", "dim [L−m, μ] ≈ L^m · dim μ / m!"],
        ),
        Step(
            "Shuffling j random positions and leaving the others multiplies each part by an exact number, a ratio of counts of standard "
            "tableaux, so the correlation is linear in the weights:",
            ["C(j) = E[ f(x) f(shuffle_j x) ] = Σ_λ (f^{λ/(j)} / f^λ) ‖f_λ‖²"],
        ),
        Step(
            "Several disjoint blocks are shuffled each within itself, by permutations σ_i. Doing those in a set S of blocks gives a "
            "function on a cube. Its Fourier coefficients vanish for more blocks than positions are singled out, for every sequence and "
            "not only on average, which is why levels that a function lacks cost no noise. With Kostka numbers K:",
            [
                "F(S) = f(σ_S x),   F̂(T) = 2^{−B} Σ_S (−1)^{|S∩T|} F(S)",
                "E[ F̂(T)² ] = Σ_λ ‖f_λ‖² 2^{−B} Σ_S (−1)^{|S∩T|} K_{λμ(S)} / f^λ",
            ],
        ),
        Step(
            "Weights are non-negative and fit these mean squares y by least squares, with their covariance Σ over sequences:",
            ["χ²(w) = (y − A w)^T Σ^{−1} (y − A w),   w ≥ 0"],
        ),
        _INTERVALS[result.interval],
    ]
    if result.shuffled:
        steps.append(Step("Order matters in the source, so sequences were shuffled first: weights are those under the shuffled law."))
    return steps


profile = command_line(ProfileCommand)
