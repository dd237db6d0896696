"""The figures of `specht probe`: which input positions each output distinguishes, and how order appears layer by layer."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import plotly.graph_objects as go

from specht.report.figures import GREY, SERIES_COLOURS, Plot, style_linear_axes

HEIGHT = 380
MARKED = 24
"""Positions up to which those that are ignored are marked one by one."""
_IGNORED, _ALONE = "rgba(128,136,144,0.14)", "rgba(128,136,144,0.75)"
_FLOOR = 1e-18
"""Where a residual of zero is drawn."""


def class_plot(views: Sequence[SimpleNamespace], *, title: str, caption: str) -> Plot:
    """A matrix: output position down, input position across, coloured by what the output makes of the input."""
    codes = [_codes(view.classes) for view in views]
    shared = max(max(row) for row in codes) - 1
    colours = [_IGNORED, _ALONE, *(SERIES_COLOURS[number % len(SERIES_COLOURS)] for number in range(shared))]
    columns = len(codes[0])
    names = ["mean" if view.position is None else str(view.position) for view in views]
    figure = go.Figure(
        go.Heatmap(
            z=codes,
            x=list(range(1, columns + 1)),
            y=list(range(1, len(views) + 1)),
            zmin=-0.5,
            zmax=len(colours) - 0.5,
            colorscale=_steps(colours),
            showscale=False,
            xgap=1 if columns <= MARKED else 0,
            ygap=1 if columns <= MARKED else 0,
            text=[["×" if code == 0 and columns <= MARKED else "" for code in row] for row in codes],
            texttemplate="%{text}",
            textfont={"color": GREY, "size": 12},
            customdata=[[_word(code) for code in row] for row in codes],
            hovertemplate="output %{y}, input %{x}<br>%{customdata}<extra></extra>",
        )
    )
    for code in sorted({code for row in codes for code in row})[:5]:
        figure.add_scatter(
            x=[None],
            y=[None],
            mode="markers",
            marker={"color": colours[code], "size": 11, "symbol": "square"},
            name=_word(code),
            showlegend=True,
        )
    height = min(HEIGHT, 140 + 34 * max(len(views), 2)) if columns <= MARKED else HEIGHT
    style_linear_axes(figure, x="input position", y="output position", height=height)
    figure.update_layout(showlegend=True)
    ticks = list(range(1, columns + 1, -(-columns // 12)))
    figure.update_xaxes(tickvals=ticks, ticktext=list(map(str, ticks)), showgrid=False)
    marks = list(range(0, len(views), -(-len(views) // 12)))
    figure.update_yaxes(tickvals=[mark + 1 for mark in marks], ticktext=[names[mark] for mark in marks], showgrid=False)
    figure.update_yaxes(autorange="reversed")
    return Plot(figure, title, caption, wide=columns > MARKED)


def residual_plot(result: SimpleNamespace, *, title: str, caption: str) -> Plot:
    """The residual of each layer at the readout, and what would be rounding."""
    names = [layer.name for layer in result.layers]
    residuals = [layer.readout.residual for layer in result.layers]
    seen = [not layer.readout.invariant for layer in result.layers]
    figure = go.Figure()
    figure.add_scatter(
        x=names,
        y=[layer.tolerance / layer.readout.spread if layer.readout.spread else None for layer in result.layers],
        name="up to here rounding",
        mode="lines",
        line={"color": GREY, "width": 1.4, "dash": "dash"},
        hovertemplate="%{x}<br>up to %{y:.1e} rounding<extra></extra>",
    )
    for sees, name, colour in ((True, "sees order", SERIES_COLOURS[1]), (False, "ignores order", SERIES_COLOURS[0])):
        chosen = [(layer, value) for layer, value, own in zip(names, residuals, seen, strict=True) if own == sees]
        if chosen:
            figure.add_scatter(
                x=[layer for layer, _ in chosen],
                y=[max(value, _FLOOR) for _, value in chosen],
                customdata=[value for _, value in chosen],
                name=name,
                mode="markers",
                marker={"color": colour, "size": 10},
                hovertemplate="%{x}<br>%{customdata:.2g} of the spread<extra></extra>",
            )
    style_linear_axes(figure, x="", y="residual at the readout", height=HEIGHT)
    _name_layers(figure, names)
    powers = range(-18, 1, 3)
    words = [f"1e{power}" if power else "1" for power in powers]
    figure.update_yaxes(type="log", range=[-18.5, 0.5], tickvals=[10.0**power for power in powers], ticktext=words)
    return Plot(figure, title, caption)


def profile_plot(result: SimpleNamespace, *, title: str, caption: str) -> Plot:
    """The variance at the readout by level, one bar a layer."""
    known = [(layer.name, layer.profile) for layer in result.layers if layer.profile is not None]
    levels = known[0][1].levels
    names = [f"level {level}" for level in levels] + [f"above {levels[-1]}"]
    colours = [*(SERIES_COLOURS[number % len(SERIES_COLOURS)] for number in range(len(levels))), GREY]
    figure = go.Figure()
    for number, (name, colour) in enumerate(zip(names, colours, strict=True)):
        shares = [100 * profile.variance_shares[number] for _, profile in known]
        if number and max(shares) < 0.05:
            continue
        figure.add_bar(
            x=[layer for layer, _ in known],
            y=shares,
            name=name,
            marker={"color": colour, "opacity": 0.8},
            hovertemplate=f"%{{x}}<br>{name}: %{{y:.1f}} %<extra></extra>",
        )
    figure.update_layout(barmode="stack", showlegend=True)
    style_linear_axes(figure, x="", y="share of the variance in %", height=HEIGHT)
    _name_layers(figure, [name for name, _ in known])
    figure.update_yaxes(range=[0, 101])
    return Plot(figure, title, caption)


def adjacency_plot(result: SimpleNamespace, *, title: str, caption: str) -> Plot:
    """The adjacency score of each layer's states, and chance."""
    known = [(layer.name, layer.adjacency) for layer in result.layers if layer.adjacency is not None]
    names = [name for name, _ in known]
    figure = go.Figure()
    figure.add_scatter(x=names, y=[0.5] * len(names), name="chance", mode="lines", line={"color": GREY, "width": 1.4, "dash": "dash"})
    figure.add_scatter(
        x=names,
        y=[score.value for _, score in known],
        error_y={"type": "data", "array": [score.stderr for _, score in known], "thickness": 1.2, "width": 3},
        name="adjacency score",
        mode="markers",
        marker={"color": SERIES_COLOURS[2], "size": 9},
        hovertemplate="%{x}<br>%{y:.3f}<extra></extra>",
    )
    style_linear_axes(figure, x="", y="adjacency score", height=HEIGHT)
    _name_layers(figure, names)
    figure.update_yaxes(range=[0, 1.03])
    return Plot(figure, title, caption)


def _codes(classes: Sequence[int]) -> list[int]:
    """0 for what is ignored, 1 for what is distinguished from all others, 2 and more for classes of several.

    >>> _codes([0, 0, 1, -1, 2, 2])
    [2, 2, 1, 0, 3, 3]
    """
    several = [label for label in dict.fromkeys(classes) if label >= 0 and classes.count(label) > 1]
    return [0 if label < 0 else 2 + several.index(label) if label in several else 1 for label in classes]


def _word(code: int) -> str:
    return "ignored" if code == 0 else "told apart" if code == 1 else "not told apart" if code == 2 else "nor are these"


def _steps(colours: Sequence[str]) -> list[tuple[float, str]]:
    """A scale with one colour a whole number."""
    size = len(colours)
    return [(edge / size, colour) for number, colour in enumerate(colours) for edge in (number, number + 1)]


def _name_layers(figure: go.Figure, names: Sequence[str]) -> None:
    """Layers along the horizontal axis, which makes as much room as their names need."""
    figure.update_xaxes(type="category", categoryorder="array", categoryarray=list(names), showgrid=False, automargin=True)
