"""Figures of networks of finite width: which positions and tokens their embedding singles out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from specht.report.figures import GREY, SERIES_COLOURS, Plot


def order_plot(result: Mapping[str, Any], *, title: str) -> Plot:
    """Variances of embedding vectors over their priors, position by position and token by token."""
    figure = go.Figure()
    largest = max(len(result["positions"]), len(result["tokens"]))
    figure.add_scatter(
        x=[0, max(largest - 1, 1)], y=[1.0, 1.0], name="infinite width", mode="lines", line={"color": GREY, "width": 1.2, "dash": "dash"},
        hoverinfo="skip",
    )  # fmt: skip
    for name, colour, symbol in (("positions", SERIES_COLOURS[0], "circle"), ("tokens", SERIES_COLOURS[1], "diamond")):
        if not result[name]:
            continue
        figure.add_scatter(
            x=list(range(len(result[name]))), y=result[name], name=name, mode="markers",
            marker={"color": colour, "size": 8, "symbol": symbol},
            error_y={"type": "data", "array": result[f"{name}_stderr"], "thickness": 1.2, "width": 0},
            hovertemplate=f"{name[:-1]} %{{x}}<br>%{{y:.3f}} times its prior<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(title="position or token")
    figure.update_yaxes(title="variance of its vector over the prior", rangemode="tozero")
    singled = result["singled_out"]
    words = (
        "no position" if not singled else "position " + ", ".join(map(str, singled)) if len(singled) < 8 else f"{len(singled)} positions"
    )
    caption = (
        f"How much the embedding of a network of width {result['width']} grows under {result['samples']} samples. It singles out {words}; "
        f"symmetry left: {result['symmetry']}."
    )
    return Plot(figure, title, caption, wide=True)
