"""One corpus from its parts to its scores: a census of the types, statistics of batches of parts, and what they say together.

Each step is a function of plain values, so that any process, on whatever machine sees the files, can do it. Batches, blocks and random
numbers do not depend on who does them, and neither do results.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from specht.checks import whole_number
from specht.corpus.read.corpora import Corpus
from specht.corpus.read.stream import Blocks, Encoded, Segment, segments
from specht.corpus.read.vocabulary import TypeCounts, Vocabulary
from specht.corpus.stats.bigrams import Followers, chained, followers_of
from specht.corpus.stats.exchangeability import CUTS
from specht.corpus.stats.influence import MOST_SYMBOLS, WindowSample
from specht.corpus.stats.isotypic import WindowTensor
from specht.corpus.stats.moments import LagCounts, Plan, count_pairs, moments_of, table_of_zeros
from specht.corpus.stats.shuffles import Null, drawn, shuffled, split_counts
from specht.corpus.stats.sketch import CELLS
from specht.corpus.stats.squares import Metric
from specht.corpus.stats.third import ThirdMoments
from specht.errors import InputError, check_choice, explains_calls
from specht.memory import available_memory

DEFAULT_VOCAB = 500
BATCH = 2**21
"""Tokens that are worth statistics of their own."""
SMALL, MOST_TYPES = 2**20, 2000
"""Tokens of a corpus, and types, up to which exact tables are counted lag by lag."""
How = Literal["auto", "tables", "sketch", "exact"]


@explains_calls
@dataclasses.dataclass(frozen=True)
class SurveySettings:
    """What is measured."""

    length: int = 64
    """Tokens of a window."""
    lengths: tuple[int, ...] = (16, 32)
    """Tokens of further windows."""
    cuts: tuple[int, ...] = CUTS
    """Lags from which on the windows are scored again."""
    vocab: int | None = None
    """Types that are distinguished; by default 500, or as many as there are."""
    metric: Metric = "chi2-floor"
    how: How = "auto"
    """Tables of all pairs at once, sketches of them, tables lag by lag (exact), or what suits the vocabulary."""
    blocks: int = 16
    cells: int = CELLS
    extras: tuple[str, ...] = ()
    """Names of `EXTRAS`: what is counted beside pairs."""
    batch: int = BATCH
    """Least number of tokens that are counted together."""
    seed: int = 0

    def __post_init__(self) -> None:
        for length in (self.length, *self.lengths):
            whole_number("length", length, 2)
        whole_number("blocks", self.blocks, 2)
        whole_number("seed", self.seed)
        if self.vocab is not None:
            whole_number("vocab", self.vocab, 1)
        check_choice("way of counting", self.how, get_args(How))
        for name in self.extras:
            check_choice("statistic", name, EXTRAS)

    @property
    def longest(self) -> int:
        return max((self.length, *self.lengths))


@dataclasses.dataclass(frozen=True)
class Survey:
    """All that has to be known of the whole corpus before its parts are counted."""

    corpus: Corpus
    settings: SurveySettings
    vocabulary: Vocabulary
    sizes: tuple[int, ...]
    """Tokens of each part."""

    @property
    def total(self) -> int:
        return sum(self.sizes)

    @property
    def how(self) -> How:
        """How pairs are counted: exactly where it costs little, or where the noise of a small corpus would spoil sketches."""
        if self.settings.how != "auto":
            return self.settings.how
        if len(self.vocabulary.probabilities) ** 2 <= 2 * self.settings.cells:  # tables are no larger than sketches
            return "tables"
        return "exact" if self.total <= SMALL and len(self.vocabulary) <= MOST_TYPES else "sketch"

    @cached_property
    def plan(self) -> Plan:
        """How pairs are counted."""
        settings, p = self.settings, self.vocabulary.probabilities
        method = "sketch" if self.how == "sketch" else "tables"
        return Plan(p, Blocks(self.total, settings.blocks), settings.longest, settings.metric, method, settings.cells, settings.seed)

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Where each part begins in the corpus."""
        return tuple(int(place) for place in np.cumsum([0, *self.sizes[:-1]]))

    @cached_property
    def batches(self) -> tuple[tuple[int, ...], ...]:
        """Consecutive parts that are counted together: at least as many tokens as a block has, and enough to be worth a job."""
        enough = max(self.total / self.settings.blocks, self.settings.batch)
        batches: list[list[int]] = [[]]
        held = 0
        for part, size in enumerate(self.sizes):
            if held >= enough:
                batches.append([])
                held = 0
            batches[-1].append(part)
            held += size
        return tuple(map(tuple, batches))

    def narrowed(self, types: int) -> np.ndarray:
        """From places in the vocabulary to places in a smaller one: the most frequent types keep theirs, all others are its rest."""
        size = min(types, len(self.vocabulary))
        return np.append(np.minimum(np.arange(len(self.vocabulary)), size), size)

    def pieces(self, parts: Sequence[int], null: Null | None = None) -> Iterator[Encoded]:
        """The tokens of consecutive parts, as they are or of a null model; for the global shuffle they have to be whole batches."""
        if null is None:
            return itertools.chain.from_iterable(map(self._encoded, parts))
        if null == "bigram":
            chains = (chained(self._encoded(part), self._followers, np.random.default_rng([self.settings.seed, 4, part])) for part in parts)
            return itertools.chain.from_iterable(chains)
        if null == "global":
            batches = [number for number, batch in enumerate(self.batches) if batch[0] in parts]
            return itertools.chain.from_iterable(map(self._drawn, batches))
        # What is shuffled in long windows is so in shorter ones inside them.
        rngs = (np.random.default_rng([self.settings.seed, 1, part]) for part in parts)
        streams = zip(map(self._encoded, parts), rngs, strict=True)
        return itertools.chain.from_iterable(shuffled(stream, null, self.settings.longest, rng) for stream, rng in streams)

    def _encoded(self, part: int) -> Iterator[Encoded]:
        return map(self.vocabulary.encode, self.corpus.read(part))

    def _drawn(self, batch: int) -> Iterator[Encoded]:
        rng = np.random.default_rng([self.settings.seed, 2, batch])
        return drawn(itertools.chain.from_iterable(map(self._encoded, self.batches[batch])), self._shuffled_counts[batch], rng)

    def segments(self, parts: Sequence[int], null: Null | None = None) -> Iterator[Segment]:
        """Consecutive parts as segments, which reach as far as anything that is counted; parts begin records, so no pair crosses them."""
        reach = max([self.settings.longest, *(EXTRAS[name].window(self) for name in self.settings.extras)]) - 1
        return segments(self.pieces(parts, null), self.plan.blocks, reach, offset=self.offsets[parts[0]])

    @cached_property
    def _followers(self) -> tuple[Followers, np.ndarray]:
        """What follows each symbol in the whole corpus, which is read for it."""
        symbols = len(self.vocabulary) + 1
        counts = table_of_zeros((symbols, symbols), "take fewer types")
        for segment in segments(self.pieces(range(len(self.sizes))), self.plan.blocks, 1):
            counts += count_pairs(segment, segment.ids * symbols, 1, symbols)
        return followers_of(counts)

    @cached_property
    def _shuffled_counts(self) -> list[np.ndarray]:
        """How many tokens of each type the batches have after a permutation of the whole corpus."""
        counts = np.append(self.vocabulary.counts, self.vocabulary.rest)
        return split_counts(counts, [sum(self.sizes[part] for part in batch) for batch in self.batches], self.settings.seed)

    def as_json(self) -> dict[str, Any]:
        """Plain values from which `from_json` makes the same survey elsewhere."""
        words = self.vocabulary
        return {
            "corpus": self.corpus.as_json(),
            "settings": dataclasses.asdict(self.settings),
            "vocabulary": [list(words.types), words.counts.tolist(), int(words.rest)],
            "sizes": list(self.sizes),
        }

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Survey:
        """The survey of which `as_json` gave these values."""
        values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in fields["settings"].items()}
        types, counts, rest = fields["vocabulary"]
        words = Vocabulary(tuple(types), np.array(counts, dtype=np.int64), rest)
        return cls(Corpus.from_json(fields["corpus"]), SurveySettings(**values), words, tuple(fields["sizes"]))


@dataclasses.dataclass(frozen=True)
class Census:
    """The types of consecutive parts, and how many tokens each part has."""

    counts: TypeCounts
    sizes: tuple[int, ...]


def take_census(corpus: Corpus, parts: Iterable[int], progress: Callable[[int], object] = lambda tokens: None) -> Census:
    """Count the types of some parts."""
    counts, sizes = TypeCounts(), []
    for part in parts:
        before = counts.tokens
        for chunk in corpus.read(part):
            counts.update(chunk)
            progress(len(chunk))
        sizes.append(counts.tokens - before)
    return Census(counts, tuple(sizes))


def merge_censuses(censuses: Iterable[Census]) -> Census:
    """The census of the whole corpus, from those of its parts in their order."""
    counts, sizes = TypeCounts(), []
    for census in censuses:
        counts.merge(census.counts)
        sizes += census.sizes
    return Census(counts, tuple(sizes))


def plan_survey(corpus: Corpus, settings: SurveySettings, census: Census) -> Survey:
    """The survey of a corpus whose types are known; a corpus that cannot be surveyed is refused."""
    tokens = census.counts.tokens
    if tokens < 2:
        raise InputError(f"{corpus.name} has {tokens} token{'s' * (tokens != 1)}: give a corpus of many windows.")
    words = Vocabulary.top(census.counts, DEFAULT_VOCAB if settings.vocab is None else settings.vocab, strict=settings.vocab is not None)
    if tokens < settings.blocks * settings.longest:
        raise InputError(
            f"{corpus.name} has {tokens} tokens, too few for {settings.blocks} blocks of windows of {settings.longest} tokens: "
            "give a larger corpus, or a smaller --length."
        )
    survey = Survey(corpus, settings, words, census.sizes)
    _check_memory(survey)
    return survey


def _check_memory(survey: Survey) -> None:
    """Refuse statistics that this machine cannot hold."""
    plan, room = survey.plan, available_memory()
    if survey.how == "exact" or room is None:
        return
    cells = 2 * plan.cells if plan.method == "sketch" else plan.symbols**2
    size = 4 * plan.blocks.number * plan.lags * cells
    if size > room / 2:
        raise InputError(
            f"Statistics of windows of {plan.length} tokens would take {size / 1e9:.1f} GB, and {room / 1e9:.1f} GB of memory are free: "
            "take a smaller --length, or --method exact, which holds a few lags at a time."
        )


class Extra(NamedTuple):
    """A statistic of a small vocabulary, whose counters add up."""

    types: int
    """Size of the vocabulary."""
    shortest: int
    longest: int
    """Windows are as long as those of the survey, within these limits."""
    counter: Callable[[int, int, Survey], Any]
    """Makes, of the length of a window and the number of symbols, a counter with `update`, `merge`, `arrays` and `restore`."""

    def window(self, survey: Survey) -> int:
        return max(self.shortest, min(self.longest, survey.settings.length))

    def empty(self, survey: Survey) -> Any:
        """Counters that have seen nothing."""
        return self.counter(self.window(survey), int(survey.narrowed(self.types)[-1]) + 1, survey)


EXTRAS = {
    "influence": Extra(MOST_SYMBOLS, 2, 4096, lambda length, symbols, survey: WindowSample.spread(length, survey.total)),
    "isotypic": Extra(30, 4, 16, lambda length, symbols, survey: WindowTensor(length, symbols, survey.settings.blocks)),
    "third": Extra(20, 3, 16, lambda length, symbols, survey: ThirdMoments(length, symbols, survey.settings.blocks)),
    "harmonics": Extra(100, 4, 128, lambda length, symbols, survey: LagCounts(length, symbols)),
}
"""How much windows contribute, energies by irrep, third cumulants, and blocks C(k)."""


class Statistics:
    """Counts of some parts of a corpus; those of all parts together give the scores."""

    def __init__(self, survey: Survey, null: Null | None = None) -> None:
        self.survey = survey
        self.null: Null | None = null
        self.moments = survey.plan.counter()
        # Of a shuffled corpus only the score is of interest.
        self.extras = {name: EXTRAS[name].empty(survey) for name in survey.settings.extras} if null is None else {}

    def count(self, parts: Sequence[int], progress: Callable[[int], object] = lambda tokens: None, whole: Statistics | None = None) -> None:
        """Count consecutive parts.

        Arguments:
            whole: statistics of all parts, to which blocks of pairs are added as soon as they are complete, so that one at a time is held.
        """
        narrowed = {name: self.survey.narrowed(EXTRAS[name].types) for name in self.extras}
        for segment in self.survey.segments(parts, self.null):
            if self.survey.how != "exact":  # which counts pairs lag by lag, in passes of its own
                if whole is not None:
                    whole.moments.add(self.moments, below=segment.block)
                self.moments.update(segment)
            for name, counter in self.extras.items():
                counter.update(dataclasses.replace(segment, ids=narrowed[name][segment.ids]))
            progress(segment.owned)

    def add(self, other: Statistics) -> None:
        """Add the statistics of the parts that follow, which lose their counts to these."""
        self.moments.add(other.moments)
        for name, counter in self.extras.items():
            counter.merge(other.extras[name])

    def arrays(self) -> dict[str, np.ndarray]:
        """All counts by name, to be saved or sent."""
        arrays = {f"moments_{name}": array for name, array in self.moments.arrays().items()}
        for name, counter in self.extras.items():
            arrays |= {f"{name}_{field}": _compact(array) for field, array in counter.arrays().items()}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], survey: Survey, null: Null | None = None) -> Statistics:
        """The statistics of which `arrays` gave these."""

        def of(name: str) -> dict[str, np.ndarray]:
            return {field.removeprefix(f"{name}_"): array for field, array in arrays.items() if field.startswith(f"{name}_")}

        statistics = cls(survey, null)
        statistics.moments = moments_of(of("moments"), survey.plan)
        for name, counter in statistics.extras.items():
            counter.restore(of(name))
        return statistics


def _compact(array: np.ndarray) -> np.ndarray:
    """Counts as the smallest whole numbers that hold them: statistics travel."""
    if not np.issubdtype(array.dtype, np.integer) or not array.size:
        return array
    return array.astype(np.promote_types(np.min_scalar_type(array.min()), np.min_scalar_type(array.max())))


def merge_statistics(batches: Iterable[Statistics]) -> Statistics:
    """The statistics of all batches together, which have to come in their order; each is forgotten before the next is read."""
    remaining = iter(batches)
    whole = next(remaining)
    while (batch := next(remaining, None)) is not None:
        whole.add(batch)
        del batch  # before the next one is read
    return whole
