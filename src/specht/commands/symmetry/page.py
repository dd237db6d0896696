"""What `specht symmetry` says: how much of the correlations of a corpus ignores order, and what the rest depends on."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from types import SimpleNamespace

from specht.commands.symmetry.figures import block_plots, irrep_plot, null_plot, score_plot
from specht.commands.symmetry.tables import (
    defined,
    detail_tables,
    labels,
    null_models,
    null_score,
    number,
    quoted,
    rms,
    score_table,
    scored,
    span,
)
from specht.corpus.stats import DRAWS
from specht.report import Page, Plot, Step, cut_plot, lag_plot, length_plot, listed, literal, percent, split_plot


def symmetry_page(result: SimpleNamespace) -> Page:
    """The page on the result of one run; its corpora get their labels here."""
    corpora = result.corpora
    for corpus, label in zip(corpora, labels(corpora), strict=True):
        corpus.label = label
    first, several = corpora[0], len(corpora) > 1
    what = f"{len(corpora)} corpora ·" if several else f"{first.name} · {first.tokens} · V={first.vocab}"
    return Page(
        title="The permutation symmetry of corpora" if several else "The permutation symmetry of a corpus",
        subtitle=f"{what} L={first.length} · {result.metric} metric",
        question=f"How much of the correlations of {'these texts' if several else 'this text'} ignores order?",
        answer=literal(answer(corpora)),
        plots=_plots(corpora),
        tables=[score_table(corpora, literal("\n".join(remarks(corpora, result.blocks)))), *detail_tables(corpora)],
        method=method(result),
    )


def _plots(corpora: Sequence[SimpleNamespace]) -> list[Plot]:
    first, some = corpora[0], bool(defined(corpora))
    plots = [score_plot(corpora)] if len(corpora) > 1 else []
    plots += [split_plot(corpora)] if some else []
    plots += [null_plot(corpora)] if some and null_models(corpora) else []
    plots += [cut_plot(corpora)] if some and len(first.cuts) > 1 else []
    plots += [lag_plot(corpora)] if some and len(first.lags) > 1 else []
    plots += [length_plot(corpora)] if some and len(first.lengths) > 1 else []
    plots += [irrep_plot(corpora)] if any(corpus.isotypic and corpus.isotypic.defined for corpus in corpora) else []
    return plots + block_plots(corpora)


WEAK = 0.1
"""Rms correlation below which single tokens rule the second moment."""
FAR = 10
"""Smallest lag of what is far apart."""
HEAVY = 0.15
"""Share of the score that one block may move without a warning."""
Corpora = Sequence[SimpleNamespace]


def answer(corpora: Corpora) -> str:
    """What share of the correlations ignores order: of the one corpus, or of the most and the least symmetric one."""
    scored_ones, total = defined(corpora), len(corpora)
    windows = f"in windows of {corpora[0].length} tokens"
    if not scored_ones:
        whose, score = (corpora[0].label, "score is") if total == 1 else (f"all {total} corpora", "scores are")
        return (
            f"Correlations between positions {windows} of {whose} cannot be told from noise, so there is nothing to share out: the "
            f"{score} undefined."
        )
    first, last = scored_ones[0], scored_ones[-1]
    if total == 1:
        whose = f"Of the correlations between positions {windows} of {first.label}"
        return (
            f"{whose}, {_share(first)} ignore order; {percent(first.distance)} depend on how far apart two tokens are, and "
            f"{percent(first.direction)} on which comes first."
        )
    left = total - len(scored_ones)
    rest = f" {left} of {total} corpora {'has' if left == 1 else 'have'} no correlations beyond noise, hence no score." if left else ""
    if first is last:
        return f"Of the correlations between positions {windows} of {first.label}, {_share(first)} ignore order.{rest}"
    return (
        f"Of the correlations between positions {windows}, those that ignore order make up {_share(first)} in {first.label}, the most "
        f"symmetric of these corpora, and {_share(last)} in {last.label}, the least.{rest}"
    )


def _share(corpus: SimpleNamespace) -> str:
    """The score in a sentence, with its interval, and a warning if a few windows make it."""
    low, high = percent(corpus.low).removesuffix(" %"), percent(corpus.high)
    asides = ["all of them within the error"] if corpus.low <= 1.0 <= corpus.high else []
    asides += ["most of it from a few windows"] if corpus.influence.uneven else []
    return f"{percent(corpus.score)} ({low} to {high})" + "".join(f", {aside}" for aside in asides) + "," * bool(asides)


def second_moment_share(corpus: SimpleNamespace) -> float:
    """What the share would be with single positions counted among the correlations, (1 + (L-1) r² S) / (1 + (L-1) r²) at rms r.

    >>> round(second_moment_share(SimpleNamespace(length=64, rms=0.0326, score=0.137)), 3)
    0.946
    """
    weight = (corpus.length - 1) * corpus.rms**2
    return (1.0 + weight * corpus.score) / (1.0 + weight)


def remarks(corpora: Corpora, blocks: int) -> list[str]:
    """What has to be known to read the numbers, one sentence or two each; only what applies."""
    scored_ones = defined(corpora)
    said = [_warning(corpus) for corpus in scored_ones if corpus.influence.uneven]
    said += [_block_warning(corpus) for corpus in scored_ones if not corpus.influence.uneven]
    said += [
        _window_null_remark(scored_ones),
        _global_null_remark(corpora),
        _interval_remark(scored_ones, blocks),
        _far_remark(scored_ones),
    ]
    said += [_weak_remark(scored_ones), _noise_remark(scored_ones), _range_remark(scored_ones), _undefined_remark(corpora)]
    return [sentence for sentence in said if sentence]


def _warning(corpus: SimpleNamespace) -> str:
    carried = corpus.influence
    full = f"; they are full of {listed(map(quoted, carried.tokens[:3]))}" if carried.tokens else ""
    return (
        f"Warning: {carried.carrying_half:,} of {carried.windows:,} windows of {corpus.label} carry half of what ignores order{full}. "
        "Look at them: ornamental lines, tables and boilerplate do this."
    )


def _block_warning(corpus: SimpleNamespace) -> str:
    blocks = corpus.influence.blocks
    heaviest = max(range(len(blocks)), key=lambda block: abs(blocks[block]), default=None)
    if heaviest is None or abs(blocks[heaviest]) <= HEAVY * abs(corpus.score):
        return ""
    scores = f"{number(corpus.score - blocks[heaviest])} instead of {number(corpus.score)}"
    return f"Warning: without block {heaviest + 1} of {len(blocks)} the score of {corpus.label} would be {scores}."


def _window_null_remark(scored_ones: Corpora) -> str:
    """Shuffled inside windows, every corpus that has correlations must score one."""
    shuffled = [(corpus, null) for corpus in scored_ones if (null := null_score(corpus, "window")) and null.defined]
    wrong = [(corpus, null) for corpus, null in shuffled if not null.low <= 1.0 <= null.high]
    if wrong:
        scores = listed(f"{corpus.label} scores {scored(null)}" for corpus, null in wrong)
        sketched = any(corpus.method == "sketch" for corpus, _ in wrong)
        cure = "the noise of sketches is gone with --method exact" if sketched else "small corpora miss it more often"
        return f"Shuffled inside windows a corpus must score 1, but {scores}: one interval in twenty misses by chance, and {cure}."
    if not shuffled:
        return ""
    they = "the corpus scores" if len(shuffled) == 1 else "all corpora score"
    return f"Shuffled inside windows {they} 1 within the interval, as must be."


def _global_null_remark(corpora: Corpora) -> str:
    wrong = [corpus.label for corpus in corpora if (null := null_score(corpus, "global")) and null.defined]
    left = f"in {listed(wrong)} some seem left: it happens by chance to one corpus in forty"
    return f"Shuffled as a whole a corpus has no correlations, but {left}." if wrong else ""


def _interval_remark(scored_ones: Corpora, blocks: int) -> str:
    if not scored_ones:
        return ""
    drawn = f"drawing the {blocks} blocks of a text again"
    said = f"Intervals of 95 % come from {drawn}: they cover sampling within a text, not the choice of texts"
    for first, second in itertools.pairwise(scored_ones):
        if second.high >= first.low:
            return f"{said}, and where they overlap, as for {first.label} and {second.label}, the order is open."
    return f"{said}."


def _far_remark(scored_ones: Corpora) -> str:
    """The scores at lags from 10 on, or from as far on as windows reach; none in windows of two or three tokens."""
    places = [place for place, cut in enumerate(scored_ones[0].cuts) if 1 < cut.from_lag <= FAR] if scored_ones else []
    cuts = [(corpus.label, cut) for corpus in scored_ones if places and (cut := corpus.cuts[places[-1]]).defined]
    if not cuts:
        return ""
    lags = f"Between tokens {cuts[0][1].from_lag} or more apart"
    if len(cuts) == 1:
        whose = f" in {cuts[0][0]}" if len(scored_ones) > 1 else ""
        return f"{lags} the share is {percent(cuts[0][1].score)}{whose}."
    least, most = (pick(cuts, key=lambda entry: entry[1].score) for pick in (min, max))
    return f"{lags} the share is {percent(least[1].score)} in {least[0]} and up to {percent(most[1].score)} in {most[0]}."


def _weak_remark(scored_ones: Corpora) -> str:
    weak = [corpus for corpus in scored_ones if corpus.rms < WEAK]
    if not weak:
        return ""
    sizes, shares = [corpus.rms for corpus in weak], [second_moment_share(corpus) for corpus in weak]
    of_them = "" if len(weak) == len(scored_ones) else f" in {len(weak)} of {len(scored_ones)} corpora"
    return (
        f"Correlations are weak{of_them}, {span(min(sizes), max(sizes), rms)} times the covariance of a token with itself: with that "
        f"counted in, as in the whole second moment, {span(min(shares), max(shares), percent)} would ignore order, which says little about "
        "the correlations."
    )


def _noise_remark(scored_ones: Corpora) -> str:
    corpus = max(scored_ones, key=lambda corpus: abs(corpus.plug_in - corpus.score), default=None)
    if corpus is None or number(corpus.plug_in) == number(corpus.score):
        return ""
    whose = f" of {corpus.label}" if len(scored_ones) > 1 else ""
    would = f"the score{whose} would come out as {number(corpus.plug_in)} instead of {number(corpus.score)}"
    return f"Squares are free of the bias of sampling noise: with it {would}."


def _range_remark(scored_ones: Corpora) -> str:
    outside = any(not 0.0 <= part <= 1.0 for corpus in scored_ones for part in (corpus.score, corpus.distance, corpus.direction))
    return "Estimates without bias may lie a little below 0 or above 1." if outside else ""


def _undefined_remark(corpora: Corpora) -> str:
    left = [corpus for corpus in corpora if not corpus.defined]
    if not left:
        return ""
    names = listed(corpus.label for corpus in left) if len(left) < 5 else f"{len(left)} corpora"
    sizes = [corpus.rms for corpus in left]
    return (
        f"Undefined: the correlations of {names} (rms {span(min(sizes), max(sizes), rms)}) cannot be told from none, and a share of them "
        "would be noise over noise."
    )


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
