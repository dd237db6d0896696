"""What a null is: a world in which a claim is false in the way that nature would have it, and what its experiment gives there."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import zlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock

import numpy as np

from specht.papers.claims import Claim, JobResult, Results, Verdict
from specht.papers.measurement import Measurement

DRAWS = 3
"""Of every world that does not say otherwise, each with random numbers of its own."""
NULLS: dict[str, list[Null]] = defaultdict(list)
"""The worlds of every claim, by its name."""


@dataclasses.dataclass(frozen=True, eq=False)
class Null:
    """A world in which some claims are false."""

    make: Callable[[np.random.Generator], Results]
    """From random numbers to the results of an experiment; its docstring says in a sentence what world it is."""
    replaced: tuple[Any, str, Any] | None = None
    """A module, a name in it and a value: numbers of the world that no job measures, because they stand in the code."""

    count: int = DRAWS
    alone: bool = False
    """Whether other seeds do not draw this world anew, so that each draw is judged by itself: other seeds read the same text."""

    @property
    def name(self) -> str:
        return self.make.__name__

    @property
    def file(self) -> str:
        return self.make.__code__.co_filename

    @property
    def world(self) -> str:
        return " ".join((self.make.__doc__ or "").split())

    def draws(self) -> Sequence[Results]:
        """The same world several times."""
        return _draws(self)

    def verdicts(self, claim: Claim, *, alone: bool = False) -> list[Verdict]:
        """One on all draws together, which are runs with several seeds, or one on each of them."""
        runs = [[results] for results in self.draws()] if self.alone or alone else [self.draws()]
        assert claim.judge is not None
        with mock.patch.object(*self.replaced) if self.replaced else contextlib.nullcontext():
            return [claim.judge(*some) for some in runs]


@functools.cache
def _draws(null: Null) -> Sequence[Results]:
    return [null.make(np.random.default_rng([zlib.crc32(null.name.encode()), seed])) for seed in range(null.count)]


def null(
    *claims: str, replaced: tuple[Any, str, Any] | None = None, draws: int = DRAWS, alone: bool = False
) -> Callable[[Callable[..., Results]], Callable[..., Results]]:
    """Make a function the world in which some claims are false."""

    def bind(make: Callable[..., Results]) -> Callable[..., Results]:
        world = Null(make, replaced, draws, alone)
        for claim in claims:  # a module that is loaded a second time puts its worlds in place of those of the first
            NULLS[claim] = [*(other for other in NULLS[claim] if (other.name, other.file) != (world.name, world.file)), world]
        return make

    return bind


def measured(measurement: Measurement, **arguments: Any) -> JobResult:
    """What a job really measures, in a world that differs from ours in what is replaced around this call."""
    return JobResult(arguments, measurement(**arguments), measurement.name)
