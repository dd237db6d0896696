r"""What the irreducible representations of every group have in common, and sums of them.

A real symmetric operator that commutes with a group acts on the $m$ copies of an irrep as a symmetric (or Hermitian) $m \times m$ matrix
times the identity. Its spectrum is therefore made of multiplets: each copy is one eigenvalue, `dimension` times over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Protocol, TypeVar

from specht.errors import InputError


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
