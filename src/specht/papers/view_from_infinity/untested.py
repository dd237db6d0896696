"""What the package cannot test yet: text corpora, and networks that are trained or sampled."""

from __future__ import annotations

from specht.papers.claims import Claim, Experiment
from specht.papers.view_from_infinity import common

_TEXT = "It needs a text corpus and its correlations by frequency, and `specht symmetry`, which measures them, is not built."
_TRAINED = "It needs networks that are trained or sampled by Langevin dynamics, which are not built."


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

WIDE_NETWORKS = Experiment(
    name="infinity.q3",
    title="Wide finite networks follow the Gaussian process",
    shown="Abstract page: experiments with finite networks support the theory, also for nonlinear activations. Widths are not known to us.",
    claims=(
        _claim(
            "q3-langevin",
            "Networks sampled by Langevin dynamics have the loss of the Gaussian process when they are wide.",
            common.ABSTRACT,
            "loss within 10 % of the Gaussian process at the largest width, deviation falling as 1/width",
            _TRAINED,
        ),
        _claim(
            "q3-nonlinear",
            "Wide networks with nonlinear activations follow the Gaussian process in quality.",
            common.ABSTRACT,
            "loss ordered by level as predicted, for erf and ReLU",
            _TRAINED,
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

FINITE_WIDTH = Experiment(
    name="infinity.e4",
    title="Finite width and step size",
    shown="Summary: an experiment that it suggests, how the loss depends on the width.",
    claims=(
        _claim(
            "e4-width",
            "The excess of the loss over that of the Gaussian process falls as one over the width.",
            common.SUGGESTED,
            "log-log slope of the excess loss against the width −1 ± 0.3 at fixed N",
            _TRAINED,
        ),
        _claim(
            "e4-step",
            "The bias of a finite step size vanishes with it.",
            common.SUGGESTED,
            "loss within 5 % of the limit where step size times largest curvature is at most 0.1",
            _TRAINED,
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

LEARNING_RATE = Experiment(
    name="infinity.e8",
    title="Finite size and learning rate",
    shown="Summary: an open question, corrections for finite networks and learning rates.",
    claims=(
        _claim(
            "e8-mean-output",
            "The leading deviation of the mean output is of order one over the width.",
            f"{common.SUMMARY}, open question",
            "log-log slope of the deviation of the mean output against the width −1 ± 0.3",
            _TRAINED,
        ),
    ),
)
