"""From kernels to features: what transformers of finite width learn. Results of this project, judged like those of the papers."""

from __future__ import annotations

from specht.papers.claims import Paper
from specht.papers.kernels_to_features import cells, descent, embedding, exponents, heads, phases, reach, symmetry, trained

PAPER = Paper(
    id="features",
    title="From Kernels to Features: results of this project",
    citation="This project; no paper states these claims",
    summary=(
        "A transformer of finite width moves its embedding towards what the target needs, and then needs far fewer samples than a kernel. "
        "The positions that the target reads stand out where the network can learn it."
    ),
    experiments=(
        cells.EXPERIMENT,
        heads.EXPERIMENT,
        embedding.EXPERIMENT,
        symmetry.EXPERIMENT,
        phases.AVERAGE,
        phases.GROWTH,
        exponents.EXPERIMENT,
        descent.EXPERIMENT,
        trained.EXPERIMENT,
        reach.REACH,
        reach.FIRST_ORDER,
    ),
    label="what is compared",
)
