"""Every judge on its nulls: what no judge may say, and the judges that are known to say it.

A null is a world in which a claim is false in the way that nature would have it: thresholds in proportion to T, a bigram Markov text,
shuffled labels, a spectrum of sorted noise, networks that never moved. `null_worlds` says what one is, `nulls_*` hold those of each paper.
"""

from __future__ import annotations

import nulls_breaking
import nulls_features
import nulls_selection
import nulls_sparse
import nulls_text
import nulls_view
from null_worlds import NULLS

from specht.papers.claims import Claim

OF_PAPERS = (nulls_breaking, nulls_features, nulls_selection, nulls_sparse, nulls_text, nulls_view)
"""Loading them fills `NULLS`."""

KNOWN_TO_HOLD: dict[str, str] = {}
"""Claims whose judge says that they hold in a world where they are false. Whoever repairs a judge takes it off."""

EDGE = "Where nothing differs the number is zero up to noise, and zero is the end of the criterion."
UNCLEAR = {
    "breaking.probe": EDGE,
    "breaking.addition-residual": EDGE,
    "breaking.slices-training": EDGE,
    "features.reach-approximate": EDGE,
    "features.trained-slower-16": EDGE,
    "features.trained-slower-64": EDGE,
    "features.trained-fewer-16": EDGE,
    "features.trained-fewer-64": EDGE,
    "sparse.bounds-rank": EDGE,
    "sparse.f2-perceptron": EDGE,
    "sparse.f2-perceptron-ntk": EDGE,
    "sparse.f2-perceptron-nngp": EDGE,
    "sparse.f2-transformer-ntk": EDGE,
    "sparse.f2-transformer-nngp": EDGE,
    "sparse.f4-start": EDGE,
    "sparse.f4-longer": EDGE,
    "sparse.profile-and": "A share is never below zero, so that an interval that begins there says nothing against it.",
    "selection.f4-order": EDGE,
    "selection.f4-quicker": EDGE,
    "infinity.e4-heads": EDGE,
    "infinity.f3-similarity-gap": EDGE,
    "infinity.f3-similarity-high": EDGE,
    "infinity.f3-similarity-markov": EDGE,
    "infinity.f3-eigenvalues": EDGE,
    "infinity.f3-eigenvalues-short": EDGE,
    "infinity.f3-eigenvalues-chi2": EDGE,
    "infinity.f3-subspaces": EDGE,
    "infinity.f3-subspaces-gap": EDGE,
    "infinity.f3-off-site": "Independent words have no blocks off the site, and so no ratio; the bigram text is refused.",
    "infinity.q8-markov": EDGE,
    "infinity.e5-corpora": EDGE,
    "infinity.e7-third-order": EDGE,
    "infinity.q8-wikitext": "Independent words have no correlations, and so no score; the bigram text is refused.",
}
"""Claims of which some world says nothing, for or against; by chance it may speak against them."""


def problem(claim: Claim) -> str:
    """What is wrong with the judge of a claim, or with what is listed of it; an empty string if nothing is."""
    worlds = NULLS.get(claim.id, [])
    if not worlds:
        return f"{claim.id} has no null."
    outcomes = {world: {verdict.outcome for verdict in world.verdicts(claim)} for world in worlds}
    held = [world for world in worlds if "holds" in outcomes[world]]
    if held and claim.id not in KNOWN_TO_HOLD:
        return f"{claim.id} holds where it is false: {held[0].world}"
    if not held and claim.id in KNOWN_TO_HOLD:
        return f"{claim.id} holds in no null any more: take it off KNOWN_TO_HOLD."
    unclear = [world for world in worlds if outcomes[world] - {"holds", "fails"}]
    if unclear and not held and claim.id not in UNCLEAR:
        return f"{claim.id} is {', '.join(sorted(outcomes[unclear[0]] - {'fails'}))} where it is false: {unclear[0].world}"
    if claim.id in UNCLEAR and not unclear and not _speaks_by_chance(claim):
        return f"{claim.id} fails in all nulls: take it off UNCLEAR."
    return ""


def _speaks_by_chance(claim: Claim) -> bool:
    """Whether a draw alone says nothing, although all of them do together."""
    return any(verdict.outcome != "fails" for world in NULLS[claim.id] for verdict in world.verdicts(claim, alone=True))
