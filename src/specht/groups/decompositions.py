r"""Sums of irreps of any group, and which irreps of $S_L$ occur in a space of functions of sequences, and how often.

A real symmetric operator that commutes with a group acts on the $m$ copies of an irrep as a symmetric (or Hermitian) $m \times m$ matrix
times the identity. Its spectrum is therefore made of multiplets: each copy is one eigenvalue, `dimension` times over.

Every function returns a `Decomposition`, a dictionary from shape to multiplicity with the largest shapes first.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from specht.checks import whole_number
from specht.errors import InputError
from specht.groups.partition import Partition, about, count_partitions, count_sums, partitions, whole_numbers
from specht.groups.tableaux import count_semistandard, inner_shapes, outer_parts

_MOST_IRREPS = 2 * 10**5
"""Most irreps that are listed: some seconds."""
_MOST_PRODUCTS = 5 * 10**4
"""Most irreps that are built up strip by strip: ten seconds or twenty."""
_MOST_STRIPS = 10**6
"""Most horizontal strips that are gone through: some seconds."""


class Irrep(Protocol):
    """The label of an irreducible real representation: hashable, ordered, and `str` is its notation."""

    @property
    def dimension(self) -> int:
        """Real dimension: the degeneracy of an eigenvalue that carries this label."""
        ...

    @property
    def level(self) -> int | None:
        """Number of positions that a function with this label must single out; None where that has no meaning."""
        ...


Label = TypeVar("Label", bound=Irrep)


class Decomposition(dict[Label, int]):
    """How often each irrep occurs in a space: a dictionary from label to multiplicity, without zeros.

    >>> from specht.groups.partition import Partition
    >>> bits = Decomposition({Partition((4,)): 5, Partition((3, 1)): 3, Partition((2, 2)): 1})
    >>> print(bits)
    5 [4] + 3 [3,1] + [2,2]
    >>> bits.dimension
    16
    """

    def __init__(self, multiplicities: Mapping[Label, int]) -> None:
        super().__init__({irrep: multiplicity for irrep, multiplicity in multiplicities.items() if multiplicity})
        for irrep, multiplicity in self.items():
            if multiplicity < 0:
                raise InputError(f"An irrep cannot occur a negative number of times, got {multiplicity} for {irrep}.")

    def __str__(self) -> str:
        terms = (f"{irrep}" if multiplicity == 1 else f"{multiplicity} {irrep}" for irrep, multiplicity in self.items())
        return " + ".join(terms) or "0"

    @property
    def dimension(self) -> int:
        """Dimension of the whole space."""
        return sum(multiplicity * irrep.dimension for irrep, multiplicity in self.items())

    def degeneracies(self) -> dict[int, int]:
        """Multiplets of a generic invariant symmetric operator: degeneracy -> number of distinct eigenvalues that have it.

        >>> from specht.groups.decompositions import functions_on_sequences
        >>> functions_on_sequences(vocab=2, length=4).degeneracies()  # 16 = 5 * 1 + 1 * 2 + 3 * 3
        {1: 5, 2: 1, 3: 3}
        """
        sizes: Counter[int] = Counter()
        for irrep, multiplicity in self.items():
            sizes[irrep.dimension] += multiplicity
        return dict(sorted(sizes.items()))


def permutation_module(content: Sequence[int]) -> Decomposition[Partition]:
    r"""Irreps of $M^\mu$, the functions on sequences that hold symbol v exactly `content[v]` times, by Young's rule.

    >>> print(permutation_module((4, 1, 1)))
    [6] + 2 [5,1] + [4,2] + [4,1,1]
    """
    counts = whole_numbers("content", content)
    length, rows = sum(counts), sum(count > 0 for count in counts)
    irreps = count_partitions(length, max_rows=max(rows, 1), max_level=length - max(counts, default=0))
    what = f"Functions on arrangements of {rows} symbols in {length} places"
    refuse_many(what, irreps, "use kostka_number for single ones", _MOST_PRODUCTS)
    shapes = Counter({(): 1})
    for count in sorted(counts, reverse=True):  # the most frequent first: shapes then stay long and few
        larger: Counter[tuple[int, ...]] = Counter()
        for inner, ways in shapes.items():
            for outer in outer_parts(inner, count):
                larger[outer] += ways
        shapes = larger
    return Decomposition({Partition(parts): ways for parts, ways in sorted(shapes.items(), reverse=True)})


def multilinear(length: int, degree: int) -> Decomposition[Partition]:
    r"""Irreps of the homogeneous multilinear polynomials of a degree d in L variables, one variable a position:

    $$ \bigoplus_{m=0}^{\min(d, L-d)} S^{(L-m,\,m)}, $$

    each once (Lavie, Gur-Ari & Ringel 2024). The dimension of level m grows as $L^m$.

    >>> print(multilinear(length=6, degree=2))
    [6] + [5,1] + [4,2]
    """
    length, degree = whole_number("length", length), whole_number("degree", degree)
    _check_degree(length, degree)
    return Decomposition({_two_rows(length, level): 1 for level in range(min(degree, length - degree) + 1)})


def functions_on_sequences(vocab: int, length: int, max_level: int | None = None) -> Decomposition[Partition]:
    r"""Irreps of all functions on sequences of L tokens out of V (Schur-Weyl duality), up to `max_level`.

    $S^\lambda$ occurs as often as there are semistandard tableaux of shape $\lambda$ with V symbols. With a readout token that stays
    in place each occurs V times as often.

    >>> print(functions_on_sequences(vocab=2, length=4))
    5 [4] + 3 [3,1] + [2,2]
    >>> print(functions_on_sequences(vocab=3, length=1000, max_level=1))
    501501 [1000] + 999999 [999,1]
    """
    vocab, length = whole_number("vocab", vocab, 1), whole_number("length", length)
    shapes = partitions(length, max_rows=vocab, max_level=max_level)
    refuse_many(f"Functions on sequences of {vocab} tokens at length {length}", count_partitions(length, vocab, max_level))
    return Decomposition({shape: count_semistandard(shape, vocab) for shape in shapes})


def functions_of_degree(vocab: int, length: int, degree: int) -> Decomposition[Partition]:
    r"""Irreps of the functions of exactly d tokens: sums of products of V - 1 non-constant functions of one token, at d positions each.

    $$ \bigoplus_{d_1 + \dots + d_{V-1} = d} M^{(L-d,\, d_1, \dots, d_{V-1})} $$

    One of the V symbols, the constant function, stands at L - d positions. Taking it for the largest symbol, $S^\lambda$ occurs once for
    every semistandard tableau with V - 1 symbols on a shape of d boxes that a horizontal strip completes to $\lambda$.

    >>> print(functions_of_degree(vocab=3, length=10, degree=2))
    3 [10] + 4 [9,1] + 3 [8,2] + [8,1,1]
    """
    vocab, length, degree = whole_number("vocab", vocab, 1), whole_number("length", length), whole_number("degree", degree)
    _check_degree(length, degree)
    # The rows of a shape and of what a strip leaves of it form one chain, lambda_2 >= mu_2 >= lambda_3 >= ... >= lambda_V. A column of the
    # chain that is 2h - 1 or 2h high takes h boxes of lambda, at most d in all: sums of parts h in two colours, and of ones to fill up.
    rows = min(vocab, degree + 2)  # longer columns do not fit
    strips = count_sums(degree, sorted([1, *range(1, rows - 1), *range(1, rows)]))[-1]
    if strips > _MOST_STRIPS:
        raise InputError(
            f"Functions of exactly {degree} tokens out of {vocab} take about {strips:.1e} horizontal strips to count, more than "
            f"{_MOST_STRIPS:.0e}: choose a lower degree, or use functions_on_sequences with a max_level."
        )
    multiplicity = functools.cache(lambda inner: count_semistandard(inner, vocab - 1))
    shapes = partitions(length, max_rows=vocab, max_level=degree)
    return Decomposition({shape: sum(map(multiplicity, inner_shapes(shape, degree))) for shape in shapes})


def refuse_many(what: str, irreps: int, cure: str = "give a smaller max_level", most: int = _MOST_IRREPS) -> None:
    """Raise where more irreps would have to be listed than anybody waits for."""
    if irreps > most:
        raise InputError(f"{what} have about {about(irreps)} irreps, more than the {most:.0e} that are listed in seconds: {cure}.")


def _check_degree(length: int, degree: int) -> None:
    if degree > length:
        raise InputError(f"A product of {degree} different positions needs a sequence at least as long, got length {length}.")


def _two_rows(length: int, level: int) -> Partition:
    return Partition(tuple(part for part in (length - level, level) if part))
