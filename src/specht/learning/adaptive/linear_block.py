r"""One block of linear attention, solved at any length: its operator is a sum of fixed functions, weighted with products of variances.

With variances $w_v$ of tokens and $p_a$ of positions, and counts $c_v$ of all columns, the kernel is (up to a constant)

$$ k(x, y) = K_{TT}(x, y) \Big[ \sum_v w_v^2\, c_v(x)\, c_v(y) + 2 \sum_{a, v} p_a w_v\, [x_a = v]\, [y_a = v] + \sum_a p_a^2 \Big] , $$

where $K_{TT} = \sum_v w_v [x_T = v][y_T = v] + p_T$ at the readout column, and $\sum_v w_v c_v(x) c_v(y) + \sum_a p_a$ under mean
readout. So $k = \sum_f \omega_f\, \varphi_f(x)\, \varphi_f(y)$ with functions $\varphi_f$ that are products of two, a *multiplier* out of
$K_{TT}$ and a *reader* out of the bracket, and weights $\omega_f$ that are monomials in variances. If values do not see positions, the
second sum of the bracket counts once and the third is absent.

Tokens are independent with law $\pi$. Take $h_0 = 1$ and $h_j$ orthonormal functions of one token. Columns form orbits o of $n_o$
columns each. Under the permutations inside all orbits, functions split into those that no permutation moves, built from
$S^o_j = n_o^{-1/2} \sum_{a \in o} h_j(x_a)$, and for each orbit $n_o - 1$ copies of those built from $\sum_a z_a h_j(x_a)$ with
$\sum_a z_a = 0$. In both, $[x_a = v] = \pi_v + \sum_j H_{vj} h_j(x_a)$ with $H_{vj} = \pi_v h_j(v)$. The matrices have a size that does not
depend on the length.

Products of two functions of one column follow from $\Gamma_{ijk} = E[h_i h_j h_k]$, and leave the space of single columns only under mean
readout, where $S^o_i S^o_j = \delta_{ij} + n_o^{-1/2} \sum_k \Gamma_{ijk} S^o_k$ + pairs of different columns.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import NamedTuple

import numpy as np

from specht.architecture import Architecture
from specht.errors import InputError
from specht.learning.adaptive.equivalent import Labels, Losses, Sector, energy, losses
from specht.learning.adaptive.orbits import FIXED, Orbits
from specht.sequences.law import Source

MOST_FUNCTIONS = 800
"""Size of a matrix at most: beyond, a step of the search takes longer than a second."""

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


def independent_law(source: Source) -> np.ndarray | None:
    """The law of a token, where all tokens are independent and alike."""
    if not source.is_mixture:
        return None
    laws = source.mixture.probabilities[source.mixture.weights > 0.0]
    return laws[0] if np.allclose(laws, laws[0], rtol=0.0, atol=1e-14) else None


def why_not_linear(arch: Architecture, source: Source) -> str | None:
    """Why the operator is no sum of known functions of few columns, or None where it is."""
    if arch.attention != "linear" or arch.scaling == "tied" or arch.depth > 1 or arch.activation != "linear":
        return "it takes one block of linear attention and a linear activation"
    if arch.norm != "none" or arch.residual:
        return "it takes a block without norm and residual sum"
    if arch.causal and arch.readout == "mean":
        return "it takes a readout that sees all columns"
    if independent_law(source) is None:
        return "it takes a source of independent tokens"
    return None


@dataclasses.dataclass(frozen=True, eq=False)
class Matrix:
    """The operator in one sector: M = functions diag(weights) functions^T."""

    functions: np.ndarray
    """Coefficients (m, F)."""
    coefficients: np.ndarray
    """Of the monomials (F,)."""
    powers: np.ndarray
    """Powers of the variances (F, P)."""
    basis: tuple[Factors, ...]
    degeneracy: float

    def at(self, logarithms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """M and the weights at the logarithms of variances."""
        weights = self.coefficients * np.exp(self.powers @ logarithms)
        return (self.functions * weights) @ self.functions.T, weights

    def pull(self, weights: np.ndarray, derivative: np.ndarray) -> np.ndarray:
        """Gradient in the logarithms of variances from the derivative in M."""
        return (weights * np.einsum("mf,mf->f", self.functions, derivative @ self.functions)) @ self.powers


class LinearBlock:
    """The operator of a linear block as a function of the variances of orbits, in units of E[k] at infinite width."""

    tolerance = 1e-9
    searches = 8

    def __init__(self, orbits: Orbits, source: Source) -> None:
        law = independent_law(source)
        assert law is not None
        self.orbits, self.tokens = orbits, token_functions(law)
        self.sizes = [each.size for each in self._seen]
        _refuse_many(orbits.arch, self.tokens.values.shape[1] - 1, self.sizes)
        builder = _Builder(self.tokens, self.sizes)
        kernel = _Kernel(orbits, builder)
        sectors = [(None, 1.0), *((index, size - 1.0) for index, size in enumerate(self.sizes) if size > 1)]
        raw = [_matrix(kernel.functions(moved), degeneracy, len(orbits.prior)) for moved, degeneracy in sectors]
        raw = [matrix for matrix in raw if matrix.basis]
        start = np.log(orbits.prior)
        trace = sum(matrix.degeneracy * float(np.trace(matrix.at(start)[0])) for matrix in raw)
        self.matrices = [dataclasses.replace(matrix, coefficients=matrix.coefficients / trace) for matrix in raw]
        self.target = np.zeros((len(self.matrices[0].basis), 0))
        """Coefficients of the target in the functions that no permutation moves (m, K)."""

    @property
    def _seen(self) -> list:
        """Orbits of columns whose tokens vary: not the one of the class symbol."""
        fixed = self.orbits.arch.readout == "cls"
        return [each for each in self.orbits.columns if not (fixed and each.role == "readout")]

    def sectors(self, logarithms: np.ndarray) -> tuple[list[Sector], list[np.ndarray]]:
        """The operator at the logarithms of variances, and the weights of its functions."""
        sectors, kept = [], []
        for number, matrix in enumerate(self.matrices):
            values, weights = matrix.at(logarithms)
            target = self.target if number == 0 else np.zeros((len(values), 0))
            sectors.append(Sector(values, target, matrix.degeneracy))
            kept.append(weights)
        return sectors, kept

    def energy(self, logarithms: np.ndarray, labels: Labels) -> tuple[float, np.ndarray]:
        """Free energy without the cost of moving variances, and its gradient in their logarithms."""
        sectors, kept = self.sectors(logarithms)
        value, derivatives = energy(sectors, labels)
        gradient = np.zeros(len(logarithms))
        for matrix, weights, derivative in zip(self.matrices, kept, derivatives, strict=True):
            gradient += matrix.pull(weights, derivative)
        return value, gradient

    def losses(self, logarithms: np.ndarray, labels: Labels) -> Losses:
        """Test and train loss by theory."""
        return losses(self.sectors(logarithms)[0], labels)


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
        found: list[tuple[Factors, float]] = [(((where, k),), triple[k] / math.sqrt(n)) for k in range(1, len(triple))]
        if where == self.MOVED:
            found += self._moved_pair(orbit, i, j, n)
        else:
            pair = (tuple(sorted(((orbit, i), (orbit, j)))), math.sqrt((n - 1) / n * (2.0 if i == j else 1.0)))
            found += [((), triple[0]), pair]
        return [(new, factor) for new, factor in found if factor]

    def _moved_pair(self, orbit: int, i: int, j: int, n: int) -> list[tuple[Factors, float]]:
        """n^-1/2 sum over a != b of z_a h_i(x_a) h_j(x_b): its part that is even in i and j, and the odd one."""
        even, first, second = math.sqrt((n - 2) / n), min(i, j), max(i, j)
        symmetric = ((self.MOVED, first), (orbit, second))
        if i == j:
            return [(symmetric, even)]
        sign = 1.0 if i < j else -1.0
        return [(symmetric, even / math.sqrt(2.0)), (((self.MOVED, second), (orbit, first)), sign / math.sqrt(2.0))]


class _Kernel:
    """The functions in the kernel of a linear block, sector by sector."""

    def __init__(self, orbits: Orbits, builder: _Builder) -> None:
        self.orbits, self.builder, self.arch = orbits, builder, orbits.arch
        self.columns = [each for each in orbits.columns if not (self.arch.readout == "cls" and each.role == "readout")]
        self.expansion = builder.tokens.expansion

    def functions(self, moved: int | None) -> list[Weighted]:
        """All functions of the sector in which the columns of an orbit are moved, or of the one in which nothing moves."""
        self.builder.moved = moved
        functions = []
        for first, second in itertools.product(self._multipliers(), self._readers(moved)):
            variances = first.variances + second.variances
            if FIXED not in variances:
                product = self._multiply(first, second.function)
                functions.append(Weighted(product, first.coefficient * second.coefficient, variances))
        return functions

    def _readers(self, moved: int | None) -> list[Weighted]:
        tokens, twice = self.orbits.tokens, 2.0 if self.arch.values_see_positions else 1.0
        readers = []
        for v in range(self.arch.vocab):
            token = self.expansion[v]
            if moved is not None:
                alone: Function = {((_Builder.MOVED, j),): token[j] for j in range(1, len(token))}
                readers.append(Weighted(alone, twice, (self.columns[moved].variance, tokens[v])))
                continue
            readers.append(Weighted(self._counts(v), 1.0, (tokens[v], tokens[v])))
            for index, each in enumerate(self.columns):
                one = {((index, j),): token[j] for j in range(1, len(token))}
                readers.append(Weighted({(): math.sqrt(each.size) * token[0]} | one, twice, (each.variance, tokens[v])))
        if moved is None:
            readers += [Weighted({(): 1.0}, *rest) for rest in self._constants(twice)]
        return readers

    def _constants(self, twice: float) -> list[tuple[float, tuple[int, ...]]]:
        """Weights of the constant in the bracket: squares of position variances, and all that the class symbol adds."""
        found = []
        if self.arch.values_see_positions:
            found += [(float(each.size), (each.variance, each.variance)) for each in self.orbits.columns]
        if self.arch.readout == "cls":
            symbol, place = self.orbits.tokens[-1], self.orbits.columns[-1].variance
            found += [(1.0, (symbol, symbol)), (twice, (symbol, place))]
        return found

    def _counts(self, v: int) -> Function:
        """c_v, over all columns whose tokens vary."""
        token = self.expansion[v]
        counts: Function = {(): sum(each.size for each in self.columns) * token[0]}
        for index, each in enumerate(self.columns):
            counts |= {((index, j),): math.sqrt(each.size) * token[j] for j in range(1, len(token))}
        return counts

    def _multipliers(self) -> list[Weighted]:
        """K_TT as a sum of functions, or its average under mean readout."""
        tokens, vocab = self.orbits.tokens, self.arch.vocab
        if self.arch.readout == "mean":
            found = [Weighted({(): 1.0}, float(each.size), (each.variance,)) for each in self.columns]
            return found + [Weighted(self._counts(v), 1.0, (tokens[v],)) for v in range(vocab)]
        found = [Weighted({(): 1.0}, 1.0, (self.orbits.columns[-1].variance,))]
        if self.arch.readout == "cls":
            return [*found, Weighted({(): 1.0}, 1.0, (tokens[-1],))]
        last = len(self.columns) - 1
        for v in range(vocab):
            token = self.expansion[v]
            found.append(Weighted({(): token[0]} | {((last, j),): token[j] for j in range(1, len(token))}, 1.0, (tokens[v],)))
        return found

    def _multiply(self, first: Weighted, function: Function) -> Function:
        total: Function = {}
        for key, value in first.function.items():
            part = function if not key else self.builder.times(*key[0], function)
            for new, factor in part.items():
                total[new] = total.get(new, 0.0) + value * factor
        return total


def _refuse_many(arch: Architecture, varying: int, sizes: list[int]) -> None:
    """Raise where the functions that no permutation moves are too many; `varying` of one token are not constant."""
    singles = 1 + len(sizes) * varying
    if arch.readout == "last":
        size = (1 + varying) * (singles - varying)
    elif arch.readout == "mean":
        pairs = math.comb(len(sizes), 2) * varying**2 + sum(n > 1 for n in sizes) * math.comb(varying + 1, 2)
        size = singles + pairs
    else:
        size = singles
    if size > MOST_FUNCTIONS:
        raise InputError(
            f"The operator of this block has {size} functions that permutations leave alone, at most {MOST_FUNCTIONS} are followed: "
            "take fewer tokens, a target that singles out fewer positions, or method='sampled'."
        )


def _matrix(functions: list[Weighted], degeneracy: float, variances: int) -> Matrix:
    functions = [each for each in functions if any(each.function.values())]
    basis = tuple(sorted({key for each in functions for key in each.function}, key=lambda key: (len(key), key)))
    place = {key: index for index, key in enumerate(basis)}
    coefficients, powers = np.zeros((len(basis), len(functions))), np.zeros((len(functions), variances))
    for column, each in enumerate(functions):
        for key, value in each.function.items():
            coefficients[place[key], column] = value
        np.add.at(powers[column], list(each.variances), 1.0)
    return Matrix(coefficients, np.array([each.coefficient for each in functions]), powers, basis, degeneracy)
