"""Figures and tables of the networks that learn to add."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from specht.papers import common
from specht.papers.breaking_symmetry.addition_runs import Mean, Model, bound, mean_of, models, over_seeds, told
from specht.papers.claims import Results
from specht.report.figures import Plot
from specht.report.html import Table


def plots(results: Results) -> list[Plot]:
    figure = go.Figure()
    stacks = list(dict.fromkeys(model._replace(residual=True) for model in models(results)))
    for model, runs in models(results).items():
        steps, curves = runs[0].data["step"].values, common.stacked(runs, "curve")
        means = [mean_of(values) for values in curves.T]
        number = stacks.index(model._replace(residual=True))
        _add_band(figure, steps[1:], means[1:], str(model), number, dash="solid" if model.residual else "dot")
    limit = float(bound(results)["loss"])
    common.add_guide(figure, [1, steps[-1]], [limit, limit], "bound without order")
    common.finished(figure, x="steps", y="loss in nats a digit", linear_y=True)
    figure.update_yaxes(rangemode="tozero")
    caption = (
        "Means over seeds; bands are their standard errors. The dashed line is the exact loss of the best predictor that knows which "
        "digits there are and not where: networks that ignore order cannot go below it."
    )
    return [Plot(figure, "Learning to add", caption, wide=True)]


def _add_band(figure: go.Figure, x: np.ndarray, means: Sequence[Mean], name: str, number: int, *, dash: str) -> None:
    """Means over seeds as a line, and their standard errors around it."""
    colour = common.colour(number)
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    low, high = ([mean.value + sign * mean.stderr for mean in means] for sign in (-1, 1))
    figure.add_scatter(
        x=[*x.tolist(), *x[::-1].tolist()],
        y=[*low, *high[::-1]],
        mode="lines",
        fill="toself",
        fillcolor=f"rgba({red},{green},{blue},0.18)",
        line={"width": 0},
        showlegend=False,
        hoverinfo="skip",
    )
    common.add_line(figure, x.tolist(), [mean.value for mean in means], name, number, dash=dash)


def tables(results: Results) -> list[Table]:
    return [_accuracies(results), _adjacency(results), _levels(results)]


def _accuracies(results: Results) -> Table:
    known = bound(results)
    limit, places = float(known["loss"]), known.sizes["place"]
    rows = [
        [
            "best without order",
            "",
            f"{limit:.4f}",
            "1",
            *(f"{value:.3f}" for value in known["accuracies"].values),
            f"{float(known['exact']):.3f}",
        ]
    ]
    for model, runs in models(results).items():
        loss = over_seeds(runs, "loss")
        digits = common.stacked(runs, "accuracies").mean(axis=0)
        cells = [told(loss), f"{loss.value / limit:.3f}", *(f"{value:.3f}" for value in digits), told(over_seeds(runs, "exact"))]
        rows.append([str(model), str(len(runs)), *cells])
    header = ("network", "seeds", "loss", "over the bound", *(_place(places - 1 - k) for k in range(places)), "whole sums")
    note = (
        "Losses in nats a digit, shares of right digits of the sum by their place, and of right sums: means and standard errors over seeds."
    )
    return Table(header, rows, note, "Sums that were learnt")


def _place(power: int) -> str:
    """The place of a digit, by its power of ten."""
    return f"{10**power}s"


def _adjacency(results: Results) -> Table:
    deepest = max(model.depth for model in models(results))
    rows = []
    for model, runs in models(results).items():
        both = [common.stacked(runs, f"adjacency_{time}").mean(axis=0) for time in ("start", "end")]
        cells = [f"{start:.2f} → {end:.2f}" for start, end in zip(*both, strict=True)]
        rows.append([str(model), *cells, *[""] * (deepest + 1 - len(cells))])
    header = ("network", "embedding", *(f"layer {number}" for number in range(1, deepest + 1)))
    note = (
        "How often the nearer of two positions on one side looks more alike, in each layer, before → after training; one half is chance. "
        "Nothing reads the last layer but at “=”."
    )
    return Table(header, rows, note, "Adjacency score")


def _levels(results: Results) -> Table:
    known = bound(results)
    rows = [["the sum itself", *(f"{100 * value:.1f}" for value in _clean(known["shares"].values)), _share(float(known["order"]))]]
    for model, runs in models(results).items():
        shares = 100 * _clean(common.stacked(runs, "shares")).mean(axis=0)
        order = mean_of(common.column(runs, "order"))
        rows.append([str(model), *(f"{value:.1f}" for value in shares), _share(order.value)])
    header = ("function", *(f"level {level}" for level in range(known.sizes["level"])), "needs order")
    note = (
        "Shares of the variance of the logits as a function of the digits, in %, by the number of digits that are singled out; level 0 "
        "ignores order. Means over seeds. The sum itself is written as ones and zeros."
    )
    return Table(header, rows, note, "Profile of what was learnt")


def _clean(shares: np.ndarray) -> np.ndarray:
    """Without the minus sign of rounded zeros."""
    return np.abs(shares.round(9))


def _share(value: float) -> str:
    return f"{100 * value:.1f} %"


def stack_name(model: Model) -> str:
    """What tells models apart of which only depth, norm and residual sums differ."""
    return f"{model.depth} layers, {'no norm' if model.norm == 'none' else f'{model.norm}-norm'}"
