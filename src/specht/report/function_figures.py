"""Figures of functions and models under permutations: what each output distinguishes, order layer by layer, shares by level."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import plotly.graph_objects as go

from specht.report.figures import GREY, Plot, add_guide, add_series, colour, error_bars, marks, style_axes

HEIGHT = 380
SEEN = 0.1
"""Per cent of E[f²] from which on the constant part is drawn by itself."""
MARKED = 24
"""Positions up to which those that are ignored are marked one by one."""
_IGNORED, _ALONE = "rgba(128,136,144,0.14)", "rgba(128,136,144,0.75)"
_FLOOR = 1e-18
"""Where a residual of zero is drawn."""


def class_plot(views: Sequence[SimpleNamespace], *, title: str, caption: str) -> Plot:
    """A matrix: output position down, input position across, coloured by what the output makes of the input."""
    codes = [_codes(view.classes) for view in views]
    shared = max(max(row) for row in codes) - 1
    colours = [_IGNORED, _ALONE, *map(colour, range(shared))]
    columns = len(codes[0])
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
        square = {"marker_size": 11, "marker_symbol": "square"}
        add_series(figure, [None], [None], _word(code), colours[code], mode="markers", **square)
    height = min(HEIGHT, 140 + 34 * max(len(views), 2)) if columns <= MARKED else HEIGHT
    style_axes(figure, x="input position", y="output position", height=height, linear="xy", showlegend=True)
    figure.update_xaxes(marks(range(1, columns + 1, -(-columns // 12))), showgrid=False)
    places = list(range(0, len(views), -(-len(views) // 12)))
    names = ["mean" if views[place].position is None else str(views[place].position) for place in places]
    figure.update_yaxes(tickvals=[place + 1 for place in places], ticktext=names, showgrid=False, autorange="reversed")
    return Plot(figure, title, caption, wide=columns > MARKED)


def residual_plot(result: SimpleNamespace) -> Plot:
    """The residual of each layer at the readout, and what would be rounding."""
    names = [layer.name for layer in result.layers]
    residuals = [layer.readout.residual for layer in result.layers]
    seen = [not layer.readout.invariant for layer in result.layers]
    figure = go.Figure()
    rounding = [layer.tolerance / layer.readout.spread if layer.readout.spread else None for layer in result.layers]
    add_guide(figure, names, rounding, "up to here rounding")
    for sees, name in ((True, "sees order"), (False, "ignores order")):
        chosen = [(layer, value) for layer, value, own in zip(names, residuals, seen, strict=True) if own == sees]
        if chosen:
            layers, values = zip(*chosen, strict=True)
            heights, hover = [max(value, _FLOOR) for value in values], "%{x}<br>%{customdata:.2g} of the spread"
            add_series(figure, layers, heights, name, int(sees), mode="markers", hover=hover, customdata=values, marker_size=10)
    _style_layers(figure, names, "residual at the readout")
    powers = range(-18, 1, 3)
    words = [f"1e{power}" if power else "1" for power in powers]
    figure.update_yaxes(type="log", range=[-18.5, 0.5], tickvals=[10.0**power for power in powers], ticktext=words)
    caption = "Largest change at the readout over its spread. Zero is drawn at the lower edge."
    return Plot(figure, "How much permuting the context changes each layer", caption)


def profile_plot(result: SimpleNamespace) -> Plot:
    """The variance at the readout by level, one bar a layer."""
    known = [(layer.name, layer.profile) for layer in result.layers if layer.profile is not None]
    levels = known[0][1].levels
    names = [f"level {level}" for level in levels] + [f"above {levels[-1]}"]
    colours = [*map(colour, range(len(levels))), GREY]
    figure = go.Figure()
    layers = [layer for layer, _ in known]
    for number, (name, hue) in enumerate(zip(names, colours, strict=True)):
        shares = [100 * profile.variance_shares[number] for _, profile in known]
        if number and max(shares) < 0.05:
            continue
        hover = f"%{{x}}<br>{name}: %{{y:.1f}} %<extra></extra>"
        figure.add_bar(x=layers, y=shares, name=name, marker={"color": hue, "opacity": 0.8}, hovertemplate=hover)
    figure.update_layout(barmode="stack", showlegend=True)
    _style_layers(figure, layers, "share of the variance in %")
    figure.update_yaxes(range=[0, 101])
    caption = "The variance at the readout by level, under uniform tokens. Level 0 ignores order, level m singles out m positions."
    return Plot(figure, "How much of each layer needs order", caption)


def adjacency_plot(result: SimpleNamespace, *, caption: str) -> Plot:
    """The adjacency score of each layer's states, and chance."""
    known = [(layer.name, layer.adjacency) for layer in result.layers if layer.adjacency is not None]
    names = [name for name, _ in known]
    figure = go.Figure()
    add_guide(figure, names, [0.5] * len(names), "chance")
    values, errors = [score.value for _, score in known], [score.stderr for _, score in known]
    add_series(figure, names, values, "adjacency score", 2, mode="markers", errors=errors, hover="%{x}<br>%{y:.3f}", marker_size=9)
    _style_layers(figure, names, "adjacency score")
    figure.update_yaxes(range=[0, 1.03])
    return Plot(figure, "Whether nearby positions look alike", caption)


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


def _style_layers(figure: go.Figure, names: Sequence[str], y: str) -> None:
    """Layers along the horizontal axis, which makes as much room as their names need."""
    style_axes(figure, x="", y=y, height=HEIGHT, linear="xy")
    figure.update_xaxes(type="category", categoryorder="array", categoryarray=list(names), showgrid=False, automargin=True)


def share_plot(result: SimpleNamespace, *, title: str, caption: str) -> Plot:
    """The share of each level, with its interval."""
    *levels, above = result.parts
    parts = [*levels, *([above] if above.high > 0.0 else [])]
    names, values = [part.level.replace(">", "above ") for part in parts], [100 * part.share for part in parts]
    constant = 100 * result.mean_square.value / (result.total or 1.0)
    figure = go.Figure()
    if constant > SEEN:
        figure.add_bar(
            x=names[:1],
            y=[constant],
            name="constant part, E[f]²",
            marker={"color": GREY, "opacity": 0.35},
            hovertemplate="constant part<br>%{y:.1f} %<extra></extra>",
        )
    up = [100 * min(part.share_high, 1.0) - value for part, value in zip(parts, values, strict=True)]
    down = [value - 100 * part.share_low for part, value in zip(parts, values, strict=True)]
    figure.add_bar(
        x=names,
        y=[values[0] - (constant if constant > SEEN else 0.0), *values[1:]],
        name="what varies",
        customdata=values,
        marker={"color": [colour(0)] * len(levels) + [GREY] * (len(parts) - len(levels)), "opacity": 0.75},
        error_y=error_bars(up, down, thickness=1.6, width=5, color=colour(1)),
        hovertemplate="level %{x}<br>%{customdata:.1f} %<extra></extra>",
    )
    style_axes(figure, x="level: positions that are singled out", y="share of E[f²] in %", height=HEIGHT, linear="xy")
    figure.update_layout(barmode="stack", showlegend=constant > SEEN)
    figure.update_xaxes(type="category", showgrid=False)
    figure.update_yaxes(rangemode="tozero")
    return Plot(figure, title, caption, wide=True)


def correlation_plot(result: SimpleNamespace, *, title: str, caption: str) -> Plot:
    """The measured correlation after shuffling j positions, and that of the fitted weights."""
    curve, figure, hover = result.correlation, go.Figure(), "j = %{x}<br>%{y:.4g}"
    add_series(figure, curve.curve_positions, curve.curve, "fitted weights", 1, hover=hover)
    add_series(figure, curve.positions, curve.values, "measured", 0, mode="markers", errors=curve.stderr, hover=hover)
    style_axes(figure, x="positions shuffled, j", y="C(j)", height=HEIGHT, linear="xy")
    figure.update_yaxes(rangemode="tozero")
    return Plot(figure, title, caption, wide=True)
