"""When the kernel describes trained networks and when they learn features; and activations, level by level."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

import specht
from specht import learning
from specht.papers import Finding, above, at_most, below, both, common, grid, is_true, measure
from specht.papers.view_from_infinity.sources import LEVELS
from specht.report import Plot, Table, add_line, add_points, table

LENGTH = 6
LARGE, SMALL = 8.0, 0.125
"""How large random networks are beside the target, in the two cases."""
EASY, HARD = (16, 0.5), (32, 0.2)
"""Samples, and ridge in units of E[k]: little of the target is learnt, and more."""
ACTIVATIONS = ("linear", "erf", "relu", "gelu")
N_LEARNT, LEVEL_RIDGE = 16, 0.3
"""Samples from which levels are learnt, and the ridge in units of E[k]."""
_EASY, _HARD = (grid(n=n, ridge=ridge, seed=0) for n, ridge in (EASY, HARD))


@measure(
    smoke=(_EASY * grid(output_scale=LARGE) + _HARD * grid(output_scale=SMALL)) * grid(width=8, networks=2),
    quick=(_EASY * grid(output_scale=[SMALL, 1.0, LARGE]) + _HARD * grid(output_scale=SMALL)) * grid(width=128, networks=6),
    full=(_EASY * grid(output_scale=[SMALL, 0.5, 2.0, LARGE]) + _HARD * grid(output_scale=SMALL)) * grid(width=256, networks=8),
)
def measure_regime(output_scale: float, width: int, n: int, ridge: float, networks: int, seed: int) -> xarray.Dataset:
    """Networks trained to the end on a target that singles out one position, against regression with their infinite tangent kernel."""
    arch = specht.Architecture(vocab=2, length=LENGTH, activation="erf", s_w=0.5)
    chosen = learning.Networks(size=specht.nn.Size(width, width // 2, 4), output_scale=output_scale, seeds=networks)
    source = specht.sources.uniform(2)
    task = specht.Task(source, specht.targets.level(1, length=LENGTH, source=source))
    trained = learning.kernel_regime(arch, task, n_train=n, ridge=ridge, seed=seed, networks=chosen)
    sampled = ("loss", "kernel_change", "excess", "moved")
    fields = {name: getattr(trained, name) for name in ("kernel_loss", *sampled, *(f"{name}_stderr" for name in sampled))}
    shares = {"shares": ("level", trained.shares), "kernel_shares": ("level", trained.kernel_shares)}
    return xarray.Dataset(fields | shares, {"level": list(trained.levels), "verdict": trained.verdict})


@measure(
    # every activation takes seconds to compile
    smoke=grid(activation=["erf"], level=LEVELS, width=8, datasets=2, chains=3, duration=1.0, seed=0),
    quick=grid(activation=ACTIVATIONS, level=LEVELS, width=32, datasets=4, chains=3, duration=10.0, seed=0),
    full=grid(activation=ACTIVATIONS, level=LEVELS, width=64, datasets=6, chains=3, duration=12.0, seed=0),
)
def measure_level(activation: str, level: int, width: int, datasets: int, chains: int, duration: float, seed: int) -> xarray.Dataset:
    """A target at one level: share learnt and loss, by theory, by exact inference and by networks sampled from their posterior."""
    arch = specht.Architecture(vocab=2, length=4, activation=activation, s_w=0.5)
    source = specht.sources.uniform(2)
    task = specht.Task(source, specht.targets.level(level, length=4, source=source))
    spec = specht.spectrum(arch, source)
    theory = specht.learning_curve(spec, task, [N_LEARNT], ridge=LEVEL_RIDGE)
    sampling = specht.nn.Sampling(chains=chains, samples=30, burn_in=8.0, duration=duration)
    chosen = learning.Networks(size=specht.nn.Size(width, width // 2, 4), sampling=sampling, output_scale=3.0)
    setting: Any = {"ridge": LEVEL_RIDGE, "datasets": datasets, "n_test": 200, "scale": spec.trace, "seed": seed}
    sampled = learning.networks.learning_curve(arch, task, n_train=[N_LEARNT], networks=chosen, diagnose=False, **setting)
    tops = [row.eigenvalue for row in spec.rows if row.irrep.level == level and not row.below_rounding]
    return xarray.Dataset(
        {
            "eigenvalue": max(tops, default=0.0) / spec.trace,
            "theory_learned": theory.learned[0],
            "theory_loss": theory.test[0],
            "gp_learned": sampled.exact.learned[0],
            "gp_loss": sampled.exact.test[0],
            "net_learned": sampled.curve.learned[0],
            "net_learned_stderr": sampled.curve.learned_stderr[0],
            "net_loss": sampled.curve.test[0],
            "net_loss_stderr": sampled.curve.test_stderr[0],
        },
    )


@measure_regime.claim(
    "e8-features",
    both(is_true("tangent kernel changed by more than 25 %"), below(0, "difference of the test loss from the kernel's")),
    null=(0.0, 0.0),
    output_scale=SMALL,
    n=HARD[0],
    wanted="features",
)
def verdict(data: xarray.Dataset, output_scale: float, n: int, wanted: str) -> tuple[Finding, Finding]:
    """Whether the networks are in a regime, and by how much their test loss is above the kernel's, as a share of it."""
    networks = data.sel(output_scale=output_scale, n=n)
    words = (
        f"Linear attention + erf, V = 2, L = {LENGTH}, a target at level 1, {n} samples, ridge {networks.ridge.item():g} E[k], width "
        f"{data.width}, {data.networks} networks whose random outputs are {output_scale:g} times the target. Test loss "
        f"{float(networks['excess']):+.1%} ± {float(networks['excess_stderr']):.1%} from the kernel's, {float(networks['moved']):.1%} of "
        "the variance at other levels; the change of the tangent kernel is shown."
    )
    change = float(networks["kernel_change"]), float(networks["kernel_change_stderr"])
    distance = Finding(float(networks["excess"]), float(networks["excess_stderr"]))
    return Finding(networks.verdict.item() == wanted, regime=words, shown=change), distance


@measure_regime.claim(
    "e8-kernel",
    is_true("test loss and profile within 10 % of the kernel's, or two errors of at most 10 %, tangent kernel changed by at most 25 %"),
    null=0.0,
)
def kernel_regime_of_large_networks(data: xarray.Dataset) -> Finding:
    return verdict(data, LARGE, EASY[0], "kernel")[0]


@measure_level.claim(
    "q3-nonlinear", above(2, "rise of the loss from a level to the next in standard errors", where="for erf, ReLU and GELU"), null=0.0
)
def smallest_rise(data: xarray.Dataset) -> Finding:
    """Losses of networks increase with the level, for every nonlinear activation."""
    nonlinear = data.sel(activation=data.activation != "linear")
    losses, errors = (nonlinear[name].transpose("activation", "level").values for name in ("net_loss", "net_loss_stderr"))
    smallest = float((np.diff(losses) / np.hypot(errors[:, 1:], errors[:, :-1])).min())
    words = (
        f"Linear attention + {', '.join(nonlinear.activation.values)}, V = 2, L = 4, {N_LEARNT} samples, ridge {LEVEL_RIDGE:g} E[k], width "
        f"{data.width}, {data.datasets} data sets; the smallest step between two levels is shown, in its standard errors."
    )
    return Finding(smallest, regime=words)


@measure_level.claim(
    "q3-learnability",
    at_most(
        0.1,
        "difference of the share learnt from that of exact inference on the same data",
        where="for linear, erf, ReLU and GELU at levels 0, 1 and 2",
    ),
    null=0.5,
)
def largest_difference(data: xarray.Dataset) -> Finding:
    """How far the share that networks learn is from that of exact inference."""
    differences = abs(data["net_learned"] - data["gp_learned"]).values
    off, error = max(zip(differences.ravel(), data["net_learned_stderr"].values.ravel(), strict=True))
    words = f"{', '.join(data.activation.values)} at three levels, width {data.width}; the largest difference is shown."
    return Finding(off, error, words)


@measure_regime.figure()
def from_features_to_the_kernel(data: xarray.Dataset) -> Plot:
    easy = data.sel(n=EASY[0]).dropna("output_scale", how="all")
    figure, scales = go.Figure(), easy.output_scale.values
    changes, losses = easy["kernel_change"].values, 1.0 + easy["excess"].values
    add_points(figure, scales, changes, "change of the tangent kernel", 0, errors=easy["kernel_change_stderr"].values, joined=True)
    add_points(figure, scales, losses, "test loss over the kernel's", 1, errors=easy["excess_stderr"].values, joined=True)
    caption = "Networks that are large beside the target stay near their kernel; small ones have to change it to reach the target."
    return common.plotted(figure, "From features to the kernel", caption, x="random networks over the target", y="ratio", ticks=scales)


@measure_level.figure()
def shares_by_level(data: xarray.Dataset) -> Plot:
    figure = go.Figure()
    for number, activation in enumerate(data.activation.values):
        at = data.sel(activation=activation)
        add_line(figure, LEVELS, at["theory_learned"].values, activation, number)
        add_points(figure, LEVELS, at["net_learned"].values, activation, number, errors=at["net_learned_stderr"].values, legend=False)
    caption = (
        f"Lines: theory. Points: networks sampled from their posterior, from {N_LEARNT} samples. The linear model cannot learn level 2."
    )
    return common.plotted(figure, "What activations learn", caption, x="level m", y="share learnt", ticks=LEVELS, linear="xy")


@measure_regime.table()
def trained_networks(data: xarray.Dataset) -> Table:
    columns = {
        "random networks over the target": "output_scale:g",
        "N": "n",
        "ridge / E[k]": "ridge:g",
        "test loss from the kernel's": lambda at: f"{100 * float(at['excess']):+.1f} ± {100 * float(at['excess_stderr']):.1f} %",
        "variance at other levels": lambda at: f"{100 * float(at['moved']):.1f} ± {100 * float(at['moved_stderr']):.1f} %",
        "tangent kernel changed": lambda at: f"{100 * float(at['kernel_change']):.0f} ± {100 * float(at['kernel_change_stderr']):.0f} %",
        "verdict": "verdict",
    }
    note = "Trained to the end; means over networks with standard errors."
    return table(data, columns, rows=["n", "output_scale"], note=note, title="Trained networks")


@measure_level.table()
def learnability(data: xarray.Dataset) -> Table:
    columns = {
        "activation": "activation",
        "level": "level",
        "top eigenvalue / E[k]": "eigenvalue:.3g",
        "theory": "theory_learned:.2f",
        "exact": "gp_learned:.2f",
        "networks": lambda at: common.with_error(float(at["net_learned"]), float(at["net_learned_stderr"]), 2),
        "loss of networks": lambda at: common.with_error(float(at["net_loss"]), float(at["net_loss_stderr"])),
        "loss of exact inference": "gp_loss:.3g",
    }
    note = f"Share learnt of a target at one level, from {N_LEARNT} samples."
    return table(data, columns, rows=["activation", "level"], note=note, title="Learnability by activation")
