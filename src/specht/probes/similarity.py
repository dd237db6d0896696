r"""How positions show in hidden states: which positions look alike, and whether a position can be read off.

Hidden states of one layer are $h_{b,i}$ for sequences $b$ and positions $i$, an array (n, T, width). What is compared are cosines
$c_{b,ij} = \cos(h_{b,i}, h_{b,j})$ (`self_cosines`). Where nearby positions look alike, a later layer can find out how far apart two of
them are (Zuo, Guerzhoy & Guerzhoy, COLING 2025).

With nearly uniform causal attention and independent tokens, position $i = 1 \dots T$ hands on the mean of $i$ vectors of one size, so that

$$ |o_i|^2 = \frac{s^2}{i} , \qquad \langle o_i, o_j \rangle = \frac{s^2}{\max(i, j)} , \qquad
   \cos(o_i, o_j) = \sqrt{\frac{\min(i, j)}{\max(i, j)}} , $$

and with a residual stream $x_i + o_i$ of $|x_i|^2 = r^2$ the cosine is $(s^2/\max)/\sqrt{(r^2 + s^2/i)(r^2 + s^2/j)}$ (`uniform_cosines`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from specht.errors import InputError

_TIE = 64
"""Cosines this many rounding errors apart are taken for equal."""
_RIDGE = 1e-3
"""Of the position probe, in units of the number of its samples."""


class Slice(NamedTuple):
    """How much more one position resembles itself in another layer than other positions do."""

    score: float
    """Mean over positions of the cosine with itself less the mean cosine with all others."""
    hit: float
    """Share of positions that resemble themselves most."""


def self_cosines(hidden: Any) -> np.ndarray:
    """Cosines of all pairs of positions in each sequence, (n, T, T) in float64; zero where a state is zero.

    >>> self_cosines([[[1.0, 0.0], [1.0, 1.0]]]).round(3).tolist()
    [[[1.0, 0.707], [0.707, 1.0]]]
    """
    unit = _unit(_states(hidden))
    return np.einsum("niw,njw->nij", unit, unit)


def adjacency_score(cosines: Any) -> float:
    r"""The adjacency probability score: how often the nearer one of two positions on the same side looks more alike.

    The probability, over positions $i$ and pairs $j, k$ on one side of it with $|i - j| < |i - k|$, that $c_{ij} > c_{ik}$; ties count one
    half, and one half is chance. `cosines` are those of each sequence (n, T, T), or their mean (T, T).

    >>> adjacency_score([[1.0, 0.9, 0.5], [0.9, 1.0, 0.9], [0.5, 0.9, 1.0]]), adjacency_score(np.ones((4, 4)))
    (1.0, 0.5)
    """
    cosines = _square(cosines)
    won = compared = 0.0
    for i in range(cosines.shape[-1]):
        for side in (cosines[:, i, i + 1 :], cosines[:, i, :i][:, ::-1]):  # by distance
            near, far = np.triu_indices(side.shape[1], 1)
            wins = _wins(side[:, near], side[:, far])
            won, compared = won + wins.sum(), compared + wins.size
    return float(won / compared)


def slice_score(one: Any, other: Any) -> Slice:
    r"""How much the same position has in common in two layers: the score of "vertical slices" (Zuo & Guerzhoy 2024).

    States of each layer are centred over sequences and positions. With $C_{ij}$ the mean over sequences of the cosine of position $i$ in
    one layer and $j$ in the other, the score is the mean over $i$ of $C_{ii}$ less the mean of $C_{ij}$ over $j \ne i$. A residual stream
    makes it large before any training: compare with its value there.

    >>> states = np.random.default_rng(0).normal(size=(50, 4, 8))
    >>> slice_score(states, states).score > 0.9, abs(slice_score(states, states[::-1]).score) < 0.1
    (True, True)
    """
    first, second = _states(one), _states(other)
    if first.shape != second.shape:
        raise InputError(f"Layers of one stream have states of one shape, got {first.shape} and {second.shape}.")
    cosines = np.einsum("niw,njw->ij", *(_unit(states - states.mean(axis=(0, 1))) for states in (first, second))) / len(first)
    length = len(cosines)
    if length < 2:
        raise InputError("A slice is compared with other positions: give at least two.")
    own = np.diag(cosines)
    others = (cosines.sum(axis=1) - own) / (length - 1)
    return Slice(float((own - others).mean()), float((cosines.argmax(axis=1) == np.arange(length)).mean()))


def rows_without_self(cosines: Any) -> np.ndarray:
    """Each position's cosines with the others, in their order, (n, T, T - 1): its own, always one, would give its place away."""
    cosines = _square(cosines)
    length = cosines.shape[-1]
    return cosines[:, ~np.eye(length, dtype=bool)].reshape(len(cosines), length, length - 1)


def size_features(hidden: Any) -> np.ndarray:
    """What the size of a state may say of its position, (n, T, 4): norm, its logarithm, one over its square, variance over the width."""
    states = _states(hidden)
    norm = np.maximum(np.linalg.norm(states, axis=-1), np.finfo(np.float64).tiny ** 0.25)
    return np.stack([norm, np.log(norm), norm**-2, states.var(axis=-1)], axis=-1)


def position_probe(features: Any) -> float:
    """How much of the position can be read off features (n, T, k): R² of ridge regression, fitted on half of the sequences, on the rest.

    >>> rng = np.random.default_rng(0)
    >>> noise = rng.normal(size=(200, 6, 3))
    >>> position_probe(noise + np.arange(6.0)[None, :, None]) > 0.8, position_probe(noise) < 0.05
    (True, True)
    """
    features = _states(features)
    n, length, _ = features.shape
    if n < 4 or length < 2:
        raise InputError(f"A probe is fitted on some sequences of two or more positions and tried on others, got {n} of {length}.")
    half = n // 2
    x = features.reshape(n * length, -1)
    y = np.tile(np.arange(length, dtype=np.float64), n)
    fitted, tried = slice(0, half * length), slice(half * length, None)
    mean, spread = x[fitted].mean(axis=0), x[fitted].std(axis=0)
    x = (x - mean) / np.where(spread > 0, spread, 1.0)
    gram = x[fitted].T @ x[fitted] + _RIDGE * half * length * np.eye(x.shape[1])
    weights = np.linalg.solve(gram, x[fitted].T @ (y[fitted] - y.mean()))
    left = y[tried] - y.mean() - x[tried] @ weights
    return 1.0 - float((left**2).mean() / y.var())


def uniform_cosines(length: int, residual: float | None = None) -> np.ndarray:
    """Cosines that uniform causal attention over independent tokens makes, (T, T).

    Arguments:
        residual: squared size of the stream that attention is added to, over that of a value; attention alone unless given.

    >>> uniform_cosines(4)[0].round(3).tolist()
    [1.0, 0.707, 0.577, 0.5]
    """
    positions = np.arange(1, length + 1, dtype=np.float64)
    product = 1.0 / np.maximum.outer(positions, positions)
    if residual is None:
        norm = 1.0 / positions
        return product / np.sqrt(np.outer(norm, norm))
    norm = residual + 1.0 / positions
    cosines = product / np.sqrt(np.outer(norm, norm))
    np.fill_diagonal(cosines, 1.0)
    return cosines


def _states(hidden: Any) -> np.ndarray:
    states = np.asarray(hidden, dtype=np.float64)
    if states.ndim != 3 or not states.size:
        raise InputError(f"States have the shape (sequences, positions, width), got {states.shape}.")
    return states


def _square(cosines: Any) -> np.ndarray:
    array = np.asarray(cosines, dtype=np.float64)
    array = array[None] if array.ndim == 2 else array
    if array.ndim != 3 or array.shape[1] != array.shape[2] or array.shape[1] < 3:
        raise InputError(f"Cosines have the shape (n, T, T) or (T, T) with three or more positions, got {np.shape(cosines)}.")
    return array


def _unit(states: np.ndarray) -> np.ndarray:
    norm = np.linalg.norm(states, axis=-1, keepdims=True)
    return states / np.where(norm > 0, norm, 1.0)


def _wins(near: np.ndarray, far: np.ndarray) -> np.ndarray:
    apart = near - far
    return np.where(np.abs(apart) <= _TIE * np.finfo(np.float64).eps, 0.5, apart > 0)
