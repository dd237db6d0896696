"""The figures of `specht threshold`: thresholds against T, and the success of trials against m."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from specht.report.figures import GREY, SERIES_COLOURS, Plot, style_log_axes
from specht.report.threshold_tables import name_of

HEIGHT = 440


def growth_plot(result: Mapping[str, Any], *, title: str, caption: str, extra: Sequence[go.Scatter] = ()) -> Plot:
    """Thresholds with intervals, the fitted power laws and lines against ln T; searches that ended at the largest m as open triangles."""
    figure = go.Figure()
    for number, (learner, fit) in enumerate(result["fits"].items()):
        colour = SERIES_COLOURS[number % len(SERIES_COLOURS)]
        points = [point for point in result["points"] if point["learner"] == learner]
        add_thresholds(figure, points, name_of(learner), colour)
        if fit["verdict"]:
            for law, dash in (("log", "solid"), ("power", "dot")):
                known = fit["laws"][law]
                figure.add_scatter(
                    x=known["T"],
                    y=[value if value > 0 else None for value in known["m"]],
                    mode="lines",
                    showlegend=False,
                    line={"color": colour, "width": 1.4, "dash": dash},
                    hovertemplate=f"{learner}, {law} law<br>T = %{{x:.0f}}: %{{y:.0f}}<extra></extra>",
                )
    for trace in extra:
        figure.add_trace(trace)
    style_log_axes(figure, x="number of bits T", y="threshold m")
    lengths = sorted({point["T"] for point in result["points"]})
    figure.update_layout(height=HEIGHT + 20 * max(0, len(result["fits"]) - 3))
    figure.update_xaxes(tickvals=lengths, ticktext=[str(length) for length in lengths])
    style_counts(figure, [point[name] for point in result["points"] for name in ("low", "high")])
    return Plot(figure, title, caption, wide=True)


def style_counts(figure: go.Figure, values: Sequence[float]) -> None:
    """Whole numbers in steps of one, two and five on the vertical axis, which is logarithmic."""
    ticks = [step * 10**power for power in range(8) for step in (1, 2, 5) if min(values) / 2 <= step * 10**power <= 2 * max(values)]
    figure.update_yaxes(tickvals=ticks, ticktext=[f"{tick}" for tick in ticks], dtick=None, exponentformat="none")


def add_thresholds(figure: go.Figure, points: Sequence[Mapping[str, Any]], name: str, colour: str) -> None:
    """The thresholds of one learner, with their intervals."""
    found = [point for point in points if point["state"] == "found"]
    missed = [point for point in points if point["state"] == "not reached"]
    figure.add_scatter(
        x=[point["T"] for point in found],
        y=[point["m"] for point in found],
        name=name,
        mode="markers",
        marker={"color": colour, "size": 8},
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [point["high"] - point["m"] for point in found],
            "arrayminus": [point["m"] - point["low"] for point in found],
            "thickness": 1.4,
            "width": 4,
        },
        hovertemplate=f"{name}<br>T = %{{x}}: m = %{{y:.1f}}<extra></extra>",
    )
    if missed:
        figure.add_scatter(
            x=[point["T"] for point in missed],
            y=[max(each["m"] for each in point["tried"]) for point in missed],
            name=f"{name}: not reached",
            mode="markers",
            marker={"color": colour, "size": 10, "symbol": "triangle-up-open"},
            hovertemplate=f"{name}<br>T = %{{x}}: not reached by m = %{{y}}<extra></extra>",
        )


def success_plot(result: Mapping[str, Any], learner: str, *, title: str, caption: str) -> Plot:
    """The share of trials that succeeded at each m, and the curve that was fitted, one colour a T."""
    figure = go.Figure()
    points = [point for point in result["points"] if point["learner"] == learner]
    sizes = [each["m"] for point in points for each in point["tried"]]
    grid = np.geomspace(min(sizes), max(sizes), 120)
    share = result["config"]["share"]
    for number, point in enumerate(points):
        colour = SERIES_COLOURS[number % len(SERIES_COLOURS)]
        totals: dict[int, list[int]] = {}
        for each in point["tried"]:
            before = totals.setdefault(each["m"], [0, 0])
            before[0] += each["successes"]
            before[1] += each["trials"]
        places = sorted(totals)
        shares = [totals[m][0] / totals[m][1] for m in places]
        figure.add_scatter(
            x=places,
            y=shares,
            name=f"T = {point['T']}",
            mode="markers",
            marker={"color": colour, "size": 7},
            customdata=[f"{totals[m][0]} of {totals[m][1]}" for m in places],
            hovertemplate=f"T = {point['T']}, m = %{{x}}: %{{customdata}}<extra></extra>",
        )
        if point["state"] == "found":
            top = 1.0 - point["lapse"]
            curve = top / (1.0 + np.exp(-(np.log(grid / point["m"]) / point["curve_width"] + np.log(share / (top - share)))))
            line = {"color": colour, "width": 1.5}
            figure.add_scatter(x=grid.tolist(), y=curve.tolist(), mode="lines", showlegend=False, line=line, hoverinfo="skip")
    ends = [float(grid[0]), float(grid[-1])]
    dashed = {"color": GREY, "width": 1.1, "dash": "dash"}
    figure.add_scatter(x=ends, y=[share] * 2, mode="lines", showlegend=False, line=dashed, hoverinfo="skip")
    style_log_axes(figure, x="samples m", y="share of trials that succeeded")
    figure.update_layout(height=HEIGHT - 40)
    figure.update_yaxes(type="linear", dtick=0.2, range=[-0.04, 1.04], exponentformat="none")
    ticks = [step * 10**power for power in range(7) for step in (1, 2, 5) if ends[0] / 1.5 <= step * 10**power <= 1.5 * ends[1]]
    figure.update_xaxes(tickvals=ticks, ticktext=[str(tick) for tick in ticks])
    return Plot(figure, title, caption, wide=True)
