"""How much memory a Gram needs: asked before anything is computed, and without loading JAX."""

from __future__ import annotations

from specht.errors import InputError
from specht.memory import available_memory

_SURELY_FITS = 2**28
"""Bytes below which the system is not even asked."""


def check_memory(n: int, m: int, matrices: int, advice: str) -> None:
    """Refuse n x m matrices in float64 that cannot fit together; in `advice`, {rows} stands for the rows of a block that would."""
    needed = n * m * 8 * matrices
    free = available_memory() if needed > _SURELY_FITS else None
    if free is not None and needed > 0.9 * free:
        rows = max(1, int(0.25 * free / (m * 8 * matrices)))
        what = f"A Gram of {n} x {m}" if matrices == 1 else f"{matrices} matrices of {n} x {m}"
        raise InputError(
            f"{what} in float64 {'needs' if matrices == 1 else 'need'} {needed / 2**30:.1f} GiB and {free / 2**30:.1f} GiB are free: "
            f"{advice.format(rows=rows)}."
        )
