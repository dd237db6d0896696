"""Other symmetries: rotations of the positions, and permutations within two segments."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray

from specht import groups
from specht.papers import Finding, at_most, below, both, measure, rows
from specht.papers.view_from_infinity.blocks import multiplets_in, spread
from specht.papers.view_from_infinity.sources import EXACT
from specht.report import Table, points_of, table

_NAMES = ("lengths", "group", "vocab")


@measure(
    smoke=rows(_NAMES, ([4], "rotations", 2), ([2, 2], "segments", 2)),
    quick=rows(_NAMES, ([6], "rotations", 2), ([4], "rotations", 3), ([3, 4], "segments", 2), ([2, 3], "segments", 3)),
    full=rows(_NAMES, ([9], "rotations", 2), ([5], "rotations", 3), ([4, 4], "segments", 2), ([2, 3], "segments", 3)),
)
def measure_symmetry(group: str, vocab: int, lengths: list[int]) -> xarray.Dataset:
    """The kernel of linear attention with an erf activation whose positions are related by a group: its blocks and degeneracies.

    Rotations: the covariance of two positions depends on their distance on a ring. Segments: positions of one segment share a vector.
    `off_block` is what lies outside the predicted blocks over the norm of the whole, `spread` the largest difference between eigenvalues
    that should be equal, over the largest, and `unlike` the number of degeneracies at which a generic kernel with the symmetry, made from
    random numbers, has another number of multiplets than predicted.
    """
    words = np.array(np.meshgrid(*[np.arange(vocab)] * sum(lengths), indexing="ij")).reshape(sum(lengths), -1).T
    kernel = _kernel(words, _covariance(group, lengths)) / len(words)
    rest, largest, predicted = kernel.copy(), 0.0, Counter[int]()
    for dimension, projector in _projectors(group, words, vocab, lengths):
        rest -= projector @ kernel @ projector
        multiplets = multiplets_in(kernel, projector, dimension)
        largest = max(largest, spread(multiplets))
        predicted[dimension] += len(multiplets)
    generic, noise = np.zeros_like(kernel), np.random.default_rng(0).normal(size=kernel.shape)
    for moved in _moves(group, words, vocab, lengths):
        generic += noise[np.ix_(moved, moved)]
    measured = _degeneracies(generic + generic.T)
    unlike = sum(predicted[size] != measured[size] for size in {*predicted, *measured})
    return xarray.Dataset(
        {
            "off_block": np.linalg.norm(rest) / np.linalg.norm(kernel),
            "spread": largest / float(np.linalg.norm(kernel, 2)),
            "unlike": float(unlike),
            "multiplets": float(predicted.total()),
        },
    )


def _covariance(group: str, lengths: Sequence[int]) -> np.ndarray:
    """Covariance of the vectors of two positions."""
    total = sum(lengths)
    if group == "rotations":
        distance = np.abs(np.subtract.outer(np.arange(total), np.arange(total)))
        return np.exp(-np.minimum(distance, total - distance).astype(float))
    segment = np.repeat(np.arange(len(lengths)), lengths)
    return np.eye(total) + 0.5 * (segment[:, None] == segment)


def _kernel(words: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """The kernel of all pairs: attention output averaged over positions, then the map of an erf layer."""
    tokens = (words[:, None, :, None] == words[None, :, None, :]) * 0.5 + positions
    inner = tokens.mean(axis=(2, 3)) * np.square(tokens).mean(axis=(2, 3))
    own = 1.0 + 2.0 * np.diag(inner)
    return 2.0 / np.pi * np.arcsin(np.clip(2.0 * inner / np.sqrt(np.outer(own, own)), -1.0, 1.0))


def _action(words: np.ndarray, vocab: int, start: int, length: int) -> Any:
    """How a permutation of `length` positions from `start` on moves the numbers of all sequences."""
    places = vocab ** np.arange(words.shape[1])[::-1]

    def action(permutation: Sequence[int]) -> np.ndarray:
        moved = words.copy()
        moved[:, start + np.asarray(permutation, dtype=int)] = words[:, start : start + length]
        return moved @ places

    return action


def _projectors(group: str, words: np.ndarray, vocab: int, lengths: Sequence[int]) -> list[tuple[int, np.ndarray]]:
    """Dimension of each irrep of the group and the projector on all its copies."""
    total = sum(lengths)
    if group == "rotations":
        step = _action(words, vocab, 0, total)([*range(1, total), 0])
        return [(irrep.dimension, groups.harmonic_projector(irrep, step)) for irrep in groups.functions_on_rings(vocab, total)]
    first, second = (
        groups.isotypic_projectors(n, _action(words, vocab, start, n)) for start, n in zip((0, lengths[0]), lengths, strict=True)
    )
    return [(one.dimension * other.dimension, left @ right) for one, left in first.items() for other, right in second.items()]


def _moves(group: str, words: np.ndarray, vocab: int, lengths: Sequence[int]) -> list[np.ndarray]:
    """Every element of the group, as what it makes of each sequence."""
    total = sum(lengths)
    if group == "rotations":
        turn = _action(words, vocab, 0, total)
        return [turn([(a + shift) % total for a in range(total)]) for shift in range(total)]
    first, second = (
        [_action(words, vocab, start, n)(order) for order in itertools.permutations(range(n))]
        for start, n in zip((0, lengths[0]), lengths, strict=True)
    )
    return [one[other] for one in first for other in second]


def _degeneracies(matrix: np.ndarray) -> Counter[int]:
    """How many different eigenvalues there are of each degeneracy."""
    values = np.linalg.eigvalsh(matrix)
    ends = np.flatnonzero(np.diff(values) > 1e-9 * np.abs(values).max())
    return Counter(np.diff(np.concatenate([[-1], ends, [len(values) - 1]])).tolist())


def _size(case: xarray.Dataset) -> str:
    return f"V = {case.vocab.item()}, {case.lengths.item().strip('[]').replace(', ', ' + ')} positions"


_AS_PREDICTED = both(
    below(EXACT, "off-block mass and spread within multiplets"), at_most(0, "number of degeneracies of a generic kernel not as predicted")
)


@measure_symmetry.claim("e9-rotations", _AS_PREDICTED, null=(0.1, 0.0), group="rotations")
@measure_symmetry.claim("e9-segments", _AS_PREDICTED, null=(0.1, 0.0), group="segments")
def errors(data: xarray.Dataset, group: str) -> tuple[Finding, float]:
    """The largest entry outside of blocks or difference within a multiplet, and the number of wrong degeneracies."""
    data = data.isel(lengths=(data.group == group).values)
    worst, unlike = max(float(data[name].max()) for name in ("off_block", "spread")), int(data["unlike"].sum())
    cases = ", ".join(map(_size, points_of(data, "lengths")))
    words = f"Linear attention + erf, mean readout, {cases}; {unlike} degeneracies of a generic invariant kernel are not as predicted."
    return Finding(worst, regime=words), unlike


@measure_symmetry.table()
def other_symmetries(data: xarray.Dataset) -> Table:
    columns = {
        "symmetry": lambda case: f"{case.group.item()}, {_size(case)}",
        "multiplets": "multiplets:.0f",
        "off-block mass": "off_block:.1e",
        "spread in a multiplet": "spread:.1e",
        "wrong degeneracies": "unlike:.0f",
    }
    return table(data, columns, title="Other symmetries")
