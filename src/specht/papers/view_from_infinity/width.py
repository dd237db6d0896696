"""The limit of infinite width: kernels of sampled networks against the kernel that theory uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

import specht
from specht.papers import Finding, Grid, at_most, below, both, common, exponent, grid, measure, points
from specht.report import Plot, Table, add_guide, add_line, add_points, points_of, table

VOCAB, LENGTH, INPUTS = 3, 4, 5
"""Five sequences of four context tokens and a readout token, out of three tokens, with s_w = 0.6 and s_p = 0.5."""
HEAD_SIZE = 8
"""Of the networks whose heads are counted."""
LIMIT = 0.02
"""Relative error of the kernel at the largest width: section 7 of the notes."""
_SETTING = f"V = {VOCAB}, L = {LENGTH}, s_w = 0.6, s_p = 0.5, {INPUTS} sequences"
_AXES = ("kind", "heads", "width", "networks")
"""Attention and activation follow from the heads that are sampled for the infinite kernel: none for linear attention."""
_CASES = (("linear", "nngp"), ("softmax", "nngp"), ("softmax", "ntk"))


def _architecture(attention: str, activation: str) -> Any:
    fields: Any = {"attention": attention, "activation": activation}
    return specht.Architecture(vocab=VOCAB, length=LENGTH, s_w=0.6, s_p=0.5, **fields)


def _inputs() -> np.ndarray:
    return np.random.default_rng(7).integers(0, VOCAB, size=(INPUTS, LENGTH + 1))


def _networks(attention: str, activation: str, kind: str, heads: int | None, numbers: Mapping[int, int]) -> Grid:
    """Networks of each width, for one kernel; `heads` are those that are sampled for the infinite one."""
    case = grid(attention=attention, activation=activation, kind=kind, heads=heads)
    return case * points({"width": width, "networks": networks, "seed": width} for width, networks in numbers.items())


@measure(
    smoke=_networks("linear", "linear", "nngp", None, {8: 20, 16: 20})
    + _networks("softmax", "erf", "nngp", 256, {8: 20, 16: 20})
    + _networks("softmax", "erf", "ntk", 256, {8: 4}),
    quick=_networks("linear", "linear", "nngp", None, {16: 4000, 32: 3500, 64: 2000})
    + _networks("softmax", "erf", "nngp", 32768, {16: 800, 32: 600, 64: 600, 128: 1600})
    + _networks("softmax", "erf", "ntk", 8192, {16: 300, 128: 600}),
    full=_networks("linear", "linear", "nngp", None, {16: 8000, 32: 6000, 64: 3000, 128: 1000})
    + _networks("softmax", "erf", "nngp", 131072, {16: 4000, 32: 3000, 64: 2000, 128: 4000, 256: 500, 512: 40})
    + _networks("softmax", "erf", "ntk", 16384, {16: 1500, 32: 1200, 64: 1000, 128: 1200, 256: 100}),
)
def measure_width(attention: str, activation: str, kind: str, width: int, networks: int, heads: int | None, seed: int) -> xarray.Dataset:
    """The kernel of finite networks of one width, averaged over networks, against the infinite one.

    Relative to the Frobenius norm of the infinite kernel: `error` is the distance of the mean, `noise` its standard error, `bias` the
    part along the infinite kernel with a standard error that takes all entries as fully correlated, and `fluctuation` the distance of a
    single network from the mean. Heads and their size are a quarter of the width.
    """
    arch, x = _architecture(attention, activation), _inputs()
    kernel = specht.Kernel(arch, heads=heads, seed=seed)
    limit = getattr(kernel, kind)(x)
    known = np.zeros_like(limit) if limit.stderr is None else limit.stderr
    sample = {"nngp": specht.nn.empirical_nngp, "ntk": specht.nn.empirical_ntk}[kind]
    sampled = sample(arch, x, size=specht.nn.Size(width, width // 4, width // 4), networks=networks, seed=seed)
    norm = float(np.linalg.norm(limit))
    return xarray.Dataset(
        {
            "error": np.linalg.norm(sampled.mean - limit) / norm,
            "noise": np.linalg.norm(np.hypot(sampled.stderr, known)) / norm,
            "bias": np.vdot(sampled.mean - limit, limit) / norm**2,
            "bias_stderr": np.vdot(np.abs(limit), np.hypot(sampled.stderr, known)) / norm**2,
            "fluctuation": np.linalg.norm(sampled.stderr) * np.sqrt(networks) / norm,
        },
    )


def _few_heads(heads: Iterable[int], width: int, networks: int) -> Grid:
    return points({"heads": number, "seed": number} for number in heads) * grid(width=width, networks=networks)


@measure(
    smoke=_few_heads((1, 4), width=16, networks=10),
    quick=_few_heads((1, 2, 4, 8), width=256, networks=400),
    full=_few_heads((1, 2, 4, 8, 16), width=512, networks=1000),
)
def measure_heads(heads: int, width: int, networks: int, seed: int) -> xarray.Dataset:
    """How far the covariance of a single network is from its mean over networks, at one number of heads, for softmax attention + erf."""
    arch, x = _architecture("softmax", "erf"), _inputs()
    sampled = specht.nn.empirical_nngp(arch, x, size=specht.nn.Size(width, heads, HEAD_SIZE), networks=networks, seed=seed)
    return xarray.Dataset({"fluctuation": np.linalg.norm(sampled.stderr) * np.sqrt(networks) / np.linalg.norm(sampled.mean)})


@measure(smoke=grid(activation=["linear", "relu"]))
def measure_ratio(activation: str) -> xarray.Dataset:
    """The tangent kernel over the covariance, entry by entry, for linear attention."""
    kernel = specht.Kernel(_architecture("linear", activation))
    return xarray.Dataset({"ratio": (("x", "y"), kernel.ntk(_inputs()) / kernel.nngp(_inputs()))})


def of_kernel(data: xarray.Dataset, attention: str, kind: str) -> xarray.Dataset:
    """The networks of one kernel against their width, which decides how many were sampled."""
    networks = [at for at in points_of(data.sel(kind=kind), *_AXES[1:]) if at.attention.item() == attention]
    return xarray.concat(networks, "width", coords=["networks"], compat="override", join="outer")


def _regime(networks: xarray.Dataset) -> str:
    numbers = ", ".join(f"{number} at {width}" for number, width in zip(networks.networks.values, networks.width.values, strict=True))
    return (
        f"{networks.kind.item().upper()} of {networks.attention.item()} attention + {networks.activation.item()}, {_SETTING}; heads and "
        f"head size are width/4; networks by width: {numbers}."
    )


def cleared(networks: xarray.Dataset) -> np.ndarray:
    """Errors with the noise of a finite number of networks taken out: the root of error² − noise², zero where noise is all."""
    return np.sqrt(np.maximum(0.0, (networks["error"] ** 2 - networks["noise"] ** 2).values))


_SMALL = both(
    at_most(LIMIT, "relative Frobenius error", percent=True, where=f"at the largest width where it is known to {100 * LIMIT / 2:g} %"),
    below(0, "the same less the error at the smallest width"),
)


@measure_width.claim("q1-nngp", _SMALL, null=(0.5, 0.0), kind="nngp")
@measure_width.claim("q1-ntk", _SMALL, null=(0.5, 0.0), kind="ntk")
def error_of_wide_networks(data: xarray.Dataset, kind: str) -> tuple[Finding, float]:
    """The error at the largest width that enough networks were sampled of, half the limit being the noise that is allowed."""
    networks = of_kernel(data, "softmax", kind)
    errors, noise = cleared(networks), networks["noise"].values
    at = max((index for index in range(len(noise)) if noise[index] <= LIMIT / 2), default=len(noise) - 1)
    words = f"{_regime(networks)} At width {networks.width.values[at]}, from {errors[0]:.1%} at the smallest width."
    return Finding(errors[at], noise[at], words), errors[at] - errors[0]


@measure_ratio.claim("q1-nine", below(1e-10, "relative distance of NTK / NNGP from 9", where="for every entry"), null=1.0)
def distance_from_nine(data: xarray.Dataset) -> Finding:
    """Nine times for the linear model; elsewhere the two kernels are different functions."""
    linear, relu = (data["ratio"].sel(activation=activation) for activation in ("linear", "relu"))
    words = f"With ReLU the ratio runs from {float(relu.min()):.2f} to {float(relu.max()):.2f}."
    return Finding(float(abs(linear / 9.0 - 1.0).max()), regime=f"Linear attention + linear activation, infinite width. {words}")


@measure_width.claim("e1-bias", exponent(-1, within=0.3, of="the bias against the width", where="in the linear model"), null=0.0)
def exponent_of_bias(data: xarray.Dataset) -> Finding:
    networks = of_kernel(data, "linear", "nngp")
    return common.exponent_of(networks.width.values, networks["bias"].values, networks["bias_stderr"].values, _regime(networks))


@measure_width.claim(
    "e1-fluctuation", exponent(-0.5, within=0.1, of="the fluctuation against the width", where="for softmax + erf"), null=0.0
)
def exponent_of_fluctuation(data: xarray.Dataset) -> Finding:
    networks = of_kernel(data, "softmax", "nngp")
    return _fluctuation(networks.width.values, networks["fluctuation"].values, networks.networks.values, _regime(networks))


@measure_heads.claim(
    "e1-heads",
    exponent(-0.5, within=0.15, of="the fluctuation against the number of heads", where="for softmax + erf, at a width far above it"),
    null=0.0,
)
def exponent_of_heads(data: xarray.Dataset) -> Finding:
    words = (
        f"NNGP of softmax attention + erf, {_SETTING}, {common.listed(data.heads.values)} heads of size {HEAD_SIZE}, width {data.width}, "
        f"{data.networks} networks each. More heads than those leave the fluctuation of the width."
    )
    return _fluctuation(data.heads.values, data["fluctuation"].values, data.networks, words)


def _fluctuation(x: np.ndarray, values: np.ndarray, networks: Any, words: str) -> Finding:
    """The exponent of a spread; that of n networks is known to about one part in sqrt(2 n)."""
    return common.exponent_of(x, values, values / np.sqrt(2 * networks), words)


@measure_width.figure()
def against_width(data: xarray.Dataset) -> Plot:
    figure = go.Figure()
    for number, case in enumerate(_CASES):
        networks = of_kernel(data, *case)
        widths, name = networks.width.values, f"{networks.kind.item().upper()}, {networks.attention.item()} + {networks.activation.item()}"
        add_points(figure, widths, cleared(networks), name, number, errors=networks["noise"].values, joined=True)
        add_line(figure, widths, networks["fluctuation"].values, f"{name}, one network", number, dash="dot", legend=False)
    widths = data.width.values
    add_guide(figure, widths, 4.0 / widths, "1/width")
    caption = (
        "Solid: the kernel averaged over networks, its noise taken out, which falls as one over the width. Dotted: a single network, "
        "whose distance from the average falls as the root of that. Averages that cannot be told from noise are left out."
    )
    y = "relative distance from the infinite kernel"
    return common.plotted(figure, "Kernels of finite networks", caption, x="width", y=y, ticks=widths)


@measure_heads.figure()
def against_heads(data: xarray.Dataset) -> Plot:
    figure, heads, values = go.Figure(), data.heads.values, data["fluctuation"].values
    add_points(figure, heads, values, "one network, NNGP, softmax + erf", 0, joined=True)
    add_guide(figure, heads, values[0] / np.sqrt(heads / heads[0]), "1/√heads")
    caption = f"At a width of {data.width}, which is large enough for heads to matter more."
    return common.plotted(figure, "Kernels and heads", caption, x="heads", y="relative distance from the mean", ticks=heads)


@measure_width.table()
def finite_networks(data: xarray.Dataset) -> Table:
    columns = {
        "kernel": lambda at: f"{at.kind.item().upper()} {at.attention.item()} + {at.activation.item()}, width {at.width.item()}",
        "networks": "networks",
        "error": lambda at: f"{cleared(at):.2%} ± {float(at['noise']):.2%}",
        "along the kernel": lambda at: f"{float(at['bias']):+.2%} ± {float(at['bias_stderr']):.2%}",
        "one network": "fluctuation:.1%",
    }
    note = "Relative to the Frobenius norm of the infinite kernel."
    return table(data, columns, rows=_AXES, note=note, title="Finite networks")
