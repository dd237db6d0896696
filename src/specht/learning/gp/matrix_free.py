r"""Gaussian process inference from products of the Gram with vectors: log-determinants by Lanczos, variances by conjugate gradients.

The Gram is cut into square tiles, of which the upper half is enough. They stay in memory where they fit and are computed anew in every
product otherwise. Random landmarks give features with $\Phi \Phi^T \approx K$, hence a matrix $P = \Phi \Phi^T + \delta$ that is close
to $K + \delta$ and easy to invert. What is left for chance is small:

$$ \log\det(K + \delta) = \log\det P + \operatorname{tr} \log\big(P^{-1/2} (K + \delta) P^{-1/2}\big), $$

where the trace is a mean over random sign vectors $v$ of $v^T \log(\cdot)\, v$, each from a few Lanczos steps (`matfree`).

The posterior variance at a new input needs $k_* (K + \delta)^{-1} k_*^T$. If $s$ solves the system up to a residual
$r = k_*^T - (K + \delta) s$, then $k_* s + s^T r$ misses it by $r^T (K + \delta)^{-1} r \le |r|^2 / \delta$ and by no more.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh

from specht.learning.gp.gram_source import GramSource, MaskedInputs
from specht.learning.gp.iterative import Product, nystrom_features, regress_iteratively

TILE = 1024
"""Rows and columns of a tile."""
LANDMARKS = 1000
"""Most landmarks of the preconditioner."""
PROBES = 32
"""Random vectors that a log-determinant is averaged over."""
DEPTH = 40
"""Lanczos steps for each of them."""
_COLUMNS = 128
"""New inputs that are solved for together."""
_CORE = 1e-13
"""Share of the largest eigenvalue below which a direction of the features counts as zero."""


class LogDeterminant(NamedTuple):
    """An estimate and its standard error, the error of too few Lanczos steps included."""

    value: float
    stderr: float


class Variance(NamedTuple):
    """Posterior variances (M,) and bounds (M,) of their error: the exact ones are at most this much smaller."""

    value: np.ndarray
    error: np.ndarray


class TiledGram:
    """The Gram of N inputs as square tiles of its upper half, kept where they fit into `memory` bytes."""

    def __init__(self, source: GramSource, inputs: MaskedInputs, memory: float) -> None:
        self.source, self.inputs = source, inputs
        count = math.ceil(len(inputs) / TILE)
        self.kept = 8 * TILE**2 * count * (count + 1) // 2 <= memory
        self._tiles = list(self._computed()) if self.kept else None

    def __len__(self) -> int:
        return len(self.inputs)

    def product(self, vectors: np.ndarray) -> np.ndarray:
        """The Gram times vectors (N, K)."""
        result = np.zeros((len(self), vectors.shape[1]))
        for rows, columns, tile in self._computed() if self._tiles is None else self._tiles:
            result[rows] += tile @ vectors[columns]
            if rows != columns:
                result[columns] += tile.T @ vectors[rows]
        return result

    def _computed(self) -> Iterator[tuple[slice, slice, np.ndarray]]:
        n, size = len(self), min(TILE, len(self))
        starts = range(0, n, size)
        for left in starts:
            for right in starts[left // size :]:
                rows, columns = slice(left, min(left + size, n)), slice(right, min(right + size, n))
                # The last tile is filled up, so that all have one shape: a kernel is compiled for each.
                both = (self.inputs[np.arange(start, start + size) % n] for start in (left, right))
                tile = self.source.between(*both)[: rows.stop - left, : columns.stop - right]
                yield rows, columns, (tile + tile.T) / 2.0 if left == right else np.ascontiguousarray(tile)


@dataclasses.dataclass(frozen=True, eq=False)
class Preconditioner:
    r"""The matrix $P = \Phi \Phi^T + \delta$ of N inputs, through features whose columns are orthogonal to each other."""

    features: np.ndarray
    """Columns (N, p) that are orthogonal to each other."""
    squares: np.ndarray
    """Squared lengths of the columns (p,)."""
    ridge: float

    @classmethod
    def from_landmarks(cls, source: GramSource, inputs: MaskedInputs, ridge: float, seed: int) -> Preconditioner:
        """From random inputs as landmarks, at most a quarter of all."""
        count = max(1, min(len(inputs) // 4, LANDMARKS))
        landmarks = inputs[np.sort(np.random.default_rng(seed).permutation(len(inputs))[:count])]
        features = nystrom_features(source.gram(landmarks), source.between(inputs, landmarks))
        squares, turn = eigh(features.T @ features, check_finite=False)
        core = squares > _CORE * squares[-1]
        return cls(features @ turn[:, core], squares[core], ridge)

    @property
    def log_determinant(self) -> float:
        missing = len(self.features) - len(self.squares)
        return float(np.log(self.squares + self.ridge).sum()) + missing * math.log(self.ridge)

    def root_inverse(self, vectors: np.ndarray) -> np.ndarray:
        """P^-1/2 times vectors (N, K)."""
        weights = (1.0 / np.sqrt(self.squares + self.ridge) - 1.0 / math.sqrt(self.ridge)) / self.squares
        return vectors / math.sqrt(self.ridge) + self.features @ (weights[:, None] * (self.features.T @ vectors))


def log_determinant(
    product: Product, preconditioner: Preconditioner, *, seed: int = 0, probes: int = PROBES, depth: int = DEPTH
) -> LogDeterminant:
    """log det(K + ridge) from products of the Gram with vectors, with its standard error.

    Arguments:
        product: maps vectors (N, K) to the Gram times them.
        preconditioner: close to the Gram plus ridge, whose ridge is meant.
        probes: random vectors that are averaged over. The standard error falls as their square root.
        depth: Lanczos steps. By how much half of them change the estimate is part of the standard error.
    """
    import jax
    import jax.numpy as jnp
    from matfree import decomp, funm, stochtrace

    ridge, n = preconditioner.ridge, len(preconditioner.features)
    depth = min(depth, n)
    half = (depth + 1) // 2

    def whitened(vectors: np.ndarray) -> np.ndarray:
        inner = preconditioner.root_inverse(vectors)
        return preconditioner.root_inverse(product(inner) + ridge * inner)

    def quadratic_form(matvec: Callable[..., Any], probe: Any) -> tuple[Any, Any]:
        """v^T log(A) v from all Lanczos steps, and from the first half of them."""
        steps = jnp.asarray(decomp.tridiag_sym(depth, custom_vjp=False)(matvec, probe).J_small)
        logarithm = funm.dense_funm_sym_eigh(jnp.log)
        return n * logarithm(steps)[0, 0], n * logarithm(steps[:half, :half])[0, 0]

    with jax.enable_x64(True), _OnHost(whitened, n) as matvec:
        sampler = stochtrace.sampler_signs(jnp.ones(n, jnp.float64), num=probes)
        estimate = stochtrace.estimator_monte_carlo_mean_and_sem(quadratic_form, sampler)
        (trace, rough), (error, _) = jax.jit(lambda key: estimate(matvec, key))(jax.random.key(seed))
    unbiased = float(error) * math.sqrt(probes / (probes - 1))
    return LogDeterminant(preconditioner.log_determinant + float(trace), math.hypot(unbiased, float(trace) - float(rough)))


class _OnHost:
    """A function of NumPy vectors (N, K), as a function of one vector that JAX can trace and batch.

    A callback runs on another thread, where JAX would turn float64 into float32; integers with the same bits pass through.
    """

    def __init__(self, function: Product, n: int) -> None:
        self._function, self._n = function, n
        self._failure: Exception | None = None

    def __enter__(self) -> Callable[[Any], Any]:
        import jax
        import jax.numpy as jnp

        def matvec(vector: Any) -> Any:
            bits = jax.lax.bitcast_convert_type(vector, jnp.uint32)
            result = jax.pure_callback(self._call, jax.ShapeDtypeStruct(bits.shape, bits.dtype), bits, vmap_method="broadcast_all")
            return jax.lax.bitcast_convert_type(result, jnp.float64)

        return matvec

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self._failure is not None:
            raise self._failure  # with its own words, and not those of the callback

    def _call(self, bits: Any) -> np.ndarray:
        vectors = np.asarray(bits).view(np.float64)[..., 0]
        try:
            result = self._function(vectors.reshape(-1, self._n).T)
        except Exception as failure:
            self._failure = failure
            raise
        return np.ascontiguousarray(result.T).reshape(vectors.shape)[..., None].view(np.uint32)


def posterior_variance(
    product: Product, preconditioner: Preconditioner, cross: np.ndarray, prior: np.ndarray, *, tolerance: float
) -> Variance:
    """Posterior variances at new inputs by conjugate gradients, each exact up to `tolerance` times its prior variance.

    Arguments:
        product: maps vectors (N, K) to the Gram times them.
        cross, prior: kernel of the new inputs with the samples (M, N), and k(x, x) (M,).
    """
    values, errors = np.empty((2, len(cross)))
    for start in range(0, len(cross), _COLUMNS):
        at = slice(start, start + _COLUMNS)
        _, values[at], errors[at] = _explained(product, preconditioner, cross[at], prior[at], tolerance)
    return Variance(np.maximum(prior - values, 0.0), errors)


def posterior_covariance(
    product: Product, preconditioner: Preconditioner, cross: np.ndarray, prior: np.ndarray, *, tolerance: float
) -> np.ndarray:
    """Posterior covariance (M, M) at new inputs, from their kernel with the samples (M, N) and with each other (M, M)."""
    starts = range(0, len(cross), _COLUMNS)
    parts = [slice(start, start + _COLUMNS) for start in starts]
    solved = [_explained(product, preconditioner, cross[at], prior.diagonal()[at], tolerance)[0] for at in parts]
    covariance = prior - cross @ np.concatenate(solved, axis=1)
    return (covariance + covariance.T) / 2.0


def _explained(
    product: Product, preconditioner: Preconditioner, cross: np.ndarray, prior: np.ndarray, tolerance: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(K + ridge)^-1 times the kernel of new inputs (N, M), what the samples explain of their variance, and the bound of its error."""
    lengths = np.linalg.norm(cross, axis=1)
    allowed = np.sqrt(tolerance * preconditioner.ridge * np.maximum(prior, 0.0))
    needed = np.divide(allowed, lengths, out=np.ones_like(lengths), where=lengths > 0.0)
    residual_wanted = float(np.clip(needed.min(), 1e-14, 1e-2))
    fit = regress_iteratively(product, cross.T, preconditioner.ridge, low_rank=preconditioner.features, tolerance=residual_wanted)
    explained = np.einsum("mn,nm->m", cross, fit.weights) + np.einsum("nm,nm->m", fit.weights, fit.residual)
    return fit.weights, explained, np.square(fit.residual).sum(axis=0) / preconditioner.ridge
