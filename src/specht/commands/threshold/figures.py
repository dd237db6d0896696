"""The figures of `specht threshold`: thresholds against T, and the success of trials against m."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import numpy as np
import plotly.graph_objects as go

from specht.commands.threshold.page import fit_of
from specht.report.figures import HEIGHT, Plot, add_guide, add_line, add_series, colour, finished, plain_ticks
from specht.report.threshold_figures import add_thresholds, style_counts
from specht.studies.sparse import name_of


def growth_plot(result: SimpleNamespace, *, title: str, caption: str) -> Plot:
    """Thresholds with intervals, and the fitted logarithms and powers; searches that ended at the largest m as open triangles."""
    figure = go.Figure()
    for number, learner in enumerate(result.learners):
        add_thresholds(figure, [point for point in result.points if point.learner == learner], name_of(learner), colour(number))
        fit = fit_of(result, learner)
        if fit.verdict:
            for name, law, dash in (("log", fit.laws.log, "solid"), ("power", fit.laws.power, "dot")):
                add_line(figure, law.T, law.m, f"{learner}, {name} law", number, dash=dash, legend=False)
    finished(figure, x="number of bits T", y="threshold m", ticks=[point.T for point in result.points])
    figure.update_layout(height=HEIGHT + 20 * max(0, len(result.learners) - 3))
    style_counts(figure, [end for point in result.points for end in (point.low, point.high)])
    return Plot(figure, title, caption, wide=True)


def success_plot(result: SimpleNamespace, learner: str, *, title: str, caption: str) -> Plot:
    """The share of trials that succeeded at each m, and the curve that was fitted, one colour a T."""
    figure = go.Figure()
    points = [point for point in result.points if point.learner == learner]
    sizes = [batch.m for point in points for batch in point.tried]
    grid, share = np.geomspace(min(sizes), max(sizes), 120), result.search.share
    for number, point in enumerate(points):
        _add_shares(figure, point, number)
        if point.state == "found":
            top = 1.0 - point.lapse
            curve = top / (1.0 + np.exp(-(np.log(grid / point.m) / point.curve_width + np.log(share / (top - share)))))
            add_series(figure, grid, curve, "", number, line_width=1.5)
    ends = [float(grid[0]), float(grid[-1])]
    add_guide(figure, ends, [share, share], "")
    finished(figure, x="samples m", y="share of trials that succeeded", linear_y=True)
    figure.update_layout(height=HEIGHT - 40)
    figure.update_traces(showlegend=False, selector={"name": ""})
    figure.update_xaxes(**plain_ticks(ends[0] / 1.5, 1.5 * ends[1]))
    figure.update_yaxes(dtick=0.2, range=[-0.04, 1.04])
    return Plot(figure, title, caption, wide=True)


def _add_shares(figure: go.Figure, point: SimpleNamespace, number: int) -> None:
    """The share of successes at each m that was tried, once or more often."""
    successes, trials = Counter[int](), Counter[int]()
    for batch in point.tried:
        successes[batch.m] += batch.successes
        trials[batch.m] += batch.trials
    sizes = sorted(trials)
    counts = [f"{successes[m]} of {trials[m]}" for m in sizes]
    shares, hover = [successes[m] / trials[m] for m in sizes], f"T = {point.T}, m = %{{x}}: %{{customdata}}"
    add_series(figure, sizes, shares, f"T = {point.T}", number, mode="markers", hover=hover, customdata=counts)
