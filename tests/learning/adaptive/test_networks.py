"""Collapsed posteriors against whole networks, sampled by Langevin dynamics: two ways to the same law."""

from __future__ import annotations

import numpy as np
import pytest

import specht
from specht.learning.adaptive import Chains, Widths
from specht.nn import Network, Sampling, Size, langevin


@pytest.mark.whole
@pytest.mark.runs_long
@pytest.mark.parametrize(
    ("fields", "level"),
    [({}, "heads"), ({"attention": "softmax"}, "heads"), ({"activation": "erf"}, "readout")],
    ids=str,
)
def test_means_are_those_of_whole_networks(fields, level):
    """Linear layers behind given heads are integrated out exactly, and the readout always: means agree within their errors."""
    arch = specht.Architecture(vocab=2, length=3, normalised="attention" not in fields, **fields)  # so that outputs are of order one
    x, new = (np.random.default_rng(seed).integers(0, 2, (n, 4)) for seed, n in ((0, 8), (1, 10)))
    y, ridge = 2.0 * x[:, 0] - 1.0, 0.3
    chains = Chains(chains=8, burn_in=200, samples=400, kept=200, level=level)
    found = specht.adapt(arch, x, y, width=Widths(8, 8, 3, 4), ridge=ridge, scale=1.0, chains=chains).predict(new)
    networks = langevin(
        lambda key: Network.init(arch, Size(8, 3, 4), key=key), x, y, new, noise=ridge,
        sampling=Sampling(chains=8, samples=60, burn_in=20.0, duration=80.0, curvature_step=0.02),
    )  # fmt: skip
    stderr = np.hypot(found.stderr, networks.stderr[:, 0])
    assert (np.abs(found.mean - networks.mean[:, 0]) <= 5 * stderr + 0.01).all()  # steps of finite size shift them a little
    assert stderr.max() < 0.06  # so that something was compared
    assert np.abs(found.mean).max() > 0.3
