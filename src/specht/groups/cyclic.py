r"""Rotations of a sequence: the cyclic group $C_L$, the symmetry of a kernel that sees relative positions on a ring.

Over the real numbers its irreps are the frequencies $k = 0, \dots, \lfloor L/2 \rfloor$: a rotation by s positions turns the plane of
$\cos(2\pi k a/L)$ and $\sin(2\pi k a/L)$ by the angle $2\pi k s/L$. Where the sine vanishes, at $k = 0$ and $k = L/2$, the irrep is a line.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Sequence

import numpy as np

from specht.checks import whole_number
from specht.errors import InputError
from specht.groups.decompositions import Decomposition


@dataclasses.dataclass(frozen=True, order=True)
class Harmonic:
    """A real irrep of the rotations of L positions, written `C8:3` for frequency 3 of 8; its multiplets are single or double.

    >>> [(str(irrep), irrep.dimension) for irrep in harmonics(4)]
    [('C4:0', 1), ('C4:1', 2), ('C4:2', 1)]
    """

    length: int
    frequency: int

    def __post_init__(self) -> None:
        length, frequency = whole_number("length", self.length, 1), whole_number("frequency", self.frequency)
        if frequency > length // 2:
            raise InputError(f"The frequencies of {length} positions run from 0 to {length // 2}, got {frequency}.")
        object.__setattr__(self, "length", length)
        object.__setattr__(self, "frequency", frequency)

    def __str__(self) -> str:
        return f"C{self.length}:{self.frequency}"

    @classmethod
    def parse(cls, notation: str) -> Harmonic:
        """The harmonic that a notation such as `C8:3` describes.

        >>> Harmonic.parse("C8:3")
        Harmonic(length=8, frequency=3)
        """
        match = re.fullmatch(r"\s*C(\d+):(\d+)\s*", notation) if isinstance(notation, str) else None
        if match is None:
            raise InputError(f"A harmonic is written as length and frequency, such as C8:3, got {notation!r}.")
        return cls(int(match[1]), int(match[2]))

    @property
    def dimension(self) -> int:
        return 1 if 2 * self.frequency % self.length == 0 else 2

    @property
    def level(self) -> None:
        """Frequencies are not graded by the number of positions that they single out."""
        return None

    def character(self, shift: int) -> float:
        """The trace of a rotation by `shift` positions."""
        return self.dimension * math.cos(2.0 * math.pi * (self.frequency * shift % self.length) / self.length)

    def basis(self) -> np.ndarray:
        """Orthonormal functions of the position that carry this irrep, one a column: the real Fourier basis.

        >>> Harmonic(4, 1).basis().round(3) + 0.0
        array([[ 0.707,  0.   ],
               [ 0.   ,  0.707],
               [-0.707,  0.   ],
               [ 0.   , -0.707]])
        """
        angles = 2.0 * math.pi * (np.arange(self.length) * self.frequency % self.length) / self.length
        waves = (np.cos(angles), np.sin(angles))[: self.dimension]
        return np.stack(waves, axis=1) * math.sqrt(self.dimension / self.length)


def harmonics(length: int) -> list[Harmonic]:
    """All irreps, by frequency."""
    length = whole_number("length", length, 1)
    return [Harmonic(length, frequency) for frequency in range(length // 2 + 1)]


def functions_on_rings(vocab: int, length: int) -> Decomposition[Harmonic]:
    r"""Irreps of all functions on sequences of L tokens out of V, rotated.

    The sequences fall into orbits of $p \mid L$ rotated copies, as many as there are aperiodic necklaces of p beads, and an orbit carries
    the frequencies that are multiples of $L/p$.

    >>> print(functions_on_rings(vocab=2, length=4))
    6 C4:0 + 3 C4:1 + 4 C4:2
    """
    vocab, length = whole_number("vocab", vocab, 1), whole_number("length", length, 1)
    necklaces = _aperiodic_necklaces(vocab, length)
    return Decomposition(
        {irrep: sum(count for p, count in necklaces.items() if irrep.frequency * p % length == 0) for irrep in harmonics(length)}
    )


def _aperiodic_necklaces(vocab: int, length: int) -> dict[int, int]:
    """For each divisor p of the length, the number of orbits of p sequences."""
    orbits: dict[int, int] = {}
    for p in (p for p in range(1, length + 1) if length % p == 0):
        orbits[p] = (vocab**p - sum(q * count for q, count in orbits.items() if p % q == 0)) // p
    return orbits


def harmonic_projector(irrep: Harmonic, rotated: Sequence[int] | np.ndarray) -> np.ndarray:
    r"""The orthogonal projector onto all copies of an irrep, $\frac1L \sum_s \chi(s) \rho(s)$.

    `rotated[state]` is the state that a rotation by one position makes of a state.

    >>> harmonic_projector(Harmonic(4, 2), [1, 2, 3, 0])
    array([[ 0.25, -0.25,  0.25, -0.25],
           [-0.25,  0.25, -0.25,  0.25],
           [ 0.25, -0.25,  0.25, -0.25],
           [-0.25,  0.25, -0.25,  0.25]])
    """
    step = np.asarray(rotated)
    states = np.arange(len(step))
    if not np.array_equal(np.sort(step), states):
        raise InputError(f"rotated must say where each state goes, every state once, got {rotated!r}.")
    images, total = states, np.zeros((len(states), len(states)))
    for shift in range(irrep.length):
        total[images, states] += irrep.character(shift)
        images = step[images]
    if not np.array_equal(images, states):
        raise InputError(f"{irrep.length} rotations must lead back to where they began, and for {rotated!r} they do not.")
    return total / irrep.length
