"""Structure and numbers apart: one compilation a structure, derivatives in every variance, variances of single tokens and positions."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from one_block import one_block

import specht
from specht import Variances
from specht.kernel.forms import choose_form

STRUCTURES = {
    "classes": {"activation": "relu"},
    "classes, deep": {"depth": 2, "norm": "pre", "residual": True, "activation": "erf"},
    "no positions": {"positions": "none", "readout": "mean", "activation": "gelu"},
    "positions": {"causal": True, "depth": 2, "activation": "erf", "normalised": True},
    "positions, sinusoidal": {"positions": "sinusoidal", "activation": "relu"},
    "tied": {"scaling": "tied", "attention": "softmax", "activation": "tanh"},
    "tied, mean": {"scaling": "tied", "attention": "softmax", "readout": "mean", "residual": True},
    "heads": {"attention": "softmax", "activation": "relu", "norm": "pre", "residual": True},
    "heads, sinusoidal": {"attention": "softmax", "positions": "sinusoidal", "values_see_positions": False},
    "joint": {"attention": "softmax", "depth": 2, "activation": "erf"},
}
OF_EACH = {
    "weighted": {"activation": "relu"},
    "weighted, pre-norm": {"norm": "pre", "residual": True, "activation": "erf"},
    "weighted, mean": {"readout": "mean"},
    "positions": {"depth": 2, "activation": "relu"},
    "tied": {"scaling": "tied", "attention": "softmax"},
    "heads": {"attention": "softmax", "norm": "pre", "activation": "erf"},
    "joint": {"attention": "softmax", "readout": "mean", "activation": "erf"},
}
KINDS = ("nngp", "ntk")
HEADS = 256
every_kind = pytest.mark.parametrize("kind", KINDS)


def architecture(fields: dict) -> specht.Architecture:
    return specht.Architecture(vocab=3, length=4, **fields)


def tokens(arch: specht.Architecture, n: int = 4) -> np.ndarray:
    x = np.random.default_rng(0).integers(0, arch.vocab, (n, arch.columns))
    x[1] = x[0]
    return x


def numbers(arch: specht.Architecture, scale: float = 1.0, *, of_each: bool = False) -> Variances:
    if not of_each:
        return Variances(0.6 * scale, 0.5 * scale, 1.3 * scale, 0.7 * scale)
    rng = np.random.default_rng(3)
    return Variances(rng.uniform(0.4, 0.9, arch.symbols) * scale, rng.uniform(0.3, 0.8, arch.columns) * scale, 1.3 * scale, 0.7 * scale)


ALL = [(name, fields, False) for name, fields in STRUCTURES.items()] + [
    (f"{name}, of each", fields, True) for name, fields in OF_EACH.items()
]
ORDINARY = {
    "nngp": ("classes", "positions", "tied, mean", "heads", "weighted, of each", "weighted, pre-norm, of each"),
    "ntk": ("classes, deep", "tied", "weighted, mean, of each"),
}
"""Every form but the dearest in the ordinary check, with one kernel or the other; the whole one crosses them all."""
every_structure = pytest.mark.parametrize(
    ("fields", "of_each", "kind"),
    [
        pytest.param(fields, of_each, kind, id=f"{name}-{kind}", marks=[pytest.mark.whole] * (name not in ORDINARY[kind]))
        for name, fields, of_each in ALL
        for kind in KINDS
    ],
)


class Compilations:
    """Counts the programs that XLA compiles."""

    def __init__(self):
        self.count, self.listening = 0, False
        jax.monitoring.register_event_duration_secs_listener(self._hear)

    def _hear(self, event: str, duration: float, **_) -> None:
        self.count += self.listening and event == "/jax/core/compile/backend_compile_duration"

    def __enter__(self):
        self.count, self.listening = 0, True
        return self

    def __exit__(self, *_):
        self.listening = False


@pytest.fixture(scope="module")
def compilations():
    return Compilations()


@every_structure
def test_three_values_of_every_variance_take_one_compilation(fields, of_each, kind, compilations):
    arch = architecture(fields)
    x, values = tokens(arch), []
    for step, scale in enumerate((1.0, 1.1, 0.8)):
        changed = numbers(arch, scale, of_each=of_each)
        with compilations as counted:
            values.append(np.asarray(getattr(specht, kind)(arch, x, variances=changed, heads=HEADS)))
            if kind == "nngp" and "depth" not in fields:
                specht.Kernel(arch, variances=changed, heads=HEADS).nngp(x)
        assert step == 0 or counted.count == 0
    assert not np.allclose(values[0], values[1], rtol=1e-3)
    assert not np.allclose(values[1], values[2], rtol=1e-3)


def test_the_counter_of_compilations_sees_one(compilations):
    with compilations as counted:
        jax.jit(lambda u: u * 3.25 + 1.125)(jnp.ones(7))
    assert counted.count > 0


@every_structure
def test_derivatives_are_those_of_finite_differences(fields, of_each, kind):
    """Of one number made of all entries, at fixed random numbers where heads are drawn."""
    arch = architecture(fields)
    x, at = tokens(arch), numbers(arch, of_each=of_each)
    weights = np.random.default_rng(1).normal(size=(len(x), len(x)))
    with jax.enable_x64(True):

        @jax.jit
        def total(variances):
            return jnp.sum(jnp.asarray(weights) * getattr(specht, kind)(arch, x, variances=variances, heads=HEADS))

        at = jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype=jnp.float64), at)
        slope = jax.jit(jax.grad(total))(at)
        for place, leaf in enumerate(at):
            if place == 1 and not arch.has_positions:
                assert float(slope[place]) == 0.0
                continue
            direction = np.random.default_rng(place).normal(size=leaf.shape)
            step = 1e-4 * direction

            def moved(times, place=place, leaf=leaf, step=step):
                return float(total(at._replace(**{Variances._fields[place]: leaf + times * step})))

            # five points: exact to the fourth order of the step
            difference = (8 * (moved(1) - moved(-1)) - (moved(2) - moved(-2))) / 12
            exact = float(np.sum(np.asarray(slope[place]) * step))
            assert abs(exact - difference) <= 1e-6 * abs(difference) + 1e-12 * abs(float(total(at)))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("classes", "nngp"),
        *(
            pytest.param(*case, marks=pytest.mark.whole)
            for case in (("classes", "ntk"), ("tied", "nngp"), ("tied", "ntk"), ("heads", "nngp"))
        ),
    ],
)
def test_vmap_over_64_variances_equals_the_loop(name, kind):
    arch = architecture(STRUCTURES[name])
    x, values = tokens(arch), np.linspace(0.1, 2.0, 64)
    with jax.enable_x64(True):
        gram = jax.jit(lambda s_p: getattr(specht, kind)(arch, x, variances=Variances(0.4, s_p, 1.2, 0.9), heads=HEADS))
        mapped = jax.jit(jax.vmap(gram))(jnp.asarray(values))
        one_by_one = np.stack([np.asarray(gram(value)) for value in values])
    np.testing.assert_allclose(np.asarray(mapped), one_by_one, rtol=1e-12, atol=1e-13)


@every_kind
@pytest.mark.parametrize("readout", ["last", "mean", "cls"])
@pytest.mark.parametrize("activation", ["linear", "erf", "relu", "tanh"])
def test_variances_of_single_tokens_and_positions_equal_brute_force(activation, readout, kind):
    arch = specht.Architecture(vocab=3, length=5, activation=activation, readout=readout)
    x = np.random.default_rng(2).integers(0, 3, (4, arch.columns))
    mask = np.ones(x.shape, bool)
    mask[1, 0] = mask[2, 1:3] = False
    variances = numbers(arch, of_each=True)._replace(dense=0.05)  # activations see variances of order one
    expected = one_block(arch, x, mask, variances)[kind]
    computed = specht.Kernel(arch, variances=variances)
    np.testing.assert_allclose(getattr(computed, kind)(x, mask=mask), expected, rtol=1e-12, atol=1e-13 * np.abs(expected).max())
    np.testing.assert_allclose(
        computed.diagonal(x, kind=kind, mask=mask), np.diag(expected), rtol=1e-12, atol=1e-13 * np.abs(expected).max()
    )
    assert computed.form == ("closed, weighted counts" if readout != "mean" or activation == "linear" else "closed, position by position")


@every_structure
def test_equal_variances_of_each_are_one_variance(fields, of_each, kind):
    """Also in closed forms that change with it: weighted counts and four classes are two ways to the same number."""
    arch = architecture(fields)
    x, one = tokens(arch), numbers(arch)
    same = one._replace(tokens=np.full(arch.symbols, one.tokens), positions=np.full(arch.columns, one.positions))
    uniform, spread = (np.asarray(getattr(specht, kind)(arch, x, variances=each, heads=HEADS)) for each in (one, same))
    np.testing.assert_allclose(spread, uniform, rtol=1e-12, atol=1e-13 * np.abs(uniform).max())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fields", [{"activation": "relu"}, {"causal": True, "depth": 2, "activation": "relu"}, {"attention": "softmax"}])
def test_no_variance_of_positions_is_no_positions(fields, kind):
    """Zero is a value: it gives the kernel without positions, at correlation one too, where the slope of ReLU is steep."""
    arch = specht.Architecture(vocab=3, length=4, s_p=0.0, **fields)
    x = tokens(arch)
    x[2, :4] = x[0, :4][::-1]
    x[2, 4] = x[0, 4]
    zero, absent = (np.asarray(getattr(specht, kind)(each, x, heads=HEADS)) for each in (arch, arch.replace(positions="none", s_p=1.0)))
    np.testing.assert_allclose(zero, absent, rtol=1e-12, atol=1e-13 * np.abs(absent).max())


def test_pure_functions_and_the_object_agree():
    arch = architecture({"attention": "softmax", "activation": "erf"})
    x, y = tokens(arch), tokens(arch, n=3)[::-1]
    gram = specht.Kernel(arch, heads=512, seed=4)(x, y)
    np.testing.assert_allclose(np.asarray(specht.nngp(arch, x, y, heads=512, seed=4)), gram, rtol=1e-12)
    assert gram.heads == 512
    assert gram.stderr.shape == gram.shape


def test_forms_follow_the_variances():
    arch = architecture({"activation": "relu"})
    assert choose_form(arch, "nngp") == "classes"
    assert specht.Kernel(arch, variances=numbers(arch, of_each=True)).form == "closed, weighted counts"


def test_long_sequences_are_taken_row_by_row(monkeypatch):
    from specht.kernel import functions

    arch = architecture(STRUCTURES["positions"])
    x = tokens(arch, n=7)
    whole = np.asarray(specht.nngp(arch, x))
    monkeypatch.setattr(functions, "_ENTRIES", 2 * len(x) * arch.columns**2)
    functions._compiled.clear_cache()
    np.testing.assert_allclose(np.asarray(specht.nngp(arch, x)), whole, rtol=1e-13)
    functions._compiled.clear_cache()


SENTENCES = {
    "variances.tokens must be a number or an array of 3 entries, one for each of the symbols, got shape (2,).": Variances([1.0, 2.0], 1.0),
    "variances.positions must be a number or an array of 5 entries, one for each of the columns, got shape (4,).": Variances(
        1.0, [1.0] * 4
    ),
    "variances.dense must be one number, got shape (2,).": Variances(1.0, 1.0, [1.0, 2.0]),
    "variances.tokens must be finite and not negative, got -1.0.": Variances(-1.0, 1.0),
    "variances.positions must be finite and not negative, got nan.": Variances(1.0, float("nan")),
    "variances.tokens must be a number or an array of numbers, got 'much'.": Variances("much", 1.0),
    "variances must be a specht.Variances(tokens, positions, dense, readout), got 0.5.": 0.5,
}


@pytest.mark.parametrize(("sentence", "variances"), SENTENCES.items())
def test_bad_variances_are_refused(sentence, variances):
    arch = architecture({})
    for call in (lambda: specht.nngp(arch, tokens(arch), variances=variances), lambda: specht.Kernel(arch, variances=variances)):
        with pytest.raises(specht.InputError, match=re.escape(sentence)):
            call()
