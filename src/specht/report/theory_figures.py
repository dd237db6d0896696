"""Figures of theory: learning curves at infinite and at finite width, what each irrep costs, spectra.

They take results by name, as `specht.trees.facts` gives them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import plotly.graph_objects as go

from specht.report.figures import (
    GREY,
    SERIES_COLOURS,
    Plot,
    add_guide,
    add_series,
    colour,
    error_bars,
    plain_ticks,
    ratio_marks,
    style_axes,
)

LOSS_NAMES = {"test": "test", "train": "train", "ood": "out of distribution"}
WIDTH_COLOURS = SERIES_COLOURS[3:] + SERIES_COLOURS[:3]
"""Of finite widths: not those of the losses, as long as there are few."""
LOSS_COLOURS = dict(zip(LOSS_NAMES, SERIES_COLOURS, strict=False))
_RANK = 100
"""Of what stands in a legend behind finite widths."""
_LOWEST = 1e-6
"""Losses below this share of the largest are not drawn, where a curve falls without end."""


def curve_plot(result: SimpleNamespace, *, title: str, caption: str) -> Plot:
    """Losses against the number of samples: theory as lines; exact inference, and finite networks, as points with error bars.

    Any of the three may be None: `result` has them as `theory`, `gp` and `net`. Finite widths, if `finite` is not None, have lines of
    their own, above all others and first in the legend.
    """
    figure, floor = go.Figure(), _floor(result)
    if result.theory is not None:
        _add_theory(figure, result, floor)
    beside = _add_finite_widths(figure, result, floor)
    _add_measured(figure, result, floor, beside)
    style_axes(figure, x="samples N", y="mean squared error")
    figure.update_yaxes(**_marks(figure))
    return Plot(figure, title, caption, wide=True)


def is_cut(result: SimpleNamespace) -> bool:
    """Whether lines at finite width leave the figure at its lower end."""
    floor = _floor(result)
    return result.finite is not None and any(value <= floor for row in result.finite.test for value in row)


def _floor(result: SimpleNamespace) -> float:
    """The smallest loss that is drawn."""
    known = _known(result)
    return _LOWEST * max((value for loss in losses(result) for value in getattr(known, loss) if value is not None), default=0)


def _add_theory(figure: go.Figure, result: SimpleNamespace, floor: float) -> None:
    """Losses at infinite width, the test loss last and so above the others, which may lie on it."""
    theory, beside = result.theory, bool(finite_widths(result))
    lines = [("equivalent_test", "equivalent kernel" if beside else "equivalent kernel, test", "test", 1.2, "dot", 4)]
    for rank, loss in reversed(list(enumerate(losses(result), 1))):
        name = "infinite width" if beside and loss == "test" else LOSS_NAMES[loss]
        lines.append((loss, name, loss, 2.0 if loss == "test" or not beside else 1.4, "dash" if loss == "ood" else "solid", rank))
    for key, name, loss, width, dash, rank in lines:
        word = "equivalent kernel" if key != loss else f"{LOSS_NAMES[loss]}, theory"
        values, hover = _above(getattr(theory, key), floor), f"{word}<br>N = %{{x}}: %{{y:.4g}}"
        rank = {"legendgroup": key, "legendrank": _RANK + rank}
        add_series(figure, result.n_train, values, name, LOSS_COLOURS[loss], hover=hover, line_width=width, line_dash=dash, **rank)


def _add_measured(figure: go.Figure, result: SimpleNamespace, floor: float, beside: str | None) -> None:
    """Exact inference and finite networks. Where the theory has a line at the width of networks, their test loss has its colour, and
    their other losses are left out: there are no lines at that width to hold them against."""
    named = [(result.gp, "exact", "circle"), (result.net, "networks", "diamond-open")]
    measured = [(points, name, symbol) for points, name, symbol in named if points is not None]
    for loss in reversed(losses(result)):  # the test loss on top
        for points, name, symbol in measured:
            at_width = beside is not None and name == "networks"
            if at_width and loss != "test":
                continue
            label = LOSS_NAMES[loss] if len(measured) == 1 else f"{LOSS_NAMES[loss]}, {name}"
            add_series(
                figure,
                points.n_train,
                _above(getattr(points, loss), floor),
                label,
                beside if beside is not None and at_width else LOSS_COLOURS[loss],
                mode="markers",
                errors=getattr(points, f"{loss}_stderr"),
                hover=f"{LOSS_NAMES[loss]}, {name}<br>N = %{{x}}: %{{y:.4g}}",
                legendgroup=loss,
                showlegend=result.theory is None,
                marker_size=7 if name == "exact" else 9,
                marker_symbol=symbol,
            )


def _marks(figure: go.Figure) -> dict[str, Any]:
    """Numbers on the axis of losses where they span less than two powers of ten, which may have no power among them."""
    lines: Any = figure.data
    values = [value for line in lines for value in (line.y or ()) if value is not None]
    if not values or max(values) >= 100 * min(values):
        return {}
    return {"dtick": None, "exponentformat": "none"} | plain_ticks(0.9 * min(values), 1.1 * max(values), least=3)


def _add_finite_widths(figure: go.Figure, result: SimpleNamespace, floor: float) -> str | None:
    """Test losses at finite widths, the smallest above the others; the colour of the one that networks were sampled at, if any."""
    beside = None
    for row, (width, hue) in reversed(list(enumerate(zip(finite_widths(result), WIDTH_COLOURS, strict=False)))):
        values, hover = _above(result.finite.test[row], floor), f"test, width {width}, theory<br>N = %{{x}}: %{{y:.4g}}"
        add_series(figure, result.finite.n_train, values, f"width {width}", hue, hover=hover, line_width=2.6, legendrank=row + 1)
        beside = hue if width == networks_beside(result) else beside
    return beside


def level_plot(theory: SimpleNamespace, *, title: str, caption: str) -> Plot:
    """How much of the target's part at each level is learnt."""
    figure = go.Figure()
    for number, (level, learnt) in enumerate(vars(theory.learned_by_level).items()):
        hover = f"level {level}<br>N = %{{x}}: %{{y:.1%}}"
        add_series(figure, theory.n_train, learnt, f"level {level}", number, hover=hover, line_width=2)
    style_axes(figure, x="samples N", y="share learnt", height=400, linear="y", showlegend=True)
    figure.update_yaxes(range=[0, 1.02], dtick=0.25, tickformat=".0%")
    return Plot(figure, title, caption, wide=True)


def need_plot(needs: Sequence[SimpleNamespace], *, title: str, caption: str) -> Plot:
    """Samples that half of the leading function of each irrep needs, and the bound from its dimension."""
    figure = go.Figure()
    names = [need.irrep for need in needs]
    colours = [colour(need.level) for need in needs]
    samples, hover = [need.samples for need in needs], "%{x}<br>N* = %{y:.4g}"
    add_series(figure, names, samples, "samples N*", GREY, mode="markers", hover=hover, marker_color=colours, marker_size=12)
    dashes = {"symbol": "line-ew-open", "size": 26, "color": GREY, "line": {"width": 2}}
    bounds = [need.bound for need in needs]
    figure.add_scatter(
        x=names, y=bounds, name="at least", mode="markers", marker=dashes, hovertemplate="%{x}<br>at least %{y:.4g}<extra></extra>"
    )
    style_axes(figure, x="pattern (irrep)", y="samples N*", height=400, showlegend=True)
    figure.update_xaxes(type="category", dtick=None)
    return Plot(figure, title, caption, wide=True)


def _above(values: list[float | None], floor: float) -> list[float | None]:
    """Gaps in a line where a value is too small for a logarithmic axis."""
    return [value if value is not None and value > floor else None for value in values]


def finite_widths(result: SimpleNamespace) -> list[int]:
    """The finite widths that the theory has curves of, smallest first."""
    return [] if result.finite is None else result.finite.width


def networks_beside(result: SimpleNamespace) -> int | None:
    """The width of networks that were sampled, if the theory has a curve at the same width."""
    width = result.net.size.width if result.net is not None and result.kind == "nngp" else None
    return width if width in finite_widths(result) else None


def losses(result: SimpleNamespace) -> list[str]:
    """The losses that there are, by theory or by what was measured in its place."""
    known = _known(result)
    return [loss for loss in LOSS_NAMES if getattr(known, loss) is not None]


def _known(result: SimpleNamespace) -> SimpleNamespace:
    return next(part for part in (result.theory, result.gp, result.net) if part is not None)


HIGHER = "higher levels"
SHOWN_LEVEL = 3
"""Largest level in tables and curves; the files have all."""


def spectrum_plot(entries: Sequence[SimpleNamespace], *, title: str, caption: str) -> Plot:
    """All eigenvalues at the last length, largest first, each as wide as its degeneracy, in the colours of `scaling_plot`."""
    entry, colours = entries[-1], family_colours(entries)
    families = {top.irrep: top.family for top in entry.top}
    rows = [row for row in entry.rows if row.resolved]
    steps: dict[str, list[tuple[float, float, SimpleNamespace]]] = {name: [] for name in [*colours, HIGHER]}
    end = 0
    for row in rows:
        start, end = end + 1, end + row.degeneracy
        steps[families[row.irrep] if families[row.irrep] in colours else HIGHER].append((start, end, row))
    figure = go.Figure()
    for name, multiplets in steps.items():
        if multiplets:
            x = [place for start, stop, _ in multiplets for place in (start, stop, None)]
            y = [height for _, _, row in multiplets for height in (row.eigenvalue, row.eigenvalue, None)]
            text = [f"{row.irrep}, degeneracy {row.degeneracy}" for *_, row in multiplets for _ in range(3)]
            colour, hover = colours.get(name, GREY), "%{text}<br>%{y:.4g}"
            add_series(figure, x, y, name, colour, mode="lines+markers", hover=hover, line_width=2.5, marker_size=4, text=text)
    style_axes(figure, x="index of the eigenfunction", y="eigenvalue", showlegend=True)
    figure.update_xaxes(dtick=decade_ticks([1.0, float(max(end, 1))]), exponentformat="power")
    figure.update_yaxes(dtick=decade_ticks([row.eigenvalue for row in rows]))
    return Plot(figure, title, caption + left_out(len(entry.rows) - len(rows)), wide=True)


def shown(entry: SimpleNamespace) -> list[SimpleNamespace]:
    """The top eigenvalues of one length that tables and curves show."""
    return [top for top in entry.top if top.level <= SHOWN_LEVEL]


def family_colours(entries: Sequence[SimpleNamespace]) -> dict[str, str]:
    """One colour a family, the same in all figures."""
    families = {top.family: top.level for entry in entries for top in shown(entry)}
    order = sorted(families, key=lambda family: families[family])
    return dict(zip(order, SERIES_COLOURS, strict=False))


def decade_ticks(values: Sequence[float]) -> float | str:
    """Distance of ticks on a logarithmic axis: some decades where there are many, parts of one where there are few."""
    decades = math.log10(max(values) / min(values)) if values else 0.0
    return "D2" if decades < 1.5 else math.ceil(decades / 8)


def left_out(number: int) -> str:
    """Say how many values a figure leaves out because they are not resolved."""
    what = "values that are not above rounding or noise are" if number > 1 else "value that is not above rounding or noise is"
    return f" {number} {what} left out." if number else ""


HOVER = "N = %{x}: %{y:.4g}"


def order_plot(result: SimpleNamespace, *, title: str) -> Plot:
    """Variances of embedding vectors over their priors, position by position and token by token."""
    figure = go.Figure()
    largest = max(len(result.positions), len(result.tokens))
    add_guide(figure, [0, max(largest - 1, 1)], [1.0, 1.0], "infinite width")
    for number, (name, symbol) in enumerate({"positions": "circle", "tokens": "diamond"}.items()):
        if variances := getattr(result, name):
            x, bars = range(len(variances)), error_bars(getattr(result, f"{name}_stderr"), width=0)
            hover = f"{name[:-1]} %{{x}}<br>%{{y:.3f}} times its prior"
            add_series(figure, x, variances, name, number, mode="markers", errors=bars, hover=hover, marker_size=8, marker_symbol=symbol)
    style_axes(figure, x="position or token", y="variance over the prior", height=400, linear="xy")
    figure.update_yaxes(rangemode="tozero")
    singled = result.singled_out
    words = (
        "no position" if not singled else "position " + ", ".join(map(str, singled)) if len(singled) < 8 else f"{len(singled)} positions"
    )
    caption = (
        f"How much the embedding of a network of width {result.width} grows under {result.samples} samples. It singles out {words}; "
        f"symmetry left: {result.symmetry}."
    )
    return Plot(figure, title, caption, wide=True)


def loss_plot(result: SimpleNamespace, *, title: str) -> Plot:
    """Test loss against samples, one line for each width, and that of infinite width."""
    figure = go.Figure()
    for number, width in enumerate(result.width):
        name = f"width {width:g}" if width is not None else "infinite width"
        losses = _of_width(result, "test", number)
        add_series(figure, result.n_train, losses, name, number, mode="lines+markers", marker_size=5, hover=HOVER)
    add_guide(figure, result.n_train, result.infinite_test, "infinite width")
    style_axes(figure, x="samples N", y="test loss", height=400)
    caption = (
        "Mean squared error on fresh sequences against the number of samples, by theory: networks whose embedding adapts to the target, "
        "and the kernel of infinite width (dashed)."
    )
    return Plot(figure, title, caption, wide=True)


def growth_plot(result: SimpleNamespace, *, title: str) -> Plot:
    """Variances over those at infinite width against samples, at the smallest width."""
    figure = go.Figure()
    ratios = np.array(_of_width(result, "ratios", 0), dtype=float)
    for number, name in enumerate(result.names):
        dash = "dot" if name.startswith("token") else "solid"
        add_series(figure, result.n_train, ratios[:, number], name, number, line_dash=dash, hover=HOVER)
    style_axes(figure, x="samples N", y="variance over that at infinite width", height=400)
    figure.update_yaxes(**ratio_marks([1.0, *ratios[ratios > 0.0].tolist()]))
    reads = any(name.startswith("position") for name in result.names)
    what = "what the target reads stands out" if reads else "the target singles out no position, and all of them stay alike"
    caption = f"How much the variances of tokens and positions move at width {result.width[0]:g}: {what}."
    return Plot(figure, title, caption, wide=True)


def width_need_plot(result: SimpleNamespace, *, title: str) -> Plot:
    """Samples for an error and to learn a share, and where symmetry breaks, at every width."""
    figure = go.Figure()
    names = ["infinite" if need.width is None else f"{need.width:g}" for need in result.needs]
    columns = {
        "samples": f"for an error of {result.error:g}",
        "to_learn": f"to learn a share of {result.share:g}",
        "transition": "symmetry breaks",
    }
    for number, (column, name) in enumerate(columns.items()):
        needs, dash = [getattr(need, column) for need in result.needs], "dot" if column == "transition" else "solid"
        hover = "width %{x}<br>%{y:.4g} samples"
        add_series(figure, names, needs, name, number, mode="lines+markers", hover=hover, marker_size=8, line_dash=dash)
    style_axes(figure, x="width of the embedding", y="samples N", height=400)
    figure.update_xaxes(type="category", dtick=None)
    caption = "Samples that the target needs against the width of the embedding, by theory; what is out of reach is left out."
    return Plot(figure, title, caption, wide=True)


def _of_width(result: SimpleNamespace, name: str, index: int) -> Any:
    """Values at one of the widths; a curve of a single width has no axis for it."""
    single = len(result.width) == 1 and np.ndim(result.test) == 1
    return getattr(result, name) if single else getattr(result, name)[index]
