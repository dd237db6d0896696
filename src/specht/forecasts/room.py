"""How much memory a forecast needs, asked before anything is measured: a process that runs out of it is ended without a word."""

from __future__ import annotations

from specht.errors import InputError
from specht.forecasts.learners.exact import MOST_ROWS
from specht.forecasts.subsets import FOLDS
from specht.memory import available_memory

_ENTRY = 80
"""Bytes for each token: n-grams of three lengths as numbers, and the matrices that count them."""
_PROGRAMS = 4 * 2**27
"""Bytes for what is compiled, and all else that does not grow."""
_SURELY_FITS = 2**30
"""Bytes below which the system is not even asked."""


def needed_memory(rows: int, columns: int) -> int:
    """Bytes, roughly, that a forecast needs: n-grams of all rows, and the kernel of exact inference with what is cut out of it.

    >>> round(needed_memory(20000, 500) / 2**30, 1)
    2.0
    """
    train = min(rows, MOST_ROWS)
    return _PROGRAMS + _ENTRY * rows * columns + 2 * 8 * train * (2 * train + rows // FOLDS)


def check_room(rows: int, columns: int) -> None:
    """Refuse what cannot fit."""
    needed = needed_memory(rows, columns)
    free = available_memory() if needed > _SURELY_FITS else None
    if free is not None and needed > free:
        raise InputError(
            f"{rows} rows of {columns} tokens need about {needed / 2**30:.1f} GiB of memory, and {free / 2**30:.1f} GiB are free: "
            "use fewer rows (--rows), or keep fewer tokens of each (--max-length)."
        )
