r"""From capacity to the gap between training and test risk, and how many samples it takes until that says anything."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

from specht.checks import finite_number

DUDLEY = 12.0
"""The constant c of lemma A.4, which the paper leaves open: that of Dudley's entropy integral."""
MOST_SAMPLES = 1e60
"""Beyond this, samples are not counted any more."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Risk:
    """A loss of bounded functions."""

    outputs: float = 1.0
    """Largest |f|, A."""
    lipschitz: float = 1.0
    """Of the loss in f, L."""
    loss: float = 1.0
    """Largest loss, b."""
    delta: float = 0.05
    """Probability with which the bound may fail."""
    constant: float = DUDLEY

    def __post_init__(self) -> None:
        for name in ("outputs", "lipschitz", "loss", "constant"):
            finite_number(name, getattr(self, name), above=0.0)
        finite_number("delta", self.delta, above=0.0, below=1.0)


def generalisation_gap(capacity: float, samples: float, risk: Risk | None = None) -> float:
    r"""Lemmas A.2 to A.5: with probability $1 - \delta$ the test risk exceeds the training risk by at most

    $$ 4 c L \sqrt{\frac{C}{m}} \Big( 1 + \log\Big( A \sqrt{\frac{m}{C}} \Big) \Big) + 2 b \sqrt{\frac{\log(1/\delta)}{2 m}} , $$

    where $\log N_\infty(\varepsilon) \le C / \varepsilon^2$. Where $\sqrt{C/m} > A$ the integral is cut off at A.

    >>> generalisation_gap(1.0, 10**6) < generalisation_gap(4.0, 10**6) < generalisation_gap(4.0, 10**5)
    True
    """
    risk = risk or Risk()
    samples = finite_number("samples", samples, at_least=1.0)
    size = min(math.sqrt(finite_number("capacity", capacity, at_least=0.0) / samples), risk.outputs)
    entropy = size * (1.0 + math.log(risk.outputs / size)) if size > 0.0 else 0.0
    return 4 * risk.constant * risk.lipschitz * entropy + 2 * risk.loss * math.sqrt(math.log(1 / risk.delta) / (2 * samples))


def samples_until(capacity: Callable[[float], float], target: float = 0.5, risk: Risk | None = None) -> float:
    """The number of samples from which the gap is bounded by `target`; infinite above `MOST_SAMPLES`.

    `capacity` is a function of the number of samples, on which bounds depend by a logarithm.
    """
    target = finite_number("target", target, above=0.0)
    low, high = 0.0, math.log(MOST_SAMPLES)

    def is_bounded(log_samples: float) -> bool:
        samples = math.exp(log_samples)
        return generalisation_gap(capacity(samples), samples, risk) <= target

    if not is_bounded(high):
        return math.inf
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (low, middle) if is_bounded(middle) else (middle, high)
    return math.exp(high)
