r"""From norms to the gap between training and test risk: covering numbers, capacities, and the samples from which they say anything.

A covering number says how many functions a class needs so that every other is within $\varepsilon$ of one of them on all samples. Results
are natural logarithms $\log N_\infty(\varepsilon)$, or capacities $C = \varepsilon^2 \log N_\infty(\varepsilon)$, which leading-order
bounds make independent of $\varepsilon$. Numbers are those of Edelman, Goel, Kakade & Zhang 2022 (arXiv 2110.10090).

$\|A\|_{2,1}$ is the sum of the norms of the columns of A, $\|A\|$ the largest singular value. Of a map $x \mapsto W x$ the bounds need
$\|W^\top\|_{2,1}$; tokens are rows, so a matrix A that multiplies them from the right is the map $x \mapsto A^\top x$ and counts as it
stands.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from scipy import optimize

from specht.checks import finite_number, whole_number
from specht.errors import InputError, unknown_choice

SOFTMAX = 2.0
r"""Corollary A.7: $\|\mathrm{softmax}(a) - \mathrm{softmax}(b)\|_1 \le 2 \|a - b\|_\infty$."""
DUDLEY = 12.0
"""The constant c of lemma A.4, which the paper leaves open: that of Dudley's entropy integral."""
MOST_SAMPLES = 1e60
"""Beyond this, samples are not counted any more."""
Version = Literal["exact", "appendix", "main text"]


def norm_21(matrix: Any) -> float:
    """The sum of the Euclidean norms of the columns.

    >>> norm_21([[3.0, 0.0], [4.0, 2.0]])
    7.0
    """
    return float(np.linalg.norm(np.asarray(matrix, dtype=np.float64), axis=0).sum())


def spectral(matrix: Any) -> float:
    """The largest singular value."""
    return float(np.linalg.norm(np.asarray(matrix, dtype=np.float64), 2))


class _Checked:
    """Norms are finite and not negative."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):  # pyright: ignore[reportArgumentType]
            finite_number(field.name, getattr(self, field.name), at_least=0.0)


@dataclasses.dataclass(frozen=True)
class HeadNorms(_Checked):
    r"""Of a head $\sigma(W_V^\top X^\top \mathrm{softmax}(X W_{QK}^\top x_\tau))$."""

    value_21: float
    r"""$\|W_V\|_{2,1}$."""
    value: float
    r"""$\|W_V\|$."""
    query_key_21: float
    r"""$\|W_{QK}^\top\|_{2,1}$."""

    @classmethod
    def of(cls, value: Any, query_key: Any) -> HeadNorms:
        """Those of matrices $W_V$ and $W_{QK}$."""
        return cls(norm_21(value), spectral(value), norm_21(np.asarray(query_key).T))


@dataclasses.dataclass(frozen=True)
class LayerNorms(_Checked):
    r"""Of a layer $\sigma(\mathrm{softmax}(X W_{QK} X^\top) X W_V) W_C$, tokens being put on the unit ball before and after $\sigma$."""

    value_21: float
    value: float
    query_key_21: float
    query_key: float
    mix_21: float
    r"""$\|W_C\|_{2,1}$."""
    mix: float

    @classmethod
    def of(cls, value: Any, query_key: Any, mix: Any) -> LayerNorms:
        """Those of matrices $W_V$, $W_{QK}$ and $W_C$."""
        keys = np.asarray(query_key).T
        return cls(norm_21(value), spectral(value), norm_21(keys), spectral(keys), norm_21(mix), spectral(mix))


@dataclasses.dataclass(frozen=True)
class DenseNorms(_Checked):
    r"""Of a fully connected layer $x \mapsto \sigma(A^\top x)$."""

    matrix_21: float
    matrix: float

    @classmethod
    def of(cls, matrix: Any) -> DenseNorms:
        return cls(norm_21(matrix), spectral(matrix))


def linear_cover(b_x: float, b_w: float, epsilon: float, points: int, width: int) -> float:
    r"""Lemma 4.6 with all constants, for $\{x \mapsto W x : \|W^\top\|_{2,1} \le B_W\}$ with `width` input dimensions.

    As in the proof, the resolution is split in two halves. One goes to lemma A.10 (Zhang 2002), for $\{x \mapsto w \cdot x\}$:
    $\log N \le \frac{36 B_1^2 B_2^2}{\varepsilon^2} \log(2 \lceil 4 B_1 B_2 / \varepsilon + 2 \rceil N + 1)$.
    """
    size = b_x * b_w / finite_number("epsilon", epsilon, above=0.0)
    return 4 * size**2 * (math.log(2 * width + 1) + 36 * math.log(2 * math.ceil(8 * size + 2) * points + 1))


def head_change(scores: float, inner: float, b_x: float, *, b_in: float = 1.0, out: float = 1.0, softmax: float = SOFTMAX) -> float:
    r"""Lemma 4.3: how far a head moves when its scores move by `scores` ($\infty$-norm) and $\phi_{in}$ by `inner` ($2,\infty$-norm).

    $C\, L_{out} B_{in} B_X \|\Delta s\|_\infty + L_{out} \|\Delta \phi_{in}\|_{2,\infty}$.
    """
    return softmax * out * b_in * b_x * scores + out * inner


def head_cover(
    score_cover: Callable[[float], float],
    inner_cover: Callable[[float], float],
    epsilon: float,
    b_x: float,
    *,
    b_in: float = 1.0,
    out: float = 1.0,
) -> float:
    r"""Theorem 4.2: the resolution is shared out between scores and values in the cheapest way,

    $$ \inf_\alpha\; \log N_{Score}\Big(\frac{\alpha\, \varepsilon}{C L_{out} B_{in} B_X}\Big)
       + \log N_{in}\Big(\frac{(1 - \alpha)\, \varepsilon}{L_{out}}\Big) . $$

    The covers are functions of a resolution, on all m T tokens.
    """
    change = head_change(1.0, 0.0, b_x, b_in=b_in, out=out)

    def total(logit: float) -> float:
        alpha = 1.0 / (1.0 + math.exp(-logit))
        return score_cover(alpha * epsilon / max(change, 1e-300)) + inner_cover((1.0 - alpha) * epsilon / max(out, 1e-300))

    minimum: Any = optimize.minimize_scalar(total, bounds=(-12.0, 12.0), method="bounded")
    return float(minimum.fun)


def explicit_head_cover(
    head: HeadNorms, b_x: float, epsilon: float, *, samples: int, length: int, width: int, query_norm: float = 1.0
) -> float:
    """Theorem 4.2 with lemma 4.6 put in, all constants written out; scores are inner products with a class token of norm `query_norm`."""
    points = samples * length
    query_norm = finite_number("query_norm", query_norm, at_least=0.0)
    return head_cover(
        lambda resolution: linear_cover(1.0, head.query_key_21 * b_x * query_norm, resolution, points, width),
        lambda resolution: linear_cover(b_x, head.value_21, resolution, points, width),
        epsilon,
        b_x,
        b_in=head.value,
    )


def head_capacity(
    heads: HeadNorms | Sequence[HeadNorms],
    b_x: float,
    *,
    samples: int,
    length: int,
    width: int,
    lipschitz: float = 1.0,
    positions: float = 0.0,
    query_norm: float = 1.0,
    version: Version | str = "exact",
) -> float:
    r"""Corollary 4.5, and lemma A.12 for several heads:

    $$ C = (L_\sigma B_X)^2 \Big(\sum_h \big[\|W_V\|_{2,1}^{2/3} + t_h^{2/3}\big]\Big)^3 \log(d m T) . $$

    The second term is $t = 2 \|W_{QK}^\top\|_{2,1} \|W_V\| B_X B_\tau$ by the exact split of lemma A.8, as in lemma A.11; the appendix
    leaves out the 2, and the main text $B_X$ as well, with $\log(m T)$. Fixed positions of norm `positions` add to $B_X$ (lemma A.11).
    The paper takes the token that asks to have norm $B_\tau = 1$; `query_norm` is that norm where it is another.

    >>> unit = HeadNorms(1.0, 1.0, 1.0)
    >>> [round(head_capacity(unit, 1.0, samples=100, length=T, width=64, version="main text") / 0.1**2) for T in (25, 100)]
    [6259, 7368]
    """
    if version not in ("exact", "appendix", "main text"):
        raise unknown_choice("version", version, ("exact", "appendix", "main text"))
    norms = [heads] if isinstance(heads, HeadNorms) else list(heads)
    if not norms:
        raise InputError("There are no heads, so there is no bound: give the norms of at least one.")
    b_x = b_x + finite_number("positions", positions, at_least=0.0)
    factor = {"exact": 2.0 * b_x, "appendix": b_x, "main text": 1.0}[version] * finite_number("query_norm", query_norm, at_least=0.0)
    total = sum(head.value_21 ** (2 / 3) + (factor * head.query_key_21 * head.value) ** (2 / 3) for head in norms)
    return (lipschitz * b_x) ** 2 * total**3 * log_factor(samples, length, 1 if version == "main text" else width)


def log_factor(samples: float, length: int, width: int = 1) -> float:
    """log(d m T): all that bounds have of the number of samples and of positions at fixed norms."""
    whole_number("length", length, at_least=1)
    return math.log(width * finite_number("samples", samples, at_least=1.0) * length)


def stack_capacity(
    layers: Sequence[LayerNorms],
    readout: float,
    *,
    samples: int,
    length: int,
    width: int,
    head_size: int,
    lipschitz: float = 1.0,
    residual: bool = False,
    as_printed: bool = False,
) -> float:
    r"""Theorem A.17, for L layers and a readout of norm $B_w$, all tokens on the unit ball:

    $$ C = \Big( B_w^{2/3} \big( 1 + \sum_i \alpha_i^{2/3} \big[ \|W_C\|_{2,1}^{2/3} + (2 L B_C B_V \|W_{QK}\|_{2,1})^{2/3}
       + (L B_C \|W_V\|_{2,1})^{2/3} \big] \big) \Big)^3 \log(d m T), \qquad \alpha_i = \prod_{j > i} L B_C B_V (1 + 4 B_{QK}) , $$

    as its proof gives it: what changes in layer i is passed on by the layers above it. The theorem `as_printed` takes the layers below,
    has factors $d^{2/3}$ and $k^{2/3}$ at the last two terms and does not multiply the sum by $B_w$. A residual stream adds one to the
    Lipschitz constant of every layer.
    """
    passed = [lipschitz * norms.mix * norms.value * (1 + 4 * norms.query_key) + residual for norms in layers]
    total = 0.0
    for place, norms in enumerate(layers):
        alpha = math.prod(passed[:place] if as_printed else passed[place + 1 :])
        scores = (2 * lipschitz * norms.mix * norms.value * norms.query_key_21) ** (2 / 3)
        values = (lipschitz * norms.mix * norms.value_21) ** (2 / 3)
        if as_printed:
            scores, values = width ** (2 / 3) * scores, head_size ** (2 / 3) * values
        total += alpha ** (2 / 3) * (norms.mix_21 ** (2 / 3) + scores + values)
    last = readout ** (2 / 3)
    return (last + total if as_printed else last * (1.0 + total)) ** 3 * log_factor(samples, length, width)


def dense_capacity(layers: Sequence[DenseNorms], b_x: float, *, samples: int, width: int, lipschitz: float = 1.0) -> float:
    r"""A fully connected network by the same lemmas (Bartlett, Foster & Telgarsky 2017, theorem 1.1):

    $$ C = B_X^2 \prod_i (L s_i)^2 \Big( \sum_i (\|A_i\|_{2,1} / s_i)^{2/3} \Big)^3 \log(d m) . $$

    Its input holds all T tokens side by side, so $B_X^2$ is T times that of one token: linear in T where attention is logarithmic.
    """
    if not layers:
        raise InputError("There are no layers, so there is no bound: give the norms of at least one.")
    if any(norms.matrix == 0.0 for norms in layers):
        return 0.0
    scale = math.prod(norms.matrix for norms in layers) * lipschitz ** (len(layers) - 1)
    total = sum((norms.matrix_21 / norms.matrix) ** (2 / 3) for norms in layers)
    return (b_x * scale) ** 2 * total**3 * math.log(max(2.0, width * samples))


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
