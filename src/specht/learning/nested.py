r"""Posteriors of one kernel given the first n of a dataset's samples, for several n at once.

The Cholesky factor of the first n samples is the leading block of the factor of all, so that one Gram and one factorisation serve every
n. Predictions at new sequences are linear in their kernel with the samples, hence one product for all n and outputs together.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence

import numpy as np

from specht.architecture import Kind
from specht.errors import InputError
from specht.kernel import MAX_POSITIONS, Kernel, choose_form, why_no_features
from specht.learning.gp.gram_source import OwnGram
from specht.learning.gp.regression import regress, regress_features

_BLOCK = 2**23
"""Entries of a block of kernel values or features between new sequences and samples: 64 megabytes."""


@dataclasses.dataclass(frozen=True, eq=False)
class Posteriors:
    """What the first n samples say, for each of S numbers n."""

    residuals: list[np.ndarray]
    """Labels minus posterior mean at the samples, each (n, K)."""
    means: list[np.ndarray]
    """Posterior mean at each batch of M new sequences, (S, M, K)."""


@dataclasses.dataclass(frozen=True, eq=False)
class NestedInference:
    """Exact inference with one kernel at one ridge."""

    kernel: Kernel | OwnGram
    kind: Kind
    scale: float
    """What the kernel is divided by."""
    ridge: float
    """In units of the scale."""
    features: int | None
    """Number of explicit features of the kernel, where it has them."""

    @property
    def heads(self) -> int | None:
        """Heads that the kernel was sampled with; None where it is exact."""
        return self.kernel.heads_drawn(self.kind)

    def posteriors(self, x: np.ndarray, y: np.ndarray, sizes: Sequence[int], batches: Sequence[np.ndarray]) -> Posteriors:
        """Posteriors given the first n of the samples, n in `sizes`, at batches of new sequences."""
        x, y = x[: max(sizes)], y[: max(sizes)]
        if isinstance(self.kernel, Kernel) and choose_form(self.kernel.arch, self.kind) == "joint":
            return self._jointly(x, y, sizes, batches)
        if self.solves_by_features(sizes):
            return self._by_features(x, y, sizes, batches)
        residuals, weights = self._solve(self._gram(x), y, sizes)
        means = []
        for batch in batches:
            outputs = np.empty((len(batch), weights.shape[1]))
            for at, block in self.kernel.tiles(batch, x, rows=max(1, _BLOCK // len(x)), kind=self.kind):
                outputs[at] = block @ weights
            means.append(_by_size(outputs, len(sizes)))
        return Posteriors(residuals, means)

    def solves_by_features(self, sizes: Sequence[int]) -> bool:
        """Whether features are fewer than the samples of the largest size, and so the cheaper way."""
        return self.features is not None and self.features < max(sizes)

    def _gram(self, x: np.ndarray) -> np.ndarray:
        if isinstance(self.kernel, Kernel) and self.kind == "ntk":
            return self.kernel.ntk(x)
        return self.kernel.nngp(x)

    def _features(self, x: np.ndarray) -> np.ndarray:
        assert isinstance(self.kernel, Kernel)  # others have no features
        return self.kernel.features(x) / math.sqrt(self.scale)

    def _solve(self, gram: np.ndarray, y: np.ndarray, sizes: Sequence[int]) -> tuple[list[np.ndarray], np.ndarray]:
        """Training residuals, and the weights of all sizes and outputs side by side (N, S K), zero for samples that a size leaves out."""
        gram /= self.scale
        fit = regress(gram, y, self.ridge, overwrite=True)
        parts = [fit.leading(n) for n in sizes]
        weights = np.zeros((len(y), len(sizes), y.shape[1]))
        for place, (n, part) in enumerate(zip(sizes, parts, strict=True)):
            weights[:n, place] = part.weights / self.scale  # they meet the kernel as it is
        return [part.train_residual for part in parts], weights.reshape(len(y), -1)

    def _by_features(self, x: np.ndarray, y: np.ndarray, sizes: Sequence[int], batches: Sequence[np.ndarray]) -> Posteriors:
        phi = self._features(x)
        small = max((n for n in sizes if n <= phi.shape[1]), default=0)
        fit = regress(phi[:small] @ phi[:small].T, y[:small], self.ridge, overwrite=True) if small else None
        residuals, coefficients = [], []
        for n in sizes:
            if fit is not None and n <= small:
                part = fit.leading(n)
                residuals.append(part.train_residual)
                coefficients.append(phi[:n].T @ part.weights)
            else:
                full = regress_features(phi[:n], y[:n], self.ridge)
                residuals.append(full.train_residual)
                coefficients.append(full.coefficients)
        together = np.concatenate(coefficients, axis=1)
        means = []
        for batch in batches:
            outputs = np.concatenate([self._features(block) @ together for block in _blocks(batch, _BLOCK // phi.shape[1])])
            means.append(_by_size(outputs, len(sizes)))
        return Posteriors(residuals, means)

    def _jointly(self, x: np.ndarray, y: np.ndarray, sizes: Sequence[int], batches: Sequence[np.ndarray]) -> Posteriors:
        """All sequences in one call, because their heads are drawn together."""
        everything = np.concatenate([x, *batches])
        if everything.size > MAX_POSITIONS:
            raise InputError(
                f"Heads of this architecture are drawn for training and test sequences together, at most {MAX_POSITIONS} positions and so "
                f"{MAX_POSITIONS // x.shape[1]} sequences, and there are {len(everything)}: ask for fewer with n_train and n_test."
            )
        gram = self._gram(everything)
        residuals, weights = self._solve(gram[: len(x), : len(x)].copy(), y, sizes)
        outputs = np.split(gram[len(x) :, : len(x)] @ weights, np.cumsum([len(batch) for batch in batches])[:-1])
        return Posteriors(residuals, [_by_size(output, len(sizes)) for output in outputs])


def count_features(kernel: Kernel | OwnGram, kind: Kind, reference: np.ndarray) -> int | None:
    """How many explicit features the kernel has; None where they are not known, or not those of this kind."""
    if isinstance(kernel, OwnGram) or kind != "nngp" or why_no_features(kernel.arch) is not None:
        return None
    return kernel.features(reference).shape[1]


def _by_size(outputs: np.ndarray, sizes: int) -> np.ndarray:
    """(M, S K) -> (S, M, K)."""
    return outputs.reshape(len(outputs), sizes, -1).transpose(1, 0, 2)


def _blocks(x: np.ndarray, rows: int) -> Iterator[np.ndarray]:
    step = max(1, rows)
    return (x[start : start + step] for start in range(0, len(x), step))
