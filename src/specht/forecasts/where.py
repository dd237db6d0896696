"""Where the labels look: positions and tokens whose embedding a transformer of finite width makes larger than the others.

Some always become larger by chance, so labels in random order set the bar: what stands out has to do so by more than the largest entry
does under them, in several random orders.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from specht.forecasts.contenders import choose_contenders
from specht.forecasts.learners.learner import one_class
from specht.forecasts.table import OTHER, SequenceTable
from specht.learning.adaptive import AdaptiveProblem, Widths, nearest_minimum

WIDTH, ROWS, TOKENS, SHOWN = 64, 250, 100, 5
"""Width of the transformer; most rows and different tokens that it is adapted on; how many of each are named."""
RIDGE = 0.1
"""Label noise that is assumed. Of 0.1, 0.3 and 1 the one with which most stood out on the six training tables; with 0.3 little does."""
NULLS, CLEAR = 8, 2.5
"""Random orders of the labels, and the standard deviations of their largest entries by which their mean has to be exceeded. Both were
raised after shuffled labels of training tables had let some tokens and places stand out."""
Excess: TypeAlias = tuple[np.ndarray, np.ndarray]
"""How far every token, and every place, stands out: the logarithm of its variance over the median."""
SECONDS = 8.0
"""What it takes, with 500 columns; 4 with 50."""


@dataclasses.dataclass(frozen=True)
class StandsOut:
    """A token or a place, and how much larger its embedding has become than the usual one."""

    name: str
    ratio: float


@dataclasses.dataclass(frozen=True)
class WhereItLooks:
    """What a transformer of finite width singles out, by the minimum of its free energy."""

    places: tuple[StandsOut, ...]
    """Counted from the first token where all sequences have one length, and otherwise from the last."""
    tokens: tuple[StandsOut, ...]
    rows: int
    width: int = WIDTH


def where_it_looks(table: SequenceTable, seed: int) -> WhereItLooks | None:
    """Adapt the embeddings to some rows, and name what stands out, largest first; None where these rows all have one label."""
    rng = np.random.default_rng(seed)
    some = table.take(np.sort(rng.permutation(len(table))[:ROWS]))
    if one_class(some.labels):
        return None
    kept = min(TOKENS, len(table.vocabulary))
    names = [*table.vocabulary[: kept - 1], table.vocabulary[-1] if len(table.vocabulary) == kept else OTHER]
    return beyond_chance(lambda labels: _adapted(some, labels, kept), some.labels, (names, place_names(table)), rng)


def beyond_chance(
    adapt: Callable[[np.ndarray], Excess],
    labels: np.ndarray,
    names: tuple[list[str], list[str]],
    rng: np.random.Generator,
    width: int = WIDTH,
) -> WhereItLooks:
    """Name what stands out of labels (n, outputs) by more than out of the same labels in random order.

    Arguments:
        adapt: from labels to how far every token and place stands out.
        names: those of the tokens and of the places.
        width: of the transformer.
    """
    own = adapt(labels)
    nulls = [adapt(rng.permutation(labels)) for _ in range(NULLS)]
    bars = [np.array([null[kind].max() for null in nulls]) for kind in range(2)]
    tokens, places = (_clear(values, bar, said) for values, bar, said in zip(own, bars, names, strict=True))
    return WhereItLooks(places, tokens, len(labels), width)


def excess_of(tokens: np.ndarray, positions: np.ndarray) -> Excess:
    """log of the variance of every token and place over the median."""
    logarithms = [np.log(np.maximum(variances, 1e-12)) for variances in (tokens, positions)]
    return logarithms[0] - np.median(logarithms[0]), logarithms[1] - np.median(logarithms[1])


def _adapted(table: SequenceTable, labels: np.ndarray, kept: int) -> Excess:
    tokens = np.minimum(table.tokens, kept - 1)  # ids are in the order of frequency: the rare ones become one
    arch = choose_contenders(["mean"], kept, tokens.shape[1])["mean"]
    centred = labels - labels.mean(axis=0)
    scale = float(np.sqrt(np.mean(np.sum(centred**2, axis=1)))) or 1.0
    problem = AdaptiveProblem.of(arch, tokens, centred / scale, table.mask, RIDGE, None)
    minimum = nearest_minimum(problem, Widths(WIDTH, WIDTH, heads=WIDTH // 2, head_size=4))
    return excess_of(minimum.tokens, minimum.positions)


def _clear(excess: np.ndarray, bar: np.ndarray, names: list[str]) -> tuple[StandsOut, ...]:
    """The largest entries above what labels in random order give, and above a tenth."""
    least = max(bar.max(), bar.mean() + CLEAR * bar.std(ddof=1), np.log(1.1))
    places = [place for place in np.argsort(-excess) if excess[place] > least][:SHOWN]
    return tuple(StandsOut(names[place], float(np.exp(excess[place]))) for place in places)


def place_names(table: SequenceTable) -> list[str]:
    """What columns are called: counted from the first where all sequences have one length, and otherwise from the last."""
    columns = table.tokens.shape[1]
    if table.facts.shortest == table.facts.longest == columns:
        return [f"token {place + 1}" for place in range(columns)]
    return ["the last token", *(f"token {place} from the end" for place in range(2, columns + 1))][::-1]
