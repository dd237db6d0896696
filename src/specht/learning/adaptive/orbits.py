"""The variances that may differ when a target is learnt: one for each orbit of tokens and positions under the target's stabiliser.

Every token has a variance of its own. So has each context position that the target singles out, and the readout column; all other
positions of the context share one, because nothing distinguishes them.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from specht.architecture import Architecture, Variances
from specht.errors import InputError
from specht.learning.multiplets import MOST, TRIED, find_support
from specht.sequences import Task, check_task

FIXED = -1
"""Index of a variance that is zero and stays so."""
_SEARCHED = 1024
"""Positions that are tried at most where a target does not say which it reads."""
_DECLARE = "name them with Target(..., reads=(0, 1)), or as an attribute of your function, function.reads = (0, 1)"
REST = "rest"
"""Name of the orbit of the positions that the target does not single out."""


@dataclasses.dataclass(frozen=True, eq=False)
class ColumnOrbit:
    """An orbit of columns."""

    places: np.ndarray
    """Which columns."""
    variance: int
    """Index of their variance, or `FIXED`."""
    role: str
    """"read", "rest" or "readout"."""

    @property
    def size(self) -> int:
        return len(self.places)


@dataclasses.dataclass(frozen=True, eq=False)
class Orbits:
    """The variances of an architecture that may differ: P of them."""

    arch: Architecture
    names: tuple[str, ...]
    """"token 0", ..., "position 0" for one that the target reads, "rest", "readout"."""
    prior: np.ndarray
    """Variance of each at infinite width (P,)."""
    multiplicity: np.ndarray
    """Embedding vectors that share it (P,)."""
    tokens: tuple[int, ...]
    """Index of the variance of every symbol, or `FIXED`."""
    columns: tuple[ColumnOrbit, ...]

    @property
    def context(self) -> list[int]:
        """Indices of the variances of context positions, the shared one last."""
        return [orbit.variance for orbit in self.columns if orbit.role != "readout" and orbit.variance != FIXED]

    @property
    def reads(self) -> list[int]:
        """Indices of the variances of the positions that the target singles out."""
        return [orbit.variance for orbit in self.columns if orbit.role == "read" and orbit.variance != FIXED]

    @property
    def tells_apart(self) -> bool:
        """Whether the target distinguishes context positions, so that a symmetry can break."""
        return len(self.context) > 1

    @property
    def tied(self) -> np.ndarray:
        """0/1 matrix (P, Q) that turns variances with all context positions equal into variances."""
        groups = [[index] for index in range(len(self.prior)) if index not in self.context] + [self.context] * bool(self.context)
        return np.array([[float(index in group) for group in groups] for index in range(len(self.prior))])

    def variances(self, values: np.ndarray) -> Variances:
        """Variances by symbol and column, from those of the orbits (P,)."""
        full = np.append(values, 0.0)  # the last entry is what FIXED points at
        positions = np.zeros(self.arch.columns)
        for orbit in self.columns:
            positions[orbit.places] = full[orbit.variance]
        return Variances(full[list(self.tokens)], positions, self.arch.s_1, self.arch.s_2)

    def gather(self, of_tokens: np.ndarray, of_positions: np.ndarray) -> np.ndarray:
        """Derivatives by orbit (P,), from those by symbol and by column: the transpose of `variances`."""
        total = np.zeros(len(self.prior) + 1)
        np.add.at(total, list(self.tokens), of_tokens)
        for orbit in self.columns:
            total[orbit.variance] += of_positions[orbit.places].sum()
        return total[:-1]


def find_orbits(arch: Architecture, task: Task, seed: int = 0) -> Orbits:
    """The orbits that a task leaves to an architecture."""
    if arch.positions not in ("learned", "none"):
        raise InputError(f"Variances of positions adapt where positions are learned, not {arch.positions}: take positions='learned'.")
    check_task(task, arch.vocab)
    reads = _reads(arch, task, seed)
    names, prior, multiplicity = [], [], []

    def variance(name: str, value: float, size: int) -> int:
        if value == 0.0 or size == 0:
            return FIXED
        names.append(name)
        prior.append(value)
        multiplicity.append(float(size))
        return len(names) - 1

    tokens = [
        variance(f"token {symbol}" if symbol < arch.vocab else "class symbol", arch.token_variance, 1) for symbol in range(arch.symbols)
    ]
    s_p, others = arch.position_variance, np.setdiff1d(np.arange(arch.length), reads)
    columns = [ColumnOrbit(np.array([place]), variance(f"position {place}", s_p, 1), "read") for place in reads]
    if len(others):
        columns.append(ColumnOrbit(others, variance(REST, s_p, len(others)), "rest"))
    if arch.columns > arch.length:
        columns.append(ColumnOrbit(np.array([arch.length]), variance("readout", s_p, 1), "readout"))
    return Orbits(arch, tuple(names), np.array(prior), np.array(multiplicity), tuple(tokens), tuple(columns))


def _reads(arch: Architecture, task: Task, seed: int) -> list[int]:
    reads = task.target.reads
    if reads is None and arch.length > _SEARCHED:
        raise InputError(
            f"Which of {arch.length} positions target {task.target.name!r} singles out is searched for among {_SEARCHED} at most: "
            f"{_DECLARE}."
        )
    if reads is None:
        x = task.source.draw(np.random.default_rng([seed, 3]), min(TRIED, max(64, 2**22 // arch.columns)), arch.columns)
        reads = find_support(task.target, x, arch.length)
    if reads is None:
        raise InputError(
            f"Target {task.target.name!r} singles out more than {MOST} positions, too many variances to follow: "
            f"{_DECLARE}, the ones that matter most."
        )
    return sorted({int(place) for place in reads if 0 <= place < arch.length})
