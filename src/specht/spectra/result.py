r"""The spectrum of the kernel operator, irrep by irrep.

The operator $(T f)(x) = E_y[k(x, y) f(y)]$ over an exchangeable source commutes with permutations of the context, so its eigenfunctions
come in multiplets, one irrep $\lambda$ of $S_L$ each, and $\sum_\lambda \dim\lambda \sum_i \lambda_i = E[k(x, x)]$ bounds every
eigenvalue by $E[k(x,x)] / \dim\lambda$.

Eigenvalues of a kernel of sampled heads have standard errors, and a bias that is smaller except where copies of one irrep are nearly equal,
such as those that renaming uniform tokens exchanges: noise in the block pushes them apart by one or two standard errors, the top one
upwards, as it does the eigenvalues of any noisy matrix; their mean stays where it is.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from specht.architecture import Architecture, Kind
from specht.checks import not_negative, whole_number
from specht.errors import InputError
from specht.groups import Partition, check_permutation
from specht.results import Result, Variable
from specht.sequences import check_tokens, permute_context
from specht.spectra.block import Eigenfunction, IrrepBlock

ROUNDING = 1e-14
"""Eigenvalues below this fraction of E[k] are not resolved in float64."""


@dataclasses.dataclass(frozen=True)
class Row:
    """One distinct eigenvalue."""

    irrep: Partition
    degeneracy: int
    eigenvalue: float
    bound: float
    """E[k] / dim, which no eigenvalue of the irrep can exceed; a comparison only where the source is not exchangeable."""
    copy: int
    """Its number among the copies of the irrep, from the largest eigenvalue."""
    stderr: float | None
    """Standard error; None for an exact value. Noise pushes nearly equal sampled copies apart by one or two of it."""
    below_rounding: bool
    """True if float64 does not resolve it: all that is known is the bound, and that it is at most rounding."""
    lower_bound: bool
    """True for a Rayleigh quotient, which the top eigenvalue of the irrep is at least as large as."""


@dataclasses.dataclass(frozen=True)
class Spectrum(Result):
    """Eigenvalues by irrep, with eigenfunctions as callables; str() is a table."""

    arch: Architecture
    kind: Kind
    method: str
    blocks: tuple[IrrepBlock, ...]
    trace: float
    """E[k(x, x)] over the source."""
    trace_stderr: float = 0.0
    """Standard error of a sampled trace; zero for an exact one."""
    exchangeable: bool = True
    """False where the source has an order: there are no irreps then, and rows are quotients of functions that would belong to them."""

    @property
    def rows(self) -> list[Row]:
        """Every eigenvalue with its irrep, largest first."""
        rows = [self._row(block, copy) for block in self.blocks for copy in range(len(block.eigenvalues))]
        return sorted(rows, key=lambda row: -row.eigenvalue)

    def _row(self, block: IrrepBlock, copy: int) -> Row:
        eigenvalue, degeneracy = float(block.eigenvalues[copy]), block.irrep.dimension
        stderr = None if block.stderr is None else float(block.stderr[copy])
        try:
            bound = self.trace / degeneracy
        except OverflowError:  # a dimension beyond the largest float
            bound = 0.0
        below = abs(eigenvalue) <= ROUNDING * self.trace
        return Row(block.irrep, degeneracy, eigenvalue, bound, copy, stderr, below, block.is_bound and self.exchangeable)

    @property
    def resolved_trace(self) -> float:
        """Sum of degeneracy times eigenvalue over the rows that float64 resolves.

        With all irreps present, what is missing to `trace` lies in rows below rounding, tiny each but of enormous degeneracy.
        """
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
        block = next((block for block in self.blocks if block.irrep == row.irrep), None)
        if block is None or row.copy >= len(block.eigenvalues) or block.eigenvalues[row.copy] != row.eigenvalue:
            raise InputError(f"{row.irrep} with eigenvalue {row.eigenvalue:g} is no row of this spectrum: take one of its `rows`.")
        function, length = block.eigenfunction(row.copy), self.arch.length
        if permutation is None:
            return lambda x: function(check_tokens(self.arch, x))
        permutation = check_permutation(permutation, length)
        return lambda x: function(permute_context(check_tokens(self.arch, x), permutation, length))

    def truncated(self, max_rows: int | None = None, *, smallest: float = 0.0) -> list[Row]:
        """The largest rows that float64 resolves: at most `max_rows`, and none below `smallest` times E[k]."""
        least = not_negative("smallest", smallest) * self.trace
        rows = [row for row in self.rows if not row.below_rounding and row.eigenvalue >= least]
        return rows if max_rows is None else rows[: whole_number("max_rows", max_rows, 1)]

    def merged(self, tolerance: float = 1e-10) -> list[Row]:
        """Rows of one irrep whose eigenvalues agree as one, with their degeneracies added up and their mean as eigenvalue.

        They agree within `tolerance`, relative, or both lie below rounding, so that no part of the trace is lost or gained.
        """
        tolerance = not_negative("tolerance", tolerance)
        groups: dict[Partition, list[list[Row]]] = {}
        for row in self.rows:  # largest first
            of_irrep = groups.setdefault(row.irrep, [])
            first = of_irrep[-1][0] if of_irrep else None
            near = first is not None and first.eigenvalue - row.eigenvalue <= tolerance * abs(first.eigenvalue)
            if first is not None and (near or (first.below_rounding and row.below_rounding)):
                of_irrep[-1].append(row)
            else:
                of_irrep.append([row])
        return sorted((_mean_row(rows) for of_irrep in groups.values() for rows in of_irrep), key=lambda row: -row.eigenvalue)

    def summary(self) -> dict[str, Any]:
        """Eigenvalues as plain values, as files and figures have them."""
        from specht.spectra.families import spectrum_entry  # which knows what a spectrum is

        return spectrum_entry(self)

    def _summary(self) -> str:
        rows, where = self.rows, f"{self.arch} ({self.kind}, by method {self.method})"
        if not rows:
            return f"{where}\nE[k] = {self.trace:.6g}, no eigenvalues"
        top = f"the largest {rows[0].eigenvalue:.6g} in {rows[0].irrep} with degeneracy {rows[0].degeneracy}"
        count = f"{len(rows)} eigenvalue{'s' * (len(rows) > 1)} in {len(self.blocks)} irrep{'s' * (len(self.blocks) > 1)}"
        return f"{where}\nE[k] = {self.trace:.6g}, {count}, {top}"

    def _variables(self) -> list[Variable]:
        rows = self.rows

        def column(name: str) -> list:
            return [getattr(row, name) for row in rows]

        unit = "kernel"
        return [
            Variable("irrep", "row", np.array([str(row.irrep) for row in rows], dtype=str), "irreducible representation"),
            Variable("level", "row", [row.irrep.level for row in rows], "positions that its functions single out"),
            Variable("copy", "row", column("copy"), "number among the copies of the irrep, from the largest eigenvalue"),
            # Degeneracies outgrow 64 bits; `rows` has their digits.
            Variable("degeneracy", "row", [_float(row.degeneracy) for row in rows], "number of orthogonal eigenfunctions"),
            Variable("eigenvalue", "row", column("eigenvalue"), "eigenvalue of the kernel operator", unit),
            Variable("bound", "row", column("bound"), "E[k] / dim, which no eigenvalue of the irrep exceeds", unit),
            Variable("stderr", "row", np.array(column("stderr"), dtype=float), "standard error; NaN for an exact eigenvalue", unit),
            Variable("below_rounding", "row", column("below_rounding"), "whether float64 does not resolve it"),
            Variable("lower_bound", "row", column("lower_bound"), "whether the top eigenvalue of the irrep is at least as large"),
            Variable("trace", (), self.trace, "E[k(x, x)] over the source", unit),
            Variable("trace_stderr", (), self.trace_stderr, "standard error of a sampled trace; zero for an exact one", unit),
        ]

    def __str__(self) -> str:
        lines = [f"{self.arch}   {self.kind}, {self.method}, E[k] = {self.trace:.6g}"]
        lines.append(f"{'irrep':16} {'degeneracy':>12} {'eigenvalue':>14} {'bound':>12}")
        shown, all_rows = self.truncated(20), self.rows
        for row in shown:
            error = "" if row.stderr is None else f" ± {row.stderr:.1g}"
            value = f"{'≥ ' if row.lower_bound else ''}{row.eigenvalue:.6g}"
            lines.append(f"{row.irrep!s:16} {row.degeneracy:12d} {value:>14} {row.bound:12.6g}{error}")
        hidden = sum(row.below_rounding for row in all_rows)
        rest = len(all_rows) - len(shown) - hidden
        remarks = [f"and {rest} more"] * (rest > 0)
        remarks += [f"{hidden} rows lie below rounding, {ROUNDING:g} of E[k]; all that is known of them is their bound"] * (hidden > 0)
        remarks += ["the source is not exchangeable: rows are quotients, and bounds are comparisons"] * (not self.exchangeable)
        return "\n".join(lines + remarks)


def _float(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _mean_row(rows: list[Row]) -> Row:
    """Rows of equal eigenvalue as one."""
    mean = sum(row.eigenvalue for row in rows) / len(rows)  # copies of one irrep have one degeneracy
    return dataclasses.replace(rows[0], degeneracy=sum(row.degeneracy for row in rows), eigenvalue=mean)
