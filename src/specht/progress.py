"""One report of progress over several pieces of work."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

Progress = Callable[[int, int], None]
"""Called as progress(done, total)."""
STEPS = 1000
"""Total of a report that is made of several."""


def stages(progress: Progress | None, weights: Sequence[float]) -> list[Progress | None]:
    """A callback for each of several stages that follow one another; the weights say how long each of them takes.

    >>> first, second = stages(lambda done, total: print(f"{done}/{total}"), [1, 3])
    >>> first(1, 2); first(2, 2); second(1, 1)
    125/1000
    250/1000
    1000/1000
    """
    if progress is None:
        return [None] * len(weights)
    ends = list(itertools.accumulate(weights, initial=0.0))
    return [_stage(progress, start / ends[-1], end / ends[-1]) for start, end in itertools.pairwise(ends)]


def _stage(progress: Progress, start: float, end: float) -> Progress:
    return lambda done, total: progress(int(STEPS * (start + (end - start) * done / total) + 1e-9), STEPS)


def report(progress: Progress | None, done: int, total: int) -> None:
    """Say how far the work is, if anybody listens."""
    if progress is not None:
        progress(done, total)
