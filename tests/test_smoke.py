"""The shortest way through everything: import, kernel, network, command line."""

from __future__ import annotations

import json

import numpy as np

import specht
from specht.commands.app import main


def test_kernel():
    kernel = specht.Kernel(specht.preset("simplified", vocab=2, length=3))
    x = np.array([[0, 1, 1, 0], [1, 0, 0, 1], [0, 0, 0, 0]])
    nngp, ntk = kernel.nngp(x), kernel.ntk(x)
    assert nngp.dtype == ntk.dtype == np.float64
    specht.testing.assert_psd(nngp)
    specht.testing.assert_invariant(kernel.nngp, x)
    np.testing.assert_allclose(ntk, 9 * nngp, rtol=1e-12)


def test_network_and_kernel_agree():
    arch = specht.preset("simplified", vocab=2, length=3)
    x = np.array([[0, 1, 1, 0], [1, 0, 0, 1]])
    estimate = specht.nn.empirical_nngp(arch, x, size=specht.nn.Size(width=64, heads=32, head_size=16), networks=32, seed=0)
    exact = specht.Kernel(arch).nngp(x)
    # At this width the bias, about 1/width, is still seen; the tests of agreement proper look at how it falls.
    specht.testing.assert_matches_samples(exact, estimate.mean, estimate.stderr + 0.02 * exact)


def test_command_line(tmp_path, capsys):
    assert main(["kernel", "--n", "4", "--vocab", "2", "--length", "3", "--out", str(tmp_path / "out"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["shape"] == [4, 4]
    assert (tmp_path / "out" / "report.html").stat().st_size > 1e6
