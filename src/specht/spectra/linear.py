r"""The solvable model, linear attention with a linear activation: two irreps, blocks whose size does not depend on the length.

With $\kappa_{ww'} = s_w \delta_{ww'} + s_p$ for the readout tokens $w, w'$, context counts $n$, and $s_p^V$ the variance of positions in
the values, the kernel is a quadratic form in the features $t_{wv} = [x_c = w]\, n_v$ (trivial irrep) and
$[x_c = w] ([x_a = v] - n_v / L)$ (irrep $(L-1, 1)$):

$$ C^{(L)} = \kappa_{ww'} \Big[ s_w^2 \big(\delta_{vv'} + \tfrac{\delta_{vw'} + \delta_{wv'}}{L} + \tfrac{\delta_{ww'}}{L^2}\big)
   + (s_p + s_p^V) s_w \big(\tfrac{\delta_{vv'}}{L} + \tfrac{\delta_{ww'}}{L^2}\big) + s_p s_p^V \tfrac{L + 1}{L^2} \Big], \qquad
   C^{(L-1,1)} = (s_p + s_p^V) s_w\, \kappa_{ww'} \delta_{vv'} . $$

The law enters through the moments of the features, which are those of one, two and three tokens:

$$ M^{(L)} = \delta_{ww'} [L \delta_{vv'} p_2(w, v) + L (L - 1) p_3(w, v, v')], \qquad
   M^{(L-1,1)} = \delta_{ww'} [\delta_{vv'} p_2(w, v) - p_3(w, v, v')] . $$

Eigenvalues are those of $C M$ (view from infinity, section on the linear model; Lavie, Gur-Ari & Ringel 2024).

The model has a length beyond which it turns away from higher levels, the crossover of linear attention. In
$E[k] \propto s_w^2 E|N|^2 + 2 s_w s_p L + s_p^2 L$ the counts grow as $E|N|^2 \approx c L^2$, where $c = \sum_v p_2(v, v)$ is the
probability that two tokens are equal, $1/V$ for uniform ones. The eigenvalue of $(L-1, 1)$ does not depend on the length, so that

$$ \frac{\lambda_{(L-1,1)}}{E[k]} \propto \frac{1}{L + L^2 / L^*} , \qquad L^* = \frac1c \Big(\frac{s_p}{s_w}\Big)^2 , $$

falls as $L^{-1}$, the bound, well below $L^*$ and as $L^{-2}$ well beyond. Without positions in the values $s_w s_p$ stands for $s_p^2$.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Literal, NamedTuple

import numpy as np

from specht.architecture import Architecture, Kind
from specht.groups import Partition
from specht.sequences import Source, uniform
from specht.spectra.block import CountLaw, IrrepBlock, diagonalise, require_finite

Place = Literal["well below", "around", "well beyond"]

FACTOR = 4.0
"""How far from the crossover is well below or beyond it: the exponent is then within 0.2 of its limit."""


def is_linear_model(arch: Architecture, kind: Kind) -> bool:
    """Whether the kernel is the quadratic form above, up to a factor."""
    plain = arch.depth == 1 and arch.norm == "none" and not arch.residual and arch.readout != "mean"
    linear = arch.attention == "linear" and arch.scaling == "sqrt" and arch.activation == "linear"
    # In the tangent kernel, positions that values do not see count differently in the two sums.
    same_in_ntk = arch.values_see_positions or not arch.has_positions
    return plain and linear and arch.positions in ("learned", "none") and (kind == "nngp" or same_in_ntk)


def linear_blocks(arch: Architecture, law: CountLaw, kind: Kind) -> list[IrrepBlock]:
    """The blocks of [L] and [L-1,1], at a cost that does not depend on L."""
    moments = _moments(law)
    with np.errstate(over="ignore", invalid="ignore"):  # what is out of range is refused with a sentence later
        forms = _forms(arch, kind)
    shapes = [Partition((arch.length,))] + ([Partition((arch.length - 1, 1))] if arch.length > 1 else [])
    return [
        _block(law, shape, form, gram)
        for shape, form, gram in zip(shapes, (forms.trivial, forms.standard), (moments.trivial, moments.standard), strict=False)
    ]


class _Pair(NamedTuple):
    """A matrix for either irrep, with indices (w, v) of readout and context token: arrays (W, V, W, V) or (W, V, V)."""

    trivial: np.ndarray
    standard: np.ndarray


def _forms(arch: Architecture, kind: Kind) -> _Pair:
    s_w, s_p, length, vocab = np.float64(arch.token_variance), np.float64(arch.position_variance), arch.length, arch.vocab
    in_values = s_p if arch.values_see_positions else 0.0
    if arch.readout == "last":
        same_readout, readout_is_token = np.eye(vocab), np.eye(vocab)
    else:  # a class symbol: the same in both, and no token
        same_readout, readout_is_token = np.ones((1, 1)), np.zeros((1, vocab))
    kappa = (s_w * same_readout + s_p)[:, None, :, None]
    readouts, tokens = same_readout[:, None, :, None], np.eye(vocab)[None, :, None, :]
    crossed = readout_is_token[:, None, None, :] + readout_is_token.T[None, :, :, None]  # [v' = w] + [v = w']
    trivial = s_w**2 * (tokens + crossed / length + readouts / length**2)
    trivial = trivial + (s_p + in_values) * s_w * (tokens / length + readouts / length**2) + s_p * in_values * (length + 1) / length**2
    factor = arch.s_1 * arch.s_2 * (1.0 if kind == "nngp" else 9.0 + arch.extra_linear)
    factor = factor / (length + 1) ** 2 if arch.normalised else factor
    standard = (s_p + in_values) * s_w * np.broadcast_to(tokens, trivial.shape)
    return _Pair(factor * kappa * trivial, factor * kappa * standard)


def _moments(law: CountLaw) -> _Pair:
    moments, length = law.mixture.moments(), law.arch.length
    single, double = (moments.p2, moments.p3) if law.readouts > 1 else (moments.p1[None], moments.p2[None])
    diagonal = single[:, :, None] * np.eye(law.arch.vocab)[None]
    return _Pair(length * diagonal + length * (length - 1) * double, diagonal - double)


def _block(law: CountLaw, shape: Partition, form: np.ndarray, gram: np.ndarray) -> IrrepBlock:
    """Eigenvalues of R C R with R R = M, block by block of the readout token; R turns coefficients into unit functions."""
    readouts, vocab = gram.shape[0], gram.shape[1]
    values, vectors = np.linalg.eigh(gram)
    cut = values > 1e-13 * max(values.max(), 1e-300)
    scaled = vectors * np.sqrt(np.where(cut, values, 0.0))[:, None, :]
    root = scaled @ vectors.transpose(0, 2, 1)
    inverse = (vectors * np.where(cut, 1.0 / np.sqrt(np.where(cut, values, 1.0)), 0.0)[:, None, :]) @ vectors.transpose(0, 2, 1)
    require_finite(form)
    operator = np.einsum("wvu,wuxy,xyz->wvxz", root, form, root, optimize=True).reshape(readouts * vocab, -1)
    eigenvalues, directions = diagonalise(operator)
    rank = int(cut.sum())  # directions without variance are no functions
    coefficients = np.einsum("wvu,wum->wvm", inverse, directions.reshape(readouts, vocab, -1))
    return IrrepBlock(shape, eigenvalues[:rank], _LinearFunctions(law, coefficients[:, :, :rank], standard=shape.level == 1))


class _LinearFunctions(NamedTuple):
    """Features times coefficients (W, V, copies); for the irrep [L-1,1] the difference of positions 0 and 1."""

    law: CountLaw
    coefficients: np.ndarray
    standard: bool

    def __call__(self, x: np.ndarray) -> np.ndarray:
        context, readout = self.law.split(x)
        if self.standard:
            return (self.coefficients[readout, context[:, 0]] - self.coefficients[readout, context[:, 1]]) / math.sqrt(2)
        counts = (context[:, :, None] == np.arange(self.law.arch.vocab)).sum(axis=1)
        return np.einsum("nv,nvc->nc", counts, self.coefficients[readout])


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
