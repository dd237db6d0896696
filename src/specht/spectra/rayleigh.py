r"""Any length, any number of tokens, low levels: Rayleigh quotients on highest weight functions, by sampling.

Fill the columns of the shape $\lambda$ with positions, tall ones first, and let g be the product over the tall columns of the determinants

$$ \det \big[1,\ [x_a = 0],\ \dots,\ [x_a = h - 2]\big]_{a \in \text{column}} = \pm 1 \text{ or } 0, $$

which for two rows is $\prod_j ([x_{b_j} = 0] - [x_{a_j} = 0])$. It lies in the irrep $\lambda$, so that

$$ \frac{E_{xy}[g(x) k(x, y) g(y)]}{E_x[g(x)^2]} $$

is a lower bound on the top eigenvalue of $\lambda$. Sequences are drawn given that g is not zero. The alternating sum over the orders of
the columns is taken exactly, on the same heads; only the other tokens and the heads are sampled, and pairs of a sequence with itself are
left out, since they would bias the mean.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from specht.architecture import Architecture, Kind
from specht.errors import InputError
from specht.groups import Partition
from specht.kernel import Kernel
from specht.progress import Progress, report, stages
from specht.sequences import Exchangeable, Source, cumulative, pick
from specht.spectra.block import IrrepBlock, require_finite
from specht.stats import standard_error

BATCHES = 16
"""Independent batches, each with its own heads: their scatter is the standard error."""
FEWEST = 4
"""Different sequences of a batch at least."""
_PATIENCE = 200
"""Draws for each sequence kept, before a source that has to be sampled by rejection is given up."""


class SpectrumSampling(NamedTuple):
    """How much is sampled, where something has to be."""

    heads: int
    """Heads of each batch, or of each independent repeat; without effect on a closed kernel."""
    sequences: int
    """Sequences of each batch, all orders of their tall columns counted, so that every shape takes as long."""
    seed: int

    def sequences_of(self, orders: np.ndarray) -> int:
        """Different sequences of a batch, each of which comes in all orders."""
        return max(FEWEST, self.sequences // len(orders))

    def kernel(self, arch: Architecture, batch: int, progress: Progress | None = None) -> Kernel:
        """The kernel of one batch, with heads of its own."""
        return Kernel(arch, heads=self.heads, seed=self.seed * BATCHES + batch, progress=progress)


def rayleigh_block(
    arch: Architecture, source: Source, shape: Partition, kind: Kind, sampling: SpectrumSampling, progress: Progress | None = None
) -> IrrepBlock:
    """The Rayleigh quotient of one shape as a block with a single eigenvalue, a lower bound on the top one."""
    columns = tall_columns(shape)
    orders, signs = signed_orders(columns, arch.columns)
    n = sampling.sequences_of(orders)
    quotients, weights = np.empty(BATCHES), np.empty(BATCHES)

    def draw(rng: np.random.Generator, batch: int) -> np.ndarray:
        x, weights[batch] = _conditioned(source, arch.columns, columns, rng, n)
        return x

    for batch, (x, gram) in enumerate(grams_of_orders(arch, shape, orders, draw, kind, sampling, progress)):
        shares = _shares(source, x, orders) * signs
        products = np.einsum("is,isjt,jt->ij", shares, gram, shares, optimize=True)
        quotients[batch] = weights[batch] * (products.sum() - np.trace(products)) / (n * (n - 1))
    function = _Determinants(columns, math.sqrt(weights.mean()))
    stderr = np.array([standard_error(quotients)])
    return IrrepBlock(shape, np.array([quotients.mean()]), function, stderr, is_bound=True)


class _Determinants(NamedTuple):
    """The function g of the tall columns, with mean square one."""

    columns: list[list[int]]
    norm: float

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return _determinants(x, self.columns)[:, None] / self.norm


def grams_of_orders(
    arch: Architecture,
    shape: Partition,
    orders: np.ndarray,
    draw: Callable[[np.random.Generator, int], np.ndarray],
    kind: Kind,
    sampling: SpectrumSampling,
    progress: Progress | None,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each batch its sequences (n, columns), from a generator and its number, and the kernel between all their orders.

    The Gram has the shape (n, orders, n, orders).
    """
    for batch, part in enumerate(stages(progress, [1.0] * BATCHES)):
        x = draw(np.random.default_rng([sampling.seed, batch, *shape.parts]), batch)
        gram = getattr(sampling.kernel(arch, batch, part), kind)(in_orders(x, orders))
        require_finite(gram)
        yield x, gram.reshape(len(x), len(orders), len(x), len(orders))
        report(part, 1, 1)


def in_orders(x: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """Every sequence in every order of its tall columns."""
    return x[:, orders].reshape(-1, x.shape[1])


def mean_diagonal(
    arch: Architecture, source: Source, kind: Kind, sampling: SpectrumSampling, progress: Progress | None = None
) -> tuple[float, float]:
    """E[k(x, x)] over the source, and its standard error."""
    means = np.empty(BATCHES)
    for batch in range(BATCHES):
        x = source.draw(np.random.default_rng([sampling.seed, batch]), sampling.sequences, arch.columns)
        means[batch] = sampling.kernel(arch, batch).diagonal(x, kind=kind).mean()
        report(progress, batch + 1, BATCHES)
    require_finite(means)
    return float(means.mean()), float(standard_error(means))


def count_orders(shape: Partition) -> int:
    """Orders of the positions inside the columns: how often the kernel is evaluated for one sequence."""
    return math.prod(math.factorial(below + 1) for below in shape.tail.conjugate.parts)


def tall_columns(shape: Partition) -> list[list[int]]:
    """Positions of the columns with two boxes or more, tallest first."""
    heights = [height for height in shape.conjugate.parts if height > 1] if shape.level else []
    ends = list(itertools.accumulate(heights))
    return [list(range(end - height, end)) for end, height in zip(ends, heights, strict=True)]


def signed_orders(columns: list[list[int]], width: int) -> tuple[np.ndarray, np.ndarray]:
    """Every order of the positions inside the tall columns, as indices into a sequence (orders, width), and its sign."""
    orders, signs = [], []
    for choice in itertools.product(*(itertools.permutations(column) for column in columns)):
        order = np.arange(width)
        for column, places in zip(columns, choice, strict=True):
            order[column] = places
        orders.append(order)
        signs.append((-1) ** sum(a > b for places in choice for a, b in itertools.combinations(places, 2)))
    return np.array(orders), np.array(signs)


def _conditioned(source: Source, width: int, columns: list[list[int]], rng: np.random.Generator, n: int) -> tuple[np.ndarray, float]:
    """Sequences given that the determinant of every tall column is not zero, in increasing order there, and the probability of that."""
    if not columns:
        return source.draw(rng, n, width), 1.0
    if source.is_mixture:
        return _conditioned_mixture(source.mixture, width, columns, rng, n)
    kept: list[np.ndarray] = []
    drawn, last = 0, 0
    while len(kept) < n and drawn < _PATIENCE * n:
        x = source.draw(rng, 4 * n, width)
        accepted = np.flatnonzero(_determinants(x, columns) != 0)[: n - len(kept)]
        last = drawn + int(accepted[-1]) + 1 if len(accepted) else last  # draws up to the last one kept
        drawn += len(x)
        kept += list(x[accepted])
    if len(kept) < n:
        raise InputError(
            f"Only {len(kept)} of {drawn} sequences of this source hold the tokens that the shape needs: ask for a lower level, "
            "or use an exchangeable source, which can be sampled directly."
        )
    x = np.array(kept)
    for column in columns:
        x[:, column] = np.sort(x[:, column], axis=1)
    return x, (n - 1) / (last - 1)  # without bias, though drawing stops at the n-th


def _conditioned_mixture(
    mixture: Exchangeable, width: int, columns: list[list[int]], rng: np.random.Generator, n: int
) -> tuple[np.ndarray, float]:
    """Draw such sequences of a mixture directly: positions of a column hold 0, 1, ... and the last one any other token."""
    forced, free = {}, {}  # position to token; position to the smallest token that it may hold
    for column in columns:
        forced |= dict(zip(column[:-1], range(len(column) - 1), strict=True))
        free[column[-1]] = len(column) - 1
    tails = np.array([mixture.probabilities[:, start:].sum(axis=1) for start in free.values()])
    likelihood = mixture.weights * mixture.probabilities[:, list(forced.values())].prod(axis=1) * tails.prod(axis=0)
    if not likelihood.sum() > 0:
        raise InputError("This source never shows the tokens that the shape needs: ask for a lower level.")
    component = np.searchsorted(cumulative(likelihood), rng.random(n), side="right")
    x = pick(cumulative(mixture.probabilities), component, rng.random((n, width)))
    for position, token in forced.items():
        x[:, position] = token
    for position, start in free.items():
        rest = cumulative(np.where(np.arange(mixture.vocab) >= start, mixture.probabilities, 0.0) + 1e-300)
        x[:, position] = pick(rest, component, rng.random((n, 1)))[:, 0]
    return x, float(likelihood.sum()) * math.prod(math.factorial(len(column)) for column in columns)


def _determinants(x: np.ndarray, columns: list[list[int]]) -> np.ndarray:
    """g of every sequence: 1, -1 or 0."""
    value = np.ones(len(x))
    for column in columns:
        kinds = np.minimum(x[:, column], len(column) - 1)  # 0, 1, ... and "any other"
        complete = (np.sort(kinds, axis=1) == np.arange(len(column))).all(axis=1)
        inversions = sum((kinds[:, a] > kinds[:, b]).astype(int) for a, b in itertools.combinations(range(len(column)), 2))
        value = value * np.where(complete, 1.0 - 2.0 * (np.asarray(inversions) % 2), 0.0)
    return value


def _shares(source: Source, x: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """Probability of each order of a sequence given that it is one of them: all equal if the source is exchangeable."""
    if source.is_exchangeable:
        return np.full((len(x), len(orders)), 1.0 / len(orders))
    logs = source.log_probability(in_orders(x, orders)).reshape(len(x), len(orders))
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)
