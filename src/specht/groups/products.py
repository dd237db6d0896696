r"""Segments: positions that may be permuted within each of several parts of a sequence, $S_a \times S_b \times \dots$

A kernel has this symmetry when it distinguishes the parts (prompt and answer, say) but not the positions within a part.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence

from specht.checks import whole_number
from specht.errors import InputError
from specht.groups.decompositions import Decomposition, functions_on_sequences, refuse_many
from specht.groups.partition import Partition, count_partitions, whole_numbers


@dataclasses.dataclass(frozen=True, order=True)
class ProductIrrep:
    """An irrep of a product of symmetric groups: one partition a segment, written `[3,1]x[2]`.

    >>> irrep = ProductIrrep.parse("[3,1]x[2]")
    >>> str(irrep), irrep.dimension, irrep.level
    ('[3,1]x[2]', 3, 1)
    """

    factors: tuple[Partition, ...]

    def __post_init__(self) -> None:
        factors = self.factors if isinstance(self.factors, tuple | list) else ()
        if not factors or not all(isinstance(factor, Partition) for factor in factors):
            raise InputError(f"The factors of a product must be partitions, one a segment, got {self.factors!r}.")
        object.__setattr__(self, "factors", tuple(factors))

    def __str__(self) -> str:
        return "x".join(map(str, self.factors))

    @classmethod
    def parse(cls, notation: str) -> ProductIrrep:
        """The irrep that a notation such as `[3,1]x[2]` describes."""
        if not isinstance(notation, str):
            raise InputError(f"A product of irreps is written as partitions with x between them, such as [3,1]x[2], got {notation!r}.")
        return cls(tuple(Partition.parse(factor) for factor in notation.split("x")))

    @property
    def dimension(self) -> int:
        """Product of the dimensions of the factors."""
        return math.prod(factor.dimension for factor in self.factors)

    @property
    def level(self) -> int:
        """Positions singled out in all segments together."""
        return sum(factor.level for factor in self.factors)


def functions_on_segments(vocab: int, lengths: Sequence[int], max_level: int | None = None) -> Decomposition[ProductIrrep]:
    """Irreps of all functions on sequences of V tokens whose segments have the given lengths, up to `max_level`.

    >>> print(functions_on_segments(vocab=2, lengths=(2, 2)))
    9 [2]x[2] + 3 [2]x[1,1] + 3 [1,1]x[2] + [1,1]x[1,1]
    """
    sizes = whole_numbers("lengths", lengths, 1)
    if not sizes:
        raise InputError("lengths must name at least one segment, got none.")
    irreps = math.prod(count_partitions(size, whole_number("vocab", vocab, 1), max_level) for size in sizes)
    what = f"Functions on segments of {vocab} tokens at lengths {', '.join(map(str, sizes))}"
    refuse_many(what, irreps, "give a smaller max_level, or decompose one segment at a time with functions_on_sequences")
    segments = [functions_on_sequences(vocab, size, max_level).items() for size in sizes]
    multiplicities: dict[ProductIrrep, int] = {}
    for choice in itertools.product(*segments):
        irrep = ProductIrrep(tuple(shape for shape, _ in choice))
        if max_level is None or irrep.level <= max_level:
            multiplicities[irrep] = math.prod(multiplicity for _, multiplicity in choice)
    return Decomposition(multiplicities)
