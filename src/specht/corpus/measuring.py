"""How permutation-symmetric a corpus is: all that `specht symmetry` says about one, in one process."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from specht.corpus.read.corpora import Corpus, has_articles, open_corpus
from specht.corpus.read.tokenise import choose, spell
from specht.corpus.stats.counts import LagCounts
from specht.corpus.stats.exact import LagByLag
from specht.corpus.stats.exchangeability import Score, Symmetry, symmetry
from specht.corpus.stats.harmonics import Harmonics, Kind, harmonics
from specht.corpus.stats.influence import MOST_SYMBOLS, Influence, WindowSample, influence
from specht.corpus.stats.isotypic import IsotypicEnergies, WindowTensor, isotypic_energies
from specht.corpus.stats.metrics import Metric, weights
from specht.corpus.stats.shuffles import NULLS, Null
from specht.corpus.stats.third import ThirdMoments, ThirdScore, third_score
from specht.corpus.summaries import measured_summary, measured_variables
from specht.corpus.survey import How, Statistics, Survey, SurveySettings, plan_survey, take_census
from specht.errors import InputError, explains_calls
from specht.progress import Progress, report
from specht.results import Result, Variable

KINDS: tuple[Kind, ...] = ("raw", "centred", "off-site")
COMPONENTS = 10
"""Principal components whose subspaces are compared."""


@dataclasses.dataclass(frozen=True)
class MeasuredCorpus(Result):
    """What was found of a corpus; None stands for what was not counted, or for what its records are too short for."""

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
        """What was found as plain values, as files and figures have them."""
        return measured_summary(self)

    def _summary(self) -> str:
        extras = [name for name in ("influence", "isotypic", "third") if getattr(self, name) is not None]
        extras += ["harmonics"] * bool(self.harmonics)
        return f"score {self.main._summary()}" + (f"\nand {', '.join(extras)}" if extras else "")

    def _variables(self) -> list[Variable]:
        return measured_variables(self)


def measure(corpus: Corpus, settings: SurveySettings, progress: Progress | None = None) -> tuple[Survey, MeasuredCorpus]:
    """Survey a corpus here and now."""
    meter = Meter(progress)
    survey = plan_survey(corpus, settings, take_census(corpus, range(len(corpus.parts)), meter.census))
    meter.total = 2 * survey.total
    statistics = count_all(survey, progress=meter.count)
    return survey, findings(statistics)


def count_all(survey: Survey, null: Null | None = None, progress: Callable[[int], object] = lambda tokens: None) -> Statistics:
    """The statistics of all parts: batch by batch, and added up, as they are when others count the batches."""
    whole = Statistics(survey, null=null)
    for order, batch in enumerate(survey.batches):
        statistics = Statistics(survey, order, null)
        statistics.count(batch, progress, whole)
        whole.add(statistics)
    return whole


def findings(statistics: Statistics) -> MeasuredCorpus:
    """What the statistics of a whole corpus say."""
    extras = statistics.extras
    return MeasuredCorpus(
        symmetry=scores(statistics),
        influence=_influence(statistics, extras["influence"]) if "influence" in extras else None,
        isotypic=_isotypic(statistics, extras["isotypic"]) if "isotypic" in extras else None,
        third=_third(statistics, extras["third"]) if "third" in extras else None,
        harmonics=_harmonics(extras["harmonics"]) if "harmonics" in extras else (),
    )


def _influence(statistics: Statistics, sample: WindowSample) -> Influence:
    survey = statistics.survey
    kept = survey.narrowed(MOST_SYMBOLS)
    p = np.bincount(kept, survey.plan.probabilities)
    return influence(sample.windows, p, weights(survey.settings.metric, p))


def _isotypic(statistics: Statistics, tensor: WindowTensor) -> IsotypicEnergies | None:
    settings = statistics.survey.settings
    if np.count_nonzero(tensor.windows) < 2:  # there are no squares without two blocks
        return None
    return isotypic_energies(tensor, weights(settings.metric, tensor.probabilities), seed=settings.seed)


def _third(statistics: Statistics, moments: ThirdMoments) -> ThirdScore | None:
    if np.count_nonzero(moments.triples.sum(axis=2).all(axis=1)) < 2:
        return None
    # As a coordinate the rest would outweigh twenty types.
    scale = np.append(weights("chi2", moments.probabilities)[:-1], 0.0)
    return third_score(moments, scale, seed=statistics.survey.settings.seed)


def _harmonics(counts: LagCounts) -> tuple[Harmonics, ...]:
    try:
        return tuple(blocks(counts, kind) for kind in KINDS)
    except InputError:  # records too short for them, or a corpus so regular that blocks vanish
        return ()


def blocks(counts: LagCounts, kind: Kind) -> Harmonics:
    """The blocks C(k) of a corpus: likeness and principal subspaces as they are, eigenvalues with types weighed by their frequency.

    Otherwise frequencies decide about eigenvalues and hide the correlations. Without the single-site term they have both signs.
    """
    given = (counts.tables, counts.pairs, counts.probabilities)
    if kind == "off-site":
        return harmonics(*given, kind=kind)
    whitened = harmonics(*given, kind=kind, whitened=True, eigenvalues=True)
    return dataclasses.replace(harmonics(*given, kind=kind, components=min(COMPONENTS, counts.symbols)), eigenvalues=whitened.eigenvalues)


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


def null_score(survey: Survey, null: Null) -> Score:
    """The score of the corpus with its tokens shuffled."""
    statistics = Statistics(survey, null=null) if survey.how == "exact" else count_all(survey, null)
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
        vocab: types that are distinguished; 500, or all there are, unless given.
        metric: how types are weighed, see `specht.corpus.stats.metrics`.
        tokens, records, encoding, tokenizer: how files are read, see `specht.corpus.read.text`.
        how: "sketch", exact "tables" of all pairs at once, "exact" tables lag by lag, or what suits the vocabulary.
        blocks: of the corpus, for intervals.
        seed: of the sketch and of the intervals.
        progress: called as progress(done, total) with numbers of tokens.

    >>> rng = np.random.default_rng(0)
    >>> coins = rng.choice([0.2, 0.8], size=(4000, 1))  # each record throws a coin of its own
    >>> records = (rng.random((4000, 8)) < coins).astype(int)
    >>> found = score(records, length=8)
    >>> found.defined, abs(found.score - 1.0) < 0.02
    (True, True)
    """
    corpus = open_corpus(source, tokens=tokens, records=records, encoding=encoding, tokenizer=tokenizer)
    settings = SurveySettings(length=length, lengths=(), cuts=(), vocab=vocab, metric=metric, how=how, blocks=blocks, seed=seed)
    return measure(corpus, settings, progress)[1].main


class Meter:
    """Tokens seen so far; how many there will be may be known after the census only."""

    def __init__(self, progress: Progress | None, total: int = 0) -> None:
        self._progress, self._done, self.total = progress, 0, total

    def census(self, tokens: int) -> None:
        self._done += tokens

    def count(self, tokens: int) -> None:
        self._done += tokens
        report(self._progress, self._done, self.total)


def describe(survey: Survey, measured: MeasuredCorpus) -> dict[str, Any]:
    """A corpus and what was found of it, as plain values."""
    corpus, words, influence = survey.corpus, survey.vocabulary, measured.influence
    kinds = {choose(part.path) for part in corpus.parts} if corpus.tokens == "auto" else {corpus.tokens}
    uneven = influence and {
        "windows": influence.windows,
        "carrying_half": influence.carrying_half,
        "top_share": influence.top_share,
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
    """Types as one reads them."""
    reading, part = survey.corpus.reading, survey.corpus.parts[0]
    name = reading.tokens if reading.tokens != "auto" else choose(part.path) if hasattr(part, "path") else "ids"
    return [spell(name, survey.vocabulary.types[token], reading.tokenizer) for token in tokens if token < len(survey.vocabulary)]
