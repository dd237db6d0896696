r"""The spectrum of the kernel operator, irrep by irrep.

The operator $(T f)(x) = E_y[k(x, y) f(y)]$ over an exchangeable source commutes with permutations of the context, so its eigenfunctions
come in multiplets, one irrep $\lambda$ of $S_L$ each, and $\sum_\lambda \dim\lambda \sum_i \lambda_i = E[k(x, x)]$ bounds every
eigenvalue by $E[k(x,x)] / \dim\lambda$.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from specht.architecture import Architecture
from specht.errors import InputError, whole_number
from specht.groups.partitions import Partition
from specht.groups.permutations import check_permutation
from specht.infinite.forms import Kind
from specht.symmetry.actions import permute_context
from specht.symmetry.blocks.block import Block, Eigenfunction

ROUNDING = 1e-14
"""Eigenvalues below this fraction of E[k] are not resolved in float64."""


@dataclasses.dataclass(frozen=True)
class Row:
    """One distinct eigenvalue."""

    irrep: Partition
    degeneracy: int
    eigenvalue: float
    bound: float
    """E[k] / dim, which no eigenvalue of the irrep can exceed."""
    copy: int
    """Its number among the copies of the irrep, from the largest eigenvalue."""
    stderr: float | None
    """Standard error; None for an exact value."""
    below_rounding: bool
    """True if float64 does not resolve it: all that is known is the bound, and that it is at most rounding."""


@dataclasses.dataclass(frozen=True)
class Spectrum:
    """Eigenvalues by irrep, with eigenfunctions as callables; str() is a table."""

    arch: Architecture
    kind: Kind
    method: str
    blocks: tuple[Block, ...]
    trace: float
    """E[k(x, x)] over the source."""
    trace_stderr: float = 0.0

    @property
    def rows(self) -> list[Row]:
        """Every eigenvalue with its irrep, largest first."""
        rows = [self._row(block, copy) for block in self.blocks for copy in range(len(block.eigenvalues))]
        return sorted(rows, key=lambda row: -row.eigenvalue)

    def _row(self, block: Block, copy: int) -> Row:
        eigenvalue, degeneracy = float(block.eigenvalues[copy]), block.irrep.dimension
        stderr = None if block.stderr is None else float(block.stderr[copy])
        try:
            bound = self.trace / degeneracy
        except OverflowError:  # a dimension beyond the largest float
            bound = 0.0
        return Row(block.irrep, degeneracy, eigenvalue, bound, copy, stderr, bool(abs(eigenvalue) <= ROUNDING * self.trace))

    @property
    def resolved_trace(self) -> float:
        """Sum of degeneracy times eigenvalue over the rows: equal to `trace` where all irreps are there."""
        return float(sum(row.degeneracy * row.eigenvalue for row in self.rows if not row.below_rounding))

    @property
    def multiplicities(self) -> dict[Partition, int]:
        """Copies of each irrep whose eigenvalue float64 resolves."""
        numbers: dict[Partition, int] = {}
        for row in self.rows:
            numbers[row.irrep] = numbers.get(row.irrep, 0) + (not row.below_rounding)
        return numbers

    def top(self, irrep: Partition) -> Row:
        """The largest eigenvalue of an irrep."""
        for row in self.rows:
            if row.irrep == irrep:
                return row
        raise InputError(f"{irrep} is not in this spectrum, which has {', '.join(str(block.irrep) for block in self.blocks)}.")

    def eigenfunction(self, row: Row, permutation: Sequence[int] | None = None) -> Eigenfunction:
        """An eigenfunction of the row, with mean square one: a callable from tokens (n, columns) to values (n,).

        It belongs to the positions in their given order; a permutation of the context gives another one of the same multiplet. All of
        them together span the multiplet, but two of them need not be orthogonal.
        """
        function = next(block for block in self.blocks if block.irrep == row.irrep).eigenfunction(row.copy)
        if permutation is None:
            return function
        permutation = check_permutation(permutation, self.arch.length)
        return lambda x: function(permute_context(x, permutation, self.arch.length))

    def truncated(self, max_rows: int | None = None, *, smallest: float = 0.0) -> list[Row]:
        """The largest rows that float64 resolves: at most `max_rows`, and none below `smallest` times E[k]."""
        rows = [row for row in self.rows if not row.below_rounding and row.eigenvalue >= smallest * self.trace]
        return rows if max_rows is None else rows[: whole_number("max_rows", max_rows, 1)]

    def merged(self, tolerance: float = 1e-10) -> list[Row]:
        """Rows of one irrep whose eigenvalues agree within `tolerance` times E[k] as one, with their degeneracies added up."""
        merged: list[Row] = []
        for row in self.rows:
            near = [
                other for other in merged if other.irrep == row.irrep and abs(other.eigenvalue - row.eigenvalue) <= tolerance * self.trace
            ]
            if near:
                place = merged.index(near[0])
                merged[place] = dataclasses.replace(near[0], degeneracy=near[0].degeneracy + row.degeneracy)
            else:
                merged.append(row)
        return merged

    def __str__(self) -> str:
        lines = [f"{self.arch}   {self.kind}, {self.method}, E[k] = {self.trace:.6g}"]
        lines.append(f"{'irrep':16} {'degeneracy':>12} {'eigenvalue':>12} {'bound':>12}")
        for row in self.truncated(20):
            error = "" if row.stderr is None else f" ± {row.stderr:.1g}"
            lines.append(f"{row.irrep!s:16} {row.degeneracy:12d} {row.eigenvalue:12.6g} {row.bound:12.6g}{error}")
        rest = len(self.rows) - len(self.truncated(20))
        return "\n".join(lines + ([f"and {rest} more"] if rest else []))
