r"""The length beyond which the linear model turns away from higher levels: the crossover of linear attention.

In $E[k] \propto s_w^2 E|N|^2 + 2 s_w s_p L + s_p^2 L$ the counts grow as $E|N|^2 \approx c L^2$, where $c = \sum_v p_2(v, v)$ is the
probability that two tokens are equal, $1/V$ for uniform ones. The eigenvalue of $(L-1, 1)$ does not depend on the length, so that

$$ \frac{\lambda_{(L-1,1)}}{E[k]} \propto \frac{1}{L + L^2 / L^*} , \qquad L^* = \frac1c \Big(\frac{s_p}{s_w}\Big)^2 , $$

falls as $L^{-1}$, the bound, well below $L^*$ and as $L^{-2}$ well beyond. Without positions in the values $s_w s_p$ stands for $s_p^2$.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

from specht.architecture import Architecture, Kind
from specht.sequences import Source, uniform
from specht.spectra.linear import is_linear_model

Place = Literal["well below", "around", "well beyond"]

FACTOR = 4.0
"""How far from the crossover is well below or beyond it: the exponent is then within 0.2 of its limit."""


@dataclasses.dataclass(frozen=True)
class Crossover:
    """The crossover length of a linear model."""

    length: float

    def place(self, length: int) -> Place:
        """Where a context length lies.

        >>> [Crossover(64.0).place(length) for length in (8, 64, 512)]
        ['well below', 'around', 'well beyond']
        """
        if length * FACTOR < self.length:
            return "well below"
        return "well beyond" if length > FACTOR * self.length else "around"

    def exponent(self, length: int) -> float:
        """The local exponent of the normalised eigenvalue of [L-1,1] that the formula above has at a length.

        >>> Crossover(64.0).exponent(64)
        -1.5
        """
        return -1.0 - length / (length + self.length)


def crossover(arch: Architecture, source: Source | None = None, kind: Kind = "nngp") -> Crossover | None:
    """The crossover of a linear model over an exchangeable source, uniform tokens unless given; None for anything else.

    >>> crossover(Architecture(vocab=4, length=16))  # V^3 at s_w = 1/V, s_p = 1
    Crossover(length=64.0)
    """
    source = uniform(arch.vocab) if source is None else source
    s_w, s_p = arch.token_variance, arch.position_variance
    standard = arch.vocab > 1 and min(s_w, s_p, arch.s_1, arch.s_2) > 0.0  # otherwise [L-1,1] has no eigenvalue
    if not standard or not is_linear_model(arch, kind) or not source.is_exchangeable:
        return None
    ratio = s_p / s_w  # first, since squares of the variances may be out of range where this is not
    return Crossover((ratio**2 if arch.values_see_positions else ratio) / _equal(source))


def _equal(source: Source) -> float:
    """Probability that two tokens are equal."""
    if not source.is_mixture:
        return float(source.joint((0, 1)).trace())
    return float(source.mixture.weights @ (source.mixture.probabilities**2).sum(axis=1))  # at any vocabulary
