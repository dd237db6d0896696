r"""Additive statistics of pairs of tokens, by distance and by block: what a score needs to know of a corpus, whatever its size.

For each block $g$ and lag $t$ the sum over pairs of tokens that far apart in one record is kept,
$$ N^g(t) = \sum_s (x_s - p)(x_{s+t} - p)^T , $$
with $x$ one-hot, $p$ the token frequencies of the whole corpus, and $s$ in the block. For small vocabularies it is kept as exact counts
(`Tables`), for others as a `Sketch` of the matrix and of its transpose (`Sketches`).

Statistics of parts of a corpus add up: they can be counted anywhere, sent as arrays, and added in the order of the parts. So do counts
of other kinds (`Counts`), in any order.
"""

from __future__ import annotations

import abc
import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import ClassVar, Literal, Self

import numpy as np

from specht.checks import whole_number
from specht.corpus.read.stream import Blocks, Segment
from specht.corpus.stats.sketch import CELLS, MeanProducts, Sketch
from specht.corpus.stats.squares import Metric, weights
from specht.errors import InputError

_LARGEST_TABLE = 2**28
"""Counters of a table, 2 GiB: whoever asks for more does so by mistake."""


def table_of_zeros(shape: tuple[int, ...], cure: str) -> np.ndarray:
    """Counters at zero; a table that would not fit into memory is refused with a sentence that ends in the cure."""
    size = int(np.prod([float(n) for n in shape]))
    if size > _LARGEST_TABLE:
        raise InputError(f"Counting would take {size * 8 / 2**30:.1f} GiB, and {_LARGEST_TABLE // 2**27} GiB are the limit: {cure}.")
    return np.zeros(shape, dtype=np.int64)


class Counts:
    """Arrays of counts, which start at zero."""

    added: ClassVar[tuple[str, ...]]
    """The names of the arrays."""
    tokens: np.ndarray
    """Counts of single tokens, with the symbol along the last axis."""

    @property
    def probabilities(self) -> np.ndarray:
        """p, the frequency of each symbol among all tokens."""
        return self.tokens.reshape(-1, self.tokens.shape[-1]).sum(axis=0) / max(1, self.tokens.sum())

    def merge(self, other: Self) -> None:
        """Add the counts of other pieces of the same text."""
        shapes, others = ([array.shape for array in counter.arrays().values()] for counter in (self, other))
        if shapes != others:
            raise InputError(f"Counts of shapes {others} cannot be added to those of shapes {shapes}: count all pieces alike.")
        self.restore(other.arrays())

    def arrays(self) -> dict[str, np.ndarray]:
        """All arrays by name, to be saved or sent."""
        return {name: getattr(self, name) for name in self.added}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Add the arrays of another counter of the same kind."""
        for name in self.added:
            total = getattr(self, name)
            total += arrays[name]


class LagCounts(Counts):
    """How often tokens follow each other at every distance in the whole corpus, which gives the blocks C(k) of the harmonics."""

    added = ("tables", "tokens")

    def __init__(self, length: int, symbols: int) -> None:
        self.length, self.symbols = length, symbols
        self.tables = np.zeros((length - 1, symbols, symbols), dtype=np.int64)
        """[t - 1, i, j]."""
        self.tokens = np.zeros(symbols, dtype=np.int64)

    @property
    def pairs(self) -> np.ndarray:
        """Number of pairs at each lag."""
        return self.tables.sum(axis=(1, 2))

    def update(self, segment: Segment) -> None:
        """Count the pairs of a segment."""
        ids, rows = segment.ids, segment.ids * self.symbols
        self.tokens += np.bincount(ids[: segment.owned], minlength=self.symbols)
        for lag in range(1, self.length):
            self.tables[lag - 1] += count_pairs(segment, rows, lag, self.symbols)


def count_pairs(segment: Segment, rows: np.ndarray, lag: int, symbols: int) -> np.ndarray:
    """How often j stands `lag` tokens behind i, in one record; `rows` are the ids times the number of symbols."""
    stop, apart = segment.pairs(lag)
    cells = rows[:stop] + segment.ids[lag : stop + lag]
    if apart is not None:
        cells[apart] = symbols**2  # beyond the table
    return np.bincount(cells, minlength=symbols**2)[: symbols**2].reshape(symbols, symbols)


Method = Literal["tables", "sketch"]
_FORMAT = 1


@dataclasses.dataclass(frozen=True)
class Plan:
    """What statistics must have in common to be added up."""

    probabilities: np.ndarray
    """Frequencies p of the V types and, last, of the rest, over the whole corpus."""
    blocks: Blocks
    length: int = 64
    """The longest window L: lags are 1 to L - 1."""
    metric: Metric = "chi2-floor"
    method: Method = "sketch"
    cells: int = CELLS
    """How many cells a sketch has."""
    seed: int = 0
    """Seed of the sketch."""

    def __post_init__(self) -> None:
        whole_number("length", self.length, 2)

    @property
    def lags(self) -> int:
        return self.length - 1

    @property
    def symbols(self) -> int:
        return len(self.probabilities)

    @cached_property
    def weights(self) -> np.ndarray:
        """The weights of the metric."""
        return weights(self.metric, self.probabilities)

    @cached_property
    def sketch(self) -> Sketch:
        return Sketch.draw(self.probabilities, self.weights, self.cells, self.seed)

    @cached_property
    def digest(self) -> str:
        """Names the plan: another one has another digest."""
        blocks = (self.blocks.total, self.blocks.number)
        text = json.dumps([_FORMAT, blocks, self.length, self.metric, self.method, self.cells, self.seed])
        return hashlib.sha256(text.encode() + np.ascontiguousarray(self.probabilities, dtype=np.float64).tobytes()).hexdigest()

    def counter(self) -> PairSums:
        """Statistics of nothing yet."""
        return (Tables if self.method == "tables" else Sketches)(self)

    def check_windows(self, moments: PairSums) -> None:
        """Refuse a corpus without a single window of the longest length."""
        pairs = moments.pairs.sum(axis=0)
        if not pairs[-1]:
            self.check_records(int(np.count_nonzero(pairs)) + 1)

    def check_records(self, longest: int) -> None:
        """Refuse records the longest of which is shorter than a window."""
        if longest < self.length:
            raise InputError(
                f"A window of {self.length} tokens is longer than any record, the longest of which has {longest}: take a smaller --length."
            )


class PairSums(abc.ABC):
    """Sums over pairs, by block and lag. Blocks of which nothing was counted take no memory."""

    dtype: type

    def __init__(self, plan: Plan, lags: range | None = None) -> None:
        """`lags` are those that are counted, all of them by default."""
        self.plan = plan
        self.lags = range(1, plan.length) if lags is None else lags
        self.sums: dict[int, np.ndarray] = {}
        """By block, with lags along the first axis."""
        self.pairs = np.zeros((plan.blocks.number, len(self.lags)), dtype=np.int64)
        """Number of pairs, by block and lag."""

    def update(self, segment: Segment) -> None:
        """Count the pairs of a segment."""
        if segment.block not in self.sums:
            self.sums[segment.block] = np.zeros(self._shape(), dtype=self.dtype)
        self._count(segment, self.sums[segment.block], self.pairs[segment.block])

    def add(self, other: PairSums, below: int | None = None) -> None:
        """Add the statistics of another part, which are used up by it; those of all parts are to be added in their order.

        Arguments:
            below: add the blocks before this one only, as soon as nothing more can be counted in them.
        """
        for block in [block for block in other.sums if below is None or block < below]:
            self.pairs[block] += other.pairs[block]
            other.pairs[block] = 0
            sums = other.sums.pop(block)
            if block in self.sums:
                self.sums[block] += sums
            else:
                self.sums[block] = sums

    @abc.abstractmethod
    def centred(self, lag: int) -> tuple[np.ndarray, np.ndarray]:
        r"""The symmetric and the antisymmetric part of the estimates $K^g(t)$ of all blocks, two arrays (blocks, coordinates) in which
        scalar products are those of the metric.

        Each is a mean over the pairs of its block, and zero for a block without any.
        """

    @abc.abstractmethod
    def _shape(self) -> tuple[int, ...]: ...

    @abc.abstractmethod
    def _count(self, segment: Segment, sums: np.ndarray, pairs: np.ndarray) -> None: ...

    def pairs_at(self, lag: int) -> np.ndarray:
        """Number of pairs in each block, which is the weight of its estimate."""
        return self.pairs[:, self.lags.index(lag)]

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that `moments_of` needs to make the same statistics again."""
        head = json.dumps({"plan": self.plan.digest, "blocks": sorted(self.sums)})
        sums = {f"block_{block}": sums for block, sums in self.sums.items()}
        return {"head": np.frombuffer(head.encode(), dtype=np.uint8), "pairs": self.pairs, **sums}


def moments_of(arrays: Mapping[str, np.ndarray], plan: Plan) -> PairSums:
    """The statistics that `arrays` came from."""
    head = json.loads(arrays["head"].tobytes().decode())
    if head["plan"] != plan.digest:
        raise InputError("Statistics were counted with another vocabulary, other blocks, lags or metric: count all parts alike.")
    moments = plan.counter()
    moments.pairs[:] = arrays["pairs"]
    moments.sums.update({block: arrays[f"block_{block}"] for block in head["blocks"]})
    return moments


class Tables(PairSums):
    """Exact counts of pairs: `sums[block][t - 1, i, j]`."""

    dtype = np.int32

    def _shape(self) -> tuple[int, ...]:
        return (len(self.lags), self.plan.symbols, self.plan.symbols)

    def _count(self, segment: Segment, sums: np.ndarray, pairs: np.ndarray) -> None:
        rows = segment.ids * self.plan.symbols
        for place, lag in enumerate(self.lags):
            counts = count_pairs(segment, rows, lag, self.plan.symbols)
            sums[place] += counts
            pairs[place] += counts.sum()

    def centred(self, lag: int) -> tuple[np.ndarray, np.ndarray]:
        p, number = self.plan.probabilities, self.plan.blocks.number
        above, below, scale = self._triangle
        place, pairs = self.lags.index(lag), np.maximum(self.pairs_at(lag), 1)
        symmetric, antisymmetric = np.zeros((2, number, len(scale)))
        for block, sums in self.sums.items():  # one by one: a large vocabulary takes megabytes a table
            covariance = sums[place] / pairs[block]
            firsts, seconds = covariance.sum(axis=1), covariance.sum(axis=0)
            covariance -= np.outer(p, seconds)
            covariance -= np.outer(firsts - firsts.sum() * p, p)
            upper, lower = covariance.ravel()[above], covariance.ravel()[below]
            np.multiply(upper + lower, scale, out=symmetric[block])
            np.multiply(upper - lower, scale, out=antisymmetric[block])
        return symmetric, antisymmetric

    @cached_property
    def _triangle(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Places of the entries (i, j) and (j, i) with i <= j, and factors with which their products are those of whole matrices.

        An entry off the diagonal stands for two, each half a sum or half a difference; one on it for itself, a sum of two halves.
        """
        symbols, s = self.plan.symbols, self.plan.weights
        rows, columns = np.triu_indices(symbols)
        factor = np.where(rows == columns, 0.5, np.sqrt(0.5))
        return rows * symbols + columns, columns * symbols + rows, factor * s[rows] * s[columns]


class Sketches(PairSums):
    """Sketches of the centred sums and of their transposes: `sums[block][t - 1, side, cell]`.

    Means are subtracted while counting, in double precision; what is left is small, and single precision holds it.
    """

    dtype = np.float32

    def _shape(self) -> tuple[int, ...]:
        return (len(self.lags), 2, self.plan.cells)

    def _count(self, segment: Segment, sums: np.ndarray, pairs: np.ndarray) -> None:
        sketch, ids = self.plan.sketch, segment.ids
        # `take` keeps rows contiguous, where indexing would interleave them and double the time.
        places, weights = sketch.places.take(ids, axis=1), sketch.weights.take(ids, axis=1)
        # Fresh arrays at every step would cost three times what the sums do.
        cells, values = np.empty(segment.owned, dtype=np.intp), np.empty(segment.owned)
        products = MeanProducts(sketch, self.plan.probabilities)
        for place, (lag, firsts, seconds) in enumerate(_marginals(segment, self.lags, self.plan.symbols)):
            stop, apart = segment.pairs(lag)
            means = products.at(firsts, seconds)
            for side in (0, 1):
                np.add(places[side, :stop], places[1 - side, lag : stop + lag], out=cells[:stop])
                np.multiply(weights[side, :stop], weights[1 - side, lag : stop + lag], out=values[:stop])
                if apart is not None:
                    values[:stop][apart] = 0.0
                centred = np.bincount(cells[:stop], values[:stop], minlength=sketch.cells)
                centred -= means[side]
                sums[place, side] += centred
            pairs[place] += int(firsts.sum())

    def centred(self, lag: int) -> tuple[np.ndarray, np.ndarray]:
        place, scale = self.lags.index(lag), 0.5 / np.maximum(self.pairs_at(lag), 1)
        symmetric, antisymmetric = np.zeros((2, self.plan.blocks.number, self.plan.cells))
        for block, sums in self.sums.items():
            one, other = sums[place].astype(np.float64) * scale[block]
            np.add(one, other, out=symmetric[block])
            np.subtract(one, other, out=antisymmetric[block])
        return symmetric, antisymmetric


def _marginals(segment: Segment, lags: range, symbols: int) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """For each lag how often each type is a first and a second token of a pair."""
    ids, owned = segment.ids, segment.owned

    def count(tokens: np.ndarray) -> np.ndarray:
        return np.bincount(tokens, minlength=symbols)

    whole = count(ids[:owned])
    for lag in lags:
        stop, apart = segment.pairs(lag)
        if apart is not None:
            yield lag, count(ids[:stop][~apart]), count(ids[lag : stop + lag][~apart])
        elif stop > lag:  # from one lag to the next only the ends change
            after = count(ids[owned : stop + lag]) if stop + lag >= owned else -count(ids[stop + lag : owned])
            yield lag, whole - count(ids[stop:owned]), whole - count(ids[:lag]) + after
        else:
            yield lag, count(ids[:stop]), count(ids[lag : stop + lag])
