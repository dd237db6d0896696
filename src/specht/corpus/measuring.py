"""How permutation-symmetric a corpus is: all that `specht symmetry` says about one, in one process."""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from specht.corpus.read.corpora import Corpus, has_articles, open_corpus
from specht.corpus.read.stream import SEGMENT, Encoded, segments
from specht.corpus.read.tokenise import choose, spell
from specht.corpus.stats.exchangeability import Score, Symmetry, score_variables, symmetry
from specht.corpus.stats.harmonics import Harmonics, Kind, Likeness, measure_harmonics
from specht.corpus.stats.influence import MOST_SYMBOLS, Influence, WindowSample, influence
from specht.corpus.stats.isotypic import IsotypicEnergies, WindowTensor, isotypic_energies
from specht.corpus.stats.moments import LagCounts, Tables
from specht.corpus.stats.shuffles import NULLS, Null
from specht.corpus.stats.squares import Metric, weights
from specht.corpus.stats.third import ThirdMoments, ThirdScore, third_score
from specht.corpus.survey import How, Statistics, Survey, SurveySettings, plan_survey, take_census
from specht.errors import InputError, explains_calls
from specht.progress import Progress, report
from specht.results import Result, Variable

KINDS: tuple[Kind, ...] = ("raw", "centred", "off-site")
COMPONENTS = 10
"""Principal components whose subspaces are compared."""
_MEMORY = 2**26
"""Bytes that tables of a few lags may take."""


@dataclasses.dataclass(frozen=True)
class MeasuredCorpus(Result):
    """The symmetry of a corpus; None stands for what was not counted, or for what its records are too short for."""

    symmetry: Symmetry
    influence: Influence | None = None
    isotypic: IsotypicEnergies | None = None
    third: ThirdScore | None = None
    harmonics: tuple[Harmonics, ...] = ()
    """The blocks C(k): as they are, centred, and without the single-site term."""

    @property
    def main(self) -> Score:
        return self.symmetry.main

    def summary(self) -> dict[str, Any]:
        """Scores, lags, irreps, third cumulants and blocks C(k) as plain values, as files and figures have them."""
        return {
            **self.main.summary(),
            "lengths": [score.summary() for score in self.symmetry.lengths],
            "cuts": [score.summary() for score in self.symmetry.cuts],
            "lags": [energy._asdict() for energy in self.symmetry.lags],
            "isotypic": self.isotypic and dataclasses.asdict(self.isotypic) | {"defined": self.isotypic.defined},
            "third": self.third and dataclasses.asdict(self.third.score) | {"z": self.third.z, "defined": self.third.defined},
            "harmonics": {blocks.kind: _blocks_summary(blocks) for blocks in self.harmonics},
        }

    def _summary(self) -> str:
        extras = [name for name in ("influence", "isotypic", "third") if getattr(self, name) is not None]
        extras += ["harmonics"] * bool(self.harmonics)
        return f"score {self.main._summary()}" + (f"\nand {', '.join(extras)}" if extras else "")

    def _variables(self) -> list[Variable]:
        """Scores along the length of the windows first, then along the smallest lag, and correlations along the lag."""
        symmetry, lags = self.symmetry, self.symmetry.lags
        words = {name: f"{name} of the correlations at each lag" for name in ("rms", "low", "high", "direction")}
        return [
            Variable("length", "length", [score.length for score in symmetry.lengths], "tokens of a window", "tokens"),
            *score_variables(symmetry.lengths, "length"),
            Variable("from_lag", "from_lag", [score.from_lag for score in symmetry.cuts], "smallest lag of the correlations", "tokens"),
            *score_variables(symmetry.cuts, "from_lag", "cut_"),
            Variable("lag", "lag", [energy.lag for energy in lags], "distance of two tokens", "tokens"),
            *(Variable(f"lag_{name}", "lag", [getattr(energy, name) for energy in lags], meaning) for name, meaning in words.items()),
        ]


def _blocks_summary(harmonics: Harmonics) -> dict[str, Any]:
    """Similarities of the blocks C(k), and their eigenvalues where they are known."""
    values = {"cosines": harmonics.cosines.matrix.tolist(), **_spreads(harmonics.cosines), "imaginary": harmonics.imaginary}
    if harmonics.eigenvalues is not None:
        spectra = harmonics.spectra()
        values["spectra"] = {str(k): spectra[k].tolist() for k in _shown_waves(len(spectra) - 1)}
        values["kolmogorov"] = _spreads(harmonics.kolmogorov())
    return values | ({"overlaps": _spreads(harmonics.overlaps)} if harmonics.overlaps is not None else {})


def _spreads(likeness: Likeness) -> dict[str, Any]:
    """How alike the blocks k ≠ 0 are, and how alike the block k = 0 is to them."""
    return {"within": dataclasses.asdict(likeness.within), "across": dataclasses.asdict(likeness.across)}


def _shown_waves(largest: int) -> list[int]:
    """Wave numbers whose eigenvalues are shown: 0, 1, 2, 4, ..., and the largest.

    >>> _shown_waves(12)
    [0, 1, 2, 4, 8, 12]
    """
    powers = [2**power for power in range(largest.bit_length()) if 2**power < largest]
    return [0, *powers, largest]


def measure(corpus: Corpus, settings: SurveySettings, progress: Progress | None = None) -> tuple[Survey, MeasuredCorpus]:
    """Survey a corpus here and now."""
    meter = Meter(progress)
    survey = plan_survey(corpus, settings, take_census(corpus, range(len(corpus.parts)), meter.count))
    meter.total = 2 * survey.total
    statistics = count_all(survey, progress=meter.count)
    return survey, findings(statistics)


def count_all(survey: Survey, null: Null | None = None, progress: Callable[[int], object] = lambda tokens: None) -> Statistics:
    """The statistics of all parts, counted batch by batch in this process."""
    whole = Statistics(survey, null)
    for batch in survey.batches:
        statistics = Statistics(survey, null)
        statistics.count(batch, progress, whole)
        whole.add(statistics)
    return whole


def findings(statistics: Statistics) -> MeasuredCorpus:
    """The symmetry of a whole corpus, from its statistics."""
    evaluate: dict[str, Callable[[Survey, Any], Any]]
    evaluate = {"influence": _influence, "isotypic": _isotypic, "third": _third, "harmonics": _harmonics}
    extras = {name: evaluate[name](statistics.survey, counter) for name, counter in statistics.extras.items()}
    return MeasuredCorpus(scores(statistics), **extras)


def _influence(survey: Survey, sample: WindowSample) -> Influence:
    kept = survey.narrowed(MOST_SYMBOLS)
    p = np.bincount(kept, survey.plan.probabilities)
    return influence(sample.windows, p, weights(survey.settings.metric, p))


def _isotypic(survey: Survey, tensor: WindowTensor) -> IsotypicEnergies | None:
    if np.count_nonzero(tensor.windows) < 2:  # there are no squares without two blocks
        return None
    return isotypic_energies(tensor, weights(survey.settings.metric, tensor.probabilities), seed=survey.settings.seed)


def _third(survey: Survey, moments: ThirdMoments) -> ThirdScore | None:
    if np.count_nonzero(moments.triples.sum(axis=2).all(axis=1)) < 2:
        return None
    # As one coordinate the types outside the vocabulary would outweigh the twenty in it.
    scale = np.append(weights("chi2", moments.probabilities)[:-1], 0.0)
    return third_score(moments, scale, seed=survey.settings.seed)


def _harmonics(survey: Survey, counts: LagCounts) -> tuple[Harmonics, ...]:
    try:
        return tuple(blocks(counts, kind) for kind in KINDS)
    except InputError:  # records too short for them, or a corpus so regular that blocks vanish
        return ()


def blocks(counts: LagCounts, kind: Kind) -> Harmonics:
    """The blocks C(k) of a corpus: likeness and principal subspaces as they are, eigenvalues with types weighed by their frequency.

    Otherwise frequencies decide about eigenvalues and hide the correlations. Without the single-site term they have both signs.
    """
    pairs = (counts.tables, counts.pairs, counts.probabilities)
    if kind == "off-site":
        return measure_harmonics(*pairs, kind=kind)
    whitened = measure_harmonics(*pairs, kind=kind, whitened=True, eigenvalues=True)
    return dataclasses.replace(
        measure_harmonics(*pairs, kind=kind, components=min(COMPONENTS, counts.symbols)), eigenvalues=whitened.eigenvalues
    )


def scores(statistics: Statistics) -> Symmetry:
    """The scores of a corpus, or of a shuffled one, from its statistics."""
    survey = statistics.survey
    settings = survey.settings
    with contextlib.ExitStack() as stack:
        if survey.how == "exact":
            moments = stack.enter_context(contextlib.closing(LagByLag(survey, statistics.null)))
        else:
            moments = statistics.moments
            survey.plan.check_windows(moments)
        return symmetry(moments, length=settings.length, lengths=settings.lengths, cuts=settings.cuts, seed=settings.seed)


class LagByLag:
    """Exact estimates for large vocabularies: tables of all pairs, a few lags at a time, in as many passes as memory demands.

    They are computed when they are asked for, which should be in increasing order of the lags. The ids of the corpus are kept in a file
    meanwhile, so that text is read once and memory does not grow with it.
    """

    def __init__(self, survey: Survey, null: Null | None = None) -> None:
        self.survey, self.plan = survey, survey.plan
        with contextlib.ExitStack() as stack:
            self._file = stack.enter_context(tempfile.TemporaryFile())
            size, self._records = self._write(null)
            self.plan.check_records(int(np.diff(self._records, append=size).max()))
            self._stack = stack.pop_all()
        self._ids = np.memmap(self._file, dtype=np.uint32, mode="r", shape=(size,))
        self._step = max(1, _MEMORY // (4 * self.plan.blocks.number * self.plan.symbols**2))
        self._tables = Tables(self.plan, lags=range(0))

    def close(self) -> None:
        """Let go of the file."""
        self._stack.close()

    def centred(self, lag: int) -> tuple[np.ndarray, np.ndarray]:
        """See `specht.corpus.stats.moments.PairSums.centred`."""
        return self.tables(lag).centred(lag)

    def pairs_at(self, lag: int) -> np.ndarray:
        """See `specht.corpus.stats.moments.PairSums.pairs_at`."""
        return self.tables(lag).pairs_at(lag)

    def tables(self, lag: int) -> Tables:
        """Counts of pairs at this lag and at some others."""
        if lag not in self._tables.lags:
            self._tables = Tables(self.plan, lags=range(lag, min(lag + self._step, self.plan.length)))
            for segment in segments(self._pieces(), self.plan.blocks, self._tables.lags[-1]):
                self._tables.update(segment)
        return self._tables

    def _write(self, null: Null | None) -> tuple[int, np.ndarray]:
        """Write the ids; returns their number, and where records begin."""
        size, records = 0, [np.zeros(1, dtype=np.intp)]
        for batch in self.survey.batches:
            for piece in self.survey.pieces(batch, null):
                self._file.write(piece.ids.astype(np.uint32).tobytes())
                records.append(piece.records + size)
                size += len(piece)
        return size, np.unique(np.concatenate(records))

    def _pieces(self) -> Iterator[Encoded]:
        for start in range(0, len(self._ids), SEGMENT):
            piece = Encoded(self._ids, self._records).part(start, start + SEGMENT)
            yield Encoded(piece.ids.astype(np.intp), piece.records)


def null_score(survey: Survey, null: Null) -> Score:
    """The score of the corpus with its tokens shuffled."""
    statistics = Statistics(survey, null) if survey.how == "exact" else count_all(survey, null)
    return scores(statistics).main


def nulls_of(corpus: Corpus) -> tuple[Null, ...]:
    """The null models that say something about a corpus."""
    return NULLS if has_articles(corpus) else tuple(null for null in NULLS if null != "article")


@explains_calls
def score(
    source: Any = None,
    *,
    length: int = 64,
    vocab: int | None = None,
    metric: Metric = "chi2-floor",
    tokens: str = "auto",
    records: str = "auto",
    encoding: str = "utf-8",
    tokenizer: str | None = None,
    how: How = "auto",
    blocks: int = 16,
    seed: int = 0,
    progress: Progress | None = None,
) -> Score:
    """The exchangeability score of a corpus: how much of the correlations between positions ignores order.

    Arguments:
        source: a path, a folder, a pattern, a name of `specht.corpus.read.named`, an array of token ids (n,) or (records, n), or None for
            the source of Python's standard library.
        length: tokens of a window.
        vocab: types that are distinguished; by default 500, or all there are.
        metric: how types are weighed, see `specht.corpus.stats.squares`.
        tokens, records, encoding, tokenizer: how files are read, see `specht.corpus.read.text`.
        how: "sketch", exact "tables" of all pairs at once, "exact" tables lag by lag, or what suits the vocabulary.
        blocks: of the corpus, for intervals.
        seed: of the sketch and of the intervals.
        progress: called as progress(done, total) with numbers of tokens.

    >>> rng = np.random.default_rng(0)
    >>> coins = rng.choice([0.2, 0.8], size=(4000, 1))  # each record throws a coin of its own
    >>> records = (rng.random((4000, 8)) < coins).astype(int)
    >>> symmetric = score(records, length=8)
    >>> symmetric.defined, abs(symmetric.score - 1.0) < 0.02
    (True, True)
    """
    corpus = open_corpus(source, tokens=tokens, records=records, encoding=encoding, tokenizer=tokenizer)
    settings = SurveySettings(length=length, lengths=(), cuts=(), vocab=vocab, metric=metric, how=how, blocks=blocks, seed=seed)
    return measure(corpus, settings, progress)[1].main


class Meter:
    """Reports how many tokens have been read, once their total number is known."""

    def __init__(self, progress: Progress | None, total: int = 0) -> None:
        self._progress, self._done, self.total = progress, 0, total

    def count(self, tokens: int) -> None:
        self._done += tokens
        if self.total:
            report(self._progress, self._done, self.total)


def describe(survey: Survey, measured: MeasuredCorpus) -> dict[str, Any]:
    """A corpus and its symmetry as plain values."""
    corpus, words, influence = survey.corpus, survey.vocabulary, measured.influence
    kinds = {choose(part.path) for part in corpus.parts} if corpus.tokens == "auto" else {corpus.tokens}
    uneven = influence and dataclasses.asdict(influence) | {
        "tokens": explain(survey, influence.tokens),
        "uneven": influence.is_uneven,
        "blocks": list(measured.main.influence),
    }
    return {
        "name": corpus.name,
        "tokens": " and ".join(sorted(kinds)),
        "n_tokens": survey.total,
        "vocab": len(words),
        "coverage": float(words.counts.sum()) / survey.total,
        "method": survey.how,
        **measured.summary(),
        "influence": uneven,
    }


def explain(survey: Survey, tokens: Sequence[int]) -> list[str]:
    """The names of types as people read them."""
    reading, part = survey.corpus.reading, survey.corpus.parts[0]
    name = reading.tokens if reading.tokens != "auto" else choose(part.path) if hasattr(part, "path") else "ids"
    return [spell(name, survey.vocabulary.types[token], reading.tokenizer) for token in tokens if token < len(survey.vocabulary)]
