r"""How much of a kernel lies in each irrep of $S_L$, whether or not permutations leave it as it is.

Permutations $g$ of the $L$ positions act on functions of sequences, and the projectors $P_\lambda$ onto the irreps split the space. A
random function with the covariance $K$ has the share

$$ \frac{\mathrm{Tr}(P_\lambda K)}{\mathrm{Tr}\, K} $$

of its mean square in the irrep $\lambda$: what `specht.profile` measures of single functions, averaged over random ones. If $K$ is
invariant, $k(g x, g y) = k(x, y)$, it has no entries between irreps, and eigenvalues belong to one each. If not, they belong to none,
shares still add up to one, and what lies between irreps is the off-block mass
$\sum_{\lambda \ne \mu} \|P_\lambda K P_\mu\|^2 / \|K\|^2$.

`isotypic_shares` takes the Gram of all sequences. `sampled_shares` needs a few of them, since

$$ \mathrm{Tr}(P_\lambda K) = d_\lambda \sum_C \frac{|C|}{L!}\, \chi^\lambda(C)\, \mathrm{E}[k(x, g x)],  \qquad g \in C , $$

has one number for each class $C$ of permutations of one cycle type.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from specht.checks import whole_number
from specht.errors import InputError
from specht.groups import Partition, Permutation, character, class_size, isotypic_projectors, partitions
from specht.sequences import action_on, input_array, permute_context
from specht.stats import standard_error

_LONGEST = 12
"""Positions up to which cycle types are gone through: 77 of them."""


@dataclasses.dataclass(frozen=True)
class IsotypicShares:
    """Shares of the trace by irrep, largest first row first."""

    shares: dict[Partition, float]
    off_block: float
    """Share of the squared norm that lies between different irreps: zero for an invariant kernel."""

    @property
    def levels(self) -> np.ndarray:
        """Shares by level, the number of positions that are singled out."""
        return np.bincount([irrep.level for irrep in self.shares], weights=[*self.shares.values()])


@dataclasses.dataclass(frozen=True)
class SampledShares:
    """Shares of the variance by level, with standard errors; the constant function is left out."""

    levels: np.ndarray
    stderr: np.ndarray
    constant: float
    """Share of the trace of the constant function."""


def isotypic_shares(gram: Any, x: Any, length: int) -> IsotypicShares:
    """The shares of a kernel whose Gram on `x` is known; `x` holds every order of the contexts it holds, each once, with equal weight.

    >>> x = [[0, 0, 1], [0, 1, 0], [1, 0, 0]]
    >>> split = isotypic_shares(np.ones((3, 3)), x, length=3)
    >>> {str(irrep): round(share, 12) for irrep, share in split.shares.items()}, round(split.off_block, 12)
    ({'[3]': 1.0, '[2,1]': 0.0}, 0.0)
    """
    gram = np.asarray(gram, dtype=np.float64)
    x = input_array(x)
    n = len(x)
    if gram.shape != (n, n):
        raise InputError(f"The Gram of {n} sequences has {n} rows and columns, got shape {gram.shape}.")
    trace, norm = float(np.trace(gram)), float((gram**2).sum())
    if not trace > 0:
        raise InputError(f"A kernel has a positive trace, got {trace:g}.")
    projectors = isotypic_projectors(length, action_on(x, length))
    shares = {irrep: float((projector * gram).sum()) / trace for irrep, projector in projectors.items()}
    inside = sum(float(((projector @ gram @ projector) ** 2).sum()) for projector in projectors.values())
    return IsotypicShares(shares, max(0.0, 1.0 - inside / norm))


def sampled_shares(
    kernel: Callable[[np.ndarray, np.ndarray], Any],
    draw: Callable[[np.random.Generator, int], Any],
    length: int,
    vocab: int,
    *,
    sequences: int = 16,
    batches: int = 8,
    seed: int = 0,
) -> SampledShares:
    """Shares of the variance by level from random sequences, for a law that permutations leave as it is.

    Arguments:
        kernel: from two batches of sequences to their Gram.
        draw: from a generator and a number n to n sequences, of which the first `length` positions are permuted.
        vocab: tokens that these positions hold; irreps of more rows do not occur.
        sequences: number of sequences in a batch; each is permuted once for every cycle type.
        batches: number of batches, whose scatter gives standard errors.

    >>> from specht.sequences.sources import uniform
    >>> first = lambda x, y: np.equal.outer(x[:, 0], y[:, 0]).astype(float)  # functions of the first token
    >>> sampled = sampled_shares(first, lambda rng, n: uniform(2).draw(rng, n, 5), length=5, vocab=2, sequences=200)
    >>> sampled.levels.round(1).tolist()  # a fifth of their variance ignores which position it is
    [0.2, 0.8, 0.0]
    """
    length = whole_number("length", length, 2, _LONGEST)
    sequences, batches = whole_number("sequences", sequences, 2), whole_number("batches", batches, 2)
    rng = np.random.default_rng(whole_number("seed", seed))
    cycles = list(partitions(length))
    irreps = list(partitions(length, max_rows=whole_number("vocab", vocab, 2)))
    # Rows turn mean kernels by cycle type into traces by irrep.
    weights = np.array(
        [[irrep.dimension * character(irrep, cycle) * class_size(cycle) / math.factorial(length) for cycle in cycles] for irrep in irreps]
    )
    traces, constants = [], []
    for _ in range(batches):
        x = np.asarray(draw(rng, sequences))
        moved = np.concatenate([_moved(x, cycle, length, rng) for cycle in cycles])
        gram = np.asarray(kernel(x, moved), dtype=np.float64).reshape(sequences, len(cycles), sequences)
        own = np.einsum("ici->c", gram) / sequences
        constants.append((gram.sum() / len(cycles) - own.mean() * sequences) / (sequences * (sequences - 1)))
        traces.append(weights @ own)
    levels = np.array([irrep.level for irrep in irreps])
    by_level = np.array([[trace[levels == level].sum() for level in range(levels.max() + 1)] for trace in traces])
    constant = np.array(constants)
    by_level[:, 0] -= constant
    whole = by_level.sum(axis=1)
    shares = by_level.mean(axis=0) / whole.mean()
    off = (by_level - np.outer(whole, shares)) / whole.mean()
    stderr = standard_error(off)
    return SampledShares(shares, stderr, float(constant.mean() / (whole.mean() + constant.mean())))


def _moved(x: np.ndarray, cycle: Partition, length: int, rng: np.random.Generator) -> np.ndarray:
    """Each sequence under a random permutation of one cycle type."""
    return np.concatenate([permute_context(row[None], _random_of_type(cycle, rng), length) for row in x])


def _random_of_type(cycle: Partition, rng: np.random.Generator) -> Permutation:
    """A permutation drawn uniformly from those of a cycle type: random points, cut into cycles."""
    points = rng.permutation(cycle.n).tolist()
    images = [0] * cycle.n
    for part in cycle.parts:
        cycle_points, points = points[:part], points[part:]
        for point, image in zip(cycle_points, cycle_points[1:] + cycle_points[:1], strict=True):
            images[point] = image
    return tuple(images)
