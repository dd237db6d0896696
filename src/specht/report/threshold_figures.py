"""Numbers of samples in figures: thresholds with their intervals, and an axis of counts. `specht threshold` and papers draw them."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import plotly.graph_objects as go

from specht.report.figures import add_series, error_bars, plain_ticks


def add_thresholds(figure: go.Figure, points: Sequence[SimpleNamespace], name: str, colour: str) -> None:
    """The thresholds of one learner with their intervals; a search that ended without one is an open triangle at its largest m."""
    reached = [point for point in points if point.state == "found"]
    missed = [point for point in points if point.state == "not reached"]
    x, m = [point.T for point in reached], [point.m for point in reached]
    bars = error_bars([point.high - point.m for point in reached], [point.m - point.low for point in reached], thickness=1.4, width=4)
    add_series(figure, x, m, name, colour, mode="markers", errors=bars, hover=f"{name}<br>T = %{{x}}: m = %{{y:.1f}}", marker_size=8)
    if missed:
        x, m = [point.T for point in missed], [max(batch.m for batch in point.tried) for point in missed]
        hover, marks = f"{name}<br>T = %{{x}}: not reached by m = %{{y}}", {"marker_size": 10, "marker_symbol": "triangle-up-open"}
        add_series(figure, x, m, f"{name}: not reached", colour, mode="markers", hover=hover, **marks)


def style_counts(figure: go.Figure, values: Sequence[float]) -> None:
    """Whole numbers in steps of one, two and five on the vertical axis, which is logarithmic."""
    figure.update_yaxes(**plain_ticks(max(1.0, min(values) / 2), 2 * max(values)), dtick=None, exponentformat="none")
