r"""The functions of a multiplet, and how much of a target lies in it.

A spectrum knows of each multiplet the function $\varphi$ that is antisymmetric in the columns of a tableau with the positions in their
given order, and symmetric in all positions outside the tall columns. Reading the positions in another order $\pi$ gives $\varphi_\pi$, and
a target with the inner products $c_\pi = E[g \varphi_\pi]$ has in the multiplet the mean square $\dim \cdot\, E_\pi[c_\pi^2]$, over all
orders. There are three ways to take this mean.

*Tableaux.* The orders of the standard tableaux give a basis of the multiplet, with the inner products of polytabloids, which are whole
numbers up to their common norm:

$$ G_{ST} = \frac{\langle e_S, e_T \rangle}{\langle e_T, e_T \rangle} , \qquad
   e_T = \sum_{c} \mathrm{sgn}(c)\, \{ c\, T \} , $$

with c running over the permutations inside the columns and $\{\cdot\}$ forgetting the order inside the rows. The mean square is then
$c^\top G^{-1} c$.

*Support.* A target that singles out s positions and is symmetric in all others cannot distinguish two orders that put the same ones of the
s into the same boxes of the tall columns. One order of each such class is enough, with the probability of the class.

*Random orders*, where neither will do: without bias, but with a scatter of its own.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Sequence

import numpy as np
import scipy.sparse

from specht.groups import Partition, Tableau, standard_tableaux
from specht.sequences import Target

TRIED = 1024
"""Sequences that exchanges are tried on."""
MOST = 6
"""Most positions that are singled out."""
MOST_TABLEAUX = 600
"""Most functions that stand for a multiplet."""
MOST_CLASSES = 5000
"""Most classes of orders."""


@dataclasses.dataclass(frozen=True)
class MultipletFunctions:
    """Functions that span a multiplet, or stand for it."""

    orders: np.ndarray
    """Order in which each function reads the positions, shape (functions, L)."""
    metric: np.ndarray
    """The mean square of a target with inner products c is c @ metric @ c; one row and column, or one entry, a function."""
    support: tuple[int, ...] | None = None
    """Positions of the target whose classes these are."""
    tall: int = 0
    """Boxes in the tall columns."""
    is_random: bool = False

    def squares(self, inner: np.ndarray) -> np.ndarray:
        """Mean squares (copies,) from inner products (functions, copies, outputs)."""
        return self.raised(inner, inner)

    def raised(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """The bilinear form behind `squares`."""
        if self.metric.ndim == 1:
            return np.einsum("kco,k,kco->c", left, self.metric, right, optimize=True)
        return np.einsum("kco,kl,lco->c", left, self.metric, right, optimize=True)

    def expansion(self, inner: np.ndarray, half: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Orders and coefficients whose functions add up to the target's part in the multiplet.

        The two halves are independent where orders are random, so that products of them have no bias.
        """
        if self.is_random:
            chosen = slice(half, None, 2)
            orders = self.orders[chosen]
            return orders, self.metric[chosen, None, None] * inner[chosen] * (len(self.orders) / len(orders))
        if self.support is None:
            return self.orders, np.einsum("kl,lco->kco", self.metric, inner)
        members = max(1, MOST_TABLEAUX // max(1, len(self.orders)))
        orders = np.concatenate([_members(self.orders, self.tall, self.support, rng) for _ in range(members)])
        return orders, np.concatenate([self.metric[:, None, None] * inner / members] * members)


def multiplet(shape: Partition, support: Sequence[int] | None = None, seed: int = 0) -> MultipletFunctions:
    """Functions that stand for an irrep; `support` are the positions that the target singles out, where they are known and few."""
    if shape.dimension <= MOST_TABLEAUX:
        return _of_tableaux(shape)
    tall = sum(height for height in shape.conjugate.parts if height > 1)
    if support is not None and _count_classes(len(support), tall) <= MOST_CLASSES:
        return _of_support(shape, tuple(support), tall)
    rng = np.random.default_rng([seed, *shape.parts])
    orders = np.array([rng.permutation(shape.n) for _ in range(MOST_TABLEAUX)])
    return MultipletFunctions(orders, np.full(len(orders), shape.dimension / len(orders)), is_random=True)


@functools.lru_cache(maxsize=64)
def _of_tableaux(shape: Partition) -> MultipletFunctions:
    tableaux = [_columns(tableau) for tableau in standard_tableaux(shape)]
    orders = np.array([list(itertools.chain.from_iterable(columns)) for columns in tableaux])
    return MultipletFunctions(orders, np.linalg.inv(_gram(tableaux)))


def _of_support(shape: Partition, support: tuple[int, ...], tall: int) -> MultipletFunctions:
    """One order for each way to put some of the support into boxes of the tall columns, at most one box of each left to others.

    Two positions outside the support in one column: the target is symmetric in them and the function antisymmetric, so nothing is left.
    """
    length, s = shape.n, len(support)
    column = np.repeat(np.arange(shape.parts[1]), shape.conjugate.parts[: shape.parts[1]])  # of each tall box
    others = [position for position in range(length) if position not in support]
    orders, probabilities = [], []
    for k in range(max(0, s + tall - length), min(s, tall) + 1):
        ways = math.perm(length - tall, s - k) / math.perm(length, s)
        for chosen, boxes in itertools.product(itertools.combinations(support, k), itertools.permutations(range(tall), k)):
            filled = dict(zip(boxes, chosen, strict=True))
            if np.bincount(np.delete(column, list(boxes)), minlength=1).max() > 1:
                continue
            free = iter(others)
            order = [filled[box] if box in filled else next(free) for box in range(tall)]
            orders.append(order + [position for position in range(length) if position not in order])
            probabilities.append(ways)
    distinct_orders = np.array(orders, dtype=int).reshape(-1, length)
    return MultipletFunctions(distinct_orders, shape.dimension * np.array(probabilities), support, tall)


def _members(orders: np.ndarray, tall: int, support: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Random orders of the same classes: positions outside the support change places."""
    length = orders.shape[1]
    others = np.setdiff1d(np.arange(length), support)
    relabelled = np.tile(np.arange(length), (len(orders), 1))
    relabelled[:, others] = rng.permuted(np.tile(others, (len(orders), 1)), axis=1)
    return np.take_along_axis(relabelled, orders, axis=1)


def _count_classes(s: int, tall: int) -> int:
    return sum(math.comb(s, k) * math.perm(tall, k) for k in range(min(s, tall) + 1))


def _columns(tableau: Tableau) -> list[list[int]]:
    """Positions in each column, tallest first."""
    return [[row[j] for row in tableau if j < len(row)] for j in range(len(tableau[0]))]


def _gram(tableaux: list[list[list[int]]]) -> np.ndarray:
    """Inner products of polytabloids over their norm."""
    index: dict[frozenset[tuple[int, int]], int] = {}
    rows, columns, signs = [], [], []
    for number, tableau in enumerate(tableaux):
        for tabloid, sign in _polytabloid(tableau):
            rows.append(number)
            columns.append(index.setdefault(tabloid, len(index)))
            signs.append(sign)
    matrix = scipy.sparse.csr_array((signs, (rows, columns)), shape=(len(tableaux), len(index)), dtype=np.float64)
    gram = (matrix @ matrix.T).toarray()
    return gram / gram[0, 0]


def _polytabloid(columns: list[list[int]]) -> list[tuple[frozenset[tuple[int, int]], int]]:
    """The signed terms of a polytabloid: which positions stand in which row, the first row left out."""
    terms = []
    for choice in itertools.product(*(itertools.permutations(range(len(column))) for column in columns)):
        boxes = (
            (position, row) for column, rows in zip(columns, choice, strict=True) for position, row in zip(column, rows, strict=True) if row
        )
        inversions = sum(a > b for rows in choice for a, b in itertools.combinations(rows, 2))
        terms.append((frozenset(boxes), -1 if inversions % 2 else 1))
    return terms


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
        alike = next((members for members in classes if _alike(target, x, values, members[0], position)), None)
        if alike is not None:
            alike.append(position)
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
