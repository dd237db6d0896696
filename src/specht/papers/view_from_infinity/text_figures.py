"""Pictures and tables of the figure on WikiText-2."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from specht.corpus.measuring import KINDS
from specht.corpus.stats.harmonics import Kind, Likeness
from specht.papers import common
from specht.papers.claims import Result, Results
from specht.papers.view_from_infinity.texts import TEXT, finished_names, missing_table
from specht.report.figures import Plot
from specht.report.html import Table

_NAMES = {None: "WikiText-2", "window": "window shuffle", "article": "article shuffle", "global": "global shuffle"}
_SHUFFLED = {None: "none", "window": "in windows", "article": "in articles", "global": "all"}


def blocks_of(results: Results, corpus: str = TEXT, null: str | None = None, unknown: bool = True) -> Result:
    """The measurement of the blocks of a corpus, or of a shuffled one."""
    found = common.chosen(results, "blocks", corpus=corpus, null=null)
    return next(each for each in found if each.arguments.get("unknown", True) == unknown)


def cosines_of(result: Result, kind: Kind = "centred") -> Likeness:
    """How alike blocks are by their cosines."""
    return Likeness(result.data["cosine"].sel(kind=kind).values)


def likeness_of(result: Result, name: str) -> Likeness:
    """How alike blocks are by their eigenvalues or principal subspaces."""
    return Likeness(result.data[name].values)


def means(cosines: Likeness) -> str:
    """Means within k ≠ 0 and to k = 0, as words."""
    return f"{cosines.within.mean:.3f} and {cosines.across.mean:.3f}".replace("-", "−")


def _cell(values: Likeness) -> str:
    return means(values).replace(" and ", " / ")


def scored(results: Results) -> list[tuple[str, float, float]]:
    """Corpora with their score and their cosine within k ≠ 0."""
    shares = {result.arguments["corpus"]: float(result.data["score"]) for result in common.chosen(results, "score")}
    return [(name, score, cosines_of(blocks_of(results, name)).within.mean) for name, score in shares.items()]


def plots(results: Results) -> list[Plot]:
    if not common.chosen(results, "blocks", corpus=TEXT):
        return []
    return [_heat_map(blocks_of(results)), _spectra(blocks_of(results)), _comparison(results)]


def _heat_map(result: Result) -> Plot:
    cosines = result.data["cosine"].sel(kind="centred").values
    figure = go.Figure(
        go.Heatmap(
            z=cosines.round(4),
            colorscale="Viridis",
            zmin=float(np.quantile(cosines, 0.02)),
            zmax=1.0,
            hovertemplate="k = %{y} and %{x}<br>cosine %{z:.3f}<extra></extra>",
            colorbar={"thickness": 10, "outlinewidth": 0, "len": 1, "xpad": 8, "ypad": 0, "nticks": 7},
        )
    )
    common.finished(figure, x="frequency k", y="frequency k", linear_y=True)
    figure.update_layout(showlegend=False)
    figure.update_xaxes(type="linear", dtick=None, showgrid=False, constrain="domain")
    figure.update_yaxes(autorange="reversed", showgrid=False, scaleanchor="x", constrain="domain")
    caption = (
        "Cosines of the centred blocks C(k) of WikiText-2. Blocks at most k ≠ 0 are alike, and k = 0 stands apart from them, as the poster "
        "shows. So does k = 1, though, and in part k = 2."
    )
    return Plot(figure, "Similarity by frequency", caption)


def _spectra(result: Result) -> Plot:
    figure, values = go.Figure(), np.sort(result.data["eigenvalue"].values, axis=1)[:, 1:]  # the smallest is zero
    shares = np.arange(2, values.shape[1] + 2) / (values.shape[1] + 1)
    for k in (1, 2, 4, 8, 16, 32):
        common.add_line(figure, values[k], shares, "k = 1, 2, 4, 8, 16, 32", 0, legend=k == 1)
    common.add_line(figure, values[0], shares, "k = 0", 1, dash="dash")
    common.finished(figure, x="eigenvalue of C(k) / trace", y="share of the eigenvalues below", linear_y=True)
    figure.update_xaxes(exponentformat="power")
    caption = (
        "Distribution functions of the eigenvalues of the centred blocks. Those at k ≠ 0 nearly lie on each other. At k = 0 a few large "
        "eigenvalues take more of the trace, so that the others are smaller."
    )
    return Plot(figure, "Eigenvalues by frequency", caption)


def _comparison(results: Results) -> Plot:
    figure = go.Figure()
    found = {name: blocks_of(results, null=null) for null, name in _SHUFFLED.items()}
    for number, kind in enumerate(KINDS):
        for part, symbol in (("within", "circle"), ("across", "diamond-open")):
            figure.add_scatter(
                x=list(found),
                y=[getattr(cosines_of(each, kind), part).mean for each in found.values()],
                name=f"{kind}, {'within k ≠ 0' if part == 'within' else 'to k = 0'}",
                mode="markers",
                marker={"color": common.colour(number), "size": 9, "symbol": symbol},
                hovertemplate="%{x}<br>%{y:.3f}<extra></extra>",
            )
    halves = {name: float(each.data["ratio"]) for name, each in found.items() if "ratio" in each.data}
    figure.add_scatter(
        x=list(halves),
        y=list(halves.values()),
        name="off-site, from two halves",
        mode="markers",
        marker={"color": common.colour(len(KINDS)), "size": 14, "symbol": "line-ew-open", "line": {"width": 3}},
        hovertemplate="%{x}<br>%{y:.3f}<extra></extra>",
    )
    finished_names(figure, x="shuffled tokens of WikiText-2", y="mean cosine").update_yaxes(range=[-0.6, 1.2])
    caption = (
        "What the likeness is made of. Tokens in random order give the picture of the poster where they are not centred (raw). Without "
        "the single-site term (off-site), which all blocks share, those of the text are not alike. Within k ≠ 0 raw and "
        "centred coincide. Off-site blocks of shuffled text are mostly noise; from two halves, which share none, those of windows shuffled "
        "inside are alike, as they must be."
    )
    return Plot(figure, "Text and shuffled text", caption, wide=True)


def tables(results: Results) -> list[Table]:
    header = ("text", "raw", "centred", "off-site", "eigenvalues", "subspaces", "|Im C|")
    rows = []
    for result in common.chosen(results, "blocks"):
        given = result.arguments
        name = _NAMES[given.get("null")] if given["corpus"] == TEXT else given["corpus"]
        cells = [_cell(cosines_of(result, kind)) for kind in KINDS]
        cells += [_cell(likeness_of(result, each)) if each in result.data else "" for each in ("kolmogorov", "overlap")]
        label = name if given.get("unknown", True) else "<unk> in the rest"
        rows.append([label, *cells, f"{float(result.data['imaginary'].sel(kind='centred')):.2f}"])
    note = (
        "Means within k ≠ 0 / between k = 0 and the others: of cosines (three columns), of Kolmogorov's distance of the centred "
        "eigenvalues, and of the overlap of their ten principal directions. The last column is the largest |Im C(k)| over |Re C(k)|, "
        "centred; under permutation symmetry blocks are real."
    )
    scores = [[name, f"{score:.3f}", f"{cosine:.3f}"] for name, score, cosine in scored(results)]
    return [
        *([Table(header, rows, note, "Blocks C(k)")] if rows else []),
        Table(("corpus", "exchangeable share S", "cosine within k ≠ 0"), scores, title="Cosine and score of corpora"),
        *missing_table(results),
    ]
