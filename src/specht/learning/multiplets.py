r"""The functions of a multiplet, and how much of a target lies in it.

A spectrum knows of each multiplet the function $\varphi$ that is antisymmetric in the columns of a tableau with the positions in their
given order. Reading the positions in the order of another tableau $T$ gives $\varphi_T$. The standard tableaux give a basis of the
multiplet, with the inner products of polytabloids, which are whole numbers up to their common norm:

$$ G_{ST} = \frac{\langle e_S, e_T \rangle}{\langle e_T, e_T \rangle} , \qquad
   e_T = \sum_{c} \mathrm{sgn}(c)\, \{ c\, T \} , $$

with c running over the permutations inside the columns and $\{\cdot\}$ forgetting the order inside the rows. So a target with the inner
products $c_T = E[g \varphi_T]$ has the mean square $c^\top G^{-1} c$ in the multiplet. Where tableaux are too many, random permutations
$\pi$ take their place, and the mean square is $\dim \cdot\, E_\pi[c_\pi^2]$.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools

import numpy as np
import scipy.sparse

from specht.groups.partitions import Partition
from specht.groups.tableaux import Tableau, standard_tableaux

MOST_TABLEAUX = 600
"""Functions that stand for a multiplet at most."""


@dataclasses.dataclass(frozen=True)
class Multiplet:
    """Functions that span a multiplet, or stand for it."""

    orders: np.ndarray
    """Order in which each function reads the positions, shape (functions, L)."""
    metric: np.ndarray
    """A matrix (functions, functions): the mean square of a target with inner products c is c @ metric @ c."""


@functools.lru_cache(maxsize=64)
def multiplet(shape: Partition, seed: int = 0) -> Multiplet:
    """The functions of an irrep: one for each standard tableau, or random permutations where tableaux are too many."""
    if shape.dimension > MOST_TABLEAUX:
        rng = np.random.default_rng([seed, *shape.parts])
        orders = np.array([rng.permutation(shape.n) for _ in range(MOST_TABLEAUX)])
        return Multiplet(orders, np.eye(MOST_TABLEAUX) * (shape.dimension / MOST_TABLEAUX))
    tableaux = [_columns(tableau) for tableau in standard_tableaux(shape)]
    orders = np.array([list(itertools.chain.from_iterable(columns)) for columns in tableaux])
    return Multiplet(orders, np.linalg.inv(_gram(tableaux)))


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
