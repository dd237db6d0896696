"""The figures of each type of result, by the functions that draw the reports: what `.plot()` shows.

They take a result by what it says of itself (`summary()`), so that this room need not know theory.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from specht.errors import InputError
from specht.report import (
    adaptive_figures,
    curve_figures,
    forecast_figures,
    posterior_figures,
    probe_figures,
    profile_figures,
    symmetry_figures,
)
from specht.report.figures import Plot
from specht.report.spectrum_figures import spectrum_plot
from specht.trees import named

_STDERR = "Points with standard errors over datasets."


def eigenvalues(spectrum: Any) -> Plot:
    """All eigenvalues of a spectrum."""
    caption = "All eigenvalues, largest first, each as wide as its degeneracy, coloured by irrep."
    return spectrum_plot([named(spectrum.summary())], title="The spectrum by irrep", caption=caption)


def theory_losses(curve: Any) -> Plot:
    """Losses by theory."""
    caption = "Mean squared error against samples, by theory; dotted, the simpler equivalent kernel."
    return _losses(caption, theory=named(curve.summary()))


def measured_losses(curve: Any) -> Plot:
    """Losses of exact inference."""
    return _losses(f"Mean squared error against samples, by exact inference. {_STDERR}", gp=named(curve.summary()))


def network_losses(curve: Any) -> Plot:
    """Losses of networks beside exact inference on the same data."""
    caption = f"Mean squared error against samples: networks (diamonds), and exact inference on the same data (dots). {_STDERR}"
    return _losses(caption, gp=named(curve.exact.summary()), net=named(curve.summary()))


def _losses(caption: str, **parts: SimpleNamespace) -> Plot:
    nothing = dict.fromkeys(("theory", "gp", "net", "finite"))
    result = SimpleNamespace(**nothing | parts, n_train=next(iter(parts.values())).n_train)
    return curve_figures.curve_plot(result, title="Learning curve", caption=caption)


def levels(curve: Any) -> Plot:
    """How much of each level is learnt."""
    theory = named(curve.summary())
    if not vars(theory.learned_by_level):
        raise InputError("This curve comes from eigenvalues without irreps, so it has no levels: plot its losses.")
    caption = "Share of the target's part at each level that is learnt. A part at level m singles out m positions."
    return curve_figures.level_plot(theory, title="What is learnt when", caption=caption)


def needs(complexity: Any) -> Plot:
    """Samples that each irrep needs."""
    caption = "Dots: samples needed to learn half of the leading function of each irrep. Dashes: the least that its dimension allows."
    return curve_figures.need_plot(named(complexity.summary()), title="Samples that each irrep needs", caption=caption)


def shares(profile: Any) -> Plot:
    """The share of each level."""
    caption = "Share of E[f²] at each level, with intervals. Level 0 ignores order, level m singles out m positions."
    return profile_figures.share_plot(named(profile.summary()), title="Shares by level", caption=caption)


def correlation(profile: Any) -> Plot:
    """The correlation that a profile comes from."""
    caption = "Correlation of the function with itself after shuffling j positions: measured, and by the fitted weights."
    return profile_figures.correlation_plot(named(profile.summary()), title="Correlation after shuffling", caption=caption)


def residuals(probe: Any) -> Plot:
    """How much permuting the context changes each layer."""
    caption = "Largest change at the readout over its spread. Zero is drawn at the lower edge."
    return probe_figures.residual_plot(named(probe.summary()), title="How much permuting the context changes each layer", caption=caption)


def positions(probe: Any) -> Plot:
    """Which input positions each output of the last layer tells apart."""
    output = named(probe.summary()).layers[-1]
    caption = (
        "Down: where the output is. Across: where the token is. Exchanging two tokens of one bright colour changes nothing; a cross marks "
        "tokens that are not read."
    )
    title = f"What {output.name} makes of each position"
    return probe_figures.class_plot(output.positions or [output.readout], title=title, caption=caption)


def profiles(probe: Any) -> Plot:
    """The profile of each layer."""
    caption = "The variance at the readout by level, under uniform tokens. Level 0 ignores order, level m singles out m positions."
    return _by_layer(probe, "profile", probe_figures.profile_plot, "How much of each layer needs order", caption)


def adjacency(probe: Any) -> Plot:
    """The adjacency score of each layer."""
    caption = "How often the nearer of two positions has the more similar state, with standard errors over sequences."
    return _by_layer(probe, "adjacency", probe_figures.adjacency_plot, "Whether nearby positions look alike", caption)


def _by_layer(probe: Any, what: str, draw: Callable[..., Plot], title: str, caption: str) -> Plot:
    result = named(probe.summary())
    if all(getattr(layer, what) is None for layer in result.layers):
        raise InputError(f"No layer of this probe has {what} numbers, so there is nothing to draw: plot another figure of it.")
    return draw(result, title=title, caption=caption)


def score_parts(corpus: Any) -> Plot:
    """What the correlations of a corpus depend on."""
    return symmetry_figures.split_plot(_one_corpus(corpus))


def lags(corpus: Any) -> Plot:
    """Correlations of a corpus by lag."""
    return symmetry_figures.lag_plot(_one_corpus(corpus))


def lengths(corpus: Any) -> Plot:
    """Scores of a corpus by window length."""
    return symmetry_figures.length_plot(_one_corpus(corpus))


def cuts(corpus: Any) -> Plot:
    """Scores of a corpus without short lags."""
    return symmetry_figures.cut_plot(_one_corpus(corpus))


def _one_corpus(corpus: Any) -> list[SimpleNamespace]:
    return [named(corpus.summary() | {"name": "corpus", "label": "corpus"})]


def labels(posterior: Any) -> Plot:
    """The posterior mean at the samples against their labels."""
    result = named(posterior.summary())
    shown = len(result.sample)
    caption = "Posterior mean at the samples against their labels. Bars: two posterior standard deviations of the output on either side."
    caption += f" Of {result.samples} samples, {shown} evenly spaced ones are shown." if shown < result.samples else ""
    return posterior_figures.label_plot(result, title="Labels and posterior mean", caption=caption)


def parameters(fitted: Any) -> Plot:
    """Fitted variances and ridge."""
    caption = "Most likely values. Bars: one standard error, cut at the bounds of the search. Open squares stopped at a bound."
    return posterior_figures.parameter_plot(named(fitted.summary()), title="Fitted variances and ridge", caption=caption)


def outputs(posterior: Any) -> Plot:
    """What sampled networks say at every input."""
    caption = "Mean over networks sampled from the posterior, input by input. Bars: two posterior standard deviations on either side."
    return posterior_figures.output_plot(named(posterior.summary()), title="Sampled posterior", caption=caption)


def forecast(outlook: Any) -> Plot:
    """The learning curve of a table, measured and to come."""
    result = named(outlook.summary())
    caption = (
        f"Architecture {result.best}, the one with the smallest error now. Points: held-out errors. Line and band: the forecast and its "
        f"{100 * result.confidence:g} % interval. Dashed and dotted: a power law through the points, with its own."
    )
    return forecast_figures.curve_plot(result, title="The learning curve, measured and to come", caption=caption)


def architectures(outlook: Any) -> Plot:
    """The forecasts of all architectures."""
    caption = "Points: held-out errors on the same subsets for all architectures. Lines: their forecasts."
    return forecast_figures.architectures_plot(named(outlook.summary()), title="Architectures side by side", caption=caption)


def accuracy(outlook: Any) -> Plot:
    """The accuracy of all architectures."""
    result = named(outlook.summary())
    if result.majority is None:
        raise InputError("The labels of this table are numbers, so there is no accuracy: plot another figure of the forecast.")
    caption = "Share of held-out rows whose class is named rightly; dashed, always naming the most frequent class."
    return forecast_figures.accuracy_plot(result, title="Accuracy", caption=caption)


def order_parameters(result: Any) -> Plot:
    """Which positions and tokens a network of finite width singles out."""
    return adaptive_figures.order_plot(named(result.summary()), title="What the embedding singles out")


def adaptive_losses(curve: Any) -> Plot:
    """Losses at finite widths beside infinite width."""
    return adaptive_figures.loss_plot(named(curve.summary()), title="Learning curve at finite width")


def order_against_samples(curve: Any) -> Plot:
    """Which variances grow with the number of samples."""
    return adaptive_figures.growth_plot(named(curve.summary()), title="What the embedding singles out, against samples")


def needs_by_width(complexity: Any) -> Plot:
    """Samples that a target needs, width by width."""
    result = SimpleNamespace(needs=named(complexity.summary()), error=complexity.error, share=complexity.share)
    return adaptive_figures.need_plot(result, title="Samples that each width needs")
