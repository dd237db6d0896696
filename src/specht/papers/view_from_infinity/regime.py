"""When the kernel describes trained networks and when they learn features; and activations, level by level."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.lab.jobs import Job
from specht.papers import common
from specht.papers.claims import Claim, Experiment, Results, Scale, Verdict, holds_if
from specht.papers.view_from_infinity import sources
from specht.report.figures import Plot
from specht.report.html import Step, Table

_HERE = f"{sources.PACKAGE}.regime"
LENGTH = 6
LARGE, SMALL = 8.0, 0.125
"""How large random networks are beside the target, in the two cases."""
EASY, HARD = (16, 0.5), (32, 0.2)
"""Samples, and ridge in units of E[k]: little of the target is learnt, and more."""
ACTIVATIONS = ("linear", "erf", "relu", "gelu")
N_LEARNT, LEVEL_RIDGE = 16, 0.3
"""Samples from which levels are learnt, and the ridge in units of E[k]."""


def measure_regime(output_scale: float, width: int, n: int, ridge: float, networks: int, seed: int) -> xarray.Dataset:
    """Networks trained to the end on a target that singles out one position, against regression with their infinite tangent kernel."""
    import specht
    from specht.learning.networks import Networks
    from specht.learning.regime import kernel_regime

    arch = specht.Architecture(vocab=2, length=LENGTH, activation="erf", s_w=0.5)
    chosen = Networks(size=specht.nn.Size(width, width // 2, 4), output_scale=output_scale, seeds=networks)
    source = specht.sources.uniform(2)
    task = specht.Task(source, specht.targets.level(1, length=LENGTH, source=source))
    found = kernel_regime(arch, task, n_train=n, ridge=ridge, seed=seed, networks=chosen)
    plain = (
        "loss",
        "loss_stderr",
        "kernel_loss",
        "kernel_change",
        "kernel_change_stderr",
        "excess",
        "excess_stderr",
        "moved",
        "moved_stderr",
    )
    fields = {name: getattr(found, name) for name in plain}
    shares = {"shares": ("level", found.shares), "kernel_shares": ("level", found.kernel_shares)}
    return common.record("regime", fields | shares, {"level": list(found.levels), "verdict": found.verdict})


def measure_level(activation: str, level: int, width: int, datasets: int, chains: int, duration: float, seed: int) -> xarray.Dataset:
    """A target at one level: share learnt and loss, by theory, by exact inference and by networks sampled from their posterior."""
    import specht
    from specht.learning import networks
    from specht.learning.networks import Networks

    fields: Any = {"activation": activation}
    arch = specht.Architecture(vocab=2, length=4, s_w=0.5, **fields)
    source = specht.sources.uniform(2)
    task = specht.Task(source, specht.targets.level(level, length=4, source=source))
    spec = specht.spectrum(arch, source)
    theory = specht.learning_curve(spec, task, [N_LEARNT], ridge=LEVEL_RIDGE)
    sampling = specht.nn.Sampling(chains=chains, samples=30, burn_in=8.0, duration=duration)
    chosen = Networks(size=specht.nn.Size(width, width // 2, 4), sampling=sampling, output_scale=3.0)
    given: Any = {"ridge": LEVEL_RIDGE, "datasets": datasets, "n_test": 200, "scale": spec.trace, "seed": seed}
    found = networks.learning_curve(arch, task, n_train=[N_LEARNT], networks=chosen, diagnose=False, **given)
    tops = [row.eigenvalue for row in spec.rows if row.irrep.level == level and not row.below_rounding]
    return common.record(
        "level",
        {
            "eigenvalue": max(tops, default=0.0) / spec.trace,
            "theory_learned": theory.learned[0],
            "theory_loss": theory.test[0],
            "gp_learned": found.exact.learned[0],
            "gp_loss": found.exact.test[0],
            "net_learned": found.curve.learned[0],
            "net_learned_stderr": found.curve.learned_stderr[0],
            "net_loss": found.curve.test[0],
            "net_loss_stderr": found.curve.test_stderr[0],
        },
    )


def jobs(scale: Scale) -> list[Job]:
    width, networks, cases = common.at_scale(
        scale,
        smoke=(8, 2, [(*EASY, [LARGE]), (*HARD, [SMALL])]),
        quick=(128, 6, [(*EASY, [SMALL, 1.0, LARGE]), (*HARD, [SMALL])]),
        full=(256, 8, [(*EASY, [SMALL, 0.5, 2.0, LARGE]), (*HARD, [SMALL])]),
    )
    name = f"{_HERE}:measure_regime"
    return [
        Job.of(name, output_scale=output_scale, width=width, n=n, ridge=ridge, networks=networks, seed=0)
        for n, ridge, scales in cases
        for output_scale in scales
    ]


def level_jobs(scale: Scale) -> list[Job]:
    width, datasets, chains, duration = common.at_scale(scale, smoke=(8, 2, 3, 1.0), quick=(32, 4, 3, 10.0), full=(64, 6, 3, 12.0))
    activations = ACTIVATIONS if scale != "smoke" else ("erf",)  # every one takes seconds to compile
    name = f"{_HERE}:measure_level"
    return [
        Job.of(name, activation=activation, level=level, width=width, datasets=datasets, chains=chains, duration=duration, seed=0)
        for activation in activations
        for level in sources.LEVELS
    ]


def _judge_regime(output_scale: float, samples: int, wanted: str) -> Any:
    def judge(results: Results) -> Verdict:
        (found,) = common.chosen(results, "regime", output_scale=output_scale, n=samples)
        data, given = found.data, found.arguments
        words = (
            f"Linear attention + erf, V = 2, L = {LENGTH}, a target at level 1, {given['n']} samples, ridge {given['ridge']:g} E[k], width "
            f"{given['width']}, {given['networks']} networks whose random outputs are {output_scale:g} times the target. Test loss "
            f"{float(data['excess']):+.1%} ± {float(data['excess_stderr']):.1%} from the kernel's, {float(data['moved']):.1%} of the "
            "variance at other levels; the change of the tangent kernel is shown."
        )
        change, error = float(data["kernel_change"]), float(data["kernel_change_stderr"])
        differs = abs(float(data["excess"])) > 3.0 * float(data["excess_stderr"])
        return holds_if(data["verdict"].item() == wanted and (wanted == "kernel" or differs), change, error, words)

    return judge


def _level(results: Results, activation: str, level: int) -> Any:
    return common.chosen(results, "level", activation=activation, level=level)[0].data


def _activations(results: Results) -> list[str]:
    return list(dict.fromkeys(common.arguments(common.chosen(results, "level"), "activation")))


def _nonlinear(results: Results) -> list[str]:
    return [activation for activation in _activations(results) if activation != "linear"]


def judge_order(results: Results) -> Verdict:
    """Losses of networks increase with the level, for every nonlinear activation, by more than two standard errors."""
    steps = []
    for activation in _nonlinear(results):
        data = [_level(results, activation, m) for m in sources.LEVELS]
        losses, errors = ([float(each[name]) for each in data] for name in ("net_loss", "net_loss_stderr"))
        steps += (np.diff(losses) / np.hypot(errors[1:], errors[:-1])).tolist()
    given = results[0].arguments
    words = (
        f"Linear attention + {', '.join(_nonlinear(results))}, V = 2, L = 4, {N_LEARNT} samples, ridge {LEVEL_RIDGE:g} E[k], width "
        f"{given['width']}, "
        f"{given['datasets']} data sets; the smallest step between two levels is shown, in its standard errors."
    )
    return holds_if(min(steps) > 2.0, min(steps), regime=words)


def judge_learnability(results: Results) -> Verdict:
    """How far the share that networks learn is from that of exact inference."""
    off = max(
        (abs(float(data["net_learned"]) - float(data["gp_learned"])), float(data["net_learned_stderr"]))
        for data in (result.data for result in common.chosen(results, "level"))
    )
    words = f"{', '.join(_activations(results))} at three levels, width {results[0].arguments['width']}; the largest difference is shown."
    return holds_if(off[0] <= 0.1, off[0], off[1], words)


def plots(results: Results) -> list[Plot]:
    found = common.chosen(results, "regime", n=EASY[0])
    scales = common.arguments(found, "output_scale")
    figure = go.Figure()
    change, error = common.column(found, "kernel_change"), common.column(found, "kernel_change_stderr")
    common.add_points(figure, scales, change, "change of the tangent kernel", 0, errors=error, joined=True)
    ratios, errors = 1.0 + common.column(found, "excess"), common.column(found, "excess_stderr")
    common.add_points(figure, scales, ratios, "test loss over the kernel's", 1, errors=errors, joined=True)
    common.finished(figure, x="random networks over the target", y="ratio", ticks=scales)
    caption = "Networks that are large beside the target stay near their kernel; small ones have to change it to reach the target."
    return [Plot(figure, "From features to the kernel", caption, wide=True)]


def level_plots(results: Results) -> list[Plot]:
    figure = go.Figure()
    for number, activation in enumerate(_activations(results)):
        data = [_level(results, activation, m) for m in sources.LEVELS]
        common.add_line(figure, sources.LEVELS, [float(d["theory_learned"]) for d in data], activation, number)
        values, errors = [float(d["net_learned"]) for d in data], [float(d["net_learned_stderr"]) for d in data]
        common.add_points(figure, sources.LEVELS, values, activation, number, errors=errors, legend=False)
    common.finished(figure, x="level m", y="share learnt", linear_y=True)
    figure.update_xaxes(type="linear", tickvals=list(sources.LEVELS), ticktext=[str(m) for m in sources.LEVELS])
    caption = (
        f"Lines: theory. Points: networks sampled from their posterior, from {N_LEARNT} samples. The linear model cannot learn level 2."
    )
    return [Plot(figure, "What activations learn", caption, wide=True)]


def tables(results: Results) -> list[Table]:
    rows = []
    for found in common.chosen(results, "regime"):
        data = found.data
        cells = [
            f"{100 * float(data['excess']):+.1f} ± {100 * float(data['excess_stderr']):.1f} %",
            f"{100 * float(data['moved']):.1f} ± {100 * float(data['moved_stderr']):.1f} %",
            f"{100 * float(data['kernel_change']):.0f} ± {100 * float(data['kernel_change_stderr']):.0f} %",
        ]
        given = found.arguments
        rows.append([f"{given['output_scale']:g}", f"{given['n']}", f"{given['ridge']:g}", *cells, data["verdict"].item()])
    header = (
        "random networks over the target",
        "N",
        "ridge / E[k]",
        "test loss from the kernel's",
        "variance at other levels",
        "tangent kernel changed",
        "verdict",
    )
    return [Table(header, rows, "Trained to the end; means over networks with standard errors.", "Trained networks")]


def level_tables(results: Results) -> list[Table]:
    rows = []
    for activation in _activations(results):
        for m in sources.LEVELS:
            data = _level(results, activation, m)
            rows.append(
                [
                    activation,
                    str(m),
                    f"{float(data['eigenvalue']):.3g}",
                    *(f"{float(data[name]):.2f}" for name in ("theory_learned", "gp_learned")),
                    common.with_error(float(data["net_learned"]), float(data["net_learned_stderr"]), 2),
                    common.with_error(float(data["net_loss"]), float(data["net_loss_stderr"])),
                    f"{float(data['gp_loss']):.3g}",
                ]
            )
    header = ("activation", "level", "top eigenvalue / E[k]", "theory", "exact", "networks", "loss of networks", "exact")
    return [Table(header, rows, f"Share learnt of a target at one level, from {N_LEARNT} samples.", "Learnability by activation")]


REGIME = Experiment(
    name="infinity.e8",
    title="Kernel or features",
    shown="Summary: an open question, corrections for finite networks and learning rates.",
    claims=(
        Claim(
            "infinity.e8-kernel",
            "Trained networks whose random outputs are large beside the target do what their tangent kernel predicts.",
            f"{sources.SUMMARY}, open question",
            "test loss and profile within 10 % of the kernel's, or two errors of at most 10 %, tangent kernel changed by at most 25 %",
            _judge_regime(LARGE, EASY[0], "kernel"),
        ),
        Claim(
            "infinity.e8-features",
            "Networks whose random outputs are small beside the target learn features, and the kernel does not describe them.",
            sources.OURS,
            "tangent kernel changed by more than 25 %, and test loss more than three standard errors from the kernel's",
            _judge_regime(SMALL, HARD[0], "features"),
        ),
    ),
    jobs=jobs,
    plots=plots,
    tables=tables,
    method=(
        Step(
            "Networks are trained to the end, their initial function subtracted, and compared with regression by the infinite NTK:",
            ("½ Σ_n |f(x_n) − f_0(x_n) − y_n|² + ½ δ |θ − θ_0|²", "change = ‖Θ_end − Θ_0‖ / ‖Θ_0‖"),
        ),
    ),
)

NONLINEAR = Experiment(
    name="infinity.q3-nonlinear",
    title="Networks with nonlinear activations",
    shown="Abstract page: experiments support the theory in quality for nonlinear activations.",
    claims=(
        Claim(
            "infinity.q3-nonlinear",
            "Wide networks with nonlinear activations follow the Gaussian process in quality.",
            sources.ABSTRACT,
            "loss ordered by level as predicted, for erf, ReLU and GELU, each step above two standard errors",
            judge_order,
        ),
        Claim(
            "infinity.q3-learnability",
            "The share that networks learn of a target at each level is that of the Gaussian process.",
            sources.ABSTRACT,
            "share within 0.1 of that of exact inference on the same data for linear, erf, ReLU and GELU at levels 0, 1 and 2",
            judge_learnability,
        ),
    ),
    jobs=level_jobs,
    plots=level_plots,
    tables=level_tables,
    method=(Step("For a target at level m, theory gives its learnability from the spectrum; networks are sampled by Langevin dynamics."),),
)
