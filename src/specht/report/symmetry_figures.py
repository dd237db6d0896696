"""Figures of how symmetric corpora are: what correlations depend on, and scores against lags and lengths of windows.

A corpus is its summary by name, with a label beside; the most symmetric one comes first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import plotly.graph_objects as go

from specht.report.figures import GREY, SERIES_COLOURS, Plot, add_band, add_series, error_bars, marks, plain_ticks, style_axes

UNDEFINED = "undefined"
_BAR, _FRAME = 28, 124
"""Height of a bar with the gap after it, and of what stands around all bars."""
_PARTS = {"score": "ignores order", "distance": "depends on distance", "direction": "depends on direction"}
_BEYOND = 40.0
"""Per cent below 0 and above 100 that are drawn."""
Corpora = Sequence[SimpleNamespace]


def split_plot(corpora: Corpora) -> Plot:
    """What ignores order, what depends on distance and what on direction: bars that add up to 100 %."""
    parts = {name: [in_percent(getattr(corpus, part)) for corpus in corpora] for part, name in _PARTS.items()}
    caption = "The parts add up to 100 %: what ignores order, what depends on how far apart two tokens are, and what on which comes first."
    return stacked_bars(corpora, parts, "What the correlations depend on", caption)


def stacked_bars(corpora: Corpora, parts: Mapping[str, Sequence[float | None]], title: str, caption: str) -> Plot:
    """Shares in per cent, one bar a corpus; where the first of them is missing, the figure says so."""
    figure = go.Figure()
    for (name, values), colour in zip(parts.items(), SERIES_COLOURS, strict=False):
        add_bars(figure, corpora, values, name, colour, hovertemplate=f"%{{text}}<br>{name}: %{{x:.1f}} %<extra></extra>")
    mark_undefined(figure, [value is not None for value in next(iter(parts.values()))])
    style_rows(figure, corpora, x="share in %")
    figure.update_layout(barmode="relative", showlegend=True, legend={"traceorder": "normal"})
    return Plot(figure, title, caption, wide=True)


def add_bars(figure: go.Figure, corpora: Corpora, values: Sequence[float | None], name: str, colour: str, **style: Any) -> None:
    """One lying bar a corpus, with the whole name of the corpus in its hover text."""
    bars = {"orientation": "h", "x": list(values), "y": list(range(len(corpora))), "width": 0.66}
    texts = {"text": [corpus.name for corpus in corpora], "textposition": "none"}
    figure.add_bar(**bars, **texts, **style, name=name, marker={"color": colour, "opacity": 0.75})


def in_percent(share: float | None) -> float | None:
    """A share in per cent, if there is one."""
    return None if share is None else 100.0 * share


def intervals(scores: Corpora, colour: str) -> dict[str, Any]:
    """The intervals of scores that may be missing, as bars of errors."""

    def reach(first: str, second: str) -> list[float | None]:
        return [100.0 * (getattr(score, first) - getattr(score, second)) if score.defined else None for score in scores]

    return error_bars(reach("high", "score"), reach("score", "low"), thickness=1.6, width=4, color=colour)


def mark_undefined(figure: go.Figure, drawn: Sequence[bool]) -> None:
    """The word in place of a bar that is not drawn."""
    rows = [row for row, is_drawn in enumerate(drawn) if not is_drawn]
    if rows:
        word = {"text": [UNDEFINED] * len(rows), "textposition": "middle right", "textfont": {"size": 12, "color": GREY}}
        figure.add_scatter(x=[0.0] * len(rows), y=rows, mode="text", **word, showlegend=False, hoverinfo="skip")


def style_rows(figure: go.Figure, corpora: Corpora, *, x: str, row: int = _BAR) -> None:
    """One row a corpus, with its label before it."""
    style_axes(figure, x=x, y="", height=_FRAME + row * max(len(corpora), 2), linear="xy", bargap=0.3, margin={"l": 10})
    figure.update_xaxes(rangemode="tozero")
    figure.update_yaxes(
        range=[len(corpora) - 0.4, -0.6],
        tickvals=list(range(len(corpora))),
        ticktext=[f"{corpus.label} " for corpus in corpora],
        ticks="",
        showgrid=False,
        automargin=True,
    )


def length_plot(corpora: Corpora) -> Plot:
    """The score against the length of the windows."""
    figure, more = _series(corpora, "lengths", "length", "in windows of %{x} tokens", x="window length L")
    caption = "The score in shorter windows, which hold short lags only."
    return Plot(figure, "Windows of several lengths", caption + more, wide=True)


def cut_plot(corpora: Corpora) -> Plot:
    """The score of the lags from some on."""
    figure, more = _series(corpora, "cuts", "from_lag", "at lags of %{x} and more", x="smallest lag")
    caption = (
        "The share of what ignores order among the correlations of tokens at least so far apart. What is left at long lags is what windows "
        "are about, not their grammar."
    )
    return Plot(figure, "Without short lags", caption + more, wide=True)


def _series(corpora: Corpora, field: str, key: str, where: str, *, x: str) -> tuple[go.Figure, str]:
    """Scores of all corpora along one of the axes that they are known on, and what has to be said about the figure."""
    figure = go.Figure()
    coloured, more = _coloured(corpora)
    seen = [0.0]
    for corpus, colour in coloured:
        scores = [score for score in getattr(corpus, field) if score.defined]
        values = [100.0 * score.score for score in scores]
        seen += values
        places = [getattr(score, key) for score in scores]
        bars = intervals(scores, colour) | {"thickness": 1.2, "width": 3, "visible": colour != GREY}
        hover, size = f"{corpus.label} {where}<br>%{{y:.1f}} %", 3 if colour == GREY else 6
        looks = _looks(colour)
        add_series(figure, places, values, corpus.label, colour, mode="lines+markers", errors=bars, hover=hover, marker_size=size, **looks)
    style_axes(figure, x=x, y="share that ignores order, in %", linear="y", showlegend=len(coloured) > 1)
    figure.update_xaxes(marks(getattr(score, key) for score in getattr(corpora[0], field)))
    # The noise of a few long lags would make all the rest look like nothing.
    ends = [max(1.2 * min(seen), -_BEYOND), min(max(1.2 * max(seen), 5.0), 100.0 + _BEYOND)]
    figure.update_yaxes(range=ends)
    if min(seen) < ends[0] or max(seen) > ends[1]:
        more += " Points outside the figure, where hardly any correlations are left, are in the table."
    return figure, more


def _coloured(corpora: Corpora) -> tuple[list[tuple[SimpleNamespace, str]], str]:
    """Corpora that have a score, with colours: as many as there are colours, evenly spaced by score; the others grey, and a sentence."""
    defined = [corpus for corpus in corpora if corpus.defined]
    places = np.unique(np.linspace(0, len(defined) - 1, min(len(defined), len(SERIES_COLOURS))).round()).astype(int).tolist()
    colours = dict(zip(places, SERIES_COLOURS, strict=False))
    pairs = [(corpus, colours.get(place, GREY)) for place, corpus in enumerate(defined)]
    pairs.sort(key=lambda pair: pair[1] != GREY)  # grey ones below
    more = f" Of {len(pairs)} corpora {len(places)} are in colour, evenly spaced by score; the others are grey, and named when pointed at."
    return pairs, more if len(pairs) > len(places) else ""


def _looks(colour: str) -> dict[str, Any]:
    """How the line of a corpus looks: those without a colour are thin, pale and not in the legend."""
    return {"opacity": 0.5, "line_width": 1.0, "showlegend": False} if colour == GREY else {"opacity": 1.0, "showlegend": True}


def lag_plot(corpora: Corpora) -> Plot:
    """Root mean square correlations against the lag, with their intervals."""
    figure = go.Figure()
    coloured, more = _coloured(corpora)
    lags = [lag for corpus, _ in coloured for lag in corpus.lags]
    top = max((lag.high for lag in lags), default=1.0)
    bottom = max(min((lag.rms for lag in lags if lag.low > 0.0), default=top) / 2.0, top * 1e-4)
    for corpus, colour in coloured:
        x = [lag.lag for lag in corpus.lags]
        if colour != GREY and len(x) > 1:
            low, high = ([max(getattr(lag, end), bottom / 10.0) for lag in corpus.lags] for end in ("low", "high"))  # no zero on this axis
            add_band(figure, x, low, high, _faint(colour), showlegend=False, legendgroup=corpus.label)
        values = [lag.rms if lag.rms > 0.0 else None for lag in corpus.lags]
        mode, hover = "lines" if len(x) > 1 else "markers", f"{corpus.label} at lag %{{x}}<br>%{{y:.4f}}"
        add_series(figure, x, values, corpus.label, colour, mode=mode, hover=hover, legendgroup=corpus.label, **_looks(colour))
    style_axes(figure, x="lag", y="rms correlation", showlegend=len(coloured) > 1, legend={"tracegroupgap": 0})
    longest = max((len(corpus.lags) for corpus, _ in coloured), default=1)
    ticks = [tick for power in range(5) for tick in (10**power, 2 * 10**power, 5 * 10**power) if tick <= longest]
    figure.update_xaxes(marks(ticks))
    figure.update_yaxes(range=[math.log10(bottom), math.log10(1.1 * top)], **log_marks(bottom, 1.1 * top))
    caption = (
        "Root mean square, in units of the covariance of a token with itself, with intervals of 95 %. Where a curve breaks off nothing is "
        "left above noise. Both axes logarithmic."
    )
    return Plot(figure, "Correlations by lag", caption + more, wide=True)


def log_marks(low: float, high: float) -> dict[str, Any]:
    """Powers of ten on an axis that spans several of them; on a shorter one they would be one or none."""
    return {"dtick": 1} if high / low > 100 else plain_ticks(low, high)


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.18)"
