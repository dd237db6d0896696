"""The report of `specht symmetry`: how much of the correlations of a corpus ignores order, and what the rest depends on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from specht.corpus.survey import EXTRAS
from specht.report.figures import Plot
from specht.report.html import Report, Table
from specht.report.maths import literal
from specht.report.symmetry_details import (
    HARMONICS_HEADER,
    INFLUENCE_HEADER,
    IRREP_HEADER,
    THIRD_HEADER,
    cut_header,
    harmonics_rows,
    influence_rows,
    irrep_rows,
    length_header,
    null_header,
    null_models,
    null_rows,
    series_rows,
    third_rows,
)
from specht.report.symmetry_figures import (
    cosine_plot,
    cut_plot,
    irrep_plot,
    lag_plot,
    length_plot,
    null_plot,
    score_plot,
    spectrum_plot,
    split_plot,
)
from specht.report.symmetry_method import detailed, method
from specht.report.symmetry_tables import SCORE_HEADER, answer, defined, labels, number, percent, remarks, score_rows


def symmetry_report(result: Mapping[str, Any], *, reproduce: str, made_with: Mapping[str, str]) -> Report:
    """The report on the result of one run."""
    several = len(result["corpora"]) > 1
    return Report(
        title="The permutation symmetry of corpora" if several else "The permutation symmetry of a corpus",
        subtitle=_subtitle(result),
        question=f"How much of the correlations of {'these texts' if several else 'this text'} ignores order?",
        answer=literal(answer(result)),
        plots=list(_plots(result)),
        tables=[table for table in _tables(result) if table.rows],
        method=method(result),
        reproduce=reproduce,
        made_with=made_with,
    )


def _subtitle(result: Mapping[str, Any]) -> str:
    corpora = result["corpora"]
    first = corpora[0]
    what = f"{first['name']} · {first['tokens']} · V={first['vocab']}" if len(corpora) == 1 else f"{len(corpora)} corpora ·"
    return f"{what} L={first['length']} · {result['config']['metric']} metric"


def _plots(result: Mapping[str, Any]) -> Iterator[Plot]:
    first, found = result["corpora"][0], defined(result)
    if len(result["corpora"]) > 1:
        yield score_plot(
            result,
            title="How symmetric the corpora are",
            caption="Scores with intervals of 95 %, the most symmetric corpus on top." + _marked(result),
        )
    if found:
        yield split_plot(
            result,
            title="What the correlations depend on",
            caption="The parts add up to 100 %: what ignores order, what depends on how far apart two tokens are, and what on which "
            "comes first.",
        )
    if found and null_models(result):
        yield null_plot(result, title="The same tokens in random order", caption=_null_caption(result))
    if found and len(first["cuts"]) > 1:
        yield cut_plot(
            result,
            title="Without short lags",
            caption="The share of what ignores order among the correlations of tokens at least so far apart. What is left at long lags is "
            "what windows are about, not their grammar.",
        )
    if found and len(first["lags"]) > 1:
        yield lag_plot(
            result,
            title="Correlations by lag",
            caption="Root mean square, in units of the covariance of a token with itself, with intervals of 95 %. Where a curve breaks off "
            "nothing is left above noise. Both axes logarithmic.",
        )
    if found and len(first["lengths"]) > 1:
        yield length_plot(result, title="Windows of several lengths", caption="The score in shorter windows, which hold short lags only.")
    if any(corpus.get("isotypic") and corpus["isotypic"]["defined"] for corpus in result["corpora"]):
        yield irrep_plot(
            result,
            title="Correlations by irrep",
            caption=f"In {_extent(result, 'isotypic')}, with positions told apart. [L] ignores order; [L−1,1] singles out one position, "
            "[L−2,2] two of them alike, and [L−2,1,1] two in their order.",
        )
    yield from _block_plots(result)


def _marked(result: Mapping[str, Any]) -> str:
    number_of = sum(not corpus["defined"] for corpus in result["corpora"])
    return " Without correlations beyond noise there is no score, which is not a score of zero." if number_of else ""


def _null_caption(result: Mapping[str, Any]) -> str:
    said = "Shuffled inside windows, and inside articles where there are any, a corpus must score 100 %: this checks the method."
    nulls = [corpus["nulls"]["global"] for corpus in result["corpora"] if "global" in corpus["nulls"]]
    if nulls and not any(null["defined"] for null in nulls):
        said += " Shuffled as a whole, nothing is left to score, as must be."
    return said


def _extent(result: Mapping[str, Any], extra: str) -> str:
    """What was counted for a small vocabulary and short windows."""
    limits = EXTRAS[extra]
    length = max(limits.shortest, min(limits.longest, result["corpora"][0]["length"]))
    return f"windows of {length} tokens, the {limits.types} most frequent types or fewer and the rest as one"


def _block_plots(result: Mapping[str, Any]) -> Iterator[Plot]:
    """How alike the blocks C(k) are, for one corpus."""
    chosen = detailed(result)
    if chosen is None:
        return
    label, blocks = literal(chosen[0]), chosen[1]
    captions = {
        "centred": f"{label}: the cosine of C(k) and C(k'), centred. Among k ≠ 0 it is {{mean}} on average and {{least}} at least; between "
        "k = 0 and the others {across}.",
        "off-site": f"{label}: the same without the term A of single positions, which all blocks share. Among k ≠ 0 it is {{mean}} on "
        "average and {least} at least. Mind the scale.",
    }
    for kind, title in (("centred", "How alike blocks C(k) are"), ("off-site", "The same without single positions")):
        found = blocks[kind]
        numbers = {"mean": number(found["within"]["mean"]), "least": number(found["within"]["least"])}
        caption = captions[kind].format(**numbers, across=number(found["across"]["mean"]))
        yield cosine_plot(found, title=title, caption=caption)
    for kind, title in (("raw", "Eigenvalues, not centred"), ("centred", "Eigenvalues, centred")):
        if "spectra" in blocks[kind]:
            distances = blocks[kind]["kolmogorov"]
            waves = ", ".join(wave for wave in blocks[kind]["spectra"] if wave != "0")
            caption = (
                f"{label}: distribution functions of the eigenvalues of D^{{−1/2}} C(k) D^{{−1/2}} with D = diag p, so that "
                f"frequencies do not decide about them, for k = 0 and {waves}. Kolmogorov's distance is "
                f"{number(distances['across']['mean'])} between k = 0 and others (mean) and {number(distances['within']['median'])} among "
                "those (median)."
            )
            yield spectrum_plot(blocks[kind], title=title, caption=caption)


def _tables(result: Mapping[str, Any]) -> Iterator[Table]:
    yield Table(SCORE_HEADER, score_rows(result), note=literal(" ".join(remarks(result))), title="Scores")
    first = result["corpora"][0]
    if null_models(result):
        yield Table(null_header(result), null_rows(result), title="Null models", note=_NULL_NOTE)
    scored = bool(defined(result))
    if scored and len(first["cuts"]) > 1:
        yield Table(cut_header(result), series_rows(result, "cuts"), title="Scores without short lags", note=_CUT_NOTE)
    if scored and len(first["lengths"]) > 1:
        yield Table(length_header(result), series_rows(result, "lengths"), title="Scores by window length")
    yield Table(IRREP_HEADER, irrep_rows(result), title="Shares by irrep", note=_irrep_note(result))
    yield Table(THIRD_HEADER, third_rows(result), title="Three positions at once", note=_third_note(result))
    yield Table(HARMONICS_HEADER, harmonics_rows(result), title="Likeness of the blocks C(k)", note=_harmonics_note(result))
    yield Table(INFLUENCE_HEADER, influence_rows(result), title="Who carries the score", note=_INFLUENCE_NOTE)
    coverage = [
        [label, corpus["method"], percent(corpus["coverage"])] for label, corpus in zip(labels(result), result["corpora"], strict=True)
    ]
    yield Table(("corpus", "counted by", "tokens of the V types"), coverage, title="How it was counted")


_NULL_NOTE = (
    "Shuffling inside windows keeps what windows are about and must give 1; inside articles it keeps what articles are about, and must "
    "give 1 where they are long; shuffling the whole corpus leaves no correlations, and no score."
)
_CUT_NOTE = "At lags from so many tokens on; other lags are left out of all sums."
_INFLUENCE_NOTE = (
    "The fewest windows, of those looked at, that carry half of what ignores order, and the types that stand out in the top hundredth. "
    "There is a warning where a hundredth of the windows or fewer carry half. Last: how much the score falls if the weightiest block is "
    "left out."
)


def _irrep_note(result: Mapping[str, Any]) -> str:
    return (
        f"In {_extent(result, 'isotypic')}, disjoint from the start of each record on. The last column says how much the laws of single "
        "positions differ, in units of all correlations between positions: it is large where windows start at something, such as the start "
        "of a protein."
    )


def _third_note(result: Mapping[str, Any]) -> str:
    return (
        f"The share of third cumulants of three different positions that ignores order, in {_extent(result, 'third')}, each weighed by one "
        "over the root of its frequency. The last column is their size over its standard error; below about two there is nothing to score."
    )


def _harmonics_note(result: Mapping[str, Any]) -> str:
    return (
        f"In {_extent(result, 'harmonics')}, all weighed alike. Cosines: mean and least among k ≠ 0, mean between 0 and the others. CDFs: "
        "Kolmogorov distances of the distributions of eigenvalues of D^{−1/2} C(k) D^{−1/2}, D = diag p, over their sum, median and "
        "largest among k ≠ 0, mean between 0 and the others. Subspaces: overlap of the ten largest principal components. Sampling noise is "
        "not taken off here: it makes blocks of small corpora less alike, most of all off-site."
    )
