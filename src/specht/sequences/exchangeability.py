r"""How far a source is from exchangeable: the distance between its law and the average of it over permutations.

With $\bar p(x) = \frac{1}{|G|} \sum_{g \in G} p(g x)$ the gap is the total variation
$$ \mathrm{TV}(p, \bar p) = \tfrac12 \sum_x |p(x) - \bar p(x)| = \mathrm{E}_{x \sim p} \big[ (1 - \bar p(x) / p(x))_+ \big] , $$
the largest difference of probability that any event can show. The group $G$ is that of the theory: it permutes the $L$ context positions
and leaves the readout token, the last column, in place. With mean readout there is no such token and it permutes all $L$ columns.

Sequences with the same readout token and the same counts in the context form one orbit, and $\bar p$ is the mean of $p$ over it. Where all
sequences can be listed the gap is exact. Elsewhere, for $x \sim p$ and $m$ random permutations of it with ratios $r_j = p(g_j x) / p(x)$,
and with $s_j$ the mean of the other ratios, two averages over $x$ are taken:
$$ \text{upper} = \big(1 - \tfrac1m \textstyle\sum_j r_j \big)_+ , \qquad
   \text{lower} = \tfrac1m \textstyle\sum_j (1 - r_j)\, [\, r_j \le s_j < 1 \,] . $$
The upper one is too large on average, since $(\cdot)_+$ is convex. The lower one is too small on average: for any event $A$
$$ p(A) - \bar p(A) = \mathrm{E} \big[ (1 - r_j)_+ \big( [x \in A] - [g_j x \in A] \big) \big] \le \mathrm{TV}(p, \bar p) , $$
and the other permutations, which know nothing of $r_j$, choose $A$: the sequences more probable than their mean. Both errors vanish as
$1/m$, with opposite signs and the same constant when ratios spread smoothly around one, so the middle is the estimate.
"""

from __future__ import annotations

import dataclasses
from typing import Literal, get_args

import numpy as np

from specht.architecture import Readout
from specht.checks import whole_number
from specht.errors import InputError, check_choice
from specht.progress import Progress, report
from specht.sequences.law import ENUMERATION_LIMIT, Exchangeable, Source
from specht.stats import standard_error

Method = Literal["auto", "exact", "sampled"]

_BLOCK = 2**21
"""Tokens of permuted sequences held at a time."""
_LARGEST_EXPONENT = 600.0
"""Logarithm above which a ratio of probabilities is cut off, so that sums of ratios stay finite."""


@dataclasses.dataclass(frozen=True)
class Gap:
    """Total variation between a law and its average over permutations, from 0 to 1; str() says what is known about it."""

    value: float
    stderr: float = 0.0
    """Standard error of the value; zero for an exact one."""
    low: float = 0.0
    """The gap lies between `low` and `high` with 95 % confidence, bias of the estimate included."""
    high: float = 0.0
    exact: bool = True
    samples: int = 0
    """Number of sequences drawn."""
    permutations: int = 0
    """Number of permutations of each."""

    def __str__(self) -> str:
        if self.exact:
            return f"{self.value:.2g}"
        return f"{self.value:.2g} ± {self.stderr:.1g} (between {self.low:.2g} and {self.high:.2g}, {self.samples} sequences sampled)"


def exchangeability_gap(
    source: Source,
    length: int,
    *,
    readout: Readout = "last",
    method: Method = "auto",
    samples: int = 2000,
    permutations: int = 32,
    seed: int = 0,
    progress: Progress | None = None,
) -> Gap:
    """Total variation between the law of a source and its average over permutations of the context.

    Arguments:
        length: number L of context positions that are permuted.
        readout: "last": sequences have one more column, which stays in place; "cls" and "mean": all columns drawn are permuted.
        method: "exact" lists all sequences; "sampled" draws them; "auto" is exact where it can be.
        samples, permutations, seed: settings of the sampled method.
        progress: called as progress(done, samples) while sampling.

    >>> from specht.sequences.hmm import HiddenMarkov
    >>> switch = HiddenMarkov([0.5, 0.5], [[0.1, 0.9], [0.9, 0.1]], [[1, 0], [0, 1]])
    >>> print(exchangeability_gap(switch, 2))
    0.36
    """
    length = whole_number("length", length, 1)
    check_choice("readout", readout, get_args(Readout))
    check_choice("method", method, get_args(Method))
    columns = length + (readout == "last")  # a class symbol is not drawn
    if method == "exact" or (method == "auto" and source.vocab**columns <= ENUMERATION_LIMIT):
        value = _exact_gap(source, length, columns)
        return Gap(value, low=value, high=value)
    if method == "auto" and source.is_exchangeable:
        return Gap(0.0)
    samples, permutations = whole_number("samples", samples, 2), whole_number("permutations", permutations, 2)
    return _sampled_gap(source, length, columns, samples, permutations, seed, progress)


def require_exchangeable(source: Source, length: int, *, readout: Readout = "last") -> Exchangeable:
    """The source in de Finetti's form, for a method that is exact only there; otherwise an `InputError` that says how far off it is."""
    if source.is_exchangeable:
        return source.mixture
    gap = exchangeability_gap(source, length, readout=readout, samples=500)
    raise InputError(
        f"this method needs an exchangeable source, and the law of this one changes by a total variation of {gap} when the {length} "
        "context positions are permuted: use a method that samples, or an exchangeable source such as `default_mixture`."
    )


def _exact_gap(source: Source, length: int, columns: int) -> float:
    x, p = source.enumerate(columns)
    representative = np.concatenate([np.sort(x[:, :length], axis=1), x[:, length:]], axis=1)
    orbit = representative @ source.vocab ** np.arange(columns)
    mean = np.bincount(orbit, p) / np.maximum(np.bincount(orbit), 1)
    return float(np.abs(p - mean[orbit]).sum() / 2)


def _sampled_gap(source: Source, length: int, columns: int, samples: int, permutations: int, seed: int, progress: Progress | None) -> Gap:
    rng = np.random.default_rng(whole_number("seed", seed, 0))
    step = max(1, _BLOCK // (permutations * columns))
    bounds = np.empty((2, samples))
    for start in range(0, samples, step):
        block = bounds[:, start : start + step]
        block[:] = _bounds(_ratios(source, rng, block.shape[1], length, columns, permutations))
        report(progress, start + block.shape[1], samples)
    (low, high), (low_stderr, high_stderr) = bounds.mean(axis=1), standard_error(bounds, axis=-1)
    middle = bounds.mean(axis=0)
    return Gap(
        value=float(middle.mean()),
        stderr=float(standard_error(middle)),
        low=max(0.0, float(low - 2 * low_stderr)),
        high=min(1.0, float(high + 2 * high_stderr)),
        exact=False,
        samples=samples,
        permutations=permutations,
    )


def _ratios(source: Source, rng: np.random.Generator, n: int, length: int, columns: int, permutations: int) -> np.ndarray:
    """p(g x) / p(x) for `n` sequences x of the source and random permutations g of their context, shape (n, permutations)."""
    x = source.draw(rng, n, columns)
    moved = np.repeat(x, permutations, axis=0)
    moved[:, :length] = rng.permuted(moved[:, :length], axis=1)
    difference = source.log_probability(moved).reshape(n, permutations) - source.log_probability(x)[:, None]
    return np.exp(np.minimum(difference, _LARGEST_EXPONENT))


def _bounds(ratios: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each sequence, terms whose averages are below and above the gap."""
    permutations = ratios.shape[1]
    zero = np.zeros((len(ratios), 1))
    # Sums over the others from both ends: total minus own would forget the others where own is large.
    before = np.cumsum(np.hstack([zero, ratios[:, :-1]]), axis=1)
    after = np.cumsum(np.hstack([zero, ratios[:, :0:-1]]), axis=1)[:, ::-1]
    others = (before + after) / (permutations - 1)
    lower = np.where((ratios <= others) & (others < 1), 1 - ratios, 0.0).mean(axis=1)
    return lower, np.maximum(0.0, 1 - ratios.mean(axis=1))
