"""Wang, Wei, Hsu & Lee 2024, the paper on sparse token selection, experiment by experiment.

The full text was not at hand: claims come from its abstract, from summaries and from descriptions of its figures. Where settings are not
known, ours are said in the regime of each verdict: tokens of five numbers, random signs as codes, queries dual to the codes of their sets.
"""

from __future__ import annotations

from specht.papers.claims import Paper
from specht.papers.token_selection import convergence, dynamics, generalisation, perceptrons, separation, symmetry

PAPER = Paper(
    id="selection",
    title="Transformers Provably Learn Sparse Token Selection While Fully-Connected Nets Cannot",
    citation="Wang, Wei, Hsu & Lee, ICML 2024, PMLR 235, arXiv:2406.06893",
    summary=(
        "One layer of softmax attention learns by gradient descent to average the few tokens that a query names, with a width of the order "
        "of d + q log T, and with codes of positions that are drawn anew it does so at lengths it has never seen. No fully connected "
        "network whose first layer is narrower than about T d units can."
    ),
    experiments=(
        dynamics.EXPERIMENT,
        convergence.THEOREM,
        generalisation.THEOREM,
        perceptrons.EXPERIMENT,
        convergence.LOSSES,
        generalisation.LENGTHS,
        convergence.MATRICES,
        generalisation.SUPPORTS,
        generalisation.ADAM,
        separation.EXPERIMENT,
        symmetry.EXPERIMENT,
    ),
)
