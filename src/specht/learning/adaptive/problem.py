"""Samples that a transformer of finite width is to learn from: checked once, in the units of its kernel."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from specht.architecture import Architecture, check_architecture
from specht.checks import finite_number
from specht.errors import InputError
from specht.kernel import Kernel, Sequences, sequences, why_not_embedded
from specht.learning.adaptive.collapsed import Data
from specht.learning.checks import labels
from specht.sequences import check_batch

MAX_ENTRIES = 2**26
"""Entries of the covariance of all pairs of columns of all pairs of sequences, where it has to be followed position by position."""


@dataclasses.dataclass(frozen=True, eq=False)
class AdaptiveProblem:
    """An architecture with the samples it learns from; labels and ridge are in units of `scale`, the size of the kernel."""

    arch: Architecture
    x: np.ndarray
    """Tokens (N, columns)."""
    visible: np.ndarray
    """Which of them are real (N, columns)."""
    y: np.ndarray
    """Labels (N, K)."""
    single: bool
    """Whether labels came as a vector, so that means are vectors too."""
    ridge: float
    """Variance of label noise, in units of the squared labels."""
    scale: float
    """The kernel is divided by it: the mean of k(x, x) over the samples at infinite width, unless given."""

    @classmethod
    def of(cls, arch: Any, x: Any, y: Any, mask: Any, ridge: Any, scale: Any) -> AdaptiveProblem:
        """A checked problem."""
        check_architecture(arch)
        reason = why_not_embedded(arch)
        if reason is not None:
            raise InputError(f"{arch} has no theory of finite width here: {reason}.")
        if y is None:
            raise InputError("No labels were given: adapt(arch, x, y) needs one for every sequence of x.")
        tokens, visible = check_batch(arch, x, mask)
        outputs = np.array(labels(y, len(tokens)), dtype=np.float64, order="C")
        if len(outputs) > 1 and (outputs == outputs[:1]).all():
            raise InputError("All labels are equal, so there is nothing that the embedding could adapt to: give labels that vary.")
        ridge = finite_number("ridge", ridge, above=0.0)
        scale = _mean_diagonal(arch, tokens, visible) if scale is None else finite_number("scale (of the kernel)", scale, above=0.0)
        return cls(arch, tokens, visible, outputs, np.ndim(y) == 1, ridge, scale)

    @property
    def rows(self) -> int:
        """Number of samples N."""
        return len(self.y)

    @property
    def outputs(self) -> int:
        """Number of outputs K."""
        return self.y.shape[1]

    def data(self) -> Data:
        """The samples as compiled functions take them; call it where float64 is enabled."""
        return Data(self.batch(self.x, self.visible), jnp.asarray(self.y), jnp.asarray(self.ridge), jnp.asarray(self.scale))

    def batch(self, x: Any, mask: Any, name: str = "x") -> Sequences:
        """Sequences as kernels take them, checked."""
        return jax.tree.map(jnp.asarray, sequences(self.arch, x, mask, name))

    def describe(self) -> str:
        """Describe the problem in a line."""
        outputs = "1 output" if self.outputs == 1 else f"{self.outputs} outputs"
        return f"{self.rows} samples, {outputs}, ridge {self.ridge:.3g}, kernel in units of {self.scale:.4g}"


def _mean_diagonal(arch: Architecture, tokens: np.ndarray, visible: np.ndarray) -> float:
    mean = float(np.mean(Kernel(arch).diagonal(tokens, mask=visible)))
    if not mean > 0.0:
        raise InputError(f"The kernel of {arch} vanishes on these samples: raise a variance, or choose another architecture.")
    return mean
