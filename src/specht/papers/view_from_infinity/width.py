"""The limit of infinite width: kernels of sampled networks against the kernel that theory uses."""

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

_HERE = f"{sources.PACKAGE}.width"
VOCAB, LENGTH, INPUTS = 3, 4, 5
"""Five sequences of four context tokens and a readout token, out of three tokens, with s_w = 0.6 and s_p = 0.5."""
HEAD_SIZE = 8
"""Of the networks whose heads are counted."""
LIMIT = 0.02
"""Relative error of the kernel at the largest width: section 7 of the notes."""


def _architecture(attention: str, activation: str) -> Any:
    import specht

    fields: Any = {"attention": attention, "activation": activation}
    return specht.Architecture(vocab=VOCAB, length=LENGTH, s_w=0.6, s_p=0.5, **fields)


def _inputs() -> np.ndarray:
    return np.random.default_rng(7).integers(0, VOCAB, size=(INPUTS, LENGTH + 1))


def measure_width(attention: str, activation: str, kind: str, width: int, networks: int, heads: int | None, seed: int) -> xarray.Dataset:
    """The kernel of finite networks of one width, averaged over networks, against the infinite one.

    Relative to the Frobenius norm of the infinite kernel: `error` is the distance of the mean, `noise` its standard error, `bias` the
    part along the infinite kernel with a standard error that takes all entries as fully correlated, and `fluctuation` the distance of a
    single network from the mean. Heads and their size are a quarter of the width.
    """
    import specht

    arch, x = _architecture(attention, activation), _inputs()
    kernel = specht.Kernel(arch, heads=heads, seed=seed)
    limit = getattr(kernel, kind)(x)
    known = np.zeros_like(limit) if limit.stderr is None else limit.stderr
    sample = {"nngp": specht.empirical_nngp, "ntk": specht.empirical_ntk}[kind]
    found = sample(arch, x, size=specht.Size(width, width // 4, width // 4), networks=networks, seed=seed)
    norm = float(np.linalg.norm(limit))
    return common.record(
        "width",
        {
            "error": np.linalg.norm(found.mean - limit) / norm,
            "noise": np.linalg.norm(np.hypot(found.stderr, known)) / norm,
            "bias": np.vdot(found.mean - limit, limit) / norm**2,
            "bias_stderr": np.vdot(np.abs(limit), np.hypot(found.stderr, known)) / norm**2,
            "fluctuation": np.linalg.norm(found.stderr) * np.sqrt(networks) / norm,
        },
    )


def measure_heads(heads: int, width: int, networks: int, seed: int) -> xarray.Dataset:
    """How far the covariance of a single network is from its mean over networks, at one number of heads, for softmax attention + erf."""
    import specht

    arch, x = _architecture("softmax", "erf"), _inputs()
    found = specht.empirical_nngp(arch, x, size=specht.Size(width, heads, HEAD_SIZE), networks=networks, seed=seed)
    return common.record("heads", {"fluctuation": np.linalg.norm(found.stderr) * np.sqrt(networks) / np.linalg.norm(found.mean)})


def measure_ratio(activation: str) -> xarray.Dataset:
    """The tangent kernel over the covariance, entry by entry, for linear attention."""
    import specht

    kernel = specht.Kernel(_architecture("linear", activation))
    return common.record("ratio", {"ratio": (("x", "y"), kernel.ntk(_inputs()) / kernel.nngp(_inputs()))})


def jobs(scale: Scale) -> list[Job]:
    """Networks of each width, by case: attention, activation, kind, sampled heads of the infinite kernel, and networks by width."""
    cases = common.at_scale(
        scale,
        smoke=[
            ("linear", "linear", "nngp", None, {8: 20, 16: 20}),
            ("softmax", "erf", "nngp", 256, {8: 20, 16: 20}),
            ("softmax", "erf", "ntk", 256, {8: 4}),
        ],
        quick=[
            ("linear", "linear", "nngp", None, {16: 4000, 32: 3500, 64: 2000}),
            ("softmax", "erf", "nngp", 32768, {16: 800, 32: 600, 64: 600, 128: 1600}),
            ("softmax", "erf", "ntk", 8192, {16: 300, 128: 600}),
        ],
        full=[
            ("linear", "linear", "nngp", None, {16: 8000, 32: 6000, 64: 3000, 128: 1000}),
            ("softmax", "erf", "nngp", 131072, {16: 4000, 32: 3000, 64: 2000, 128: 4000, 256: 500, 512: 40}),
            ("softmax", "erf", "ntk", 16384, {16: 1500, 32: 1200, 64: 1000, 128: 1200, 256: 100}),
        ],
    )
    return [
        *(
            Job.of(f"{_HERE}:measure_width", attention=a, activation=f, kind=kind, width=width, networks=networks, heads=heads, seed=width)
            for a, f, kind, heads, numbers in cases
            for width, networks in numbers.items()
        ),
        *(
            Job.of(f"{_HERE}:measure_heads", heads=heads, width=width, networks=networks, seed=heads)
            for width, networks in [common.at_scale(scale, smoke=(16, 10), quick=(256, 400), full=(512, 1000))]
            for heads in common.at_scale(scale, smoke=(1, 4), quick=(1, 2, 4, 8), full=(1, 2, 4, 8, 16))
        ),
        *(Job.of(f"{_HERE}:measure_ratio", activation=activation) for activation in ("linear", "relu")),
    ]


def _case(results: Results, attention: str, activation: str, kind: str) -> Results:
    return common.chosen(results, "width", attention=attention, activation=activation, kind=kind)


def _regime(results: Results) -> str:
    given = results[0].arguments
    networks = ", ".join(f"{r.arguments['networks']} at {r.arguments['width']}" for r in results)
    return (
        f"{given['kind'].upper()} of {given['attention']} attention + {given['activation']}, V = {VOCAB}, L = {LENGTH}, s_w = 0.6, s_p = "
        f"0.5, {INPUTS} sequences; heads and head size are width/4; networks by width: {networks}."
    )


def cleared(results: Results) -> np.ndarray:
    """Errors with the noise of a finite number of networks taken out: the root of error² − noise², zero where noise is all."""
    return np.sqrt(np.maximum(0.0, common.column(results, "error") ** 2 - common.column(results, "noise") ** 2))


def _judge_limit(results: Results) -> Verdict:
    """The error at the largest width that enough networks were sampled of, half the limit being the noise that is allowed."""
    errors, noise = cleared(results), common.column(results, "noise")
    at = max((index for index in range(len(noise)) if noise[index] <= LIMIT / 2), default=len(noise) - 1)
    words = f"{_regime(results)} At width {results[at].arguments['width']}, from {errors[0]:.1%} at the smallest width."
    return holds_if(errors[at] <= LIMIT and errors[at] < errors[0], errors[at], noise[at], words)


def judge_nngp(results: Results) -> Verdict:
    return _judge_limit(_case(results, "softmax", "erf", "nngp"))


def judge_ntk(results: Results) -> Verdict:
    return _judge_limit(_case(results, "softmax", "erf", "ntk"))


def judge_ratio(results: Results) -> Verdict:
    """Nine times for the linear model; elsewhere the two kernels are different functions."""
    ratios = {r.arguments["activation"]: r.data["ratio"].values for r in common.chosen(results, "ratio")}
    off = float(np.abs(ratios["linear"] / 9.0 - 1.0).max())
    relu = f"With ReLU the ratio runs from {ratios['relu'].min():.2f} to {ratios['relu'].max():.2f}."
    return holds_if(off < 1e-10, off, regime=f"Linear attention + linear activation, infinite width. {relu}")


def judge_bias(results: Results) -> Verdict:
    found = _case(results, "linear", "linear", "nngp")
    power = common.power_law(common.arguments(found, "width"), common.column(found, "bias"), common.column(found, "bias_stderr"))
    if power is None:
        return common.unresolved(_regime(found))
    return holds_if(abs(power.exponent + 1.0) <= 0.3, power.exponent, power.stderr, _regime(found))


def judge_fluctuation(results: Results) -> Verdict:
    found = _case(results, "softmax", "erf", "nngp")
    # the spread of n networks is known to about one part in sqrt(2 n)
    values, networks = common.column(found, "fluctuation"), np.array(common.arguments(found, "networks"))
    power = common.power_law(common.arguments(found, "width"), values, values / np.sqrt(2 * networks))
    assert power is not None
    return holds_if(abs(power.exponent + 0.5) <= 0.1, power.exponent, power.stderr, _regime(found))


def judge_heads(results: Results) -> Verdict:
    found = common.chosen(results, "heads")
    values, networks = common.column(found, "fluctuation"), np.array(common.arguments(found, "networks"))
    heads = common.arguments(found, "heads")
    power = common.power_law(heads, values, values / np.sqrt(2 * networks))
    assert power is not None
    words = (
        f"NNGP of softmax attention + erf, V = {VOCAB}, L = {LENGTH}, s_w = 0.6, s_p = 0.5, {INPUTS} sequences, {common.listed(heads)} "
        f"heads of size {HEAD_SIZE}, width {found[0].arguments['width']}, {networks[0]} networks each. More heads than those leave the "
        "fluctuation of the width."
    )
    return holds_if(abs(power.exponent + 0.5) <= 0.15, power.exponent, power.stderr, words)


def plots(results: Results) -> list[Plot]:
    figure = go.Figure()
    cases = [("linear", "linear", "nngp"), ("softmax", "erf", "nngp"), ("softmax", "erf", "ntk")]
    for number, (attention, activation, kind) in enumerate(cases):
        found = _case(results, attention, activation, kind)
        widths, name = common.arguments(found, "width"), f"{kind.upper()}, {attention} + {activation}"
        common.add_points(figure, widths, cleared(found), name, number, errors=common.column(found, "noise"), joined=True)
        common.add_line(figure, widths, common.column(found, "fluctuation"), f"{name}, one network", number, dash="dot", legend=False)
    widths = sorted({result.arguments["width"] for result in common.chosen(results, "width")})
    common.add_guide(figure, widths, [4.0 / width for width in widths], "1/width")
    common.finished(figure, x="width", y="relative distance from the infinite kernel", ticks=widths)
    caption = (
        "Solid: the kernel averaged over networks, its noise taken out, which falls as one over the width. Dotted: a single network, "
        "whose distance from the average falls as the root of that. Averages that cannot be told from noise are left out."
    )
    return [Plot(figure, "Kernels of finite networks", caption, wide=True), _heads_plot(common.chosen(results, "heads"))]


def _heads_plot(found: Results) -> Plot:
    figure, heads = go.Figure(), common.arguments(found, "heads")
    common.add_points(figure, heads, common.column(found, "fluctuation"), "one network, NNGP, softmax + erf", 0, joined=True)
    first = float(found[0].data["fluctuation"])
    common.add_guide(figure, heads, [first / np.sqrt(number / heads[0]) for number in heads], "1/√heads")
    common.finished(figure, x="heads", y="relative distance from the mean", ticks=heads)
    caption = f"At a width of {found[0].arguments['width']}, which is large enough for heads to matter more."
    return Plot(figure, "Kernels and heads", caption, wide=True)


def tables(results: Results) -> list[Table]:
    rows = [
        [
            f"{r.arguments['kind'].upper()} {r.arguments['attention']} + {r.arguments['activation']}, width {r.arguments['width']}",
            f"{r.arguments['networks']}",
            f"{cleared([r])[0]:.2%} ± {float(r.data['noise']):.2%}",
            f"{float(r.data['bias']):+.2%} ± {float(r.data['bias_stderr']):.2%}",
            f"{float(r.data['fluctuation']):.1%}",
        ]
        for r in common.chosen(results, "width")
    ]
    header = ("kernel", "networks", "error", "along the kernel", "one network")
    return [Table(header, rows, "Relative to the Frobenius norm of the infinite kernel.", "Finite networks")]


EXPERIMENT = Experiment(
    name="infinity.q1",
    title="The limit of infinite width",
    shown=(
        "Poster and summary: with infinitely many heads of infinite size the network is a Gaussian process with the NNGP kernel, and "
        "gradient flow follows the NTK. The summary suggests measuring how fast finite networks come to it."
    ),
    claims=(
        Claim(
            "infinity.q1-nngp",
            "The covariance of random networks tends to the NNGP kernel as width, heads and head size grow.",
            f"{sources.POSTER}; {sources.SUMMARY}",
            "relative Frobenius error at most 2 % at the largest width where it is known to 1 %, smaller than at the smallest",
            judge_nngp,
        ),
        Claim(
            "infinity.q1-ntk",
            "The tangent kernel of random networks tends to the NTK.",
            f"{sources.POSTER}; {sources.SUMMARY}",
            "relative Frobenius error at most 2 % at the largest width where it is known to 1 %, smaller than at the smallest",
            judge_ntk,
        ),
        Claim(
            "infinity.q1-nine",
            "In the fully linear model the NTK is nine times the NNGP kernel, so it teaches nothing new there.",
            sources.OURS,
            "NTK / NNGP = 9 within 1e-10 for every entry",
            judge_ratio,
        ),
        Claim(
            "infinity.e1-bias",
            "The bias of the kernel falls as one over the width.",
            sources.SUGGESTED,
            "log-log slope −1 ± 0.3 against the width, linear model",
            judge_bias,
        ),
        Claim(
            "infinity.e1-fluctuation",
            "The fluctuation of a single network falls as one over the root of the width.",
            sources.SUGGESTED,
            "log-log slope −0.5 ± 0.1 against the width, softmax + erf",
            judge_fluctuation,
        ),
        Claim(
            "infinity.e1-heads",
            "The fluctuation of a single network falls as one over the root of the number of heads, where they are few.",
            sources.SUGGESTED,
            "log-log slope −0.5 ± 0.15 against the number of heads, softmax + erf, at a width far above it",
            judge_heads,
        ),
    ),
    jobs=jobs,
    plots=plots,
    tables=tables,
    method=(
        Step(
            "Random networks of one width are sampled, their kernels averaged and compared with the infinite kernel.",
            ("error² = ‖K_w − K‖² − noise²", "bias = ⟨K_w − K, K⟩ / ‖K‖²"),
        ),
        Step("For softmax attention the infinite kernel itself is an average over sampled heads, whose error counts as noise."),
    ),
)
