"""The method of `specht symmetry` as its report explains it."""

from __future__ import annotations

from types import SimpleNamespace

from specht.commands.symmetry.text import null_models, number
from specht.corpus.stats.exchangeability import DRAWS
from specht.report.maths import literal
from specht.report.page import Step

_METRICS = {
    "chi2-floor": Step(
        "Types are weighed by one over the root of their frequency, so that it does not matter how they are embedded; those rarer than one "
        "in a thousand are weighed as if they were not, lest a type that occurs once should rule:",
        ["‖K‖² = Σ_{ij} s_i² s_j² K_{ij}²", "s_i = 1 / √max(p_i, 10^{−3})"],
    ),
    "chi2": Step(
        "Types are weighed by one over the root of their frequency: the square norm is then the mean square contingency of two positions, "
        "about twice their mutual information where that is small. Rare types weigh much:",
        ["‖K‖² = Σ_{ij} s_i² s_j² K_{ij}²", "s_i = 1 / √p_i"],
    ),
    "plain": Step(
        "All types are weighed alike, as random embeddings do, except for the rest, which counts for nothing; frequent types rule:",
        ["‖K‖² = Σ_{ij} K_{ij}²"],
    ),
}
_WAYS = {
    "tables": "exact tables of all pairs of types",
    "sketch": "random sketches of the tables of all pairs of types, which keep scalar products up to about one per cent",
    "exact": "exact tables of all pairs of types, one lag at a time",
}


def method(result: SimpleNamespace) -> list[Step]:
    """From the definition to what the figures do and do not mean."""
    corpora = result.corpora
    ways = [_WAYS[way] for way in _WAYS if any(corpus.method == way for corpus in corpora)]
    steps = [
        Step(
            "In a window of L tokens x_a is the one-hot vector of the token at position a, the V most frequent types being told apart and "
            "all others one, and p is its mean. Averaged over all permutations of the window the covariance of two different positions is "
            "one matrix B, and the score is what that makes up. It is 1 if and only if all pairs of positions have the same joint law at "
            "second order:",
            ["K_{ab} = E[ (x_a − p)(x_b − p)^T ]", "B = mean of K_{ab} over a ≠ b", "S = L (L−1) ‖B‖² / Σ_{a≠b} ‖K_{ab}‖²"],
        ),
        Step(
            "Windows slide, so that K_{ab} = K(t) depends on the lag t = b − a alone, and a share w_t of all pairs has this lag. With K_s "
            "and K_a the parts of K(t) that are symmetric and antisymmetric in the two tokens, the score and what it lacks add up to 1:",
            [
                "w_t = 2 (L−t) / (L (L−1)),   B = Σ_t w_t K_s(t)",
                "E = Σ_t w_t ( ‖K_s(t)‖² + ‖K_a(t)‖² )",
                "S = ‖B‖² / E",
                "distance = Σ_t w_t ‖K_s(t) − B‖² / E",
                "direction = Σ_t w_t ‖K_a(t)‖² / E",
            ],
        ),
        Step(
            "The rms correlation measures how much there is to share out, A being the covariance of one position with itself. The score is "
            "undefined where the interval of E reaches zero, since it is noise over noise there:",
            ["rms = √E / ‖A‖,   A = diag(p) − p p^T"],
        ),
        _METRICS[result.metric],
        Step(
            "Squares of estimates are too large by their sampling noise, which hides symmetry in small corpora. So each corpus is cut into "
            f"{result.blocks} blocks, and squares are products of different ones only, which has no bias; estimates may therefore lie a "
            f"little outside 0 to 1. Intervals come from {DRAWS} draws of blocks with replacement, again without products of a block with "
            "itself: weights go a quarter of the way to what was drawn, and deviations are enlarged fourfold, since squares of noise would "
            "vary too much under whole steps. They hold the middle 95 %:",
            ["‖K‖² → mean of ⟨ K^g, K^h ⟩ over g ≠ h"],
        ),
        Step(f"Pairs were counted by {' or by '.join(ways)}." if ways else "Pairs were counted block by block."),
    ]
    if null_models(corpora):
        steps.append(
            Step(
                "Null models are the same tokens in random order: inside each window, inside each article, or in the whole corpus. The "
                "first two must score 1, whatever the correlations, and the last has none."
            )
        )
    if any(corpus.isotypic for corpus in corpora):
        steps.append(
            Step(
                "With positions told apart, in disjoint windows, functions of ordered pairs a ≠ b split into irreps of the symmetric "
                "group, and the correlations with them. The part [L] is B:",
                ["pairs a ≠ b: [L] + 2 [L−1,1] + [L−2,2] + [L−2,1,1]"],
            )
        )
    detailed = next((corpus for corpus in corpora if vars(corpus.harmonics)), None)
    return steps + (_block_steps(detailed) if detailed else [])


def _block_steps(corpus: SimpleNamespace) -> list[Step]:
    """What the picture of equal blocks does and does not mean, in numbers of one corpus."""
    label, blocks = literal(corpus.label), vars(corpus.harmonics)
    raw, centred, bare = blocks["raw"], blocks["centred"], blocks["off-site"]
    return [
        Step(
            "Lavie, Gur-Ari and Ringel (2024) compare the Fourier blocks C(k) of the second moments. If all permutations were symmetries, "
            "blocks k ≠ 0 would be the same and k = 0 another:",
            [
                "C(k) = L^{−1} Σ_{ab} e^{2πik(b−a)/L} K_{ab}",
                "with permutation symmetry",
                "C(0) = A + (L−1) B",
                "C(k) = A − B for k ≠ 0",
            ],
        ),
        Step(
            "Such a picture is not yet a symmetry of the correlations, for two reasons. Without centring independent tokens give it too, "
            f"since C(0) exceeds the others by L p p^T: in {label} the mean cosine of C(0) with the others is "
            f"{number(raw.across.mean)} without centring and {number(centred.across.mean)} with it."
        ),
        Step(
            f"And blocks k ≠ 0 are alike because they share the term A of single positions: in {label} their mean cosine is "
            f"{number(centred.within.mean)} with A ({number(centred.within.least)} at least), and without it "
            f"{number(bare.within.mean)} ({number(bare.within.least)} at least). The score leaves A out."
        ),
    ]
