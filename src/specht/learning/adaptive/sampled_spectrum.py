r"""The free energy of `equivalent` for a kernel whose operator is not known: from the Gram of M sequences, for fewer samples than M.

Let K be the Gram of M sequences and y the target on them. At a ridge $\rho$ the M sequences have a $\kappa$ of their own, and averages over
sequences obey the same laws as with N labels: $1/\kappa = \operatorname{tr}(K + \rho)^{-1}$. The spectrum behind both is one, so
equal $\kappa$ mean

$$ \sum_i d_i \frac{\lambda_i}{\lambda_i + \kappa} = M - \frac{\rho}{\kappa} = N - \frac{\delta}{\kappa} \quad\Longrightarrow\quad
   \rho = \delta + (M - N)\, \kappa . $$

Both equations together give $\rho$ and $\kappa$, and then with $R = (K + \rho)^{-1}$

$$ \sum_i d_i \ln(1 + \lambda_i/\kappa) = \log\det(K + \rho) - M \ln(M\kappa) - \rho/\kappa + M , \qquad
   \sum_i \frac{w_i}{\lambda_i + \kappa} + \frac{w_\perp}{\kappa} = y^T R\, y . $$

Eigenvalues of K/M in place of the $\lambda_i$ would be off by N/M; this is not, and at N = M it is the data's own evidence. All of it is
stationary in $\rho$ and $\kappa$ but for $y^T R y$, which moves by $d\kappa = \langle R^2, dK \rangle / (\kappa^{-2} - (M - N)
\operatorname{tr} R^2)$.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import brentq

from specht.architecture import Architecture, Variances
from specht.errors import InputError
from specht.kernel import SAMPLED_FORMS, choose_form
from specht.learning.adaptive.equivalent import Labels, PredictedLosses, resolvent
from specht.learning.adaptive.orbits import Orbits
from specht.sequences import Task

MOST_SHARE = 0.5
"""Largest number of samples, as a share of the sequences that are drawn."""


class SampledKernel:
    """A kernel on M sequences of a source as a function of the variances of orbits, in units of E[k] at infinite width."""

    tolerance = 1e-5  # far below what the draw of sequences leaves open
    searches = 2

    def __init__(self, orbits: Orbits, task: Task, *, sequences: int, seed: int = 0) -> None:
        import jax

        from specht.kernel import kernel_of_batches, sequences as batch_of

        arch = orbits.arch
        require_closed_form(arch)
        x = task.source.draw(np.random.default_rng([seed, 5]), sequences, arch.columns)
        self.orbits, self.values = orbits, task.target(x)
        self.label_noise = float(task.target.label_variance(x).mean())
        self.total = float(np.mean((self.values**2).sum(axis=1)))
        batch = batch_of(arch, x, None, "x")

        def gram(tokens: Any, positions: Any) -> Any:
            return kernel_of_batches(arch, batch, variances=Variances(tokens, positions, arch.s_1, arch.s_2))

        self._gram = jax.jit(gram)
        self._pull = jax.jit(lambda tokens, positions, of_gram: jax.vjp(gram, tokens, positions)[1](of_gram))
        self.unit = 1.0
        self.unit = float(np.mean(np.diagonal(self.gram(np.log(orbits.prior)))))

    def gram(self, logarithms: np.ndarray) -> np.ndarray:
        """K (M, M)."""
        import jax

        numbers = self.orbits.variances(np.exp(logarithms))
        with jax.enable_x64(True):
            return np.asarray(self._gram(numbers.tokens, numbers.positions)) / self.unit

    def energy(self, logarithms: np.ndarray, labels: Labels) -> tuple[float, np.ndarray]:
        """Free energy without the cost of moving variances, and its gradient in their logarithms."""
        import jax

        gram = self.gram(logarithms)
        m, n, outputs = len(gram), labels.n_train, labels.outputs
        eigenvalues = np.maximum(np.linalg.eigvalsh(gram), 0.0)
        kappa, rho = _find_kappa(eigenvalues, labels)
        inverse = resolvent(gram, rho)
        solved = inverse @ self.values
        noise = labels.noise
        bulk = float(np.log(eigenvalues + rho).sum()) - m * math.log(m * kappa) - rho / kappa + m
        bulk += n * math.log(n * kappa) + labels.ridge / kappa - n
        fit = float(np.vdot(self.values, solved)) + noise / kappa
        moved = (m - n) * float(np.vdot(solved, solved)) + noise / kappa**2
        stiffness = 1.0 / kappa**2 - (m - n) * float(np.sum((eigenvalues + rho) ** -2))
        of_gram = 0.5 * (outputs * inverse - (solved @ solved.T + (moved / stiffness) * (inverse @ inverse)) / labels.unit)
        numbers = self.orbits.variances(np.exp(logarithms))
        with jax.enable_x64(True):
            tokens, positions = self._pull(numbers.tokens, numbers.positions, of_gram / self.unit)
        slope = self.orbits.gather(np.asarray(tokens), np.asarray(positions))
        return 0.5 * (outputs * bulk + fit / labels.unit), slope * np.exp(logarithms)

    def losses(self, logarithms: np.ndarray, labels: Labels) -> PredictedLosses:
        """Test and train loss by theory."""
        return losses_of(self.gram(logarithms), self.values, labels)

    def stderr(self, logarithms: np.ndarray, labels: Labels) -> float:
        """Standard error of the test loss: two halves of the sequences against each other, and against the whole."""
        gram, half = self.gram(logarithms), len(self.values) // 2
        parts = [losses_of(gram[at, at], self.values[at], labels).test for at in (slice(0, half), slice(half, 2 * half))]
        whole = losses_of(gram, self.values, labels).test
        return float(np.hypot((parts[0] - parts[1]) / 2.0, np.mean(parts) - whole))


def require_closed_form(arch: Architecture) -> None:
    """Raise where the kernel has no closed form with a variance for each position."""
    if arch.depth > 1 or choose_form(arch, "nngp", of_each=True) in SAMPLED_FORMS:
        raise InputError(
            f"The kernel of {arch} has no closed form with a variance for each position: "
            "take one block with linear attention or scaling='tied'."
        )


def losses_of(gram: np.ndarray, values: np.ndarray, labels: Labels) -> PredictedLosses:
    """Losses by theory from the Gram of sequences and the target on them (M, K)."""
    m, n = len(gram), labels.n_train
    eigenvalues = np.maximum(np.linalg.eigvalsh(gram), 0.0)
    kappa, rho = _find_kappa(eigenvalues, labels)
    inverse = resolvent(gram, rho)
    solved = inverse @ values
    growth = 1.0 / (kappa**2 * float(np.sum((eigenvalues + rho) ** -2)))  # d rho / d kappa
    missed = kappa**2 * growth * float(np.vdot(solved, solved))  # sum of (1 - L)^2 w
    # sum of L^2 = sum of L - kappa sum of lambda / (lambda + kappa)^2, the last being minus the derivative of the first
    squares = m - growth
    total = n / (n - squares) * (missed + labels.noise)
    size = float(np.mean((values**2).sum(axis=1)))
    learned = size - kappa * float(np.vdot(values, solved))
    return PredictedLosses(total - labels.noise, (labels.ridge / (n * kappa)) ** 2 * total, learned, kappa)


def _find_kappa(eigenvalues: np.ndarray, labels: Labels) -> tuple[float, float]:
    """kappa and rho from the eigenvalues of the Gram."""
    m, n, ridge = len(eigenvalues), labels.n_train, labels.ridge

    def surplus(log_rho: float) -> float:
        rho = math.exp(log_rho)
        return math.log(ridge + (m - n) / float(np.sum(1.0 / (eigenvalues + rho)))) - log_rho

    low = math.log(ridge)
    high = math.log(ridge + (m - n) * (ridge + float(eigenvalues.sum())) / n + 1.0)
    while surplus(high) > 0.0:
        high += 1.0
    rho = math.exp(float(brentq(surplus, low, high, xtol=1e-14)))  # type: ignore[arg-type]
    return 1.0 / float(np.sum(1.0 / (eigenvalues + rho))), rho
