"""What the package cannot test yet: it needs text corpora."""

from __future__ import annotations

from specht.papers.claims import Claim, Experiment
from specht.papers.view_from_infinity import common

_TEXT = "It needs a text corpus and its correlations by frequency, and `specht symmetry`, which measures them, is not built."


def _claim(name: str, sentence: str, citation: str, criterion: str, untested: str) -> Claim:
    return Claim(f"infinity.{name}", sentence, citation, criterion, untested=untested)


TEXT_FIGURE = Experiment(
    name="infinity.f3",
    title="Permutation symmetry of WikiText-2",
    shown=(
        "Poster: first-order correlations of WikiText-2 by frequency k of the position. Those at k ≠ 0 are very similar to each other "
        "and not to k = 0, and so are the distributions of their eigenvalues. Window, vocabulary and measure of similarity are not "
        "known to us."
    ),
    claims=(
        _claim(
            "f3-similarity",
            "Correlations of WikiText-2 at frequencies k ≠ 0 resemble each other more than that at k = 0.",
            f"{common.POSTER}, figure on WikiText-2",
            "mean cosine within k ≠ 0 exceeds that with k = 0 by more than 0.08, L ≥ 32, beside shuffled text",
            _TEXT,
        ),
        _claim(
            "f3-eigenvalues",
            "Eigenvalue distributions at k ≠ 0 are nearly the same, and that at k = 0 is another.",
            f"{common.POSTER}, figure on WikiText-2",
            "Kolmogorov-Smirnov distance within k ≠ 0 below that to k = 0, L ≥ 32, beside shuffled text",
            _TEXT,
        ),
    ),
)

TEXT_SYMMETRY = Experiment(
    name="infinity.q8",
    title="Text has a degree of permutation symmetry",
    shown="Abstract: WikiText has a degree of permutation symmetry.",
    claims=(
        _claim(
            "q8-wikitext",
            "WikiText has a degree of permutation symmetry in its principal components.",
            common.ABSTRACT,
            "both criteria of the figure on WikiText-2 hold",
            _TEXT,
        ),
    ),
)

CORPORA = Experiment(
    name="infinity.e5",
    title="Symmetry across corpora",
    shown="Summary: an experiment that it suggests, the analysis of WikiText on other corpora.",
    claims=(
        _claim(
            "e5-corpora",
            "Other corpora have a degree of permutation symmetry, too.",
            common.SUGGESTED,
            "similarity within k ≠ 0 less that with k = 0, over the same for windows shuffled inside, reported for each corpus",
            _TEXT,
        ),
    ),
)

HIGHER_ORDER = Experiment(
    name="infinity.e7",
    title="Higher-order correlations",
    shown="Summary: an open question, correlations of text beyond the first order.",
    claims=(
        _claim(
            "e7-third-order",
            "Third-order correlations of text are permutation symmetric to a degree.",
            f"{common.SUMMARY}, open question",
            "multiplicity matrices within an irrep compared with those of windows shuffled inside, score as across corpora",
            _TEXT,
        ),
    ),
)
