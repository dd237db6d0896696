"""From kernels to features: what transformers of finite width learn. Results of this project, judged like those of the papers."""

from __future__ import annotations

from specht.papers.kernels_to_features import cells, embedding, exponents, phases, reach, symmetry, trained

EXPERIMENTS = (
    cells.EXPERIMENT,
    embedding.EXPERIMENT,
    symmetry.EXPERIMENT,
    phases.AVERAGE,
    phases.GROWTH,
    exponents.EXPERIMENT,
    trained.EXPERIMENT,
    reach.REACH,
    reach.FIRST_ORDER,
)
"""Measured by hand so far: a `PAPER`, which makes them part of `specht reproduce`, needs their verdicts on record at every scale."""
