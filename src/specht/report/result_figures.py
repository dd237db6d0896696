"""The figures of each type of result, by the functions that draw the reports: what `.plot()` shows.

They take a result by what it says of itself (`summary()`), so that this room need not know theory.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import plotly.graph_objects as go

from specht.errors import InputError
from specht.report import forecast_figures, function_figures, symmetry_figures, theory_figures
from specht.report.figures import SERIES_COLOURS, Plot, add_guide, add_series, error_bars, style_axes
from specht.trees import named

_STDERR = "Points with standard errors over datasets."
_DEVIATIONS = 2.0
"""Standard deviations that a bar of a posterior is long, on either side."""


def _by_summary(draw: Callable[..., Plot], **words: str) -> Callable[[Any], Plot]:
    """A figure of a result, from the function that draws its summary, with a title and a caption."""
    return lambda result: draw(named(result.summary()), **words)


def _losses(caption: str, **parts: SimpleNamespace) -> Plot:
    nothing = dict.fromkeys(("theory", "gp", "net", "finite"))
    result = SimpleNamespace(**nothing | parts, n_train=next(iter(parts.values())).n_train)
    return theory_figures.curve_plot(result, title="Learning curve", caption=caption)


theory_losses = _by_summary(
    lambda curve: _losses("Mean squared error against samples, by theory; dotted, the simpler equivalent kernel.", theory=curve)
)
measured_losses = _by_summary(lambda curve: _losses(f"Mean squared error against samples, by exact inference. {_STDERR}", gp=curve))


def network_losses(curve: Any) -> Plot:
    """Losses of networks beside exact inference on the same data."""
    caption = f"Mean squared error against samples: networks (diamonds), and exact inference on the same data (dots). {_STDERR}"
    return _losses(caption, gp=named(curve.exact.summary()), net=named(curve.summary()))


def levels(curve: Any) -> Plot:
    """How much of each level is learnt."""
    theory = named(curve.summary())
    if not vars(theory.learned_by_level):
        raise InputError("This curve comes from eigenvalues without irreps, so it has no levels: plot its losses.")
    caption = "Share of the target's part at each level that is learnt. A part at level m singles out m positions."
    return theory_figures.level_plot(theory, title="What is learnt when", caption=caption)


eigenvalues = _by_summary(
    lambda entry, **words: theory_figures.spectrum_plot([entry], **words),
    title="The spectrum by irrep",
    caption="All eigenvalues, largest first, each as wide as its degeneracy, coloured by irrep.",
)
needs = _by_summary(
    theory_figures.need_plot,
    title="Samples that each irrep needs",
    caption="Dots: samples needed to learn half of the leading function of each irrep. Dashes: the least that its dimension allows.",
)
shares = _by_summary(
    function_figures.share_plot,
    title="Shares by level",
    caption="Share of E[f²] at each level, with intervals. Level 0 ignores order, level m singles out m positions.",
)
correlation = _by_summary(
    function_figures.correlation_plot,
    title="Correlation after shuffling",
    caption="Correlation of the function with itself after shuffling j positions: measured, and by the fitted weights.",
)
residuals = _by_summary(function_figures.residual_plot)
order_parameters = _by_summary(theory_figures.order_plot, title="What the embedding singles out")
adaptive_losses = _by_summary(theory_figures.loss_plot, title="Learning curve at finite width")
order_against_samples = _by_summary(theory_figures.growth_plot, title="What the embedding singles out, against samples")


def positions(probe: Any) -> Plot:
    """Which input positions each output of the last layer tells apart."""
    output = named(probe.summary()).layers[-1]
    caption = (
        "Down: where the output is. Across: where the token is. Exchanging two tokens of one bright colour changes nothing; a cross marks "
        "tokens that are not read."
    )
    title = f"What {output.name} makes of each position"
    return function_figures.class_plot(output.positions or [output.readout], title=title, caption=caption)


def profiles(probe: Any) -> Plot:
    """The profile of each layer."""
    return _by_layer(probe, "profile", function_figures.profile_plot)


def adjacency(probe: Any) -> Plot:
    """The adjacency score of each layer."""
    caption = "How often the nearer of two positions has the more similar state, with standard errors over sequences."
    return _by_layer(probe, "adjacency", function_figures.adjacency_plot, caption=caption)


def _by_layer(probe: Any, what: str, draw: Callable[..., Plot], **words: str) -> Plot:
    result = named(probe.summary())
    if all(getattr(layer, what) is None for layer in result.layers):
        raise InputError(f"No layer of this probe has {what} numbers, so there is nothing to draw: plot another figure of it.")
    return draw(result, **words)


def _of_corpus(draw: Callable[[list[SimpleNamespace]], Plot]) -> Callable[[Any], Plot]:
    """A figure of one corpus, from the function that draws several."""
    return lambda corpus: draw([named(corpus.summary() | {"name": "corpus", "label": "corpus"})])


score_parts, lags = _of_corpus(symmetry_figures.split_plot), _of_corpus(symmetry_figures.lag_plot)
lengths, cuts = _of_corpus(symmetry_figures.length_plot), _of_corpus(symmetry_figures.cut_plot)


def labels(posterior: Any) -> Plot:
    """The posterior mean at the samples against their labels."""
    result = named(posterior.summary())
    shown = len(result.sample)
    caption = "Posterior mean at the samples against their labels. Bars: two posterior standard deviations of the output on either side."
    caption += f" Of {result.samples} samples, {shown} evenly spaced ones are shown." if shown < result.samples else ""
    figure = go.Figure()
    label, mean, deviation = (np.array(getattr(result, name)) for name in ("label", "mean", "deviation"))
    ends = [float(label.min()), float(label.max())]
    add_guide(figure, ends, ends, "mean = label")
    for output, (name, colour) in enumerate(_outputs(mean)):
        _add_posterior(figure, label[:, output], mean[:, output], deviation, name=name, colour=colour, x="label")
    return _posterior_plot(figure, mean, x="label", title="Labels and posterior mean", caption=caption)


def outputs(posterior: Any) -> Plot:
    """What sampled networks say at every input."""
    result = named(posterior.summary())
    figure = go.Figure()
    mean, deviation = np.array(result.mean), np.array(result.deviation)
    for output, (name, colour) in enumerate(_outputs(mean)):
        _add_posterior(figure, np.arange(len(mean)), mean[:, output], deviation[:, output], name=name, colour=colour, x="input")
    caption = "Mean over networks sampled from the posterior, input by input. Bars: two posterior standard deviations on either side."
    return _posterior_plot(figure, mean, x="number of the input", title="Sampled posterior", caption=caption)


def _outputs(mean: np.ndarray) -> list[tuple[str, str]]:
    """Name and colour of every output that is drawn."""
    names = ["posterior mean"] if mean.shape[1] == 1 else [f"output {output}" for output in range(mean.shape[1])]
    return list(zip(names, SERIES_COLOURS, strict=False))


def _add_posterior(figure: go.Figure, at: np.ndarray, mean: np.ndarray, deviation: np.ndarray, *, name: str, colour: str, x: str) -> None:
    bars = error_bars(_DEVIATIONS * deviation, thickness=1.0, width=2, color=colour)
    hover = f"{name}<br>{x} %{{x:.4g}}: %{{y:.4g}}"
    add_series(figure, at, mean, name, colour, mode="markers", errors=bars, hover=hover, marker_size=6)


def _posterior_plot(figure: go.Figure, mean: np.ndarray, *, x: str, title: str, caption: str) -> Plot:
    outputs, drawn = mean.shape[1], len(SERIES_COLOURS)
    caption += f" Of {outputs} outputs, the first {drawn} are shown." if outputs > drawn else ""
    style_axes(figure, x=x, y="posterior mean", height=400, linear="xy", showlegend=len(figure.to_dict()["data"]) > 1)
    return Plot(figure, title, caption, wide=True)


def parameters(fitted: Any) -> Plot:
    """Fitted variances and ridge on a logarithmic axis, with one standard error."""
    parameters = named(fitted.summary()).parameters
    factors = [math.exp(min(parameter.log_stderr or 0.0, 100.0)) for parameter in parameters]
    pairs = list(zip(parameters, factors, strict=True))
    symbols = ["square-open" if parameter.at_bound else "circle" for parameter in parameters]
    up = [max(min(one.value * factor, one.high) - one.value, 0.0) for one, factor in pairs]
    down = [max(one.value - max(one.value / factor, one.low), 0.0) for one, factor in pairs]
    names, values = [parameter.name for parameter in parameters], [parameter.value for parameter in parameters]
    bars, hover = error_bars(up, down), "%{x}<br>%{y:.4g}"
    figure = go.Figure()
    add_series(figure, names, values, "fitted value", 0, mode="markers", errors=bars, hover=hover, marker_size=9, marker_symbol=symbols)
    style_axes(figure, x="parameter", y="value", height=400)
    figure.update_xaxes(type="category", dtick=None)
    caption = "Most likely values. Bars: one standard error, cut at the bounds of the search. Open squares stopped at a bound."
    return Plot(figure, "Fitted variances and ridge", caption, wide=True)


def forecast(outlook: Any, measure: str = "") -> Plot:
    """The learning curve of a table, measured and to come, by its best learner: accuracy for classes, error for numbers."""
    result = named(outlook.summary())
    measure = measure or forecast_figures.main_measure(result)
    caption = (
        f"Learner {result.best}, the best one now. Points: held-out rows. Line and band: the forecast and its "
        f"{100 * result.confidence:g} % interval. Dashed: a power law with an offset through the points."
    )
    return forecast_figures.forecast_plot(result, measure, title="The learning curve, measured and to come", caption=caption)


def forecast_error(outlook: Any) -> Plot:
    """The same with squared errors, for classes as well."""
    return forecast(outlook, "error")


def learners(outlook: Any) -> Plot:
    """The forecasts of all learners."""
    result = named(outlook.summary())
    caption = "Points: held-out rows, the same subsets for all learners. Lines and bands: their forecasts."
    return forecast_figures.learners_plot(result, forecast_figures.main_measure(result), title="Learners side by side", caption=caption)


def needs_by_width(complexity: Any) -> Plot:
    """Samples that a target needs, width by width."""
    result = SimpleNamespace(needs=named(complexity.summary()), error=complexity.error, share=complexity.share)
    return theory_figures.width_need_plot(result, title="Samples that each width needs")
