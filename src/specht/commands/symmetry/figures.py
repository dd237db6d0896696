"""The figures of `specht symmetry` alone: scores side by side, null models, irreps, and the blocks C(k)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import plotly.graph_objects as go

from specht.commands.symmetry.tables import NULL_NAMES, extent, null_models, null_score, number
from specht.report import (
    SERIES_COLOURS,
    Plot,
    add_bars,
    add_series,
    image,
    in_percent,
    intervals,
    literal,
    log_marks,
    mark_undefined,
    stacked_bars,
    style_axes,
    style_rows,
)

_ROW = 36
"""Height of what belongs to a corpus where several scores of it are shown."""
_HIDDEN = 0.15
"""Share of the eigenvalues that may lie left of the figure: those of types that hardly occur, and rounding of zeros."""
Corpora = Sequence[SimpleNamespace]


def score_plot(corpora: Corpora) -> Plot:
    """The score of each corpus with its interval, the most symmetric on top; where there is none, the figure says so."""
    figure = go.Figure()
    bars = intervals(corpora, SERIES_COLOURS[1])
    hover = "%{text}<br>%{x:.1f} %<extra></extra>"
    scores = [in_percent(corpus.score) for corpus in corpora]
    add_bars(figure, corpora, scores, "score", SERIES_COLOURS[0], error_x=bars, hovertemplate=hover)
    mark_undefined(figure, [corpus.defined for corpus in corpora])
    style_rows(figure, corpora, x="ignores order, in %")
    figure.update_layout(showlegend=False)
    caption = "Scores with intervals of 95 %, the most symmetric corpus on top."
    if not all(corpus.defined for corpus in corpora):
        caption += " Without correlations beyond noise there is no score, which is not a score of zero."
    return Plot(figure, "How symmetric the corpora are", caption, wide=True)


def irrep_plot(corpora: Corpora) -> Plot:
    """The shares of the four irreps of pairs of positions; where they are noise over noise there are none."""
    shares = [vars(corpus.isotypic.shares) if corpus.isotypic and corpus.isotypic.defined else {} for corpus in corpora]
    parts = {
        f"[{irrep[1:-1].replace('-', '−')}]": [in_percent(share[irrep].value) if share else None for share in shares]
        for irrep in next(filter(None, shares))
    }
    caption = (
        f"In {extent(corpora, 'isotypic')}, with positions told apart. [L] ignores order; [L−1,1] singles out one position, "
        "[L−2,2] two of them alike, and [L−2,1,1] two in their order."
    )
    return stacked_bars(corpora, parts, "Correlations by irrep", caption)


def null_plot(corpora: Corpora) -> Plot:
    """The score of each corpus beside those of the same tokens in random order."""
    series: dict[str, list[SimpleNamespace | None]] = {"as it is": list(corpora)}
    series |= {f"shuffled {NULL_NAMES[null]}": [null_score(corpus, null) for corpus in corpora] for null in null_models(corpora)}
    drawn = {name: [(row, score) for row, score in enumerate(scores) if score and score.defined] for name, scores in series.items()}
    drawn = {name: points for name, points in drawn.items() if points}
    figure = go.Figure()
    marks = zip(drawn.items(), SERIES_COLOURS, ("circle", "diamond", "square", "diamond-open"), strict=False)
    for place, ((name, points), colour, symbol) in enumerate(marks):
        shift = 0.22 * (place - (len(drawn) - 1) / 2)  # those of one corpus, one below the other
        x, y = [in_percent(score.score) for _, score in points], [row + shift for row, _ in points]
        style = {"marker_size": 8, "marker_symbol": symbol, "text": [corpora[row].name for row, _ in points]}
        style |= {"error_x": intervals([score for _, score in points], colour)}
        add_series(figure, x, y, name, colour, mode="markers", hover=f"%{{text}}, {name}<br>%{{x:.1f}} %", **style)
    mark_undefined(figure, [corpus.defined for corpus in corpora])
    style_rows(figure, corpora, x="ignores order, in %", row=_ROW)
    figure.update_layout(showlegend=True)
    caption = "Shuffled inside windows, and inside articles where there are any, a corpus must score 100 %: this checks the method."
    shuffled = [null for corpus in corpora if (null := null_score(corpus, "global"))]
    if shuffled and not any(null.defined for null in shuffled):
        caption += " Shuffled as a whole, nothing is left to score, as must be."
    return Plot(figure, "The same tokens in random order", caption, wide=True)


def block_plots(corpora: Corpora) -> list[Plot]:
    """How alike the blocks C(k) are, for the most symmetric corpus for which they are known."""
    corpus = next((corpus for corpus in corpora if vars(corpus.harmonics)), None)
    if corpus is None:
        return []
    label, kinds = literal(corpus.label), vars(corpus.harmonics)
    centred, bare = kinds["centred"], kinds["off-site"]
    cosines = (
        f"{label}: the cosine of C(k) and C(k'), centred. Among k ≠ 0 it is {number(centred.within.mean)} on average and "
        f"{number(centred.within.least)} at least; between k = 0 and the others {number(centred.across.mean)}."
    )
    others = (
        f"{label}: the same without the term A of single positions, which all blocks share. Among k ≠ 0 it is {number(bare.within.mean)} "
        f"on average and {number(bare.within.least)} at least. Mind the scale."
    )
    plots = [cosine_plot(centred, "How alike blocks C(k) are", cosines), cosine_plot(bare, "The same without single positions", others)]
    titles = {"raw": "Eigenvalues, not centred", "centred": "Eigenvalues, centred"}
    return plots + [_eigenvalue_plot(kinds[kind], title, label) for kind, title in titles.items() if hasattr(kinds[kind], "spectra")]


def cosine_plot(blocks: SimpleNamespace, title: str, caption: str) -> Plot:
    """The cosines of all pairs of blocks C(k) as an image."""
    cosines = np.asarray(blocks.cosines, dtype=np.float32)
    bar = {"xpad": 8, "ypad": 0}
    figure = image(cosines.round(4), hover="k = %{x} and %{y}<br>%{z:.3f}", zmin=float(cosines.min()), zmax=1.0, colorbar=bar)
    style_axes(figure, x="k", y="k", height=360, linear="xy", margin={"l": 46, "r": 2, "t": 8, "b": 46})
    plain = {"nticks": 9, "showgrid": False, "constrain": "domain"}
    figure.update_xaxes(**plain)
    figure.update_yaxes(**plain, autorange="reversed", scaleanchor="x")
    return Plot(figure, title, caption)


def _eigenvalue_plot(blocks: SimpleNamespace, title: str, label: str) -> Plot:
    """The distribution functions of the eigenvalues of blocks C(k), divided by their sum: k = 0 against the others."""
    spectra = {int(wave): np.sort(np.asarray(values, dtype=float)) for wave, values in vars(blocks.spectra).items()}
    figure = go.Figure()
    end = 1.15 * max(values[-1] for values in spectra.values())
    begin = max(0.5 * min(float(np.quantile(values, _HIDDEN)) for values in spectra.values()), 1e-6 * end)
    waves = sorted(spectra, reverse=True)  # k = 0 last, on top
    for wave in waves:
        shown = spectra[wave] > begin
        below = np.arange(1, len(shown) + 1) / len(shown)
        x, y = [begin, *spectra[wave][shown].tolist(), end], [float(np.mean(~shown)), *below[shown].tolist(), 1.0]
        name, colour, width = ("k ≠ 0", 0, 1.2) if wave else ("k = 0", 1, 2.4)
        style = {"line_width": width, "line_shape": "hv", "legendgroup": name, "showlegend": wave in (0, waves[0])}
        add_series(figure, x, y, name, colour, hover=f"k = {wave}<br>%{{y:.3f}} are at most %{{x:.2g}}", **style)
    style_axes(figure, x="eigenvalue / trace", y="share that is not larger", height=380, linear="y", showlegend=True)
    figure.update_xaxes(range=[math.log10(begin), math.log10(end)], exponentformat="power", **log_marks(begin, end))
    figure.update_yaxes(range=[0.0, 1.03])
    distances = blocks.kolmogorov
    caption = (
        f"{label}: distribution functions of the eigenvalues of D^{{−1/2}} C(k) D^{{−1/2}} with D = diag p, so that frequencies do not "
        f"decide about them, for k = 0 and {', '.join(map(str, sorted(spectra)[1:]))}. Kolmogorov's distance is "
        f"{number(distances.across.mean)} between k = 0 and others (mean) and {number(distances.within.median)} among those (median)."
    )
    return Plot(figure, title, caption)
