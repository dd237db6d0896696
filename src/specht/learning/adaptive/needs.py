"""How many samples a transformer of finite width needs, before any data is seen, beside one of infinite width.

The number is searched for. A grid of numbers of samples grows by factors of a hundred until the test loss, and the share that is learnt,
have passed what was asked for and stay there. Then the grid is made finer around the numbers that matter. What no number of samples
reaches, because the kernel has no function for it at any variances, needs infinitely many without any search.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from specht.architecture import Architecture
from specht.checks import finite_number
from specht.errors import InputError
from specht.learning.adaptive.curve import Kind, Transition
from specht.learning.adaptive.population import SEQUENCES, Expected, expect, positive_numbers
from specht.results import Result, Variable, plain
from specht.sequences import Task

Record = TypeVar("Record")
_MOST = 1e12
"""Largest number of samples that is looked at."""
_FIRST, _FIRST_BREAKING, _FACTOR = 1e2, 1e4, 1e2
"""Where the grid ends at first, where a symmetry may break later than the target is learnt, and the factor by which it grows."""
_A_DECADE = 6
"""Points of the grid."""
_BETWEEN = 9
"""Points of the finer grid, from one point of the grid to the next."""
_BEYOND = 4.0
"""How much farther the grid goes than what it finds, to see that the loss stays there."""


@dataclasses.dataclass(frozen=True)
class NeedAtWidth:
    """What a target costs at one width."""

    width: float
    """Width of the embedding; may be infinite."""
    samples: float
    """Fewest from which on the test loss stays at or below the asked share of the target's variance; infinite if out of reach."""
    to_learn: float
    """Fewest from which on the asked share of the target is in the mean prediction; infinite if out of reach."""
    transition: float
    """N_c, at which the positions that the target reads begin to stand out; infinite if they do not up to `looked_at`."""
    kind: Kind
    """Kind of the transition: see `specht.learning.adaptive.curve.Transition`."""
    looked_at: float
    """Largest number of samples that was looked at."""


class Needs(Result, Generic[Record]):
    """A result that is a sequence of what single things need."""

    needs: tuple[Record, ...]

    def __len__(self) -> int:
        return len(self.needs)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.needs)

    def __getitem__(self, index: int) -> Record:
        return self.needs[index]

    def _column(self, name: str) -> list[Any]:
        return [getattr(need, name) for need in self.needs]


@dataclasses.dataclass(frozen=True)
class ComplexityByWidth(Needs[NeedAtWidth]):
    """What a target costs at finite widths, and last at infinite width: a sequence of `NeedAtWidth`s."""

    arch: Architecture
    target: str
    method: str
    """"exact" or "sampled"."""
    ridge: float
    """In units of E[k]."""
    noise: float
    """Variance of the labels around the target, summed over outputs."""
    error: float
    """Test loss that is asked for, over the variance of the target."""
    share: float
    """Share of the target that is asked for in the mean prediction."""
    needs: tuple[NeedAtWidth, ...]

    @property
    def infinite(self) -> NeedAtWidth:
        """The one of infinite width."""
        return self.needs[-1]

    def summary(self) -> list[dict[str, Any]]:
        """The needs as plain values, as files and figures have them; None where they are infinite."""
        numbers = ("width", "samples", "to_learn", "transition", "looked_at")
        return [{name: plain(getattr(need, name)) for name in numbers} | {"kind": need.kind} for need in self.needs]

    def _summary(self) -> str:
        lines = [f"{self.arch} learning {self.target!r} at ridge {self.ridge:.3g} E[k], label noise {self.noise:.3g} ({self.method})"]
        for need in self.needs:
            name = f"width {need.width:g}" if math.isfinite(need.width) else "infinite width"
            words = [
                f"{self._words(need.samples, need)} for an error of {self.error:g}",
                f"{self._words(need.to_learn, need)} to learn a share of {self.share:g}",
            ]
            if need.kind != "none":
                words.append(f"symmetry breaks at {need.transition:.3g} ({need.kind})")
            lines.append(f"{name}: {', '.join(words)}")
        return "\n".join(lines)

    def _words(self, samples: float, need: NeedAtWidth) -> str:
        if math.isfinite(samples):
            return f"{samples:.3g} samples"
        return "out of reach" if self.method == "exact" else f"more than {need.looked_at:g} samples"

    def _variables(self) -> list[Variable]:
        return [
            Variable("width", "width", self._column("width"), "width of the embedding"),
            Variable("samples", "width", self._column("samples"), f"samples for a test loss of {self.error:g} of the variance", "samples"),
            Variable("to_learn", "width", self._column("to_learn"), f"samples to learn a share of {self.share:g} of the target", "samples"),
            Variable("transition", "width", self._column("transition"), "samples at which the positions it reads stand out", "samples"),
            Variable("kind", "width", np.array(self._column("kind"), dtype=str), "kind of the transition"),
            Variable("looked_at", "width", self._column("looked_at"), "largest number of samples that was looked at", "samples"),
        ]


def complexity_by_width(
    arch: Architecture,
    task: Task,
    *,
    width: Sequence[float] | np.ndarray | float,
    error: float = 0.1,
    share: float = 0.5,
    ridge: float = 1.0,
    noise: float = 0.0,
    sequences: int = SEQUENCES,
    seed: int = 0,
) -> ComplexityByWidth:
    """How many samples a transformer needs at finite widths: see `specht.sample_complexity`."""
    widths = positive_numbers("width", width, infinite=True)
    error, share = (finite_number(name, value, above=0.0, below=1.0) for name, value in (("error", error), ("share", share)))
    expected = expect(arch, task, ridge=ridge, noise=noise, sequences=sequences, seed=seed)
    if expected.variance <= 1e-12 * expected.total:
        raise InputError(f"Target {task.target.name!r} is constant, so there is nothing to learn: take another target.")
    finite = [float(number) for number in widths if math.isfinite(number)]
    needs = tuple(_need(expected, number, error, share) for number in [*finite, math.inf])
    labels = expected.labels
    return ComplexityByWidth(arch, task.target.name, expected.method, labels.ridge, labels.noise, error, share, needs)


def _need(expected: Expected, width: float, error: float, share: float) -> NeedAtWidth:
    """The search at one width."""
    finite, unseen = math.isfinite(width), expected.labels.unseen
    top, most = _FIRST_BREAKING if finite and expected.orbits.tells_apart else _FIRST, min(_MOST, expected.most)

    def look(grid: np.ndarray) -> tuple[float, float, Transition]:
        curve = expected.curve(grid, np.array([width]), one_width=True)
        transition = curve.transition() if finite else Transition(math.inf, "none", float(grid[-1]), math.inf)
        return curve.samples_for(error * expected.variance), curve.samples_to_learn(share), transition

    while True:
        top = min(top, most)
        grid = np.geomspace(1.0, top, max(2, math.ceil(_A_DECADE * math.log10(top)) + 1))
        samples, to_learn, transition = look(grid)
        reachable = [samples] * (unseen < error * expected.variance) + [to_learn] * (1.0 - unseen / expected.total > share)
        if top >= most or all(number <= top / _BEYOND for number in reachable):
            break
        top *= _FACTOR
    # Points between the neighbours of every number that is looked for.
    inside = [number for number in (samples, to_learn, transition.samples) if grid[0] < number < grid[-1]]
    places = {int(np.searchsorted(grid, number, side="right")) for number in inside}
    finer = [np.geomspace(grid[place - 1], grid[place], _BETWEEN) for place in places]
    samples, to_learn, transition = look(np.unique(np.concatenate([grid, *finer])))
    return NeedAtWidth(width, samples, to_learn, transition.samples, transition.kind, float(top))
