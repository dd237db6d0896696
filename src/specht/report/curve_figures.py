"""Figures of learning curves: losses, what is learnt at each level, what each irrep costs.

They take results by name, as `specht.trees.facts` gives them.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import plotly.graph_objects as go

from specht.report.figures import GREY, SERIES_COLOURS, Plot, add_series, colour, plain_ticks, style_axes

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
