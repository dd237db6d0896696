r"""Permutations as tuples of images, counted from 0.

`permutation[i]` is where i goes, and products act from the right to the left, like functions: $(p q)(i) = p(q(i))$.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence

from specht.checks import whole_number
from specht.errors import InputError
from specht.groups.partition import Partition

Permutation = tuple[int, ...]


def check_permutation(permutation: Sequence[int], n: int) -> Permutation:
    """The permutation as a tuple, or an `InputError` unless it lists each of 0 to n - 1 once.

    >>> check_permutation([1, 2, 0], 3)
    (1, 2, 0)
    """
    try:
        images = tuple(operator.index(image) for image in permutation)
    except TypeError:
        images = None
    if images is None or sorted(images) != list(range(n)):
        raise InputError(f"A permutation of {n} points lists each of 0 to {n - 1} once, got {permutation!r}.")
    return images


def compose(left: Permutation, right: Permutation) -> Permutation:
    """First `right`, then `left`.

    >>> compose((1, 0, 2), (0, 2, 1))
    (1, 2, 0)
    """
    right = _any_permutation(right)
    left = check_permutation(left, len(right))
    return tuple(left[image] for image in right)


def transposition(n: int, first: int, second: int) -> Permutation:
    """The permutation of n points that exchanges two.

    >>> transposition(4, 0, 2)
    (2, 1, 0, 3)
    """
    images = list(range(whole_number("n", n)))
    if first == second or first not in images or second not in images:
        raise InputError(f"A transposition of {n} points exchanges two different ones of 0 to {n - 1}, got {first!r} and {second!r}.")
    images[first], images[second] = second, first
    return tuple(images)


def cycle_type(permutation: Permutation) -> Partition:
    """Lengths of the cycles, fixed points included.

    >>> str(cycle_type((1, 2, 0, 3)))
    '[3,1]'
    """
    permutation = _any_permutation(permutation)
    lengths: list[int] = []
    seen: set[int] = set()
    for start in permutation:
        point, before = start, len(seen)
        while point not in seen:
            seen.add(point)
            point = permutation[point]
        if len(seen) > before:
            lengths.append(len(seen) - before)
    return Partition(tuple(sorted(lengths, reverse=True)))


def _any_permutation(permutation: Permutation) -> Permutation:
    """The permutation, of as many points as it has images."""
    try:
        n = len(permutation)
    except TypeError:
        raise InputError(f"A permutation is a list of images, got {permutation!r}: write for example (1, 2, 0).") from None
    return check_permutation(permutation, n)
