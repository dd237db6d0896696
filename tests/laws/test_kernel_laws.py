"""Laws that every kernel obeys, crossed with every architecture of the table."""

from __future__ import annotations

import json
from pathlib import Path

import architectures
import jax
import numpy as np
import pytest
from architectures import CASES, CLOSED, SAMPLED, tokens

import specht
from specht.kernel import features, joint
from specht.kernel.forms import why_no_features
from specht.testing import assert_invariant, assert_psd

KINDS = ("nngp", "ntk")
every_case = pytest.mark.parametrize("name", CASES)
every_kind = pytest.mark.parametrize("kind", KINDS)


def kernel_of(name: str, **options) -> specht.Kernel:
    return specht.Kernel(CASES[name].arch, heads=1024 if name in SAMPLED else None, **options)


BEFORE = json.loads((Path(__file__).parent / "grams_of_release_0_1.json").read_text())
"""Lower triangles that this package computed when variances were compiled in, with 1024 heads of seed 0 where heads are drawn."""


def padding(x: np.ndarray) -> np.ndarray:
    mask = np.ones(x.shape, dtype=bool)
    mask[3, 1] = mask[4, 0] = mask[4, 1] = False
    return mask


def mostly_whole(names, ordinary):
    """Cases of which only some are in the ordinary check: heads that are drawn position by position take seconds each."""
    return [
        pytest.param(name, marks=[pytest.mark.whole] * (name not in ordinary) + [pytest.mark.runs_long] * (name in SAMPLED))
        for name in names
    ]


@pytest.mark.parametrize("name", mostly_whole(CASES, [*CLOSED, "softmax", "softmax, relu, residual pre-norm"]))
def test_grams_are_covariances_in_float64_and_leave_jax_settings_alone(name):
    """Both kernels at once, because compiling them is most of the work: symmetric, positive, equal rows for equal sequences, a tangent
    kernel that exceeds the covariance, and the numbers that they had when variances were compiled in."""
    before = jax.config.values.copy()
    kernel, x = kernel_of(name), tokens(CASES[name].arch)
    grams = {kind: getattr(kernel, kind)(x) for kind in KINDS}
    for kind, gram in grams.items():
        scale = np.abs(gram).max()
        assert gram.dtype == np.float64
        assert np.isfinite(gram).all()
        assert_psd(gram, tol=1e-9)
        np.testing.assert_allclose(gram[0], gram[1], rtol=0, atol=1e-12 * scale)
        if name in CLOSED or kernel.form == "sampled heads as random features":
            np.testing.assert_allclose(kernel.diagonal(x, kind=kind), np.diag(gram), rtol=0, atol=1e-12 * scale)
        padded = getattr(kernel, kind)(x, mask=padding(x))
        for padded_or_not, values in (("full", gram), ("masked", padded)):
            np.testing.assert_allclose(values[np.tril_indices(len(x))], BEFORE[name][kind][padded_or_not], rtol=1e-12, atol=1e-12 * scale)
    assert (np.diag(grams["ntk"]) > np.diag(grams["nngp"])).all()
    assert jax.config.values == before
    assert not jax.config.jax_enable_x64


# The tangent kernel is made of the covariance, so the ordinary check looks at the former.
mostly_tangent = pytest.mark.parametrize("kind", [pytest.param("nngp", marks=pytest.mark.whole), "ntk"])


@pytest.mark.parametrize("name", CLOSED)
@mostly_tangent
def test_rows_of_a_batch_do_not_influence_each_other(name, kind):
    evaluate, x = getattr(kernel_of(name), kind), tokens(CASES[name].arch)
    whole = evaluate(x)
    np.testing.assert_allclose(evaluate(x[:2], x[3:]), whole[:2, 3:], rtol=1e-12, atol=1e-13 * np.abs(whole).max())


@pytest.mark.parametrize("name", [name for name in CLOSED if CASES[name].symmetry != "none"])
@mostly_tangent
def test_permuting_positions_of_both_changes_nothing(name, kind):
    case = CASES[name]
    assert_invariant(getattr(kernel_of(name), kind), tokens(case.arch), move=case.symmetry, tol=1e-12)


@pytest.mark.parametrize("name", mostly_whole([name for name in SAMPLED if CASES[name].symmetry != "none"], ["softmax"]))
@every_kind
def test_permuting_positions_of_both_changes_a_sampled_kernel_within_its_error(name, kind):
    case = CASES[name]
    (first, first_error), (second, second_error) = moved_pair(case, kind)
    assert (np.abs(first - second) <= 5 * np.hypot(first_error, second_error) + 1e-12).all()


@pytest.mark.parametrize("name", [name for name in CLOSED if CASES[name].symmetry == "none"])
@mostly_tangent
def test_causal_masks_and_fixed_positions_break_the_symmetry(name, kind):
    case = CASES[name]
    with pytest.raises(AssertionError, match="not invariant"):
        assert_invariant(getattr(kernel_of(name), kind), tokens(case.arch), move="context", tol=1e-3)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        # the smallest effect of all, which takes a minute to resolve
        pytest.param(
            name,
            kind,
            marks=[pytest.mark.slow] * ((name, kind) == ("softmax, sinusoidal", "ntk"))
            + [pytest.mark.whole] * ((name, kind) != ("softmax, sinusoidal", "nngp")),
        )
        for name in SAMPLED
        if CASES[name].symmetry == "none"
        for kind in ("nngp", "ntk")
    ],
)
def test_causal_masks_and_fixed_positions_break_the_symmetry_of_sampled_kernels(name, kind):
    (first, first_error), (second, second_error) = moved_pair(CASES[name], kind)
    # the diagonal moves least: a sequence keeps its own tokens
    assert (np.abs(first - second) / np.hypot(first_error, second_error).clip(1e-300)).max() > 8


def moved_pair(case: architectures.Case, kind: str):
    """A sampled Gram with its error before and after moving the context positions, by independent heads."""
    x = tokens(case.arch)
    moved = x.copy()
    order = np.random.default_rng(3).permutation(case.arch.length)
    moved[:, : case.arch.length] = x[:, order]
    for seed, batch in ((0, x), (1, moved)):
        # one query shows the smallest effects, so it gets the heads to resolve them; several queries cost more a head and show more
        kernel = specht.Kernel(case.arch, heads=16384 if case.arch.depth == 1 and case.arch.readout == "last" else 1024, seed=seed)
        gram = getattr(kernel, kind)(batch)
        yield gram, gram.stderr


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        # Without compilation a deep stack takes up to half a minute, and sampled heads ten seconds: one of them is enough.
        pytest.param(
            kind,
            name,
            marks=[pytest.mark.slow] * (case.arch.depth > 1 or (name in SAMPLED and (kind, name) != ("nngp", "softmax")))
            + [pytest.mark.whole] * ((kind, name) not in (("nngp", "linear, relu"), ("ntk", "linear, 1/T, erf"), ("ntk", "tied softmax"))),
        )
        for kind in KINDS
        for name, case in CASES.items()
    ],
)
def test_compiled_equals_eager(name, kind, monkeypatch):
    monkeypatch.setattr(joint, "GROUPS", 2)  # eager heads are slow
    monkeypatch.setattr(features, "HEADS_STEP", 16)
    arch = CASES[name].arch
    x = tokens(arch, n=3)
    kernel = specht.Kernel(arch, heads=16 if name in SAMPLED else None)
    compiled = getattr(kernel, kind)(x)
    with jax.disable_jit():
        eager = getattr(kernel, kind)(x)
    np.testing.assert_allclose(eager, compiled, rtol=1e-11, atol=1e-12 * np.abs(compiled).max())


WITH_FEATURES = {name: case.arch for name, case in CASES.items() if why_no_features(case.arch) is None} | {
    name: CASES["linear"].arch.replace(**fields)
    for name, fields in {
        "mean": {"readout": "mean"},
        "normalised, positions in scores only": {"normalised": True, "values_see_positions": False},
        "normalised causal mean": {"readout": "mean", "causal": True, "normalised": True},
        "no positions, mean": {"positions": "none", "readout": "mean"},
        "sinusoidal": {"positions": "sinusoidal"},
        "sinusoidal causal mean, positions in scores only": {
            "positions": "sinusoidal", "readout": "mean", "causal": True, "values_see_positions": False,
        },
        "tied, normalised": {"scaling": "tied", "normalised": True},
        "tied softmax, causal mean": {"attention": "softmax", "scaling": "tied", "readout": "mean", "causal": True},
        "tied sinusoidal": {"attention": "softmax", "scaling": "tied", "positions": "sinusoidal"},
        "softmax, sinusoidal, cls": {"attention": "softmax", "positions": "sinusoidal", "readout": "cls"},
    }.items()
}  # fmt: skip


@pytest.mark.parametrize("name", WITH_FEATURES)
@pytest.mark.parametrize("padded", [False, True])
def test_features_reproduce_the_kernel(name, padded):
    arch = WITH_FEATURES[name]
    x = tokens(arch)
    mask = np.random.default_rng(5).random(x.shape) < (0.6 if padded else 2.0)
    mask[:, -1] = True
    kernel = specht.Kernel(arch, heads=512)
    features, gram = kernel.features(x, mask=mask), kernel(x, mask=mask)
    np.testing.assert_allclose(features @ features.T, gram, rtol=1e-11, atol=1e-13 * np.abs(gram).max())
