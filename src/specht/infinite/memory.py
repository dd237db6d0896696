"""How much memory a Gram needs and the machine has: asked before anything is computed, and without loading JAX."""

from __future__ import annotations

import os

from specht.errors import InputError

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


def available_memory() -> int | None:
    """Bytes that can be had without swapping, or None where the system does not say."""
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None
