"""Pictures and tables of the blocks C(k) of WikiText-2."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.corpus import KINDS
from specht.papers import common
from specht.papers.view_from_infinity.likeness import (
    NOISE,
    By,
    across,
    blocks_of,
    gap,
    likeness_of,
    means,
    spectra_of,
    texts_of,
    within,
)
from specht.papers.view_from_infinity.texts import BODY, missing_table, plotted_by_name, points_by
from specht.report import Plot, Table, add_line, add_series, image

NAMES = {
    None: "WikiText-2",
    "bigram": "bigram surrogate",
    "window": "window shuffle",
    "article": "article shuffle",
    "global": "global shuffle",
}
_PLACES = {None: "none", "bigram": "bigram surrogate", "window": "in windows", "article": "in articles", "global": "all"}
SPECTRA: tuple[By, ...] = ("kolmogorov", "weighed", "overlap")
LOWEST = (1, 2, 3)
"""Frequencies that are drawn by themselves."""


def similarity_by_frequency(data: xarray.Dataset) -> list[Plot]:
    texts = {null: blocks_of(data, null=null)["cosine"].sel(kind="centred").values for null in (None, "bigram")}
    least = float(np.quantile(texts[None], 0.02))
    return [_heat_map(cosines, least, null) for null, cosines in texts.items()]


def _heat_map(cosines: np.ndarray, least: float, null: str | None) -> Plot:
    bar = {"xpad": 8, "ypad": 0}
    figure = image(cosines.round(4), hover="k = %{y} and %{x}<br>cosine %{z:.3f}", zmin=least, zmax=1.0, colorbar=bar)
    text = (
        "Cosines of the centred blocks C(k) of WikiText-2 without headings. The poster shows blocks at k ≠ 0 that are alike, and k = 0 "
        "apart from them. Here likeness falls with the difference of two k, and k = 1 is nearer to k = 0 than to most others."
    )
    surrogate = "The same for the bigram surrogate: a chain with the same pairs of neighbours and no other order."
    title = "Similarity by frequency" if null is None else "Similarity by frequency, bigram surrogate"
    plot = common.plotted(figure, title, surrogate if null else text, x="frequency k", y="frequency k", linear="xy", wide=False)
    figure.update_layout(showlegend=False)
    figure.update_xaxes(showgrid=False, constrain="domain")
    figure.update_yaxes(autorange="reversed", showgrid=False, scaleanchor="x", constrain="domain")
    return plot


def likeness_at_every_k(data: xarray.Dataset) -> Plot:
    figure = go.Figure()
    for hue, null in enumerate((None, "bigram", "window")):
        matrix = likeness_of(blocks_of(data, null=null)).matrix
        places = np.arange(1, len(matrix))
        others = matrix[1:, 1:] + np.where(np.eye(len(matrix) - 1), np.nan, 0.0)
        for values, part, dash in ((np.nanmean(others, axis=1), "to other k ≠ 0, mean", "solid"), (matrix[0, 1:], "to k = 0", "dot")):
            name = f"{NAMES[null]}, {part}"
            add_series(figure, places, values, name, hue, hover=f"{name}<br>k = %{{x}}: %{{y:.3f}}", line_dash=dash)
    caption = (
        "Each block beside the others and beside k = 0. Under permutation symmetry solid lines are at 1 and dotted ones level below them, "
        "as for windows that are shuffled inside. Of the text, the blocks at small k are as near to k = 0 as to the others."
    )
    return common.plotted(figure, "Likeness at every k", caption, x="frequency k", y="cosine of C(k)", linear="xy")


_EIGENVALUES = {
    ("eigenvalue", None): (
        "Eigenvalues by frequency",
        "Distribution functions of the eigenvalues of the centred blocks, without headings. That at k = 0 does not stand apart: it lies "
        "with those at k = 1, 2 and 3, and others are farther from them than it is.",
    ),
    ("eigenvalue", "bigram"): (
        "Eigenvalues by frequency, bigram surrogate",
        "The same for the bigram surrogate: k = 1 goes with k = 0, for a chain forgets long before the window ends.",
    ),
    ("weighed_eigenvalue", None): (
        "Weighed eigenvalues by frequency",
        "The same with coordinates over the root of their frequency, so that frequent words do not decide. Here k = 0 stands apart from "
        "all others, as the poster shows, and of those k = 1 is nearest to it.",
    ),
    ("weighed_eigenvalue", "bigram"): (
        "Weighed eigenvalues by frequency, bigram surrogate",
        "The same for the bigram surrogate, where k = 0 does not stand apart.",
    ),
}


def eigenvalues_by_frequency(data: xarray.Dataset) -> list[Plot]:
    return [_distributions(spectra_of(data, null)[name], *words) for (name, null), words in _EIGENVALUES.items()]


def _distributions(eigenvalues: xarray.DataArray, title: str, caption: str) -> Plot:
    figure, values = go.Figure(), np.sort(eigenvalues.dropna("k", how="all").values, axis=1)[:, 1:]  # the smallest is zero
    shares = np.arange(2, values.shape[1] + 2) / (values.shape[1] + 1)
    others = [k for k in (4, 8, 16, 32) if k < len(values)]
    for k in others:
        add_line(figure, values[k], shares, f"k = {', '.join(map(str, others))}", 0, legend=k == others[0])
    for hue, k in enumerate(LOWEST, 2):
        add_line(figure, values[k], shares, f"k = {k}", hue)
    add_line(figure, values[0], shares, "k = 0", 1, dash="dash")
    x, y = "eigenvalue of C(k) / trace", "share of the eigenvalues below"
    plot = common.plotted(figure, title, caption, x=x, y=y, linear="y", wide=False)
    figure.update_xaxes(exponentformat="power")
    return plot


def null_models(data: xarray.Dataset) -> Plot:
    figure, hover = go.Figure(), "%{x}<br>%{y:.3f}"
    texts = {name: blocks_of(data, null=null) for null, name in _PLACES.items()}
    for number, kind in enumerate(KINDS):
        for of, symbol in ((within, "circle"), (across, "diamond-open")):
            name = f"{kind}, {'within k ≠ 0' if of is within else 'to k = 0'}"
            cosines = [of(likeness_of(text, kind=kind)) for text in texts.values()]
            add_series(figure, texts, cosines, name, number, mode="markers", hover=hover, marker_size=9, marker_symbol=symbol)
    ratios = {name: float(text["ratio"]) for name, text in texts.items() if float(text["ratio_stderr"]) < NOISE}
    bars = {"marker_size": 14, "marker_symbol": "line-ew-open", "marker_line_width": 3}
    add_series(figure, ratios, ratios.values(), "off-site, from different pieces", len(KINDS), mode="markers", hover=hover, **bars)
    caption = (
        "What the likeness is made of. Tokens in random order give the picture of the poster where they are not centred (raw). Without "
        "the single-site term (off-site), which all blocks share, those of the text are not alike. Off-site blocks of shuffled text are "
        "mostly noise; from different pieces, which share none, those of windows shuffled inside are alike, as they must be."
    )
    x = "null models of WikiText-2"
    return plotted_by_name(figure, "Text and null models", caption, x=x, y="mean cosine", ends=[-0.6, 1.2])


def blocks_table(data: xarray.Dataset, spectra: xarray.Dataset) -> list[Table]:
    header = ("text", "raw", "centred", "gap", "off-site", "eigenvalues", "weighed", "subspaces", "|Im C|")
    rows = []
    known = {null for null, length in points_by(spectra, "null", "length") if length == data.length}
    for (corpus, null, unknown), text in sorted(texts_of(data).items(), key=lambda item: not item[0][2]):
        name = NAMES[null] if corpus == BODY else corpus
        cells = [means(likeness_of(text, kind=kind)) for kind in KINDS]
        cells.insert(2, f"{gap(likeness_of(text)):.3f}".replace("-", "−"))
        has_spectra = corpus == BODY and null in known and unknown
        cells += [means(likeness_of(spectra_of(spectra, null), by), by) if has_spectra else "" for by in SPECTRA]
        label = name if unknown else "<unk> in the rest"
        cells = [cell.replace(" and ", " / ") for cell in cells]
        rows.append([label, *cells, f"{float(text['imaginary'].sel(kind='centred')):.2f}"])
    note = (
        "Means within k ≠ 0 / between k = 0 and the others: of cosines (raw, centred, off-site), of Kolmogorov's distance of the centred "
        "eigenvalues, as they are and with coordinates over the root of their frequency (weighed), and of the overlap of ten principal "
        "directions. The gap is the least centred cosine within k ≠ 0 less the largest with k = 0. The last column is the largest "
        "|Im C(k)| over |Re C(k)|, centred; under permutation symmetry blocks are real. WikiText-2 is without headings and line ends but "
        "in the row `wikitext-2`."
    )
    by_length = [_length_row(spectra, null, length) for null, length in points_by(spectra, "null", "length")]
    lengths = Table(
        ("text", "L", "eigenvalues", "weighed", "subspaces"), by_length, "Means as above.", "Eigenvalues and subspaces by window"
    )
    return [*([Table(header, rows, note, "Blocks C(k)")] if rows else []), *([lengths] if by_length else [])]


def _length_row(spectra: xarray.Dataset, null: str | None, length: int) -> list[str]:
    found = spectra_of(spectra, null, length)
    cells = [means(likeness_of(found, by), by).replace(" and ", " / ") for by in SPECTRA]
    return [NAMES[null], str(length), *cells]


def order_tables(cells: Sequence[Sequence[str]], *data: xarray.Dataset) -> list[Table]:
    header = ("corpus", "exchangeable share S", "cosine within k ≠ 0")
    return [Table(header, cells, title="Cosine and score of corpora"), *missing_table(*data)]
