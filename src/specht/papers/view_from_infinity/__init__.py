"""Lavie, Gur-Ari & Ringel 2024, the paper on permutation symmetry and the inductive bias of transformers, experiment by experiment.

The full text was not at hand: claims come from the poster, a summary and the abstract, each cited where it is used, and criteria are ours.
Experiments stand in the order of the paper: figures, statements, then those that the summary suggests.
"""

from __future__ import annotations

from specht.papers.claims import Paper
from specht.papers.view_from_infinity import (
    blocks,
    complexity,
    corpora,
    half,
    losses,
    nonlinear,
    other,
    outputs,
    posterior,
    regime,
    scaling,
    symmetries,
    text,
    theorem,
    third_order,
    tightness,
    width,
)

PAPER = Paper(
    id="infinity",
    title="Towards Understanding Inductive Bias in Transformers: A View From Infinity",
    citation="Lavie, Gur-Ari & Ringel, ICML 2024, PMLR 235, arXiv:2402.05173",
    summary=(
        "Infinitely wide transformers are biased towards functions that are symmetric under permutations of the positions: on data with "
        "that symmetry eigenvalues of the kernel are bounded by the dimensions of irreps of the symmetric group. Functions that single "
        "out m positions of a context of length L then need at least of order L^m samples."
    ),
    experiments=(
        blocks.FIGURE,
        losses.EXPERIMENT,
        scaling.EXPERIMENT,
        text.FIGURE,
        width.EXPERIMENT,
        outputs.EXPERIMENT,
        posterior.WIDE_NETWORKS,
        regime.NONLINEAR,
        blocks.BOUND,
        theorem.EXPERIMENT,
        complexity.EXPERIMENT,
        text.SYMMETRY,
        symmetries.EXPERIMENT,
        half.EXPERIMENT,
        posterior.HEADS,
        posterior.STEP_SIZE,
        corpora.EXPERIMENT,
        nonlinear.EXPERIMENT,
        third_order.EXPERIMENT,
        regime.REGIME,
        other.EXPERIMENT,
        tightness.EXPERIMENT,
    ),
)
