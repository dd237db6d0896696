"""The figures of `specht symmetry`: scores side by side, by window length and by lag, irreps, null models, and the blocks C(k)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from specht.report.figures import CLEAR, GREY, SERIES_COLOURS, Plot, plain_ticks, style_log_axes
from specht.report.symmetry_details import NULL_NAMES, null_models
from specht.report.symmetry_tables import UNDEFINED, Corpus, defined, labels

HEIGHT = 440  # on a telephone the legend takes a third of it
_BAR, _FRAME = 28, 124
"""Height of a bar with the gap after it, and of what stands around all bars."""
_PARTS = {"score": "ignores order", "distance": "depends on distance", "direction": "depends on direction"}
_BEYOND = 40.0
"""Per cent below 0 and above 100 that are drawn."""
_HIDDEN = 0.15
"""Share of the eigenvalues that may lie left of the figure: those of types that hardly occur, and rounding of zeros."""


def score_plot(result: Mapping[str, Any], *, title: str, caption: str) -> Plot:
    """The score of each corpus with its interval, the most symmetric on top; where there is none, the figure says so."""
    corpora = result["corpora"]
    figure = go.Figure()
    figure.add_bar(
        **_lying(corpora, [_percent(corpus["score"]) for corpus in corpora]),
        name="score",
        marker={"color": SERIES_COLOURS[0], "opacity": 0.75},
        error_x=_errors(corpora, SERIES_COLOURS[1]),
        text=[corpus["name"] for corpus in corpora],
        textposition="none",
        hovertemplate="%{text}<br>%{x:.1f} %<extra></extra>",
    )
    _mark_undefined(figure, corpora)
    _style_rows(figure, result, x="ignores order, in %")
    figure.update_layout(showlegend=False)
    return Plot(figure, title, caption, wide=True)


def split_plot(result: Mapping[str, Any], *, title: str, caption: str) -> Plot:
    """What ignores order, what depends on distance and what on direction: bars that add up to 100 %."""
    parts = {name: [_percent(corpus[part]) for corpus in result["corpora"]] for part, name in _PARTS.items()}
    return _stacked(result, parts, title, caption, x="share in %")


def irrep_plot(result: Mapping[str, Any], *, title: str, caption: str) -> Plot:
    """The shares of the four irreps of pairs of positions."""
    found: list[dict[str, Any] | None] = [corpus.get("isotypic") for corpus in result["corpora"]]
    drawn = [each if each and each["defined"] else None for each in found]  # other shares are noise over noise
    names = next(list(each["shares"]) for each in drawn if each)
    parts = {_irrep(name): [_percent(each["shares"][name]["value"]) if each else None for each in drawn] for name in names}
    return _stacked(result, parts, title, caption, x="share in %")


def _irrep(name: str) -> str:
    return f"[{name[1:-1].replace('-', '−')}]"


def _stacked(result: Mapping[str, Any], parts: Mapping[str, Sequence[float | None]], title: str, caption: str, *, x: str) -> Plot:
    corpora, figure = result["corpora"], go.Figure()
    for (name, values), colour in zip(parts.items(), SERIES_COLOURS, strict=False):
        figure.add_bar(
            **_lying(corpora, values),
            name=name,
            marker={"color": colour, "opacity": 0.75},
            text=[corpus["name"] for corpus in corpora],
            textposition="none",
            hovertemplate=f"%{{text}}<br>{name}: %{{x:.1f}} %<extra></extra>",
        )
    seen = next(iter(parts.values()))
    _mark_undefined(figure, corpora, [value is not None for value in seen])
    _style_rows(figure, result, x=x)
    figure.update_layout(barmode="relative", showlegend=True, legend={"traceorder": "normal"})
    return Plot(figure, title, caption, wide=True)


def null_plot(result: Mapping[str, Any], *, title: str, caption: str) -> Plot:
    """The score of each corpus beside those of the same tokens in random order."""
    corpora, models = result["corpora"], null_models(result)
    rows = {"as it is": list(corpora)} | {
        f"shuffled {NULL_NAMES[null]}": [corpus["nulls"].get(null) for corpus in corpora] for null in models
    }
    rows = {name: scores for name, scores in rows.items() if any(score and score["defined"] for score in scores)}
    figure = go.Figure()
    marks = zip(rows.items(), SERIES_COLOURS, ("circle", "diamond", "square", "diamond-open"), strict=False)
    for place, ((name, scores), colour, symbol) in enumerate(marks):
        drawn = [(row, score) for row, score in enumerate(scores) if score and score["defined"]]
        shift = 0.22 * (place - (len(rows) - 1) / 2)  # those of one corpus, one below the other
        figure.add_scatter(
            x=[_percent(score["score"]) for _, score in drawn],
            y=[row + shift for row, _ in drawn],
            name=name,
            mode="markers",
            marker={"color": colour, "size": 8, "symbol": symbol},
            error_x=_errors([score for _, score in drawn], colour),
            text=[corpora[row]["name"] for row, _ in drawn],
            hovertemplate=f"%{{text}}, {name}<br>%{{x:.1f}} %<extra></extra>",
        )
    _mark_undefined(figure, corpora)
    _style_rows(figure, result, x="ignores order, in %", row=_BAR + 8)
    figure.update_layout(showlegend=True)
    return Plot(figure, title, caption, wide=True)


def _lying(corpora: Sequence[Corpus], values: Sequence[float | None]) -> dict[str, Any]:
    return {"orientation": "h", "y": list(range(len(corpora))), "x": list(values), "width": 0.66}


def _percent(share: float | None) -> float | None:
    return None if share is None else 100.0 * share


def _errors(scores: Sequence[Mapping[str, Any]], colour: str) -> dict[str, Any]:
    """The intervals of scores that may be missing."""

    def reach(first: str, second: str) -> list[float | None]:
        return [100.0 * (score[first] - score[second]) if score["defined"] else None for score in scores]

    bars = {"type": "data", "symmetric": False, "array": reach("high", "score"), "arrayminus": reach("score", "low")}
    return bars | {"thickness": 1.6, "width": 4, "color": colour}


def _mark_undefined(figure: go.Figure, corpora: Sequence[Corpus], there: Sequence[bool] | None = None) -> None:
    """The word in place of a bar."""
    seen = [corpus["defined"] for corpus in corpora] if there is None else there
    rows = [row for row, is_there in enumerate(seen) if not is_there]
    if rows:
        figure.add_scatter(
            x=[0.0] * len(rows),
            y=rows,
            text=[UNDEFINED] * len(rows),
            mode="text",
            textposition="middle right",
            textfont={"size": 12, "color": GREY},
            showlegend=False,
            hoverinfo="skip",
        )


def _style_rows(figure: go.Figure, result: Mapping[str, Any], *, x: str, row: int = _BAR) -> None:
    """One row a corpus, with its name before it."""
    names = labels(result)
    style_log_axes(figure, x=x, y="")
    figure.update_layout(height=_FRAME + row * max(len(names), 2), bargap=0.3, margin={"l": 10})
    figure.update_xaxes(type="linear", dtick=None, rangemode="tozero", exponentformat="none")
    figure.update_yaxes(
        type="linear",
        dtick=None,
        range=[len(names) - 0.4, -0.6],
        tickvals=list(range(len(names))),
        ticktext=[f"{name} " for name in names],
        ticks="",
        showgrid=False,
        automargin=True,
    )


def length_plot(result: Mapping[str, Any], *, title: str, caption: str) -> Plot:
    """The score against the length of the windows."""
    figure, more = _series(result, "lengths", "length", "in windows of %{x} tokens", x="window length L")
    return Plot(figure, title, caption + more, wide=True)


def cut_plot(result: Mapping[str, Any], *, title: str, caption: str) -> Plot:
    """The score of the lags from some on."""
    figure, more = _series(result, "cuts", "from_lag", "at lags of %{x} and more", x="smallest lag")
    return Plot(figure, title, caption + more, wide=True)


def _series(result: Mapping[str, Any], field: str, key: str, where: str, *, x: str) -> tuple[go.Figure, str]:
    """Scores of all corpora along one of the axes that they are known on, and what has to be said about the figure."""
    figure, found = go.Figure(), defined(result)
    chosen, more = _coloured(found)
    seen = [0.0]
    for label, corpus, colour in chosen:
        scores = [score for score in corpus[field] if score["defined"]]
        values = [100.0 * score["score"] for score in scores]
        seen += values
        figure.add_scatter(
            x=[score[key] for score in scores],
            y=values,
            name=label,
            mode="lines+markers",
            line={"color": colour, "width": 1.0 if colour == GREY else 1.8},
            marker={"color": colour, "size": 3 if colour == GREY else 6},
            error_y=_errors(scores, colour) | {"thickness": 1.2, "width": 3, "visible": colour != GREY},
            opacity=0.5 if colour == GREY else 1.0,
            showlegend=colour != GREY,
            hovertemplate=f"{label} {where}<br>%{{y:.1f}} %<extra></extra>",
        )
    style_log_axes(figure, x=x, y="share that ignores order, in %")
    figure.update_layout(height=HEIGHT, showlegend=len(found) > 1)
    ticks = [score[key] for score in result["corpora"][0][field]]
    figure.update_xaxes(tickvals=ticks, ticktext=list(map(str, ticks)))
    # The noise of a few long lags would make all the rest look like nothing.
    ends = [max(1.2 * min(seen), -_BEYOND), min(max(1.2 * max(seen), 5.0), 100.0 + _BEYOND)]
    figure.update_yaxes(type="linear", dtick=None, exponentformat="none", range=ends)
    if min(seen) < ends[0] or max(seen) > ends[1]:
        more += " Points outside the figure, where hardly any correlations are left, are in the table."
    return figure, more


def _coloured(corpora: Sequence[tuple[str, Corpus]]) -> tuple[list[tuple[str, Corpus, str]], str]:
    """Corpora with colours: seven at most, evenly spaced by score; the others grey and below, and a sentence that says so."""
    number, colours = len(corpora), SERIES_COLOURS
    places = sorted({round(place) for place in np.linspace(0, number - 1, min(number, len(colours)))}) if number else []
    chosen = dict(zip(places, colours, strict=False))
    entries = [(label, corpus, chosen.get(place, GREY)) for place, (label, corpus) in enumerate(corpora)]
    entries.sort(key=lambda entry: entry[2] != GREY)
    hidden = number - len(places)
    more = f" Of {number} corpora {len(places)} are in colour, evenly spaced by score; the others are grey, and named when pointed at."
    return entries, more if hidden else ""


def lag_plot(result: Mapping[str, Any], *, title: str, caption: str) -> Plot:
    """Root mean square correlations against the lag, with their intervals."""
    figure = go.Figure()
    found = defined(result)
    chosen, more = _coloured(found)
    sizes = [lag["rms"] for _, corpus in found for lag in corpus["lags"] if lag["low"] > 0.0]
    top = max((lag["high"] for _, corpus in found for lag in corpus["lags"]), default=1.0)
    bottom = max(min(sizes, default=top) / 2.0, top * 1e-4)
    for label, corpus, colour in chosen:
        lags = corpus["lags"]
        x = [lag["lag"] for lag in lags]
        if colour != GREY and len(x) > 1:
            ends = [*(lag["high"] for lag in lags), *(lag["low"] for lag in reversed(lags))]
            figure.add_scatter(
                x=[*x, *reversed(x)],
                y=[max(end, bottom / 10.0) for end in ends],  # a logarithmic axis has no zero
                fill="toself",
                fillcolor=_faint(colour),
                line={"color": CLEAR, "width": 0},
                showlegend=False,
                hoverinfo="skip",
                legendgroup=label,
            )
        figure.add_scatter(
            x=x,
            y=[lag["rms"] if lag["rms"] > 0.0 else None for lag in lags],
            name=label,
            legendgroup=label,
            mode="lines" if len(x) > 1 else "markers",
            line={"color": colour, "width": 1.0 if colour == GREY else 1.8},
            marker={"color": colour, "size": 7},
            opacity=0.5 if colour == GREY else 1.0,
            showlegend=colour != GREY,
            hovertemplate=f"{label} at lag %{{x}}<br>%{{y:.4f}}<extra></extra>",
        )
    style_log_axes(figure, x="lag", y="rms correlation")
    figure.update_layout(height=HEIGHT, showlegend=len(found) > 1, legend={"tracegroupgap": 0})
    lags = max((len(corpus["lags"]) for _, corpus in found), default=1)
    ticks = [tick for power in range(5) for tick in (10**power, 2 * 10**power, 5 * 10**power) if tick <= lags]
    figure.update_xaxes(tickvals=ticks, ticktext=list(map(str, ticks)))
    figure.update_yaxes(range=[math.log10(bottom), math.log10(1.1 * top)], **_marks(bottom, 1.1 * top))
    return Plot(figure, title, caption + more, wide=True)


def _marks(low: float, high: float) -> dict[str, Any]:
    """Powers of ten on an axis that spans several of them; on a shorter one they would be one or none."""
    return {"dtick": 1} if high / low > 100 else plain_ticks(low, high)


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.18)"


def cosine_plot(found: Mapping[str, Any], *, title: str, caption: str) -> Plot:
    """The cosines of all pairs of blocks C(k) as an image."""
    cosines = np.asarray(found["cosines"], dtype=np.float32)
    figure = go.Figure(
        go.Heatmap(
            z=cosines.round(4),
            colorscale="Viridis",
            zmin=float(cosines.min()),
            zmax=1.0,
            hovertemplate="k = %{x} and %{y}<br>%{z:.3f}<extra></extra>",
            colorbar={"thickness": 10, "outlinewidth": 0, "len": 1, "xpad": 8, "ypad": 0, "nticks": 7},
        )
    )
    style_log_axes(figure, x="k", y="k")
    figure.update_layout(height=360, margin={"l": 46, "r": 2, "t": 8, "b": 46})
    plain = {"type": "linear", "dtick": None, "nticks": 9, "showgrid": False, "exponentformat": "none", "constrain": "domain"}
    figure.update_xaxes(**plain)
    figure.update_yaxes(**plain, autorange="reversed", scaleanchor="x")
    return Plot(figure, title, caption)


def spectrum_plot(found: Mapping[str, Any], *, title: str, caption: str) -> Plot:
    """The distribution functions of the eigenvalues of blocks C(k), divided by their sum: k = 0 against the others."""
    figure = go.Figure()
    waves = sorted(map(int, found["spectra"]), reverse=True)  # k = 0 last, on top
    end = 1.15 * max(max(values) for values in found["spectra"].values())
    begin = max(0.5 * min(float(np.quantile(values, _HIDDEN)) for values in found["spectra"].values()), 1e-6 * end)
    for wave in waves:
        values = np.sort(np.asarray(found["spectra"][str(wave)], dtype=float))
        shown = values > begin
        colour = SERIES_COLOURS[0] if wave else SERIES_COLOURS[1]
        figure.add_scatter(
            x=[begin, *values[shown].tolist(), end],
            y=[float(np.mean(~shown)), *(np.arange(1, len(values) + 1)[shown] / len(values)).tolist(), 1.0],
            name="k ≠ 0" if wave else "k = 0",
            mode="lines",
            line={"color": colour, "width": 1.2 if wave else 2.4, "shape": "hv"},
            legendgroup="others" if wave else "zero",
            showlegend=wave in (0, waves[0]),
            hovertemplate=f"k = {wave}<br>%{{y:.3f}} are at most %{{x:.2g}}<extra></extra>",
        )
    style_log_axes(figure, x="eigenvalue / trace", y="share that is not larger")
    figure.update_layout(height=380, showlegend=True)
    figure.update_xaxes(range=[math.log10(begin), math.log10(end)], exponentformat="power", **_marks(begin, end))
    figure.update_yaxes(type="linear", dtick=None, exponentformat="none", range=[0.0, 1.03])
    return Plot(figure, title, caption)
