"""One architecture, two limits: kernels of sampled finite networks tend to the infinite-width kernel as 1/width."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import pytest
from architectures import CASES, SAMPLED, tokens

import specht
from specht.kernel.forms import choose_form

ROUNDING = 1e-5  # finite networks are float32; where their standard error is smaller (a normed diagonal) this is what is left
NETWORKS = {"nngp": 200, "ntk": 80}


def size(width: int) -> specht.nn.Size:
    """Heads and head size grow with the width: the bias is 1/width only if everything is wide."""
    return specht.nn.Size(width=width, heads=width // 4, head_size=width // 4)


class Limit(NamedTuple):
    value: np.ndarray
    stderr: np.ndarray


def infinite(name: str, kind: str, x: np.ndarray) -> Limit:
    joint = choose_form(CASES[name].arch, kind) == "joint"
    kernel = specht.Kernel(CASES[name].arch, heads=(2048 if joint else 8192) if name in SAMPLED else None)
    value = getattr(kernel, kind)(x)
    return Limit(value, np.zeros_like(value) if value.stderr is None else value.stderr)


def finite(name: str, kind: str, x: np.ndarray, width: int, networks: int):
    estimate = {"nngp": specht.nn.empirical_nngp, "ntk": specht.nn.empirical_ntk}[kind]
    return estimate(CASES[name].arch, x, size=size(width), networks=networks, seed=width)


# The tangent kernel of every other row is held to a second recursion in tests/kernel/test_recursion.py, to nine digits.
TANGENT = ("linear", "softmax", "causal, two blocks", "two residual pre-norm blocks", "softmax, causal, mean")

ORDINARY = {
    "nngp": ("linear, relu", "causal, two blocks", "tied softmax", "softmax"),
    "ntk": ("linear",),
}
"""One of each form in the ordinary check; the whole one has them all."""


@pytest.mark.networks
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        pytest.param(
            kind,
            name,
            marks=[pytest.mark.slow] * (kind == "ntk" and name not in TANGENT) + [pytest.mark.whole] * (name not in ORDINARY[kind]),
        )
        for kind, name in itertools.product(NETWORKS, CASES)
    ],
)
def test_sampled_networks_extrapolate_to_the_kernel(name, kind):
    """Two widths w and 2w show the bias c/w and remove it: 2 K_2w - K_w is the limit within five standard errors."""
    x = tokens(CASES[name].arch, n=4)
    limit = infinite(name, kind, x)
    narrow, wide = (finite(name, kind, x, width, NETWORKS[kind]) for width in (48, 96))
    extrapolated = 2 * wide.mean - narrow.mean
    scale = np.abs(limit.value).max()
    stderr = np.sqrt(4 * wide.stderr**2 + narrow.stderr**2 + limit.stderr**2) + ROUNDING * scale
    assert np.linalg.norm(stderr) < 0.2 * np.linalg.norm(limit.value)  # else the comparison would show nothing
    assert (np.abs(extrapolated - limit.value) <= 5 * stderr).all()


def relative_bias(name: str, kind: str, x: np.ndarray, limit: Limit, width: int, networks: int) -> tuple[float, float]:
    """How much larger than the limit the finite kernel is, projected on the limit, and a standard error that is never too small."""
    estimate = finite(name, kind, x, width, networks)
    norm = np.vdot(limit.value, limit.value)
    # entries share their networks, so their errors are added up as if fully correlated
    stderr = np.vdot(np.abs(limit.value), estimate.stderr + limit.stderr) / norm
    return float(np.vdot(estimate.mean - limit.value, limit.value) / norm), float(stderr)


@pytest.mark.slow
@pytest.mark.networks
def test_deviation_of_the_linear_model_shrinks_with_width():
    x = tokens(CASES["linear"].arch, n=4)
    limit = infinite("linear", "nngp", x)
    small, small_error = relative_bias("linear", "nngp", x, limit, width=16, networks=1500)
    large, large_error = relative_bias("linear", "nngp", x, limit, width=96, networks=400)
    assert small > 5 * small_error
    assert small - large > 5 * np.hypot(small_error, large_error)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["linear", "linear, relu", "tied softmax", "softmax", "two residual pre-norm blocks", "causal, two blocks"]
)
@pytest.mark.parametrize("kind", NETWORKS)
def test_deviation_is_one_over_width(name, kind):
    """Bias at three widths: b(w) = c/w fits them all, and the widest deviates by a few per cent at most."""
    x = tokens(CASES[name].arch, n=4)
    limit = infinite(name, kind, x)
    widths = np.array([32, 64, 128])
    networks = {"nngp": 800, "ntk": 150}[kind]
    bias, stderr = np.array([relative_bias(name, kind, x, limit, int(width), networks) for width in widths]).T
    c = (bias / widths / stderr**2).sum() / (1 / widths**2 / stderr**2).sum()
    assert (np.abs(bias - c / widths) <= 5 * stderr).all()
    assert abs(bias[-1]) <= abs(bias[0]) + 3 * np.hypot(stderr[0], stderr[-1])
    assert abs(bias[-1]) <= 0.1 + 5 * stderr[-1]
