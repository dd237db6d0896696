"""Edelman, Goel, Kakade & Zhang 2022, the paper on sparse variables in self-attention, experiment by experiment.

Claims cite the paper with its appendix; criteria are ours where the paper has none. Experiments stand in the order of the paper.
"""

from __future__ import annotations

from specht.papers.claims import Paper
from specht.papers.sparse_variables import curves, parity, profiles, theory, thresholds, trained_bounds

PAPER = Paper(
    id="sparse",
    title="Inductive Biases and Variable Creation in Self-Attention Mechanisms",
    citation="Edelman, Goel, Kakade & Zhang, ICML 2022, PMLR 162:5793, arXiv:2110.10090",
    summary=(
        "Attention heads of bounded norm represent sparse functions of long sequences, and the samples that they need grow with the "
        "logarithm of the length T. Transformers trained on sparse conjunctions follow this law, and learn sparse parities in an abrupt "
        "transition."
    ),
    experiments=(
        theory.EXPERIMENT,
        trained_bounds.EXPERIMENT,
        thresholds.EXPERIMENT,
        curves.EXPERIMENT,
        parity.EXPERIMENT,
        profiles.EXPERIMENT,
    ),
)
