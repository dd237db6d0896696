"""The posterior of a Gaussian process by three ways that give the same numbers: the Gram, explicit features, products with vectors.

| way | numbers in memory | what it is for |
|---|---|---|
| `ByGram` | N^2 | any kernel, by Cholesky |
| `ByFeatures` | N P | a kernel with P < N explicit features, by Cholesky of their P x P moments |
| `ByProducts` | N^2 / 2, or a multiple of N where that does not fit | more samples than Cholesky has room for, by conjugate gradients |
"""

from __future__ import annotations

import abc
import dataclasses
import functools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from specht.errors import InputError
from specht.learning.gp.gram_source import GramSource, MaskedInputs
from specht.learning.gp.iterative import IterativeRegression, regress_iteratively
from specht.learning.gp.matrix_free import Preconditioner, TiledGram, log_determinant, posterior_covariance, posterior_variance
from specht.learning.gp.regression import FeatureRegression, Regression, regress, regress_features

_BLOCK = 2**23
"""Entries of a block of kernel values between new inputs and samples: 64 megabytes."""


@dataclasses.dataclass(frozen=True, eq=False)
class Solver(abc.ABC):
    """What every way can do; N samples, M new inputs, K outputs."""

    source: GramSource
    inputs: MaskedInputs
    """The samples."""
    fit: Any
    """What was solved for: it knows the posterior mean."""

    @abc.abstractmethod
    def predict(self, new: MaskedInputs) -> tuple[np.ndarray, np.ndarray]:
        """Posterior mean (M, K) and variance (M,) of the output."""

    @abc.abstractmethod
    def joint(self, new: MaskedInputs) -> tuple[np.ndarray, np.ndarray]:
        """Posterior mean (M, K) and covariance (M, M) of the output."""

    def likelihood(self) -> tuple[float, float]:
        """Log marginal likelihood of the labels and its standard error, which is 0 where it is exact."""
        return self.fit.log_marginal_likelihood, 0.0

    def at_samples(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Posterior mean (M, K) and variance (M,) of the output at some of the samples."""
        return self.predict(self.inputs[rows])


@dataclasses.dataclass(frozen=True, eq=False)
class ByGram(Solver):
    """Cholesky of the Gram."""

    fit: Regression

    @classmethod
    def solve(cls, source: GramSource, inputs: MaskedInputs, y: np.ndarray, ridge: float) -> ByGram:
        return cls(source, inputs, regress(source.gram(inputs), y, ridge, overwrite=True))

    def predict(self, new: MaskedInputs) -> tuple[np.ndarray, np.ndarray]:
        means, variances = [], []
        for block in _blocks(new, len(self.inputs)):
            cross = self.source.between(block, self.inputs)
            means.append(self.fit.mean(cross))
            variances.append(self.fit.variance(cross, self.source.diagonal(block)))
        return np.concatenate(means), np.concatenate(variances)

    def joint(self, new: MaskedInputs) -> tuple[np.ndarray, np.ndarray]:
        cross = self.source.between(new, self.inputs)
        return self.fit.mean(cross), self.fit.covariance(cross, self.source.gram(new))


@dataclasses.dataclass(frozen=True, eq=False)
class ByOneCall(ByGram):
    """Cholesky of a Gram whose heads are drawn for all inputs together: samples and new inputs are evaluated in one call.

    The source draws as many heads in every call as the Gram of the samples has.
    """

    gram: np.ndarray
    """Gram of the samples (N, N)."""

    @classmethod
    def solve(cls, source: GramSource, inputs: MaskedInputs, y: np.ndarray, ridge: float) -> ByOneCall:
        gram = source.gram(inputs)
        return cls(source.pinned(), inputs, regress(gram, y, ridge), gram)

    def predict(self, new: MaskedInputs) -> tuple[np.ndarray, np.ndarray]:
        mean, covariance = self.joint(new)
        return mean, np.maximum(covariance.diagonal(), 0.0)

    def joint(self, new: MaskedInputs) -> tuple[np.ndarray, np.ndarray]:
        n, columns = len(self.inputs), self.inputs.x.shape[1:]
        masks = [np.ones((len(part), *columns), bool) if part.mask is None else part.mask for part in (self.inputs, new)]
        gram = self.source.gram(MaskedInputs(np.concatenate([self.inputs.x, new.x]), np.concatenate(masks)))
        fit = regress(gram[:n, :n], self.fit.y, self.fit.ridge)
        return fit.mean(gram[n:, :n]), fit.covariance(gram[n:, :n], gram[n:, n:])

    def at_samples(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.fit.mean(self.gram[rows]), self.fit.variance(self.gram[rows], self.gram.diagonal()[rows])


@dataclasses.dataclass(frozen=True, eq=False)
class ByFeatures(Solver):
    """Cholesky in the space of explicit features."""

    fit: FeatureRegression

    @classmethod
    def solve(cls, source: GramSource, inputs: MaskedInputs, y: np.ndarray, ridge: float) -> ByFeatures:
        return cls(source, inputs, regress_features(source.features(inputs), y, ridge))

    def predict(self, new: MaskedInputs) -> tuple[np.ndarray, np.ndarray]:
        parts = [self.source.features(block) for block in _blocks(new, len(self.fit.factor))]
        return tuple(np.concatenate([ask(part) for part in parts]) for ask in (self.fit.mean, self.fit.variance))  # type: ignore[return-value]

    def joint(self, new: MaskedInputs) -> tuple[np.ndarray, np.ndarray]:
        features = self.source.features(new)
        return self.fit.mean(features), self.fit.covariance(features)


@dataclasses.dataclass(frozen=True, eq=False)
class ByProducts(Solver):
    """Conjugate gradients and Lanczos steps on tiles of the Gram."""

    fit: IterativeRegression
    tiles: TiledGram
    preconditioner: Preconditioner
    y: np.ndarray
    tolerance: float
    seed: int

    @classmethod
    def solve(
        cls, source: GramSource, inputs: MaskedInputs, y: np.ndarray, ridge: float, *, tolerance: float, memory: float, seed: int
    ) -> ByProducts:
        if ridge == 0.0:
            raise InputError("method='iterative' needs a positive ridge, got 0: raise the ridge, or use method='cholesky'.")
        if source.jointly:
            raise InputError(
                f"Heads of {source!r} are drawn for all sequences together, so its Gram has no tiles: "
                "use method='cholesky' on fewer sequences."
            )
        preconditioner = Preconditioner.from_landmarks(source, inputs, ridge, seed)
        tiles = TiledGram(source, inputs, memory)
        fit = regress_iteratively(tiles.product, y, ridge, low_rank=preconditioner.features, tolerance=tolerance)
        return cls(source, inputs, fit, tiles, preconditioner, y, tolerance, seed)

    def predict(self, new: MaskedInputs) -> tuple[np.ndarray, np.ndarray]:
        means, variances = [], []
        for block in _blocks(new, len(self.y)):
            cross, prior = self.source.between(block, self.inputs), self.source.diagonal(block)
            means.append(self.fit.mean(cross))
            variance = posterior_variance(self.tiles.product, self.preconditioner, cross, prior, tolerance=self.tolerance)
            variances.append(variance.value)
        return np.concatenate(means), np.concatenate(variances)

    def joint(self, new: MaskedInputs) -> tuple[np.ndarray, np.ndarray]:
        cross, prior = self.source.between(new, self.inputs), self.source.gram(new)
        covariance = posterior_covariance(self.tiles.product, self.preconditioner, cross, prior, tolerance=self.tolerance)
        return self.fit.mean(cross), covariance

    def likelihood(self) -> tuple[float, float]:
        return self._likelihood

    @functools.cached_property
    def _likelihood(self) -> tuple[float, float]:
        (n, outputs), determinant = self.y.shape, log_determinant(self.tiles.product, self.preconditioner, seed=self.seed)
        quadratic = float(np.vdot(self.y, self.fit.weights))
        value = -0.5 * (quadratic + outputs * (determinant.value + n * math.log(2.0 * math.pi)))
        return value, 0.5 * outputs * determinant.stderr


def _blocks(new: MaskedInputs, width: int) -> Iterator[MaskedInputs]:
    """New inputs, so many at a time that their kernel with the samples stays small."""
    step = max(1, _BLOCK // width)
    return (new[start : start + step] for start in range(0, len(new), step))
