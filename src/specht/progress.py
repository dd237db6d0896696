"""One report of progress over several pieces of work, and a bar that shows it."""

from __future__ import annotations

import contextlib
import itertools
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

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


@contextlib.contextmanager
def progress_bar(description: str) -> Iterator[Progress | None]:
    """A progress bar for work of more than two seconds, where someone is looking: on standard error of a terminal, or in a notebook."""
    bar: Any = None
    shown = whole = 0  # not every notebook's bar has them

    def update(done: int, total: int) -> None:
        nonlocal bar, shown, whole
        if bar is None or whole != total or done < shown:
            if bar is not None:
                bar.close()
            bar, shown, whole = _new_bar(description, total), 0, total
        bar.update(done - shown)
        shown = done

    try:
        yield update if sys.stderr.isatty() or in_notebook() else None
    finally:
        if bar is not None:
            bar.close()


def in_notebook() -> bool:
    """Whether this is a notebook of Jupyter or marimo, whose standard error is no terminal."""
    marimo: Any = sys.modules.get("marimo")
    return "ipykernel.zmqshell" in sys.modules or (marimo is not None and bool(marimo.running_in_notebook()))


def _new_bar(description: str, total: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where there are no widgets the bar is a line of text, and that is well
        from tqdm.auto import tqdm
    return tqdm(desc=description, total=total, delay=2, leave=False, file=sys.stderr)
