"""Which positions a function singles out, found by exchanging them."""

from __future__ import annotations

import numpy as np

from specht.sequences import Target

TRIED = 1024
"""Sequences that exchanges are tried on."""
MOST = 6
"""Most positions that are singled out."""


def find_support(target: Target, x: np.ndarray, length: int) -> tuple[int, ...] | None:
    """The positions without which the target is symmetric in the context, or None where they are too many.

    Positions whose exchange changes nothing on the sequences form classes; all but the largest class are singled out. A dependence that
    shows on none of the sequences is missed, which then weighs as little.

    >>> find_support(Target("t", lambda x: x[:, 2] * 1.0), np.random.default_rng(0).integers(2, size=(50, 9)), 8)
    (2,)
    """
    x = x[:: max(1, len(x) // TRIED)][:TRIED]
    values = target(x)
    classes: list[list[int]] = []
    for position in range(length):
        mine = next((members for members in classes if _alike(target, x, values, members[0], position)), None)
        if mine is not None:
            mine.append(position)
        else:
            classes.append([position])
            if len(classes) > MOST + 1:
                return None
    largest = max(classes, key=len)
    singled = sorted(position for members in classes if members is not largest for position in members)
    return tuple(singled) if len(singled) <= MOST else None


def _alike(target: Target, x: np.ndarray, values: np.ndarray, first: int, second: int) -> bool:
    moved = x.copy()
    moved[:, [first, second]] = x[:, [second, first]]
    return bool(np.allclose(target(moved), values, rtol=1e-9, atol=1e-12))
