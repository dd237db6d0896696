"""Numbers of samples in figures: thresholds with their intervals, and an axis of counts. `specht threshold` and papers draw them."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import plotly.graph_objects as go

from specht.report.figures import plain_ticks


def add_thresholds(figure: go.Figure, points: Sequence[SimpleNamespace], name: str, colour: str) -> None:
    """The thresholds of one learner with their intervals; a search that ended without one is an open triangle at its largest m."""
    reached = [point for point in points if point.state == "found"]
    missed = [point for point in points if point.state == "not reached"]
    figure.add_scatter(
        x=[point.T for point in reached],
        y=[point.m for point in reached],
        name=name,
        mode="markers",
        marker={"color": colour, "size": 8},
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [point.high - point.m for point in reached],
            "arrayminus": [point.m - point.low for point in reached],
            "thickness": 1.4,
            "width": 4,
        },
        hovertemplate=f"{name}<br>T = %{{x}}: m = %{{y:.1f}}<extra></extra>",
    )
    if missed:
        figure.add_scatter(
            x=[point.T for point in missed],
            y=[max(batch.m for batch in point.tried) for point in missed],
            name=f"{name}: not reached",
            mode="markers",
            marker={"color": colour, "size": 10, "symbol": "triangle-up-open"},
            hovertemplate=f"{name}<br>T = %{{x}}: not reached by m = %{{y}}<extra></extra>",
        )


def style_counts(figure: go.Figure, values: Sequence[float]) -> None:
    """Whole numbers in steps of one, two and five on the vertical axis, which is logarithmic."""
    figure.update_yaxes(**plain_ticks(max(1.0, min(values) / 2), 2 * max(values)), dtick=None, exponentformat="none")
