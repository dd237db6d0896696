"""Pictures and tables of the figure on WikiText-2."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.corpus import KINDS
from specht.corpus.stats import Kind, Likeness
from specht.papers.view_from_infinity.texts import TEXT, finished_names, missing_table, null_of, require
from specht.report import Plot, Table, add_line, colour, finished, points_of

_NAMES = {None: "WikiText-2", "window": "window shuffle", "article": "article shuffle", "global": "global shuffle"}
_SHUFFLED = {None: "none", "window": "in windows", "article": "in articles", "global": "all"}


def measured(data: xarray.Dataset) -> list[xarray.Dataset]:
    """The blocks of every text that this machine has, those with `<unk>` among rare words last."""
    return sorted(points_of(data, "corpus", "null", "unknown", "spectra"), key=lambda text: not text.unknown.item())


def blocks_of(data: xarray.Dataset, corpus: str = TEXT, null: str | None = None, unknown: bool = True) -> xarray.Dataset:
    """The blocks of a corpus, or of a shuffled one."""
    require(corpus, data)
    chosen = (corpus, null, unknown)
    return next(text for text in measured(data) if (text.corpus.item(), null_of(text), text.unknown.item()) == chosen)


def cosines_of(blocks: xarray.Dataset, kind: Kind = "centred") -> Likeness:
    """How alike blocks are by their cosines."""
    return Likeness(blocks["cosine"].sel(kind=kind).values)


def likeness_of(blocks: xarray.Dataset, name: str) -> Likeness:
    """How alike blocks are by their eigenvalues or principal subspaces."""
    return Likeness(blocks[name].values)


def means(cosines: Likeness) -> str:
    """Means within k ≠ 0 and to k = 0, as words."""
    return f"{cosines.within.mean:.3f} and {cosines.across.mean:.3f}".replace("-", "−")


def _cell(values: Likeness) -> str:
    return means(values).replace(" and ", " / ")


def scored(data: xarray.Dataset, scores: xarray.Dataset) -> list[tuple[str, float, float]]:
    """Corpora with their score and their cosine within k ≠ 0."""
    present = scores["score"].dropna("corpus") if "score" in scores else []
    return [(at.corpus.item(), float(at), cosines_of(blocks_of(data, at.corpus.item())).within.mean) for at in present]


def figures(data: xarray.Dataset) -> list[Plot]:
    text = blocks_of(data)
    return [_heat_map(text), _spectra(text), _comparison(data)]


def _heat_map(block: xarray.Dataset) -> Plot:
    cosines = block["cosine"].sel(kind="centred").values
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
    finished(figure, x="frequency k", y="frequency k", linear_y=True)
    figure.update_layout(showlegend=False)
    figure.update_xaxes(type="linear", dtick=None, showgrid=False, constrain="domain")
    figure.update_yaxes(autorange="reversed", showgrid=False, scaleanchor="x", constrain="domain")
    caption = (
        "Cosines of the centred blocks C(k) of WikiText-2. Blocks at most k ≠ 0 are alike, and k = 0 stands apart from them, as the poster "
        "shows. So does k = 1, though, and in part k = 2."
    )
    return Plot(figure, "Similarity by frequency", caption)


def _spectra(block: xarray.Dataset) -> Plot:
    figure, values = go.Figure(), np.sort(block["eigenvalue"].values, axis=1)[:, 1:]  # the smallest is zero
    shares = np.arange(2, values.shape[1] + 2) / (values.shape[1] + 1)
    for k in (1, 2, 4, 8, 16, 32):
        add_line(figure, values[k], shares, "k = 1, 2, 4, 8, 16, 32", 0, legend=k == 1)
    add_line(figure, values[0], shares, "k = 0", 1, dash="dash")
    finished(figure, x="eigenvalue of C(k) / trace", y="share of the eigenvalues below", linear_y=True)
    figure.update_xaxes(exponentformat="power")
    caption = (
        "Distribution functions of the eigenvalues of the centred blocks. Those at k ≠ 0 nearly lie on each other. At k = 0 a few large "
        "eigenvalues take more of the trace, so that the others are smaller."
    )
    return Plot(figure, "Eigenvalues by frequency", caption)


def _comparison(data: xarray.Dataset) -> Plot:
    figure = go.Figure()
    texts = {name: blocks_of(data, null=null) for null, name in _SHUFFLED.items()}
    for number, kind in enumerate(KINDS):
        for part, symbol in (("within", "circle"), ("across", "diamond-open")):
            figure.add_scatter(
                x=list(texts),
                y=[getattr(cosines_of(each, kind), part).mean for each in texts.values()],
                name=f"{kind}, {'within k ≠ 0' if part == 'within' else 'to k = 0'}",
                mode="markers",
                marker={"color": colour(number), "size": 9, "symbol": symbol},
                hovertemplate="%{x}<br>%{y:.3f}<extra></extra>",
            )
    halves = {name: float(each["ratio"]) for name, each in texts.items() if each["ratio"].notnull()}
    figure.add_scatter(
        x=list(halves),
        y=list(halves.values()),
        name="off-site, from two halves",
        mode="markers",
        marker={"color": colour(len(KINDS)), "size": 14, "symbol": "line-ew-open", "line": {"width": 3}},
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


def tables(data: xarray.Dataset, scores: xarray.Dataset) -> list[Table]:
    header = ("text", "raw", "centred", "off-site", "eigenvalues", "subspaces", "|Im C|")
    rows = []
    for text in measured(data):
        name = _NAMES[null_of(text)] if text.corpus.item() == TEXT else text.corpus.item()
        cells = [_cell(cosines_of(text, kind)) for kind in KINDS]
        cells += [_cell(likeness_of(text, each)) if text.spectra else "" for each in ("kolmogorov", "overlap")]
        label = name if text.unknown else "<unk> in the rest"
        rows.append([label, *cells, f"{float(text['imaginary'].sel(kind='centred')):.2f}"])
    note = (
        "Means within k ≠ 0 / between k = 0 and the others: of cosines (three columns), of Kolmogorov's distance of the centred "
        "eigenvalues, and of the overlap of their ten principal directions. The last column is the largest |Im C(k)| over |Re C(k)|, "
        "centred; under permutation symmetry blocks are real."
    )
    cells = [[name, f"{score:.3f}", f"{cosine:.3f}"] for name, score, cosine in scored(data, scores)]
    return [
        *([Table(header, rows, note, "Blocks C(k)")] if rows else []),
        Table(("corpus", "exchangeable share S", "cosine within k ≠ 0"), cells, title="Cosine and score of corpora"),
        *missing_table(data, scores),
    ]
