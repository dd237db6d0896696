"""Zuo & Guerzhoy 2024 on what breaks the permutation symmetry of transformers, and its follow-up, experiment by experiment.

Neither full text was at hand: claims come from the abstracts and a summary, each cited where it is used, and criteria are ours. Experiments
go from what holds exactly, over random networks, to trained ones; the last joins the table of stacks to the kernels of the first paper.
"""

from __future__ import annotations

from specht.papers.breaking_symmetry import addition, initial, invariance, kernels, slices
from specht.papers.claims import Paper

PAPER = Paper(
    id="breaking",
    title="Breaking Symmetry When Training Transformers",
    citation="Zuo & Guerzhoy 2024, arXiv:2402.05969, and Zuo, Guerzhoy & Guerzhoy, COLING 2025, arXiv:2501.00073",
    summary=(
        "Without positions and without a causal mask a transformer cannot see the order of the tokens before the last one. A causal mask "
        "alone lets it, in two layers or more, and makes nearby positions look alike before any training."
    ),
    experiments=(
        invariance.EXPERIMENT,
        initial.EXPERIMENT,
        addition.EXPERIMENT,
        slices.EXPERIMENT,
        kernels.EXPERIMENT,
    ),
)
