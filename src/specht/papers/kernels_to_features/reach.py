"""Where sampling embedding and heads stops being right: head size, activation, attention, depth, outputs; and first order in 1/width."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.lab.jobs import Job
from specht.papers import common
from specht.papers.claims import Experiment, Results, Scale, Verdict, holds_if
from specht.papers.kernels_to_features import tasks
from specht.report.figures import Plot
from specht.report.html import Step, Table

_HERE = f"{tasks.PACKAGE}.reach"
LENGTH, N, WIDTH = 8, 24, 16
VARIANTS: dict[str, dict[str, Any]] = {
    "one head of size 16": {"heads": 1, "head_size": 16},
    "16 heads of size 1": {"heads": 16, "head_size": 1},
    "softmax": {"attention": "softmax"},
    "two outputs": {"outputs": 2},
    "causal, normalised": {"causal": True, "normalised": True},
    "relu": {"activation": "relu"},
    "gelu, residual": {"activation": "gelu", "residual": True},
    "depth 2": {"depth": 2, "normalised": True},
}
"""Chosen before any of them was run: what differs from a linear block with 8 heads of size 4."""
EXACT = ("one head of size 16", "16 heads of size 1", "softmax", "causal, normalised")
"""One output and linear layers: nothing is left out."""
FIRST_ORDER_WIDTHS = (32, 64, 128, 256)
FIRST_ORDER_LENGTH, FIRST_ORDER_N = 6, 12


def measure(variant: str, chains: int, burn_in: int, samples: int, seed: int) -> xarray.Dataset:
    """Test loss of a variant with embedding and heads sampled (layers, of two blocks), by networks, and at infinite width."""
    import specht
    from specht.learning.adaptive import Chains, Widths

    fields = dict(VARIANTS[variant])
    heads, head_size, outputs = (fields.pop(name, default) for name, default in (("heads", WIDTH // 2), ("head_size", 4), ("outputs", 1)))
    data = tasks.flips("copy", LENGTH, N, seed, **fields)
    if outputs == 2:  # the first flip and the second
        data = data._replace(y=2.0 * data.x[:, :2] - 1.0, new_y=2.0 * data.new[:, :2] - 1.0)
    level = "heads" if data.arch.depth == 1 else "layers"
    length = Chains(chains=chains, burn_in=burn_in, samples=samples, kept=min(100, samples), level=level)
    widths = Widths(WIDTH, WIDTH, heads, head_size)
    given: dict[str, Any] = {"ridge": tasks.RIDGE, "scale": data.scale}
    found = specht.adapt(data.arch, data.x, data.y, width=widths, chains=length, **given)
    loss, stderr = found.mean_square_error(data.new, data.new_y)
    networks, networks_stderr = tasks.sampled_networks(data, specht.nn.Size(WIDTH, heads, head_size), chains, burn_in, samples)
    kernel = specht.Kernel(data.arch, heads=4096) if data.arch.attention == "softmax" else data.arch
    mean = specht.GP(kernel, ridge=tasks.RIDGE * data.scale).condition(data.x, data.y).predict(data.new).mean
    infinite = np.square(np.asarray(mean).reshape(len(data.new), -1) - data.new_y.reshape(len(data.new), -1)).sum(axis=1).mean()
    numbers = {"loss": loss, "stderr": stderr, "networks": networks, "networks_stderr": networks_stderr, "infinite": float(infinite)}
    return common.record("reach", numbers, {"level": found.level})


def measure_first_order(width: int, networks: int, chains: int, burn_in: int, samples: int, seed: int) -> xarray.Dataset:
    """Distance of the corrected mean from that of networks, beside that of infinite width: copying with an erf layer."""
    from specht.learning.adaptive import first_order
    from specht.nn import Network, Size, Trajectories, hamiltonian

    data = tasks.flips("copy", FIRST_ORDER_LENGTH, FIRST_ORDER_N, seed, activation="erf")
    size, unit = Size(width, width // 2, 4), math.sqrt(data.scale)
    found = first_order(data.arch, data.x, data.y, data.new, size=size, ridge=tasks.RIDGE, networks=networks)
    posterior = hamiltonian(
        lambda key: Network.init(data.arch, size, key=key), data.x, unit * data.y, data.new, noise=tasks.RIDGE * data.scale,
        trajectories=Trajectories(chains=chains, burn_in=burn_in, samples=samples, kept=min(100, samples)),
    )  # fmt: skip
    mean, noise = posterior.mean / unit, np.square(posterior.stderr / unit)
    distances = [
        math.sqrt(max(0.0, float(np.mean(np.square(each - mean) - noise - own))))
        for each, own in ((found.infinite, 0.0), (found.mean, np.square(found.stderr)))
    ]
    return common.record("first order", {"infinite": distances[0], "corrected": distances[1], "spread": found.spread})


def jobs(scale: Scale) -> list[Job]:
    variants, length = common.at_scale(
        scale,
        smoke=(("softmax", "two outputs"), {"chains": 3, "burn_in": 4, "samples": 4}),
        quick=((*EXACT[:2], "relu", "two outputs"), {"chains": 8, "burn_in": 100, "samples": 150}),
        full=(tuple(VARIANTS), {"chains": 8, "burn_in": 100, "samples": 150}),
    )
    return [Job.of(f"{_HERE}:measure", variant=variant, seed=0, **length) for variant in variants]


def first_order_jobs(scale: Scale) -> list[Job]:
    widths, length = common.at_scale(
        scale,
        smoke=((8, 16), {"networks": 4, "chains": 3, "burn_in": 4, "samples": 4}),
        quick=((32, 128), {"networks": 800, "chains": 6, "burn_in": 50, "samples": 80}),
        full=(FIRST_ORDER_WIDTHS, {"networks": 800, "chains": 6, "burn_in": 50, "samples": 80}),
    )
    return [Job.of(f"{_HERE}:measure_first_order", width=width, seed=0, **length) for width in widths]


def _difference(data: xarray.Dataset) -> tuple[float, float]:
    loss, stderr, networks, of_networks = (float(data[name]) for name in ("loss", "stderr", "networks", "networks_stderr"))
    return loss / networks - 1.0, loss / networks * math.hypot(stderr / loss, of_networks / networks)


def judge_exact(results: Results) -> Verdict:
    """Where nothing is left out, losses agree within 10 % and three standard errors."""
    found = {
        result.arguments["variant"]: _difference(result.data)
        for result in common.chosen(results, "reach")
        if result.arguments["variant"] in EXACT
    }
    name, (off, stderr) = max(found.items(), key=lambda each: abs(each[1][0]) - 3.0 * each[1][1])
    words = f"{', '.join(found)}; L = {LENGTH}, N = {N}, width {WIDTH}; the worst is {name}."
    return holds_if(abs(off) <= 0.1 + 3.0 * stderr, off, stderr, words)


def judge_approximate(results: Results) -> Verdict:
    """Where hidden layers are taken as infinitely wide, it is still closer to networks than infinite width is."""
    found = [result for result in common.chosen(results, "reach") if result.arguments["variant"] not in EXACT]
    differences = {result.arguments["variant"]: _difference(result.data) for result in found}
    gains = {  # how much closer than infinite width, in standard errors
        result.arguments["variant"]: (
            abs(float(result.data["infinite"] / result.data["networks"]) - 1.0) - abs(differences[result.arguments["variant"]][0])
        ) / differences[result.arguments["variant"]][1]
        for result in found
    }  # fmt: skip
    least = min(gains, key=lambda variant: gains[variant])
    off, stderr = differences[least]
    words = f"{', '.join(gains)}; the difference from networks is shown for {least}, which gains least."
    if -3.0 <= gains[least] <= 3.0:
        return Verdict("not tested", off, stderr, f"Undecided within three standard errors: {words}")
    return holds_if(gains[least] > 3.0, off, stderr, words)


def judge_first_order(results: Results) -> Verdict:
    """At the largest width the correction takes away half of the distance."""
    found = common.chosen(results, "first order")
    last = max(found, key=lambda result: result.arguments["width"])
    if not float(last.data["infinite"]) > 0.0:
        return common.unresolved("networks and infinite width are not told apart.")
    share = float(last.data["corrected"]) / float(last.data["infinite"])
    lines = [
        f"{result.arguments['width']}: {float(result.data['corrected']):.2g} of {float(result.data['infinite']):.2g}" for result in found
    ]
    words = f"erf, L = {FIRST_ORDER_LENGTH}, N = {FIRST_ORDER_N}. Distance that is left, by width: {', '.join(lines)}."
    return holds_if(share <= 0.5, share, regime=words)


def tables(results: Results) -> list[Table]:
    rows = []
    for result in common.chosen(results, "reach"):
        data, (off, stderr) = result.data, _difference(result.data)
        rows.append([
            result.arguments["variant"], data["level"].item(), f"{float(data['infinite']):.3g}",
            common.with_error(float(data["loss"]), float(data["stderr"])),
            common.with_error(float(data["networks"]), float(data["networks_stderr"])), f"{off:+.0%} ± {stderr:.0%}",
        ])  # fmt: skip
    header = ("variant", "level", "infinite width", "sampled", "networks", "difference")
    return [Table(header, rows, f"Test loss, L = {LENGTH}, N = {N}, width {WIDTH}.", "Where it stops")]


def first_order_plots(results: Results) -> list[Plot]:
    found, figure = common.chosen(results, "first order"), go.Figure()
    widths = common.arguments(found, "width")
    for number, (name, words) in enumerate((("infinite", "infinite width"), ("corrected", "first order in 1/width"))):
        common.add_points(figure, widths, common.column(found, name), words, number, joined=True)
    common.finished(figure, x="width", y="distance from the mean of networks", ticks=widths)
    return [Plot(figure, "First order in 1/width", "Root mean square over new inputs; the noise of both is taken out.")]


REACH = Experiment(
    name="features.reach",
    title="Where it stops",
    shown="Other heads, attention, activations, depths and outputs, each beside whole networks.",
    claims=(
        tasks.claim(
            "reach-exact",
            "Whatever heads, scores and masks one linear block has, sampling embedding and heads gives the loss of networks.",
            "test loss within 10 % and three standard errors for one head, heads of size one, softmax, and a causal mask",
            judge_exact,
        ),
        tasks.claim(
            "reach-approximate",
            "With several outputs, nonlinear layers or depth it is an approximation that is better than infinite width.",
            "closer to networks than infinite width by three standard errors for two outputs, relu, gelu with residual sum, and depth 2",
            judge_approximate,
        ),
    ),
    jobs=jobs,
    tables=tables,
    method=(Step("Each variant differs in what its name says from a linear block with 8 heads of size 4 that copies the first flip."),),
)

FIRST_ORDER = Experiment(
    name="features.first-order",
    title="First order in 1/width",
    shown="Regression with the infinite kernel, corrected by how the kernels of random networks scatter around it.",
    claims=(
        tasks.claim(
            "first-order",
            "For wide networks the first order in 1/width takes away most of what infinite width gets wrong.",
            "distance from the mean of networks at most half that of infinite width, at the largest width",
            judge_first_order,
        ),
    ),
    jobs=first_order_jobs,
    plots=first_order_plots,
    method=(
        Step(
            "Terms of the evidence-weighted mixture of kernels up to second order in their scatter.",
            ("f = kα + ⟨Dα⟩ − ⟨D A dK α⟩ + ⟨(g − ⟨g⟩) D α⟩",),
        ),
    ),
)
