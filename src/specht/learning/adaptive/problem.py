r"""What a network of finite width is asked, and what all answers say: samples and widths, and which symmetry the embedding keeps.

The variance $g_i = |a_i|^2 / d$ of an embedding vector, over its prior, is one where the data say nothing. A position is singled out where
its $g$ stands out from that of the others. Positions that do not stand out can still be exchanged, so what is left of the symmetric group
is the group that permutes them.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from specht.architecture import Architecture, check_architecture
from specht.checks import finite_number, whole_number
from specht.errors import InputError, explains_calls
from specht.kernel import Kernel, Sequences, sequences, why_not_embedded
from specht.learning.checks import labels
from specht.results import Result, Variable
from specht.sequences import check_batch

MAX_ENTRIES = 2**26
"""Entries of the covariance of all pairs of columns of all pairs of sequences, where it has to be followed position by position."""
CLEAR = 15.0
"""Robust standard deviations by which a position has to stand out: many, because noise gives heavy tails to the variances."""
SURE = 5.0
"""Standard errors of sampling by which it has to stand out as well."""
_ROUNDING = 1e-4
"""Relative differences of variances that a search leaves."""


@explains_calls
class Widths(NamedTuple):
    """Sizes of the parts of a network; None where a part is infinitely wide."""

    embedding: int
    """Entries of the vectors of tokens and positions."""
    hidden: int | None = None
    """Width of the layers behind attention."""
    heads: int | None = None
    """Attention heads."""
    head_size: int | None = None
    """Size of queries, keys and values in a head."""

    def checked(self) -> Widths:
        """Return these widths, or raise an `InputError` that says which size is wrong."""
        embedding = whole_number("width (entries of the embedding)", self.embedding, at_least=1)
        others = [
            None if size is None else whole_number(name, size, at_least=1) for name, size in zip(self._fields[1:], self[1:], strict=True)
        ]
        if others[1] is not None and others[2] is None:
            raise InputError(f"{others[1]} heads need a head_size: finitely many heads are of finite size.")
        return Widths(embedding, *others)

    def describe(self) -> str:
        """In words, such as "embedding 16, hidden 16, 16 heads of size 8"."""
        words = [f"embedding {self.embedding}", "hidden layers infinite" if self.hidden is None else f"hidden {self.hidden}"]
        words.append("infinitely many heads" if self.heads is None else f"{self.heads} heads of size {self.head_size}")
        return ", ".join(words)


def widths_of(width: Any) -> Widths:
    """Sizes as users give them: `Widths`, or one number, with half as many heads of size 4, as networks of `specht predict` have them."""
    if isinstance(width, Widths):
        return width.checked()
    number = whole_number("width", width, at_least=1)
    return Widths(number, number, heads=max(1, number // 2), head_size=4)


class Data(NamedTuple):
    """Samples, as compiled functions take them."""

    x: Sequences
    y: Any
    """(N, K)"""
    ridge: Any
    scale: Any
    """The unit of labels and ridge: the kernel is divided by it."""


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
        if scale is None:
            scale = float(np.mean(Kernel(arch).diagonal(tokens, mask=visible)))
            if not scale > 0.0:
                raise InputError(f"The kernel of {arch} vanishes on these samples: raise a variance, or choose another architecture.")
        scale = finite_number("scale (of the kernel)", scale, above=0.0)
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


class Order(NamedTuple):
    """Variances of embedding vectors over their priors, with standard errors (zero where nothing was sampled)."""

    tokens: np.ndarray
    tokens_stderr: np.ndarray
    positions: np.ndarray
    """One for each column; empty without positions."""
    positions_stderr: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class AdaptiveResult(Result):
    """A result with a problem, widths and order parameters."""

    problem: AdaptiveProblem
    widths: Widths

    @property
    def order(self) -> Order:
        """Variances of the vectors of tokens and positions, over their priors."""
        raise NotImplementedError

    @functools.cached_property
    def singled_out(self) -> np.ndarray:
        """Which context positions the embedding singles out: truth values (L,); none without positions."""
        length = self.problem.arch.length
        if not self.problem.arch.has_positions:
            return np.zeros(length, dtype=bool)
        return singled_out(self.order.positions[:length], self.order.positions_stderr[:length])

    @property
    def symmetry(self) -> str:
        """What is left of the symmetric group of the context, in words."""
        return symmetry_left(self.singled_out)

    def _sizes(self, *, hidden_counts: bool) -> str:
        """The widths in words, and where that of hidden layers does not count."""
        ignored = self.widths.hidden is not None and not hidden_counts
        return self.widths.describe() + (" (hidden layers count as infinitely wide)" if ignored else "")

    def summary(self) -> dict[str, Any]:
        """Order parameters as plain values, as files and figures have them."""
        return {name: values.tolist() for name, values in self.order._asdict().items()} | {
            "architecture": str(self.problem.arch),
            "width": self.widths.embedding,
            "samples": self.problem.rows,
            "singled_out": np.flatnonzero(self.singled_out).tolist(),
            "symmetry": self.symmetry,
        }

    def _order_variables(self) -> list[Variable]:
        order = self.order
        return [
            Variable("column", "column", np.arange(len(order.positions)), "column, the readout column last"),
            Variable("positions", "column", order.positions, "variance of a position's vector over its prior"),
            Variable("positions_stderr", "column", order.positions_stderr, "its standard error over chains; zero where nothing is sampled"),
            Variable("token", "token", np.arange(len(order.tokens)), "token"),
            Variable("tokens", "token", order.tokens, "variance of a token's vector over its prior"),
            Variable("tokens_stderr", "token", order.tokens_stderr, "its standard error over chains; zero where nothing is sampled"),
            Variable("width", (), self.widths.embedding, "entries of the embedding"),
            Variable("samples", (), self.problem.rows, "number of samples N", "samples"),
        ]


def singled_out(values: np.ndarray, stderr: np.ndarray) -> np.ndarray:
    """Which entries stand out from the bulk: truth values.

    The bulk is judged by its median and by the median distance from it, which a few entries that stand out hardly move; errors of sampling
    count on top. A spread that is itself rounding is not taken for a scale.

    >>> singled_out(np.array([2.1, 1.0, 0.98, 1.02, 1.01, 0.99]), np.zeros(6)).tolist()
    [True, False, False, False, False, False]
    """
    if len(values) < 3:
        return np.zeros(len(values), dtype=bool)
    logarithms = np.log(values)
    distance = np.abs(logarithms - np.median(logarithms))
    spread = 1.4826 * np.median(distance)
    return distance > np.maximum(np.hypot(CLEAR * spread, SURE * stderr / values), _ROUNDING)


def symmetry_left(singled: np.ndarray) -> str:
    """The subgroup of the symmetric group of the context that is left, in words.

    >>> symmetry_left(np.array([True, False, False, False])), symmetry_left(np.zeros(4, dtype=bool))
    ('S_3, of S_4', 'S_4, unbroken')
    """
    length, kept = len(singled), int((~singled).sum())
    return f"S_{length}, unbroken" if kept == length else f"S_{kept}, of S_{length}"
