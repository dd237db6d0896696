r"""The functions that the kernel of a block of linear attention is made of, in orthonormal functions of independent tokens.

With variances $w_v$ of tokens and $p_a$ of positions, and counts $c_v$ of all columns, the kernel is (up to a constant)

$$ k(x, y) = K_{TT}(x, y) \Big[ \sum_v w_v^2\, c_v(x)\, c_v(y) + 2 \sum_{a, v} p_a w_v\, [x_a = v]\, [y_a = v] + \sum_a p_a^2 \Big] , $$

where $K_{TT} = \sum_v w_v [x_T = v][y_T = v] + p_T$ at the readout column, and $\sum_v w_v c_v(x) c_v(y) + \sum_a p_a$ under mean
readout. So it is a sum of products of a *multiplier* out of $K_{TT}$ and a *reader* out of the bracket, weighted with monomials in
variances. If values do not see positions, the second sum of the bracket counts once and the third is absent.

Tokens are independent with law $\pi$. Take $h_0 = 1$ and $h_j$ orthonormal functions of one token. Columns form orbits o of $n_o$
columns each. Under the permutations inside all orbits, functions split into those that no permutation moves, built from
$S^o_j = n_o^{-1/2} \sum_{a \in o} h_j(x_a)$, and for each orbit $n_o - 1$ copies of those built from $\sum_a z_a h_j(x_a)$ with
$\sum_a z_a = 0$. In both, $[x_a = v] = \pi_v + \sum_j H_{vj} h_j(x_a)$ with $H_{vj} = \pi_v h_j(v)$. The matrices have a size that does not
depend on the length.

At a readout column every function is taken at each *setting* u of its token, as $\pi_u^{-1/2} [x_T = u]$ times a function of the other
columns: multipliers are constant there. Under mean readout products of two functions of one column follow from
$\Gamma_{ijk} = E[h_i h_j h_k]$, and leave the space of single columns: $S^o_i S^o_j = \delta_{ij} + n_o^{-1/2} \sum_k \Gamma_{ijk} S^o_k$
+ pairs of different columns.

The operator of the kernel in one sector is a `Matrix` that depends on variances. Its rows are orthonormal functions $e_i$. Each belongs to
a setting s(i) and is zero at all others. The kernel is a sum over functions $\varphi_f$ with weights $\omega_f$, times a factor that
depends on the settings only,

$$ M_{ij} = T_{s(i) s(j)} \sum_f \omega_f\, \Phi_{if}\, \Phi_{jf} , \qquad T_{st} = \sum_m a_m\, \tau_{ms}\, \tau_{mt} , $$

where $\Phi_{if} = E[e_i \varphi_f]$, and all $\omega_f$ and $a_m$ are monomials in variances. With T kept apart M is much cheaper than as a
sum over all products of $\tau_m$ and $\varphi_f$. With one setting and T = 1 it is a plain sum.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from typing import NamedTuple

import numpy as np

from specht.learning.adaptive.orbits import FIXED, ColumnOrbit, Orbits
from specht.sequences import Source

READOUT = -2
"""Orbit of the factor (READOUT, u), which stands for pi_u^-1/2 [x_T = u] at the readout column."""

Factors = tuple[tuple[int, int], ...]
"""A function that is a product: pairs (orbit, j) of its factors, none for the constant."""
Function = dict[Factors, float]
"""A function as coefficients of orthonormal ones."""


class Weighted(NamedTuple):
    """A function in the kernel, and the monomial that weighs it."""

    function: Function
    coefficient: float
    variances: tuple[int, ...]
    """Indices of the variances in the monomial, repeated as often as their power."""


class Expansion(NamedTuple):
    """The kernel's functions in one sector."""

    rows: tuple[Factors, ...]
    """Orthonormal functions."""
    settings: np.ndarray
    """Token at the readout column that each belongs to, or zero, in rising order."""
    functions: np.ndarray
    """Coefficients (rows, F)."""
    weights: Monomials
    """What weighs them, which is the same over any law of tokens."""


class TokenFunctions(NamedTuple):
    """Orthonormal functions of one token."""

    values: np.ndarray
    """h_j(v), (V, J) with h_0 = 1; zero for a token that never occurs."""
    law: np.ndarray
    """Probability of each token (V,)."""

    @property
    def expansion(self) -> np.ndarray:
        """H: [x = v] in these functions (V, J), with pi_v in the first column."""
        return self.law[:, None] * self.values

    @property
    def triple(self) -> np.ndarray:
        """E[h_i h_j h_k], (J, J, J)."""
        return np.einsum("v,vi,vj,vk->ijk", self.law, self.values, self.values, self.values, optimize=True)


def token_functions(law: np.ndarray) -> TokenFunctions:
    """Orthonormal functions of a token with a given law, the constant first.

    >>> np.abs(token_functions(np.array([0.2, 0.8])).values).round(6).tolist()
    [[1.0, 2.0], [1.0, 0.5]]
    """
    seen = law > 0.0
    root = np.sqrt(law[seen])
    basis = np.linalg.qr(np.column_stack([root, np.eye(len(root))[:, :-1]]))[0]
    values = np.zeros((len(law), len(root)))
    values[seen] = basis / root[:, None]
    values[seen, 0] = 1.0  # the decomposition leaves its sign open
    return TokenFunctions(values, law)


class Component(NamedTuple):
    """Sequences of independent tokens, and how many they are."""

    weight: float
    tokens: TokenFunctions


def components(source: Source) -> list[Component] | None:
    """The laws that a source mixes, equal ones together; None where tokens are not independent given one of them."""
    if not source.is_mixture:
        return None
    weights, laws = source.mixture.weights, source.mixture.probabilities
    distinct: list[Component] = []
    for weight, law in zip(weights, laws, strict=True):
        same = [place for place, known in enumerate(distinct) if np.allclose(known.tokens.law, law, rtol=0.0, atol=1e-14)]
        if same:
            distinct[same[0]] = distinct[same[0]]._replace(weight=distinct[same[0]].weight + float(weight))
        elif weight > 0.0:
            distinct.append(Component(float(weight), token_functions(law)))
    return distinct


class _Builder:
    """Products of functions of columns, in orthonormal functions.

    A key holds at most two factors (orbit, j). The moved orbit of a sector has the factor (`MOVED`, j), for sum_a z_a h_j(x_a). Two
    factors of one orbit stand for pairs of different columns.
    """

    MOVED = -1

    def __init__(self, tokens: TokenFunctions, sizes: list[int], moved: int | None = None) -> None:
        self.tokens, self.sizes, self.moved = tokens, sizes, moved
        self.triple = tokens.triple

    def times(self, orbit: int, j: int, function: Function) -> Function:
        """A function of single columns multiplied by S^orbit_j, j >= 1."""
        total: Function = {}
        for key, value in function.items():
            for new, factor in self._product(orbit, j, key):
                total[new] = total.get(new, 0.0) + value * factor
        return total

    def _product(self, orbit: int, j: int, key: Factors) -> list[tuple[Factors, float]]:
        if not key or key[0][0] not in ((orbit, self.MOVED) if orbit == self.moved else (orbit,)):
            return [(tuple(sorted((*key, (orbit, j)))), 1.0)]
        where, i = key[0]
        n, triple = self.sizes[orbit], self.triple[j, i]
        terms: list[tuple[Factors, float]] = [(((where, k),), triple[k] / math.sqrt(n)) for k in range(1, len(triple))]
        if where == self.MOVED:
            terms += self._moved_pair(orbit, i, j, n)
        else:
            pair = (tuple(sorted(((orbit, i), (orbit, j)))), math.sqrt((n - 1) / n * (2.0 if i == j else 1.0)))
            terms += [((), triple[0]), pair]
        return [(new, factor) for new, factor in terms if factor]

    def _moved_pair(self, orbit: int, i: int, j: int, n: int) -> list[tuple[Factors, float]]:
        """n^-1/2 sum over a != b of z_a h_i(x_a) h_j(x_b): its part that is even in i and j, and the odd one."""
        even, first, second = math.sqrt((n - 2) / n), min(i, j), max(i, j)
        symmetric = ((self.MOVED, first), (orbit, second))
        if i == j:
            return [(symmetric, even)]
        sign = 1.0 if i < j else -1.0
        return [(symmetric, even / math.sqrt(2.0)), (((self.MOVED, second), (orbit, first)), sign / math.sqrt(2.0))]


class LinearKernel:
    """The kernel of a linear block over independent tokens, sector by sector."""

    def __init__(self, orbits: Orbits, tokens: TokenFunctions) -> None:
        self.orbits, self.tokens, self.arch = orbits, tokens, orbits.arch
        self.columns = columns_that_vary(orbits)
        self.token = tokens.expansion
        self.builder = _Builder(tokens, [orbit.size for orbit in self.columns])

    def expand(self, moved: int | None) -> Expansion:
        """The functions of the sector in which the columns of an orbit are moved, or of the one in which nothing moves."""
        weighted = self._weighted(moved)
        weights = monomials([(term.coefficient, term.variances) for term in weighted], len(self.orbits.prior))
        functions = [term.function for term in weighted]
        if self.arch.readout == "last":
            return Expansion(*self._at_settings(functions), weights)
        rows = _keys(functions)
        return Expansion(tuple(rows), np.zeros(len(rows), dtype=int), _table(rows, functions), weights)

    def _weighted(self, moved: int | None) -> list[Weighted]:
        """All functions of a sector: readers, and under mean readout their products with multipliers."""
        readers = [reader for reader in self._readers(moved) if FIXED not in reader.variances]
        if self.arch.readout != "mean":
            return readers
        self.builder.moved = moved
        counts = [Weighted(self._counts(v), 1.0, (self.orbits.tokens[v],)) for v in range(self.arch.vocab)]
        constants = [Weighted({(): 1.0}, float(orbit.size), (orbit.variance,)) for orbit in self.columns]
        multipliers = [term for term in constants + counts if FIXED not in term.variances]
        return [
            Weighted(self._multiply(first, second.function), first.coefficient * second.coefficient, first.variances + second.variances)
            for first, second in itertools.product(multipliers, readers)
        ]

    def multipliers(self) -> tuple[np.ndarray, Monomials]:
        """Those that depend on the setting only: values (m, settings), and the monomials that weigh them."""
        vocab, tokens, place = self.arch.vocab, self.orbits.tokens, self.orbits.columns[-1].variance
        match self.arch.readout:
            case "mean":
                multipliers: list[tuple[np.ndarray, tuple[int, ...]]] = [(np.ones(1), ())]
            case "cls":
                multipliers = [(np.ones(1), (place,)), (np.ones(1), (tokens[-1],))]
            case _:
                multipliers = [(np.ones(vocab), (place,)), *((np.eye(vocab)[v], (tokens[v],)) for v in range(vocab))]
        multipliers = [multiplier for multiplier in multipliers if FIXED not in multiplier[1]]
        return np.array([multiplier[0] for multiplier in multipliers]), monomials(
            [(1.0, multiplier[1]) for multiplier in multipliers], len(self.orbits.prior)
        )

    def _at_settings(self, functions: list[Function]) -> tuple[tuple[Factors, ...], np.ndarray, np.ndarray]:
        """Rows, settings and coefficients of functions at every token of the readout column that occurs."""
        last, h, law = len(self.columns) - 1, self.tokens.values, self.tokens.law
        here = [((last, j),) for j in range(h.shape[1])]
        keys = [key for key in _keys(functions) if key not in here]
        elsewhere, of_token = _table(keys, functions), h @ _table(here, functions)
        seen = np.flatnonzero(law > 0.0) if keys else np.zeros(0, dtype=int)
        blocks = []
        for u in seen:
            block = elsewhere.copy()
            if not keys[0]:  # the constant is the first
                block[0] += of_token[u]
            blocks.append(math.sqrt(law[u]) * block)
        rows = tuple(((READOUT, int(u)), *key) for u in seen for key in keys)
        return rows, np.repeat(seen, len(keys)), np.concatenate([np.zeros((0, len(functions))), *blocks])

    def _readers(self, moved: int | None) -> list[Weighted]:
        tokens, twice = self.orbits.tokens, 2.0 if self.arch.values_see_positions else 1.0
        readers = []
        for v in range(self.arch.vocab):
            token = self.token[v]
            if moved is not None:
                alone: Function = {((_Builder.MOVED, j),): token[j] for j in range(1, len(token))}
                readers.append(Weighted(alone, twice, (self.columns[moved].variance, tokens[v])))
                continue
            readers.append(Weighted(self._counts(v), 1.0, (tokens[v], tokens[v])))
            for index, orbit in enumerate(self.columns):
                one = {((index, j),): token[j] for j in range(1, len(token))}
                readers.append(Weighted({(): math.sqrt(orbit.size) * token[0]} | one, twice, (orbit.variance, tokens[v])))
        if moved is None:
            readers += [Weighted({(): 1.0}, *rest) for rest in self._constants(twice)]
        return readers

    def _constants(self, twice: float) -> list[tuple[float, tuple[int, ...]]]:
        """Weights of the constant in the bracket: squares of position variances, and all that the class symbol adds."""
        constants = []
        if self.arch.values_see_positions:
            constants += [(float(orbit.size), (orbit.variance, orbit.variance)) for orbit in self.orbits.columns]
        if self.arch.readout == "cls":
            symbol, place = self.orbits.tokens[-1], self.orbits.columns[-1].variance
            constants += [(1.0, (symbol, symbol)), (twice, (symbol, place))]
        return constants

    def _counts(self, v: int) -> Function:
        """c_v, over all columns whose tokens vary."""
        token = self.token[v]
        counts: Function = {(): sum(orbit.size for orbit in self.columns) * token[0]}
        for index, orbit in enumerate(self.columns):
            counts |= {((index, j),): math.sqrt(orbit.size) * token[j] for j in range(1, len(token))}
        return counts

    def _multiply(self, first: Weighted, function: Function) -> Function:
        total: Function = {}
        for key, value in first.function.items():
            part = function if not key else self.builder.times(*key[0], function)
            for new, factor in part.items():
                total[new] = total.get(new, 0.0) + value * factor
        return total


def columns_that_vary(orbits: Orbits) -> list[ColumnOrbit]:
    """Orbits of columns whose tokens vary: not the one of the class symbol."""
    return [orbit for orbit in orbits.columns if not (orbits.arch.readout == "cls" and orbit.role == "readout")]


def monomials(terms: list[tuple[float, tuple[int, ...]]], variances: int) -> Monomials:
    """Coefficients and powers, from coefficients and the variances that are multiplied."""
    powers = np.zeros((len(terms), variances))
    for row, (_, indices) in zip(powers, terms, strict=True):
        np.add.at(row, np.array(indices, dtype=int), 1.0)
    return Monomials(np.array([coefficient for coefficient, _ in terms]), powers)


def _keys(functions: list[Function]) -> list[Factors]:
    """All orthonormal functions that occur, constants first."""
    return sorted({key for function in functions for key in function}, key=lambda key: (len(key), key))


def _table(rows: list[Factors], functions: list[Function]) -> np.ndarray:
    """Coefficients (rows, F) of functions; what is in no row is left out."""
    place = {key: index for index, key in enumerate(rows)}
    coefficients = np.zeros((len(rows), len(functions)))
    for column, function in enumerate(functions):
        for key, value in function.items():
            if key in place:
                coefficients[place[key], column] = value
    return coefficients


class Monomials(NamedTuple):
    """Numbers times products of variances."""

    coefficients: np.ndarray
    """(F,)."""
    powers: np.ndarray
    """Power of each variance (F, P)."""

    def at(self, logarithms: np.ndarray) -> np.ndarray:
        """Their values (F,) at the logarithms of variances."""
        return self.coefficients * np.exp(self.powers @ logarithms)

    def some(self, which: np.ndarray) -> Monomials:
        """Those that are chosen."""
        return Monomials(self.coefficients[which], self.powers[which])


class Parts(NamedTuple):
    """M at given variances, with what the gradient needs of it."""

    matrix: np.ndarray
    inner: np.ndarray
    """M without the factor T."""
    factor: np.ndarray
    """T at the settings of all rows."""
    weights: np.ndarray
    """omega (F,)."""
    multipliers: np.ndarray
    """a (m,)."""


@dataclasses.dataclass(frozen=True, eq=False)
class Matrix:
    """The operator in one sector."""

    functions: np.ndarray
    """Phi (rows, F)."""
    weights: Monomials
    """omega."""
    settings: np.ndarray
    """s(i) of every row."""
    values: np.ndarray
    """tau (m, S)."""
    multipliers: Monomials
    """a."""
    degeneracy: float

    def at(self, logarithms: np.ndarray) -> Parts:
        """M at the logarithms of variances."""
        weights, multipliers = self.weights.at(logarithms), self.multipliers.at(logarithms)
        inner = (self.functions * weights) @ self.functions.T
        factor = self._spread.T @ (multipliers[:, None] * self._spread)
        return Parts(inner * factor, inner, factor, weights, multipliers)

    def scaled(self, number: float) -> Matrix:
        """A number times it."""
        return dataclasses.replace(self, weights=self.weights._replace(coefficients=number * self.weights.coefficients))

    def pull(self, parts: Parts, derivative: np.ndarray) -> np.ndarray:
        """Gradient in the logarithms of variances from the derivative in M."""
        of_weights = np.einsum("if,if->f", self.functions, (derivative * parts.factor) @ self.functions)
        of_multipliers = np.einsum("mi,mi->m", self._spread, self._spread @ (derivative * parts.inner))
        return (parts.weights * of_weights) @ self.weights.powers + (parts.multipliers * of_multipliers) @ self.multipliers.powers

    @functools.cached_property
    def _spread(self) -> np.ndarray:
        """tau at the settings of all rows (m, rows)."""
        return self.values[:, self.settings]
