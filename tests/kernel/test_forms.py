"""The same kernel by different forms: classes, positions, heads, joint heads; padding; tiles; several devices."""

from __future__ import annotations

import json
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import specht
from specht.kernel.forms import FORMS, choose_form
from specht.kernel.joint import echelon_factor, joint_gram
from specht.kernel.layers import closed_kernel
from specht.kernel.model import model_of
from specht.kernel.pairs import Sequences


def architecture(**fields) -> specht.Architecture:
    return specht.Architecture(vocab=3, length=5, s_w=0.6, s_p=0.5, **fields)


def tokens(arch, n=6, seed=0):
    return np.random.default_rng(seed).integers(0, arch.vocab, (n, arch.columns))


def padding(arch, n=6, seed=1):
    mask = np.random.default_rng(seed).random((n, arch.columns)) < 0.6
    mask[:, -1] = True
    return mask


STACKS = [
    {},
    {"activation": "erf", "readout": "mean"},
    {"activation": "relu", "depth": 3, "norm": "post"},
    {"activation": "gelu", "depth": 2, "residual": True, "norm": "pre"},
    {"activation": "relu", "depth": 2, "positions": "none", "norm": "pre"},
    {"activation": "relu", "depth": 2, "values_see_positions": False, "normalised": True},
    {"activation": "relu", "depth": 2, "readout": "mean", "residual": True, "normalised": True},
]


@pytest.mark.parametrize("fields", STACKS, ids=str)
@pytest.mark.parametrize("kind", ["nngp", "ntk"])
def test_four_classes_equal_all_positions(fields, kind):
    arch = architecture(**fields)
    x, y = tokens(arch), tokens(arch, n=4, seed=2)
    y[0] = x[0]
    with jax.enable_x64(True):
        batches = Sequences(jnp.asarray(x), jnp.asarray(padding(arch))), Sequences(jnp.asarray(y), jnp.asarray(padding(arch, n=4)))
        classes, positions = (
            np.asarray(closed_kernel(model_of(arch), *batches, kind=kind, bookkeeping=b)) for b in ("classes", "positions")
        )
    np.testing.assert_allclose(classes, positions, rtol=1e-10, atol=1e-12 * np.abs(positions).max())


READOUTS = ({}, {"activation": "relu", "residual": True, "norm": "pre"}, {"values_see_positions": False})


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        *(pytest.param(fields, "nngp", id=f"{fields}-nngp", marks=[pytest.mark.whole] * bool(fields)) for fields in READOUTS),
        *(
            pytest.param(fields, "ntk", id=f"{fields}-ntk", marks=[pytest.mark.slow if fields else pytest.mark.whole])
            for fields in READOUTS
        ),
    ],
)
def test_heads_at_the_readout_equal_heads_at_all_positions(fields, kind):
    arch = architecture(attention="softmax", **fields)
    x = tokens(arch, n=4)
    kernel = specht.Kernel(arch, heads=16384, seed=1)
    value = getattr(kernel, kind)(x, mask=padding(arch, n=4))
    with jax.enable_x64(True):
        batch = Sequences(jnp.asarray(x), jnp.asarray(padding(arch, n=4)))
        joint, joint_stderr = joint_gram(model_of(arch), batch, seed=0, heads=4096, kind=kind)
    assert (np.abs(value - joint) <= 5 * np.hypot(value.stderr, joint_stderr) + 1e-12).all()
    assert np.linalg.norm(np.hypot(value.stderr, joint_stderr)) < 0.05 * np.linalg.norm(joint)


@pytest.mark.slow
def test_error_of_joint_heads_is_neither_too_small_nor_too_large():
    arch = specht.Architecture(vocab=2, length=2, attention="softmax", depth=2, activation="erf", s_w=1.5, s_p=1.0)
    x = np.array([[0, 1, 0], [1, 1, 0]])
    seeds = [specht.Kernel(arch, heads=256, seed=seed) for seed in range(30)]
    values = [kernel(x) for kernel in seeds]
    claimed = np.sqrt(np.mean([value.stderr**2 for value in values], axis=0))
    np.testing.assert_allclose(np.std(values, axis=0, ddof=1) / claimed, 1.0, atol=5 / np.sqrt(2 * 29))
    many = specht.Kernel(arch, heads=16384, seed=99)(x)
    assert (np.abs(np.mean(values, axis=0) - many) <= 5 * np.hypot(claimed / np.sqrt(30), many.stderr)).all()


@pytest.mark.whole
def test_joint_heads_are_judged_by_the_number_drawn():
    """A kernel used twice draws the second time as many heads as the first, not the product of both judgements."""
    arch = architecture(attention="softmax", depth=2)
    kernel = specht.Kernel(arch, relative_error=0.008)
    first, second = tokens(arch, n=3), tokens(arch, n=3, seed=4)
    chosen = kernel(first).heads
    gram = kernel(second)
    assert gram.heads <= 1.5 * chosen
    assert np.linalg.norm(gram.stderr) / np.linalg.norm(gram) < 1.3 * kernel.relative_error


def test_every_form_is_chosen_where_it_belongs():
    chosen = {
        "classes": [architecture(), architecture(depth=4, norm="pre"), architecture(causal=True), architecture(positions="none")],
        "positions": [architecture(causal=True, depth=2), architecture(positions="sinusoidal"), architecture(scaling="tied", depth=2)],
        "tied": [
            architecture(scaling="tied"),
            architecture(scaling="tied", readout="mean"),
            architecture(scaling="tied", attention="softmax", causal=True),
        ],
        "heads": [architecture(attention="softmax"), architecture(attention="softmax", positions="sinusoidal")],
        "joint": [architecture(attention="softmax", depth=2), architecture(attention="softmax", readout="mean")],
    }
    assert {*chosen, "weighted"} == set(FORMS)
    for form, archs in chosen.items():
        assert [choose_form(arch, "nngp") for arch in archs] == [form] * len(archs)
    assert choose_form(architecture(attention="softmax", positions="sinusoidal"), "ntk") == "joint"
    of_each = {"weighted": [architecture(activation="relu"), architecture(readout="mean")], "positions": [architecture(depth=2)]}
    for form, archs in of_each.items():
        assert [choose_form(arch, "nngp", of_each=True) for arch in archs] == [form] * len(archs)


@pytest.mark.parametrize("kind", ["nngp", "ntk"])
@pytest.mark.parametrize(
    "fields",
    [
        {"positions": "none", "activation": "relu"},
        {"positions": "none", "activation": "relu", "readout": "mean", "normalised": True},
        {"positions": "none", "causal": True, "depth": 2, "norm": "pre", "activation": "relu", "normalised": True},
        {"positions": "none", "attention": "softmax", "scaling": "tied", "depth": 2, "activation": "erf"},
    ],
    ids=str,
)
def test_padding_is_the_same_as_being_shorter(fields, kind):
    """Without positions a padded sequence is a shorter one."""
    long, short = architecture(**fields), architecture(**fields).replace(length=3)
    x = tokens(short)
    pad = long.columns - short.columns
    padded = np.concatenate([np.full((len(x), pad), 2), x], axis=1)
    mask = np.concatenate([np.zeros((len(x), pad), bool), np.ones(x.shape, bool)], axis=1)
    exact = getattr(specht.Kernel(short), kind)(x)
    np.testing.assert_allclose(getattr(specht.Kernel(long), kind)(padded, mask=mask), exact, rtol=1e-11, atol=1e-13)


def test_relative_error_sets_the_number_of_heads_and_is_met():
    arch = architecture(attention="softmax")
    x = tokens(arch, n=20)
    rough, fine = specht.Kernel(arch, relative_error=0.02), specht.Kernel(arch, relative_error=0.005)
    grams = {kernel.relative_error: kernel(x) for kernel in (rough, fine)}
    for requested, gram in grams.items():
        assert np.linalg.norm(gram.stderr) / np.linalg.norm(gram) <= requested
    assert grams[0.005].heads > 4 * grams[0.02].heads
    reference = specht.Kernel(arch, heads=65536, seed=7)(x)
    assert (np.abs(grams[0.005] - reference) <= 5 * np.hypot(grams[0.005].stderr, reference.stderr)).all()
    # the standard error is neither too small nor too large: the scatter of many seeds agrees with it
    seeds = [specht.Kernel(arch, heads=256, seed=seed) for seed in range(40)]
    few = [kernel(x[:4]) for kernel in seeds]
    scatter = np.std(few, axis=0, ddof=1)
    claimed = np.sqrt(np.mean([gram.stderr**2 for gram in few], axis=0))
    np.testing.assert_allclose(scatter / claimed, 1.0, atol=5 / np.sqrt(2 * 39))


def test_sampled_grams_of_different_batches_share_their_heads():
    kernel = specht.Kernel(architecture(attention="softmax"), heads=256)
    x = tokens(kernel.arch)
    whole = kernel(x)
    part = kernel(x[:2], x[2:])
    np.testing.assert_allclose(part, whole[:2, 2:], rtol=1e-12)
    assert part.stderr.shape == (2, 4)
    assert part.heads == whole.heads == 256


@pytest.mark.parametrize("fields", [{"activation": "relu"}, {"positions": "sinusoidal"}, {"attention": "softmax"}], ids=str)
def test_tiles_and_small_memory_change_nothing(fields):
    arch = architecture(**fields)
    x = tokens(arch, n=150)
    heads = 256 if arch.attention == "softmax" else None
    whole = specht.Kernel(arch, heads=heads).ntk(x)
    calls = []
    tight = specht.Kernel(arch, heads=heads, memory=2**20, progress=lambda done, total: calls.append((done, total)))
    np.testing.assert_allclose(tight.ntk(x), whole, rtol=1e-12)
    assert len(calls) > 1
    assert calls[-1][0] == calls[-1][1] == len(calls)
    blocks = list(specht.Kernel(arch, heads=heads).tiles(x, rows=64, kind="ntk"))
    assert [(at.start, at.stop) for at, _ in blocks] == [(0, 64), (64, 128), (128, 150)]
    np.testing.assert_allclose(np.concatenate([block for _, block in blocks]), whole, rtol=1e-12)


@pytest.mark.whole
def test_two_devices_give_the_same_gram():
    program = """
import json, numpy as np, jax, specht
x = np.random.default_rng(0).integers(0, 3, (21, 6))
out = {"devices": len(jax.devices())}
for name, fields in (("relu", {"activation": "relu"}), ("softmax", {"attention": "softmax"})):
    kernel = specht.Kernel(specht.Architecture(vocab=3, length=5, **fields), heads=256)
    out[name] = kernel.ntk(x).tolist()
print(json.dumps(out))
"""
    results = {}
    for count in (1, 2):
        flags = f"--xla_force_host_platform_device_count={count}"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment(flags))
        results[count] = json.loads(done.stdout)
    assert (results[1]["devices"], results[2]["devices"]) == (1, 2)
    for name in ("relu", "softmax"):
        np.testing.assert_allclose(results[2][name], results[1][name], rtol=1e-12)


def environment(xla_flags: str) -> dict[str, str]:
    import os

    source = os.path.dirname(os.path.dirname(specht.__file__))
    return os.environ | {"XLA_FLAGS": xla_flags, "PYTHONPATH": source}


def test_echelon_factor_reproduces_a_rank_deficient_covariance():
    root = np.random.default_rng(0).standard_normal((40, 7))
    covariance = root @ root.T
    with jax.enable_x64(True):
        factor = np.asarray(echelon_factor(jnp.asarray(covariance)))
        traced = np.asarray(jax.jit(echelon_factor)(jnp.asarray(covariance)))
    np.testing.assert_allclose(traced, factor, atol=1e-12)  # while numbers are not known yet, the same rows stay
    np.testing.assert_allclose(factor @ factor.T, covariance, atol=1e-12)
    assert np.count_nonzero(np.abs(factor).sum(axis=0)) == 7
