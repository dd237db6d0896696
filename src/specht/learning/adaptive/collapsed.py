r"""The posterior of a transformer of finite width with everything integrated out that can be.

Weights $\theta$ of some layers are kept; given them, and all others Gaussian, the labels are a Gaussian process with kernel
$k_\theta$. So the posterior of what is kept is

$$ p(\theta \mid y) \propto p(\theta)\, N(y;\, 0,\, U_\theta \otimes k_\theta + \delta) , $$

and predictions are those of Gaussian processes, averaged over $\theta$. What is kept, by level:

* "embedding": the vectors of tokens and positions; everything behind them is infinitely wide.
* "layers": also what the linear layers behind attention do. Given its own weights, a linear layer of width $d'$ multiplies the
  covariance of K outputs by a Wishart matrix of $d'$ degrees of freedom over $d'$. For one output that is a number $u$ with prior
  $\propto u^{d'/2 - 1} e^{-d' u / 2}$.
* "heads": also queries and keys of finitely many heads, and for each head a number $u_h$ of strength $d_k$ for its values and outputs.
* "readout": all weights but those of the readout.

What a linear layer of finite width does to a kernel: it multiplies it by a number that the labels choose.

A hidden layer of width $d'$ without activation between features of kernel $K$ and one output multiplies the kernel by $u$, with free energy

$$ S(u) = \frac{d'}2 (u - \ln u) + \tfrac12 \log\det(u K + \delta) + \tfrac12 y^T (u K + \delta)^{-1} y . $$

Without ridge its minimum is the positive root of $u^2 + (a - 1) u - a\, y^T K^{-1} y / N = 0$ with $a = N / d'$ (Li & Sompolinsky 2021;
Pacelli et al. 2023). Labels larger than the kernel expects raise it, smaller ones lower it.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.optimize import brentq

from specht.activations import activation
from specht.architecture import Architecture
from specht.checks import finite_number, not_negative, whole_number
from specht.errors import InputError
from specht.kernel import (
    Embedding,
    Heads,
    KernelModel,
    Sequences,
    attended,
    by_position,
    embedded_diagonal,
    embedded_kernel,
    outer,
    streams,
)
from specht.learning.adaptive.problem import Data, Widths
from specht.learning.checks import labels, square_gram
from specht.learning.gp.evidence import log_evidence_of

Level = Literal["embedding", "layers", "heads", "readout"]


class Weights(NamedTuple):
    """What is kept of a network; None for what a level does not have. The prior is standard normal unless it says otherwise."""

    tokens: Any
    """(symbols, width)"""
    positions: Any
    """(columns, width)"""
    query: Any = None
    """(heads, width, head size)"""
    key: Any = None
    """(heads, width, head size)"""
    strength: Any = None
    """log u_h (heads,)"""
    scales: Any = None
    """log of the squared diagonals of triangular factors of the layers' Wishart matrices (layers, K)"""
    mixtures: Any = None
    """Entries below those diagonals (layers, K, K); those above are not used"""
    value: Any = None
    """(heads, width, head size)"""
    output: Any = None
    """(heads, head size, hidden)"""
    dense: Any = None
    """(hidden, hidden)"""


@dataclasses.dataclass(frozen=True)
class Collapsed:
    """Which weights are kept, for a network of given widths and K outputs."""

    arch: Architecture
    widths: Widths
    level: Level
    outputs: int = 1

    @property
    def linear_layers(self) -> int:
        """Layers of finite width behind attention whose whole effect is a matrix over outputs: attention's output, dense, extra."""
        arch = self.arch
        plain = arch.activation == "linear" and arch.norm == "none" and not arch.residual and arch.depth == 1
        return (2 if plain else 0) + arch.extra_linear if self.level in ("layers", "heads") and self.widths.hidden is not None else 0

    def draw(self, key: Array) -> Weights:
        """Draw weights for a chain to start from: those of the prior, with gains of layers and heads from a normal law near it."""
        shapes = self._shapes()
        keys = jax.random.split(key, len(shapes))
        drawn = {name: jax.random.normal(part_key, shape) for part_key, (name, shape) in zip(keys, shapes.items(), strict=True)}
        for name, freedom in (("strength", self._head_freedom), ("scales", self._layer_freedom)):
            if name in drawn:  # near one, with the spread of the prior
                drawn[name] = drawn[name] * jnp.sqrt(2.0 / jnp.broadcast_to(freedom, drawn[name].shape))
        return Weights(**({"tokens": None, "positions": None} | drawn))

    def log_prior(self, weights: Weights) -> Array:
        """Log prior of what is kept, up to a constant."""
        normal = [part for name, part in weights._asdict().items() if part is not None and name not in ("strength", "scales", "mixtures")]
        total = -0.5 * sum((jnp.sum(part**2) for part in normal), start=jnp.zeros(()))
        if weights.strength is not None:
            freedom = self._head_freedom
            total = total + 0.5 * jnp.sum(freedom * (weights.strength - jnp.exp(weights.strength)))
        if weights.scales is not None:
            hidden = float(self.widths.hidden or 1)
            freedom = jnp.broadcast_to(self._layer_freedom, weights.scales.shape)
            total = total + 0.5 * jnp.sum(freedom * weights.scales - hidden * jnp.exp(weights.scales))
        if weights.mixtures is not None:
            total = total - 0.5 * jnp.sum(weights.mixtures**2)
        return total

    def log_posterior(self, model: KernelModel, weights: Weights, data: Data, draws: Array | None) -> Array:
        """Log posterior of what is kept, up to a constant; `draws` are random numbers for infinitely many heads."""
        gram = self.gram(model, weights, data.x, None, draws) / data.scale
        return self.log_prior(weights) + log_evidence_of(gram, self.mixing(weights), data.y, data.ridge)

    def gram(self, model: KernelModel, weights: Weights, x: Sequences, y: Sequences | None, draws: Array | None) -> Array:
        """The kernel given what is kept, without what mixes outputs."""
        embedding = Embedding.scaled(model, weights.tokens, weights.positions)
        if self.level == "readout":
            left = self._hidden(model, embedding, weights, x)
            right = left if y is None else self._hidden(model, embedding, weights, y)
            return model.readout * outer(left, right) / left.shape[1]
        return embedded_kernel(model, embedding, x, y, heads=self._heads(weights, draws))

    def diagonal(self, model: KernelModel, weights: Weights, x: Sequences, draws: Array | None) -> Array:
        """The kernel of each sequence with itself, without what mixes outputs."""
        embedding = Embedding.scaled(model, weights.tokens, weights.positions)
        if self.level == "readout":
            hidden = self._hidden(model, embedding, weights, x)
            return model.readout * jnp.mean(hidden**2, axis=1)
        return embedded_diagonal(model, embedding, x, heads=self._heads(weights, draws))

    def mixing(self, weights: Weights) -> Array:
        """U: what linear layers of finite width make of the covariance between outputs."""
        factor = jnp.eye(self.outputs)
        if weights.scales is None:
            return factor
        for layer in range(len(weights.scales)):
            below = 0.0 if weights.mixtures is None else jnp.tril(weights.mixtures[layer], -1) / math.sqrt(self.widths.hidden or 1)
            factor = factor @ (jnp.diag(jnp.exp(0.5 * weights.scales[layer])) + below)
        return factor @ factor.T

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        arch, (width, hidden, heads, size), level = self.arch, self.widths, self.level
        shapes: dict[str, tuple[int, ...]] = {"tokens": (arch.symbols, width)}
        if arch.has_positions:
            shapes["positions"] = (arch.columns, width)
        if level in ("heads", "readout") and heads is not None and size is not None:
            shapes["query"] = heads, width, size
            if arch.scaling != "tied":
                shapes["key"] = heads, width, size
            if level == "heads":
                shapes["strength"] = (heads,)
            elif hidden is not None:
                shapes |= {"value": (heads, width, size), "output": (heads, size, hidden), "dense": (hidden, hidden)}
        if self.linear_layers:
            shapes["scales"] = self.linear_layers, self.outputs
            if self.outputs > 1:
                shapes["mixtures"] = self.linear_layers, self.outputs, self.outputs
        return shapes

    @property
    def _head_freedom(self) -> float:
        return float(self.outputs * (self.widths.head_size or 1))

    @property
    def _layer_freedom(self) -> Array:
        """Degrees of freedom of the squared diagonals of a Wishart matrix's triangular factor (Bartlett 1933)."""
        return jnp.maximum(float(self.widths.hidden or 1) - jnp.arange(self.outputs, dtype=jnp.float64), 1.0)

    def _heads(self, weights: Weights, draws: Array | None) -> Heads | None:
        if weights.query is not None:
            strength = jnp.ones(len(weights.query)) if weights.strength is None else jnp.exp(weights.strength)
            return Heads.of_weights(self.arch, weights.query, weights.key, strength)
        return None if draws is None else Heads(draws, None, jnp.ones(len(draws)))

    def _hidden(self, model: KernelModel, embedding: Embedding, weights: Weights, x: Sequences) -> Array:
        """What the readout sees, of one block without norm or residual sum."""
        (heads, width, size), hidden = weights.value.shape, weights.dense.shape[0]
        stream = streams(model, embedding, x)
        unit = Heads.of_weights(self.arch, weights.query, weights.key, jnp.full(heads, float(heads * width)))
        context = attended(model, stream, x, unit)[0].reshape(-1, heads, width)
        through = jnp.einsum("nhi,hik,hko->no", context, weights.value, weights.output) / math.sqrt(width * heads * size)
        return activation(self.arch.activation).phi(jnp.sqrt(model.dense) * through @ weights.dense / math.sqrt(hidden))


def needs_draws(arch: Architecture, level: Level) -> bool:
    """Whether infinitely many heads have to be drawn: softmax scores of untied heads have no closed form."""
    return arch.attention == "softmax" and arch.scaling != "tied" and level in ("embedding", "layers") and not by_position(arch)


def gain_without_ridge(gram: Any, y: Any, width: int) -> float:
    """u of one linear layer at zero ridge, in closed form.

    >>> gain_without_ridge(np.eye(4), np.ones((4, 1)), width=10**6)
    1.0
    """
    gram = square_gram(gram)
    outputs, width = labels(y, len(gram)), whole_number("width", width, at_least=1)
    if outputs.shape[1] != 1:
        raise InputError(f"The gain of a layer is one number for one output, got {outputs.shape[1]} outputs: give one of them.")
    energy = float(np.vdot(outputs, np.linalg.solve(gram, outputs)))
    share = len(gram) / width
    half = (1.0 - share) / 2.0
    product = share * energy / len(gram)
    # the root without a difference of nearly equal numbers
    return half + math.hypot(half, math.sqrt(product)) if half >= 0 else product / (math.hypot(half, math.sqrt(product)) - half)


def layer_gain(gram: Any, y: Any, width: int, *, ridge: float) -> float:
    """u of one linear layer: where the slope of S in ln u crosses zero, found from the eigenvalues of the Gram."""
    ridge = not_negative("ridge", ridge)
    if ridge == 0.0:
        return gain_without_ridge(gram, y, width)
    gram = square_gram(gram)
    outputs, width = labels(y, len(gram)), whole_number("width", width, at_least=1)
    eigenvalues, vectors = np.linalg.eigh(gram)
    eigenvalues = np.maximum(eigenvalues, 0.0)
    squares = np.square(vectors.T @ outputs).sum(axis=1)

    def slope(logarithm: float) -> float:
        part = math.exp(logarithm) * eigenvalues
        return width * (math.exp(logarithm) - 1.0) + float(np.sum(part / (part + ridge) - squares * part / (part + ridge) ** 2))

    largest = finite_number("labels", float(squares.sum()), at_least=0.0)
    root: Any = brentq(slope, -60.0, 2.0 + math.log1p(largest / ridge), xtol=1e-15)
    return math.exp(root)
