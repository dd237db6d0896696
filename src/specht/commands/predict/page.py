"""The page of `specht predict`: its tables, its figures, and the curves as a CSV file."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import TYPE_CHECKING

from specht.commands.predict.figures import breaking_plot, phase_plot, strength_plot
from specht.commands.predict.sentences import answer, asked_error, bounded, method, samples
from specht.report.adaptive_figures import growth_plot
from specht.report.architecture import KERNEL_NAMES
from specht.report.curve_figures import (
    LOSS_NAMES,
    WIDTH_COLOURS,
    curve_plot,
    finite_widths,
    is_cut,
    level_plot,
    losses,
    need_plot,
    networks_beside,
)
from specht.report.figures import Plot
from specht.report.page import Page, Table, listed
from specht.report.spectrum_figures import spectrum_plot

if TYPE_CHECKING:
    import xarray

NEED_HEADER = ("level", "irrep", "degeneracy", "eigenvalue / E[k]", "samples N*", "at least")
FINITE_HEADER = ("width", "samples for the error", "symmetry breaks from N", "how")
BREAKING_HEADER = ("ε", "gap", "theory off by")


def predict_page(result: SimpleNamespace) -> Page:
    """What the numbers say."""
    source = f"{result.source.name} source"
    return Page(
        title="What a transformer will learn",
        subtitle=f"{result.architecture} · {KERNEL_NAMES[result.kind]}, {source}, target {result.target.name}",
        question="How much of the target is learnt from N samples, before any training?",
        answer=" ".join(answer(result)),
        plots=_plots(result),
        tables=_tables(result),
        method=method(result),
    )


def _tables(result: SimpleNamespace) -> list[Table]:
    return [
        curve_table(result),
        *([finite_table(result)] if result.finite else []),
        need_table(result),
        *([net_table(result.net)] if result.net else []),
        *([breaking_table(result)] if result.breaking else []),
    ]


def _plots(result: SimpleNamespace) -> list[Plot]:
    points = " Points are exact Bayesian inference on sampled data, with standard errors." if result.gp else ""
    if result.finite:
        cut = " Losses below a millionth of the largest are not drawn." if is_cut(result) else ""
        points = f" Thick lines are the test loss of networks of finite width, all others are of infinite width.{cut}{points}"
    points += f" Diamonds are networks of width {result.net.size.width}." if result.net else ""
    plots = [
        curve_plot(
            result,
            title="Learning curve",
            caption="Mean squared error against the number of samples. Lines are theory; the dotted one is its simplest form, the "
            f"equivalent kernel.{points}",
        ),
        *_finite_plots(result.finite, result.phases),
        level_plot(
            result.theory,
            title="What is learnt when",
            caption="The share of the target's part at each level that the mean prediction holds, at infinite width. A level m part "
            "singles out m positions.",
        ),
        need_plot(
            result.complexity,
            title="Samples that each irrep needs",
            caption="Dots: samples that teach half of the easiest function of each pattern, at infinite width. Dashes: the least that "
            "symmetry allows.",
        ),
        spectrum_plot(
            [result.spectrum],
            title="The spectrum by irrep",
            caption="Eigenvalues of the kernel, largest first, each as wide as its degeneracy. Both axes logarithmic.",
        ),
    ]
    if result.breaking:
        plots.append(
            breaking_plot(
                result.breaking,
                title="When theory stops being safe",
                caption="How far the predicted test loss is from exact inference, as order begins to matter in the data. The gap is the "
                "total variation between the law of the data and its average over permutations.",
            )
        )
    return plots


def _finite_plots(finite: SimpleNamespace | None, phases: SimpleNamespace | None) -> list[Plot]:
    """How the embedding moves, and phases where they were asked for."""
    plots = []
    if finite and finite.reads:
        plots.append(strength_plot(finite, WIDTH_COLOURS, title="How much the positions that the target reads stand out"))
    elif finite:
        plots.append(growth_plot(finite, title="How variances grow"))
    if phases:
        plots.append(phase_plot(phases, "width", title="Phases: samples and width"))
        if phases.by_length:
            plots.append(phase_plot(phases, "length", title="Phases: samples and length"))
    return plots


def curve_table(result: SimpleNamespace) -> Table:
    """One row for each number of samples: finite widths first, with networks beside the width they have, then infinite width, with exact
    inference beside it where it was computed."""
    columns: list[tuple[str, list[str]]] = [("N", [str(n) for n in result.n_train])]
    for row, width in enumerate(finite_widths(result)):
        columns.append((f"test, width {width}", [_number(value) for value in result.finite.test[row]]))
        if width == networks_beside(result):
            columns.append(("networks", _points(result.net, "test")))
    for loss in losses(result):
        infinite = "infinite: " if loss == "test" and result.finite else ""
        columns.append((f"{infinite}{LOSS_NAMES[loss]}", [_number(value) for value in getattr(result.theory, loss)]))
        if result.gp:
            columns.append(("exact", _points(result.gp, loss)))
    columns.append(("learnt", ["" if share is None else f"{100 * share:.0f} %" for share in result.theory.learned]))
    rows = list(itertools.zip_longest(*(cells for _, cells in columns), fillvalue=""))
    if result.gp:
        errors = listed(f"{100 * error:.1f} % ({name})" for name, error in vars(result.gp.mean_relative_error).items())
        note = f"Mean relative difference between theory and exact inference: {errors}."
    else:
        note = "Add --check gp to put exact Bayesian inference beside the theory."
    return Table([name for name, _ in columns], rows, note, "The learning curve")


def finite_table(result: SimpleNamespace) -> Table:
    """One row for each width: samples that the asked error takes, and from where on positions are treated differently."""
    finite, rows = result.finite, []
    note = f"Samples for an error of {asked_error(result)}."
    if finite.reads:
        note += " The symmetry counts as broken where a position that the target reads has twice the variance of the others."
    never = f"not up to {finite.n_train[-1]}" if finite.reads else "never"
    for width, needed, change in zip(finite.width, finite.samples, finite.transition, strict=True):
        broken, how = (never, "") if change.samples is None else (bounded(change.samples, finite.n_train), change.kind)
        rows.append([str(width), bounded(needed, finite.n_train), broken, how])
    return Table(FINITE_HEADER, [*rows, ["infinite", samples(result.error.samples), "never", ""]], note, "Finite widths")


def need_table(result: SimpleNamespace) -> Table:
    """One row for each irrep: what half of its leading function costs."""
    rows = [
        [
            str(need.level),
            need.irrep,
            str(need.degeneracy),
            f"{'≥ ' if need.lower_bound else ''}{need.eigenvalue:.3g}",
            f"{'≤ ' if need.lower_bound else ''}{samples(need.samples)}",
            samples(need.bound),
        ]
        for need in result.complexity
    ]
    sampled = any(need.lower_bound for need in result.complexity)
    note = "Sampled eigenvalues are lower bounds, so that the samples are upper ones." if sampled else ""
    return Table(NEED_HEADER, rows, note, "What each irrep costs")


def net_table(net: SimpleNamespace) -> Table:
    """One row for each number of samples that networks were trained on: their test loss beside exact inference."""
    rows = []
    for index, n in enumerate(net.n_train):
        excess, error = net.excess[index], net.excess_stderr[index]
        apart = "" if excess is None else f"{100 * excess:+.0f} ± {100 * error:.0f} %"
        row = [str(n), _measured(net.test[index], net.test_stderr[index]), _number(net.exact_test[index]), apart]
        rows.append([*row, f"{net.r_hat[index]:.3f}", f"{net.effective_samples[index]:.0f}"] if net.r_hat else row)
    header = ("N", "networks", "exact, same data", "difference", *(["R-hat", "effective samples"] if net.r_hat else []))
    how = {
        "langevin": "The mean of networks sampled from their posterior by Langevin dynamics",
        "gradient descent": "Networks trained to the end by gradient descent with weight decay to their initial values",
    }[net.method]
    size = f"width {net.size.width}, {net.size.heads} heads of size {net.size.head_size}"
    note = f"{how}: {size}, {net.datasets} data sets. They tend to exact inference as the width grows, and differ by about one over it."
    return Table(header, rows, note, "Finite networks, test loss")


def breaking_table(result: SimpleNamespace) -> Table:
    """One row for each degree to which order was broken."""
    rows = [[f"{row.epsilon:g}", f"{row.gap.value:.2g}", f"{100 * row.error:+.1f} ± {100 * row.stderr:.1f} %"] for row in result.breaking]
    note = "ε adds to whatever order the source has; theory is off by the mean of predicted over exact test loss, minus one."
    return Table(BREAKING_HEADER, rows, note, "When order begins to matter")


def _number(value: float | None) -> str:
    return "∞" if value is None else f"{value:.3g}"


def _points(measured: SimpleNamespace, loss: str) -> list[str]:
    """What was measured at those numbers of samples that were tried."""
    return [_measured(*point) for point in zip(getattr(measured, loss), getattr(measured, f"{loss}_stderr"), strict=True)]


def _measured(value: float | None, stderr: float | None) -> str:
    return "" if value is None or stderr is None else f"{value:.3g} ± {stderr:.1g}"


def curves_csv(data: xarray.DataTree) -> str:
    """All curves as columns, with a row for each number of samples."""
    import numpy as np
    import pandas

    from specht.learning.losses import LOSSES

    groups = {str(name): group.to_dataset() for name, group in data.children.items()}
    theory = groups["theory"]
    columns = {"n_train": theory["n_train"].values} | {f"theory_{name}": theory[name].values for name in LOSSES}
    columns["equivalent_test"] = theory["equivalent_test"].values
    for width in groups["finite"]["width"].values if "finite" in groups else ():
        curve = groups["finite"].sel(width=width)
        columns |= {f"width_{width:g}_{name}": curve[name].values for name in ("test", "train", "learned", "strength")}
    for name in ("gp", "net"):
        if name in groups:
            columns |= {f"{name}_{loss}{end}": groups[name][f"{loss}{end}"].values for loss in LOSSES for end in ("", "_stderr")}
    series = {name: pandas.Series(np.atleast_1d(values)) for name, values in columns.items()}
    return pandas.DataFrame(series).to_csv(index=False, lineterminator="\n")
