r"""Which irreps of $S_L$ occur in a space of functions of sequences, and how often.

Every function returns a `Decomposition`, a dictionary from shape to multiplicity with the largest shapes first.
"""

from __future__ import annotations

from collections.abc import Sequence

from specht.errors import InputError, whole_number
from specht.groups.labels import Decomposition
from specht.groups.partitions import Partition, partitions
from specht.groups.tableaux import count_semistandard, inner_shapes, kostka_number


def permutation_module(content: Sequence[int]) -> Decomposition[Partition]:
    r"""Irreps of $M^\mu$, the functions on sequences that hold symbol v exactly `content[v]` times, by Young's rule.

    >>> print(permutation_module((4, 1, 1)))
    [6] + 2 [5,1] + [4,2] + [4,1,1]
    """
    counts = [whole_number("each number of content", count) for count in content]
    length = sum(counts)
    shapes = partitions(length, max_rows=max(len(counts), 1), max_level=length - max(counts, default=0))
    return Decomposition({shape: kostka_number(shape, counts) for shape in shapes})


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
    shapes = partitions(length, max_rows=vocab, max_level=degree)
    return Decomposition({shape: sum(count_semistandard(inner, vocab - 1) for inner in inner_shapes(shape, degree)) for shape in shapes})


def _check_degree(length: int, degree: int) -> None:
    if degree > length:
        raise InputError(f"A product of {degree} different positions needs a sequence at least as long, got length {length}.")


def _two_rows(length: int, level: int) -> Partition:
    return Partition(tuple(part for part in (length - level, level) if part))
