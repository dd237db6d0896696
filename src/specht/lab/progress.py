"""Progress of work that has several parts."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]

_STEPS = 1000
"""Steps of the progress bar for each part."""


def share(progress: Progress | None, part: int, parts: int) -> Progress:
    """A callback for one of several parts of equal weight.

    >>> share(lambda done, total: print(done, total), part=1, parts=2)(1, 4)
    1250 2000
    """

    def report(done: int, total: int) -> None:
        if progress is not None:
            progress(_STEPS * part + _STEPS * done // total, _STEPS * parts)

    return report
