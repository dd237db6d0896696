r"""The posterior mean of a finite network to first order in one over its width, for any architecture that can be sampled.

A network without its readout has a kernel $K_w$ of its own, which scatters around the infinite-width kernel $K$. The posterior mean is the
mean of regressions with $K_w$, each weighed by the evidence of the labels. With $dK = K_w - K$ at the samples and $dk$ at new inputs,
$A = (K + \delta)^{-1}$, $\alpha = A y$, and $D = dk - k A\, dK$,

$$ f = k \alpha + \langle D \alpha \rangle - \langle D A\, dK\, \alpha \rangle + \langle (g - \langle g \rangle)\, D \alpha \rangle , \qquad
   g = \tfrac12 \big( \alpha^T dK\, \alpha - \mathrm{tr} A\, dK \big) , $$

up to terms of second order in 1/width; brackets are averages over random networks. $g$ is the logarithm of a network's weight. Where it
scatters by one or more, a few networks carry all the weight and the expansion is no use: there, sample (`specht.adapt`).
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import numpy as np

from specht.architecture import Architecture, check_architecture
from specht.arrays import as_numpy
from specht.checks import finite_number, whole_number
from specht.errors import explains_calls
from specht.kernel import Kernel
from specht.learning.checks import labels
from specht.nn import Network, Size, feature_kernel
from specht.progress import Progress, report
from specht.results import Result, Variable
from specht.sequences import check_batch
from specht.stats import standard_error

LARGEST_SPREAD = 1.0
"""Scatter of the logarithms of weights above which the expansion is not trusted."""


@dataclasses.dataclass(frozen=True, eq=False)
class FirstOrder(Result):
    """The posterior mean at M new inputs, corrected for finite width."""

    arch: Architecture
    size: Size
    infinite: np.ndarray
    """Posterior mean at infinite width (M, K)."""
    correction: np.ndarray
    """What finite width adds to first order (M, K)."""
    stderr: np.ndarray
    """Standard error of the correction, over networks (M, K)."""
    spread: float
    """Standard deviation of the logarithms of the networks' weights."""
    networks: int

    @property
    def mean(self) -> np.ndarray:
        """The corrected mean (M, K)."""
        return self.infinite + self.correction

    @property
    def trusted(self) -> bool:
        """Whether weights scatter so little that an expansion can be right."""
        return self.spread < LARGEST_SPREAD

    def mean_square_error(self, y_new: Any) -> float:
        """Mean over inputs of the squared error of the corrected mean, summed over outputs; the noise of sampling is taken out."""
        errors = self.mean - as_numpy(y_new, "y_new").astype(np.float64).reshape(self.mean.shape)
        return float((errors**2 - self.stderr**2).sum(axis=1).mean())

    def summary(self) -> dict[str, Any]:
        """Means as plain values, as files and figures have them."""
        arrays = {name: getattr(self, name).tolist() for name in ("infinite", "correction", "stderr")}
        return arrays | {"spread": self.spread, "trusted": self.trusted, "networks": self.networks}

    def _summary(self) -> str:
        word = "small enough to trust it" if self.trusted else "too much to trust it: use specht.adapt"
        return (
            f"{self.arch}\nwidth {self.size.width}, {self.size.heads} heads of size {self.size.head_size}: first order in 1/width from "
            f"{self.networks} networks\nlogarithms of their weights scatter by {self.spread:.2g}, {word}"
        )

    def _variables(self) -> list[Variable]:
        both = ("input", "output")
        return [
            Variable("input", "input", np.arange(len(self.mean)), "number of the input"),
            Variable("output", "output", np.arange(self.mean.shape[1]), "number of the output"),
            Variable("mean", both, self.mean, "posterior mean to first order in 1/width", "label"),
            Variable("infinite", both, self.infinite, "posterior mean at infinite width", "label"),
            Variable("stderr", both, self.stderr, "standard error of the correction, over networks", "label"),
            Variable("spread", (), self.spread, "standard deviation of the logarithms of the networks' weights"),
        ]


@explains_calls
def first_order(
    arch: Architecture,
    x: Any,
    y: Any,
    x_new: Any,
    *,
    size: Size,
    ridge: Any = 0.1,
    networks: int = 200,
    seed: int = 0,
    mask: Any = None,
    mask_new: Any = None,
    progress: Progress | None = None,
) -> FirstOrder:
    """The posterior mean of finite networks at new inputs, to first order in 1/width.

    >>> import specht
    >>> arch = specht.Architecture(vocab=2, length=4, activation="relu", residual=True)
    >>> x = np.random.default_rng(0).integers(2, size=(8, 5))
    >>> corrected = first_order(arch, x, 2.0 * x[:, 0] - 1.0, x, size=specht.nn.Size(512, 128, 8), networks=10)
    >>> corrected.mean.shape
    (8, 1)

    Arguments:
        x, y: samples (N, columns) and labels (N,) or (N, K), as large as the outputs of random networks are in units of the kernel.
        x_new: new inputs (M, columns).
        size: size of the networks.
        ridge: variance of label noise, in units of the mean of k(x, x) over the samples, as labels are in units of its root.
        networks: how many are drawn.
        mask, mask_new: True for the real tokens of x and of x_new.
        progress: called as progress(done, total).
    """
    check_architecture(arch)
    ridge, networks = finite_number("ridge", ridge, above=0.0), whole_number("networks", networks, at_least=4)
    tokens, real = check_batch(arch, x, mask)
    new, real_new = check_batch(arch, x_new, mask_new)
    outputs, kernel = labels(y, len(tokens)), Kernel(arch)
    scale = float(np.mean(kernel.diagonal(tokens, mask=real)))
    gram = np.asarray(kernel.nngp(tokens, mask=real)) / scale
    cross = np.asarray(kernel.nngp(new, tokens, mask=real_new, mask_y=real)) / scale
    inverse = np.linalg.inv(gram + ridge * np.eye(len(gram)))
    expansion = _Expansion(gram, cross, inverse, inverse @ outputs)
    keys = jax.random.split(jax.random.key(whole_number("seed", seed, at_least=0, at_most=2**31 - 1)), networks)
    terms = []
    for done, key in enumerate(keys, start=1):
        network = Network.init(arch, size, key=key)
        of_stochastic = jax.random.fold_in(key, 1)
        own = feature_kernel(network, tokens, mask=real, key=of_stochastic) / scale
        other = feature_kernel(network, new, tokens, mask=real_new, mask_y=real, key=of_stochastic) / scale
        terms.append(expansion.terms(own, other))
        report(progress, done, networks)
    weights, linear, quadratic = (np.array(part) for part in zip(*terms, strict=True))
    corrections = linear + quadratic + (weights - weights.mean())[:, None, None] * linear
    stderr = standard_error(corrections)
    return FirstOrder(arch, size, cross @ expansion.weights, corrections.mean(axis=0), stderr, float(weights.std(ddof=1)), networks)


@dataclasses.dataclass(frozen=True)
class _Expansion:
    """Regression at infinite width, and how one network differs from it."""

    gram: np.ndarray
    cross: np.ndarray
    inverse: np.ndarray
    """A"""
    weights: np.ndarray
    """alpha (N, K)"""

    def terms(self, gram: np.ndarray, cross: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """g, D alpha and -D A dK alpha of a network with these kernels; the last two (M, K)."""
        change = gram - self.gram
        moved = cross - self.cross - self.cross @ (self.inverse @ change)
        weight = 0.5 * float(np.vdot(self.weights, change @ self.weights) - self.weights.shape[1] * np.vdot(self.inverse, change))
        return weight, moved @ self.weights, -moved @ (self.inverse @ (change @ self.weights))
