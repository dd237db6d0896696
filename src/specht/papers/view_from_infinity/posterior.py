"""Networks sampled from their posterior by Langevin dynamics against the Gaussian process: how they come to it with width and step."""

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

_HERE = f"{sources.PACKAGE}.posterior"
LENGTH, SAMPLES, RIDGE = 4, 8, 1.0
"""Contexts of four of two tokens, so that all 32 sequences can be listed; eight of them are samples, and the ridge is E[k]."""
SETTING = f"V = 2, L = {LENGTH}, {SAMPLES} samples, ridge E[k], LeCun variances, labels of variance one, heads of size 4"
LIMIT = 0.1
"""Relative difference of the loss at the largest width: section 7 of the notes."""
ACTIVATIONS = ("linear", "erf", "relu", "gelu")
HEAD_SIZE = 4
WIDTH = 16
"""Of the networks whose step is changed."""
STEPS = (0.5, 0.2, 0.1, 0.05)
"""Step times largest curvature: section 8 of the notes."""


def measure_posterior(
    activation: str, width: int, heads: int, dataset: int, chains: int, duration: float, step: float, seed: int
) -> xarray.Dataset:
    """The posterior mean of networks on one dataset, at every sequence, against that of the Gaussian process.

    `loss` and `gp_loss` are mean squared errors against the target, `distance` is the mean square of the difference of the two means, all
    free of the noise of a finite number of chains, and `gp_norm` the mean square of the Gaussian process's. `spread` is the mean
    variance of sampled functions.
    """
    import warnings

    import specht
    from specht.nn.sampling import StepSizeWarning

    x, y = _sequences()
    rows = np.random.default_rng(dataset + seed).choice(len(x), SAMPLES, replace=False)
    fields: Any = {"activation": activation}
    arch = specht.Architecture(vocab=2, length=LENGTH, **fields)
    gram = specht.Kernel(arch).nngp(x)
    noise = RIDGE * float(gram.diagonal().mean())
    mean = gram[:, rows] @ np.linalg.solve(gram[np.ix_(rows, rows)] + noise * np.eye(SAMPLES), y[rows])
    size = specht.nn.Size(width, heads, HEAD_SIZE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StepSizeWarning)  # large steps are what is measured
        found = specht.nn.langevin(
            lambda key: specht.nn.Network.init(arch, size, key=key),
            x[rows],
            y[rows],
            x,
            noise=noise,
            sampling=specht.nn.Sampling(chains=chains, samples=40, burn_in=8.0, duration=duration, curvature_step=step),
            seed=(1000 * dataset + width + seed) % 2**31,
        )
    (loss, loss_stderr), (distance, distance_stderr) = found.mean_square_error(y), found.mean_square_error(mean)
    return common.record(
        "posterior",
        {
            "loss": loss,
            "loss_stderr": loss_stderr,
            "gp_loss": float(np.square(mean - y).mean()),
            "distance": distance,
            "distance_stderr": distance_stderr,
            "gp_norm": float(np.square(mean).mean()),
            "spread": float(found.variance.mean()),
        },
    )


def _sequences() -> tuple[np.ndarray, np.ndarray]:
    """Every sequence, and the target: half of its variance ignores order and half is at level one, of mean zero and variance one."""
    from specht.sequences.tokens import every_sequence

    x = every_sequence(2, LENGTH + 1)
    signs = 2.0 * x[:, :LENGTH] - 1.0
    symmetric = signs.mean(axis=1)
    first = signs[:, 0] - symmetric
    target = symmetric / symmetric.std() + first / first.std()
    return x, (target / target.std())[:, None]


def jobs(scale: Scale) -> list[Job]:
    widths, datasets, chains, duration = common.at_scale(
        scale, smoke=([4, 8], 1, 3, 1.0), quick=([16, 32, 64, 128], 2, 6, 20.0), full=([16, 32, 64, 128, 256], 2, 6, 20.0)
    )
    activations = ACTIVATIONS if scale != "smoke" else ACTIVATIONS[:1]  # every one takes seconds to compile
    shared = {"chains": chains, "duration": duration, "step": 0.05, "seed": 0}
    return [
        Job.of(f"{_HERE}:measure_posterior", activation=activation, width=width, heads=width // 2, dataset=dataset, **shared)
        for activation in activations
        for width in (widths if activation in ("linear", "erf") else widths[:3])
        for dataset in range(datasets)
    ]


def heads_jobs(scale: Scale) -> list[Job]:
    width, heads, datasets, chains, duration = common.at_scale(
        scale, smoke=(8, [2, 4], 1, 3, 1.0), quick=(64, [1, 2, 4, 8, 16], 2, 6, 20.0), full=(64, [1, 2, 4, 8, 16], 2, 6, 20.0)
    )
    shared = {"chains": chains, "duration": duration, "step": 0.05, "seed": 0}
    return [
        Job.of(f"{_HERE}:measure_posterior", activation="linear", width=width, heads=number, dataset=dataset, **shared)
        for number in heads
        for dataset in range(datasets)
    ]


def step_jobs(scale: Scale) -> list[Job]:
    activation, width, datasets, chains, duration = common.at_scale(
        scale, smoke=("linear", 8, 1, 3, 1.0), quick=("erf", WIDTH, 2, 8, 60.0), full=("erf", WIDTH, 4, 16, 100.0)
    )
    shared = {"activation": activation, "width": width, "heads": width // 2, "chains": chains, "duration": duration, "seed": 0}
    return [Job.of(f"{_HERE}:measure_posterior", step=step, dataset=dataset, **shared) for step in STEPS for dataset in range(datasets)]


def excess(results: Results) -> tuple[float, float]:
    """Loss over that of the Gaussian process, minus one, over all datasets together, and its standard error."""
    total = common.column(results, "gp_loss").sum()
    return float(common.column(results, "loss").sum() / total - 1.0), float(np.linalg.norm(common.column(results, "loss_stderr")) / total)


def deviation(results: Results) -> tuple[float, float]:
    """Root mean square difference of the mean output over its size, and its standard error; zero where noise is all."""
    norm = common.column(results, "gp_norm").sum()
    square, error = common.column(results, "distance").sum() / norm, np.linalg.norm(common.column(results, "distance_stderr")) / norm
    value = np.sqrt(max(0.0, square))
    return float(value), float(error / (2.0 * value)) if value > 0 else float(np.sqrt(error))


def _by(results: Results, name: str, **arguments: Any) -> dict[Any, Results]:
    """Results by the value of one argument, over datasets."""
    found = common.chosen(results, "posterior", **arguments)
    return {value: [r for r in found if r.arguments[name] == value] for value in dict.fromkeys(common.arguments(found, name))}


def _regime(results: Results, activation: str) -> str:
    given = [r for r in results if r.arguments["activation"] == activation]
    datasets = len(set(common.arguments(given, "dataset")))
    sizes = f"widths {common.listed(common.arguments(given, 'width'))} with half as many heads"
    return f"Linear attention + {activation}, {SETTING}, {sizes}, {datasets} data sets."


def _activations(results: Results) -> list[str]:
    return list(dict.fromkeys(common.arguments(common.chosen(results, "posterior"), "activation")))


def judge_langevin(results: Results) -> Verdict:
    cases = _by(results, "width", activation="linear")
    widths = list(cases)
    (first, _), (last, error) = excess(cases[widths[0]]), excess(cases[widths[-1]])
    power = _power(cases, excess)
    slope = "" if power is None else f" It falls with an exponent of {power.exponent:.2f} ± {power.stderr:.2f}."
    if error > LIMIT / 2:
        return common.unresolved(_regime(results, "linear"))
    words = f"{_regime(results, 'linear')} At width {widths[-1]}, from {first:+.0%} at width {widths[0]}.{slope}"
    return holds_if(abs(last) <= LIMIT and abs(last) < abs(first), last, error, words)


def _power(cases: dict[Any, Results], measure: Any) -> common.Power | None:
    found = np.array([measure(each) for each in cases.values()])
    return common.power_law(list(cases), np.abs(found[:, 0]), found[:, 1])


def _judge_slope(measure: Any) -> Any:
    def judge(results: Results) -> Verdict:
        cases = {activation: _by(results, "width", activation=activation) for activation in _activations(results)}
        powers = {activation: _power(each, measure) for activation, each in cases.items()}
        shown = "erf" if "erf" in powers else "linear"
        power = powers[shown]
        if power is None or power.stderr > 0.2:
            return common.unresolved(_regime(results, shown))
        told = [
            f"{name} not told from noise"
            if found is None
            else f"{name} {found.exponent:.2f} ± {found.stderr:.2f}, and {_local(cases[name], measure):.2f} between the two largest"
            for name, found in powers.items()
        ]
        words = f"{_regime(results, shown)} Slopes: {'; '.join(told)}."
        return holds_if(abs(power.exponent + 1.0) <= 0.3, power.exponent, power.stderr, words)

    return judge


def _local(cases: dict[Any, Results], measure: Any) -> float:
    """The slope between the two largest widths."""
    (before, after), widths = [abs(measure(cases[width])[0]) for width in list(cases)[-2:]], list(cases)[-2:]
    return float(np.log(after / before) / np.log(widths[1] / widths[0])) if min(before, after) > 0 else float("nan")


def judge_step(results: Results) -> Verdict:
    """Losses at steps of at most 0.1 over that at the smallest."""
    cases = _by(results, "step")
    limit, limit_error = excess(cases[STEPS[-1]])
    small = [(step, *excess(cases[step])) for step in STEPS[:-1] if step <= 0.1]
    off, error = max(((abs(value - limit) / (1 + limit), float(np.hypot(error, limit_error))) for _, value, error in small))
    largest = abs(excess(cases[STEPS[0]])[0] - limit) / (1 + limit)
    if error > 0.025:
        return common.unresolved(f"the loss at the smallest steps is known to {error:.1%} only.")
    given = results[0].arguments
    words = (
        f"Linear attention + {given['activation']}, {SETTING}, width {given['width']}. At a step of {STEPS[0]:g} over the curvature "
        f"the loss is {largest:.1%} off."
    )
    return holds_if(off <= 0.05, off, error, words)


def judge_heads(results: Results) -> Verdict:
    cases = _by(results, "heads")
    few, *_, many = cases
    (first, first_error), (last, error) = excess(cases[few]), excess(cases[many])
    power = _power(cases, excess)
    slope = "" if power is None else f" It falls with an exponent of {power.exponent:.2f} ± {power.stderr:.2f}; what remains is the width."
    words = (
        f"Linear attention + linear, {SETTING}, {common.listed(list(cases))} heads at width {results[0].arguments['width']}: excess of "
        f"the loss {last:+.0%} ± {error:.0%} at {many}, shown is how much larger it is at {few}.{slope}"
    )
    return holds_if(first - last > 3.0 * np.hypot(first_error, error), first - last, float(np.hypot(first_error, error)), words)


def heads_plots(results: Results) -> list[Plot]:
    figure, cases = go.Figure(), _by(results, "heads")
    for number, (measure, name) in enumerate(((excess, "test loss"), (deviation, "mean output"))):
        found = np.array([measure(each) for each in cases.values()])
        common.add_points(figure, list(cases), found[:, 0], name, number, errors=found[:, 1], joined=True)
    common.finished(figure, x="heads", y="relative difference from the Gaussian process", ticks=list(cases))
    caption = f"At a width of {results[0].arguments['width']}. Few heads average less, and the posterior is further from its limit."
    return [Plot(figure, "Heads of sampled networks", caption, wide=True)]


def plots(results: Results) -> list[Plot]:
    figure = go.Figure()
    for number, activation in enumerate(_activations(results)):
        cases = _by(results, "width", activation=activation)
        for measure, name, dash in ((deviation, "mean output", "solid"), (excess, "loss", "dot")):
            found = np.array([measure(each) for each in cases.values()])
            if dash == "solid":
                common.add_points(figure, list(cases), found[:, 0], f"{name}, {activation}", number, errors=found[:, 1], joined=True)
            else:
                common.add_line(figure, list(cases), np.abs(found[:, 0]), f"{name}, {activation}", number, dash="dot")
    widths = sorted(set(common.arguments(results, "width")))
    common.add_guide(figure, widths, [5.0 / width for width in widths], "1/width")
    common.finished(figure, x="width", y="relative difference from the Gaussian process", ticks=widths)
    caption = "Solid: root mean square difference of the posterior means over all sequences. Dotted: difference of their test losses."
    return [Plot(figure, "Sampled networks come to the Gaussian process", caption, wide=True)]


def tables(results: Results) -> list[Table]:
    rows = []
    for activation in _activations(results):
        for width, found in _by(results, "width", activation=activation).items():
            (loss, loss_error), (apart, error) = excess(found), deviation(found)
            cells = [f"{100 * loss:+.1f} ± {100 * loss_error:.1f} %", f"{100 * apart:.1f} ± {100 * error:.1f} %"]
            rows.append([f"{activation}, width {width}", *cells])
    header = ("networks", "test loss", "mean output")
    return [Table(header, rows, "Differences from the Gaussian process on the same data, with standard errors over chains.", "By width")]


def step_plots(results: Results) -> list[Plot]:
    figure = go.Figure()
    cases = _by(results, "step")
    found = np.array([excess(each) for each in cases.values()])
    losses, spread = 1.0 + found[:, 0], np.array([common.column(each, "spread").mean() for each in cases.values()])
    common.add_points(figure, list(cases), losses, "test loss over that of the Gaussian process", 0, errors=found[:, 1], joined=True)
    common.add_points(figure, list(cases), spread / spread[-1], "variance of functions over that at the smallest step", 1, joined=True)
    common.finished(figure, x="step × largest curvature", y="ratio", ticks=list(cases), linear_y=True)
    return [Plot(figure, "Finite steps", "Uncorrected Langevin dynamics samples too broad a law where steps are large.", wide=True)]


def step_tables(results: Results) -> list[Table]:
    rows = []
    for step, found in _by(results, "step").items():
        value, error = excess(found)
        rows.append([f"{step:g}", f"{100 * value:+.1f} ± {100 * error:.1f} %", f"{common.column(found, 'spread').mean():.4g}"])
    header = ("step × curvature", "test loss from the Gaussian process", "variance of sampled functions")
    return [Table(header, rows, "What remains at small steps is the finite width.", "By step")]


_METHOD = (
    Step(
        "Networks are sampled by Langevin dynamics with the loss summed over samples, weight decay T and temperature T, the ridge:",
        ("θ ← θ − η ( T θ + ∇ ½ Σ_n (f(x_n) − y_n)² ) + √(2 η T) ξ",),
    ),
    Step("A momentum makes them forget sooner without changing their law. The mean over readout weights is taken exactly."),
)

WIDE_NETWORKS = Experiment(
    name="infinity.q3",
    title="Wide finite networks follow the Gaussian process",
    shown="Abstract page: experiments with finite networks support the theory. Widths are not known to us.",
    claims=(
        Claim(
            "infinity.q3-langevin",
            "Networks sampled by Langevin dynamics have the loss of the Gaussian process when they are wide.",
            sources.ABSTRACT,
            "loss within 10 % of the Gaussian process at the largest width, and nearer than at the smallest",
            judge_langevin,
        ),
        Claim(
            "infinity.e4-width",
            "The excess of the loss over that of the Gaussian process falls as one over the width.",
            sources.SUGGESTED,
            "log-log slope of the excess loss against the width −1 ± 0.3 at fixed N, erf",
            _judge_slope(excess),
        ),
        Claim(
            "infinity.e8-mean-output",
            "The leading deviation of the mean output is of order one over the width.",
            f"{sources.SUMMARY}, open question",
            "log-log slope of the deviation of the mean output against the width −1 ± 0.3, erf",
            _judge_slope(deviation),
        ),
    ),
    jobs=jobs,
    plots=plots,
    tables=tables,
    method=_METHOD,
)

HEADS = Experiment(
    name="infinity.e4-heads",
    title="Number of heads",
    shown="Summary: the limit is one of infinitely many heads; how the loss depends on their number is an experiment of ours.",
    claims=(
        Claim(
            "infinity.e4-heads",
            "Networks with more heads are nearer to the Gaussian process.",
            sources.OURS,
            "excess of the loss at the fewest heads above that at the most by more than three standard errors, at one width",
            judge_heads,
        ),
    ),
    jobs=heads_jobs,
    plots=heads_plots,
    method=_METHOD,
)

STEP_SIZE = Experiment(
    name="infinity.e4",
    title="Finite step size",
    shown="Summary: an experiment that it suggests, how the loss depends on the learning rate.",
    claims=(
        Claim(
            "infinity.e4-step",
            "The bias of a finite step size vanishes with it.",
            sources.SUGGESTED,
            "loss within 5 % of that at the smallest step where step times largest curvature is at most 0.1",
            judge_step,
        ),
    ),
    jobs=step_jobs,
    plots=step_plots,
    tables=step_tables,
    method=_METHOD,
)
