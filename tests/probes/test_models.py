"""Any model can be called: functions, networks, pytrees, factories; and a broken one is a sentence."""

from __future__ import annotations

import functools
import re
import subprocess
import sys
from types import SimpleNamespace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import specht
from specht.errors import InputError
from specht.probes import models
from specht.probes.models import open_model
from specht.probes.outputs import name_layers, read_layers
from specht.probes.search import probe

VOCAB, LENGTH = 5, 4
TABLE = np.random.default_rng(0).normal(size=(VOCAB, 3)).astype(np.float32)


def quick(model, **settings):
    return probe(model, VOCAB, LENGTH, **({"profile_samples": 0} | settings))


class TestJax:
    def test_a_function_computes_in_double_where_its_arrays_do(self):
        def ordered(x):
            weights = jnp.arange(1.0, x.shape[1] + 1.0)
            return (x * weights[None, :]).sum(axis=1)

        with jax.numpy_dtype_promotion("standard"):
            found = quick(ordered)
        assert found.precision == "float64"
        assert not found.invariant
        assert not jax.config.jax_enable_x64

    def test_a_function_that_holds_single_arrays_is_judged_as_single(self):
        table = jnp.asarray(TABLE)
        found = quick(lambda x: table[x].sum(axis=1))
        assert found.precision == "float32"
        assert found.invariant
        largest = (LENGTH + 1) * np.abs(TABLE).max(axis=0)  # of each number, where all tokens are the same
        assert 0.1 * 2.4e-5 * largest.min() < found.tolerance <= 2.5e-5 * largest.min()

    def test_a_function_that_breaks_in_double_is_called_as_it_is(self):
        table = jnp.asarray(TABLE)
        found = quick(lambda x: (table[x] * jnp.ones((1, 1, 3))).sum(axis=1))  # strict promotion: float32 times float64
        assert found.precision == "float32"
        assert found.invariant

    def test_a_function_of_jax_arrays_gets_them(self):
        found = quick(lambda x: x.at[:, 0].set(0).sum(axis=1))
        assert found.subgroups == (((0,), (1, 2, 3, 4)),)
        assert found.output.readout.ignored == (0,)

    @pytest.mark.parametrize("compiled", [False, True])
    def test_an_equinox_module_is_taken_to_double(self, compiled):
        class Sums(eqx.Module):
            table: jax.Array
            scale: float = 2.0

            def __call__(self, x):
                return {"states": self.table[x], "sums": self.scale * jnp.cumsum(self.table[x], axis=1)}

        module = Sums(jnp.asarray(TABLE))
        found = quick(eqx.filter_jit(module) if compiled else module)
        assert found.precision == "float64"
        assert module.table.dtype == jnp.float32
        assert [layer.name for layer in found.layers] == ["states", "sums"]
        assert found.subgroups[2] == ((0, 1, 2), (3, 4))
        assert found.output.views[2].ignored == (3, 4)

    def test_arguments_that_were_given_are_taken_to_double(self):
        apply = functools.partial(lambda parameters, x: parameters["table"][x].sum(axis=1), {"table": jnp.asarray(TABLE)})
        assert quick(apply).precision == "float64"

    def test_rows_are_padded_so_that_a_program_is_compiled_once(self):
        shapes = set()

        @jax.jit
        def function(x):
            shapes.add(x.shape)
            return x.sum(axis=1)

        quick(function)
        assert shapes == {(2, LENGTH + 1), (models.ROWS, LENGTH + 1)}

    def test_a_network_is_its_streams_and_its_output(self):
        arch = specht.Architecture(vocab=VOCAB, length=LENGTH, depth=2, activation="relu")
        network = specht.nn.Network.init(arch, specht.nn.Size(6, 2, 3), key=jax.random.key(1))
        found = probe(network, profile_samples=0)
        assert (found.vocab, found.length, found.readout, found.precision) == (VOCAB, LENGTH, "last", "float64")
        assert found.model == str(arch)
        x = np.random.default_rng(0).integers(VOCAB, size=(300, LENGTH + 1))
        parts = [layers for _, layers in open_model(network).blocks(x)]
        expected = [*network.streams(x), network(x)]
        for number, name in enumerate(["layer 0", "layer 1", "layer 2", "output"]):
            values = np.concatenate([part[name].array for part in parts])
            assert values.dtype == np.float64
            np.testing.assert_allclose(values.reshape(expected[number].shape), expected[number], rtol=1e-4, atol=1e-4)


class TestNumPy:
    def test_tokens_lie_in_the_vocabulary_and_may_be_written_into(self):
        fed = []

        def function(x):
            fed.append(x.copy())
            values = x.sum(axis=1)
            x[:] = -1
            return values

        assert quick(function, profile_samples=100).invariant
        tokens = np.concatenate(fed)
        assert tokens.min() == 0
        assert tokens.max() == VOCAB - 1
        assert tokens.dtype.kind == "i"

    def test_wide_outputs_come_in_few_rows(self, monkeypatch):
        monkeypatch.setattr(models, "_CALL_BYTES", 10 * 8 * 100)
        rows = set()

        def function(x):
            rows.add(len(x))
            return np.repeat(x.sum(axis=1, keepdims=True), 100, axis=1)

        assert quick(function).invariant
        assert max(rows) == 10

    @pytest.mark.parametrize(
        ("returned", "names"),
        [
            (lambda x: x[:, 0], ["output"]),
            (lambda x: x[:, :1].tolist(), ["output"]),
            (lambda x: x[:, -1:, None] * 1.0, ["output"]),
            (lambda x: (x[:, :, None] * 1.0, None), ["output"]),
            (lambda x: [x[:, :, None] * 1.0, x[:, :, None] * 2.0, x[:, 0] == 1], ["layer 0", "layer 1", "output"]),
            (lambda x: {"embedding": x[:, :, None], "attention": None, "logits": x[:, 0]}, ["embedding", "logits"]),
            (lambda x: SimpleNamespace(logits=x[:, :, None], hidden_states=2 * (x[:, :, None],)), ["layer 0", "layer 1", "output"]),
            (lambda x: SimpleNamespace(last_hidden_state=x[:, :, None], hidden_states=None), ["output"]),
        ],
    )  # fmt: skip
    def test_outputs_in_many_forms(self, returned, names):
        assert [layer.name for layer in quick(returned).layers] == names

    @pytest.mark.parametrize(
        ("dtype", "precision"),
        [("float16", "float16"), ("bfloat16", "bfloat16"), ("float32", "float32"), ("longdouble", "float64"), ("int8", "exact")],
    )
    def test_precision_is_that_of_the_output(self, dtype, precision):
        values = read_layers(jnp.arange(3).astype(dtype) if dtype == "bfloat16" else np.arange(3).astype(dtype), 3, 5, "f")["output"]
        assert values.precision == precision
        assert values.array.dtype in (np.float32, np.float64)
        assert values.array.ravel().tolist() == [0, 1, 2]


class TestFactories:
    def test_a_function_without_arguments_makes_the_model(self):
        assert quick(lambda: lambda x: x.sum(axis=1)).invariant
        assert probe(lambda: specht.preset("bag-of-words", vocab=2, length=3), profile_samples=0).readout == "mean"

    def test_a_class_without_arguments_is_made(self):
        class Counter:
            def __init__(self, token: int = 1):
                self.token = token

            def __call__(self, x):
                return (x == self.token).sum(axis=1)

        assert quick(Counter).invariant
        assert quick(Counter(2)).invariant

    def test_functions_with_any_number_of_arguments_are_models(self):
        assert quick(lambda *arguments: arguments[0].sum(axis=1)).invariant
        assert quick(lambda x, scale=1.0: scale * x.sum(axis=1)).invariant


class Needy:
    def __init__(self, width):
        self.width = width


counter = iter(range(10**6))


def raising(x):
    raise KeyError("no such\nlayer")


def failing_factory():
    raise RuntimeError("no weights here")


BROKEN = {
    "wrong rows": (lambda x: np.ones(3), r"must return one row a sequence, so 2 rows, got an array of shape \(3,\)\."),
    "no rows": (lambda x: 1.0, r"must return one row a sequence, so 2 rows, got an array of shape \(\)\."),
    "wrong shape": (lambda x: np.ones((len(x), 4, 2)), r"an array of shape \(2, 4, 2\) for 2 sequences of 5 tokens: return \(2,\)"),
    "four axes": (lambda x: np.ones((len(x), 5, 2, 2)), r"returned an array of shape \(2, 5, 2, 2\)"),
    "no outputs": (lambda x: np.ones((len(x), 0)), r"returned an array of shape \(2, 0\)"),
    "raises": (raising, r"raising raised KeyError: 'no such\\nlayer' for tokens of shape \(2, 5\) from 0 to 4: it must take arrays"),
    "changes": (lambda x: x[:, 0] + float(next(counter)), r"called again with the same tokens, \d+ apart: switch off dropout"),
    "mixes": (lambda x: x[:, 0] - x[:, 0].mean(), r"among fewer ones and in another order, .* apart: it mixes the sequences of a batch"),
    "NaN": (lambda x: np.where(x[:, 0] > -1, np.nan, 0.0), r"returned nan for a sequence: make it finite"),
    "infinite": (lambda x: {"a": x[:, 0], "b": np.full(len(x), -np.inf)}, r"\(b\) returned -inf for a sequence"),
    "strings": (lambda x: np.array(["a"] * len(x)), r"must return real numbers, got an array of dtype str"),
    "complex": (lambda x: x[:, 0] * 1j, r"must return real numbers, got an array of dtype complex128"),
    "None": (lambda x: None, r"must return real numbers, got an array of dtype object"),
    "ragged": (lambda x: [[1.0], [1.0, 2.0]], r"must return an array of real numbers, got a list that is none"),
    "empty dict": (lambda x: {}, r"returned nothing: it must return an array"),
    "other layers": (lambda x: {f"layer {len(x)}": x[:, 0]}, r"other names or shapes .* layer 32 \(1, 1\) instead of layer 2 \(1, 1\)"),
    "Gram": (lambda x: x @ x.T, r"other names or shapes for 32 sequences than before, output \(1, 32\) instead of output \(1, 2\)"),
    "no function": (3, r"int cannot be called: give a function of tokens"),
    "needs arguments": (Needy, r"Needy is a class that needs width: give an object of it, or a function without arguments"),
    "factory raises": (failing_factory, r"failing_factory takes no arguments and raised RuntimeError: no weights here"),
    "factory of nothing": (lambda: 3, r"takes no arguments and made a int: let it take tokens, or make a model that does"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_model_is_one_sentence(name):
    model, sentence = BROKEN[name]
    with pytest.raises(InputError) as caught:
        quick(model)
    assert re.search(sentence, str(caught.value)), str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


def test_a_module_of_one_sequence_is_told_of_vmap():
    linear = eqx.nn.Linear(LENGTH, 2, key=jax.random.key(0))
    with pytest.raises(InputError, match=r"it must take arrays \(n, columns\), so wrap a model of one sequence in jax\.vmap\."):
        quick(linear)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"vocab": 6}, "vocab 6 contradicts V=5 L=4 | pos=learned(1.0) | linear/sqrt | linear | last, whose vocab is 5: leave it out."),
        ({"length": 9}, "whose length is 4: leave it out."),
        ({"readout": "mean"}, "whose readout is last: leave it out."),
        ({"weights": -1}, "weights must be a whole number from 0"),
        ({"size": (0, 1, 1)}, "width must be a whole number of at least 1, got 0."),
    ],
)
def test_what_contradicts_an_architecture_is_refused(settings, sentence):
    with pytest.raises(InputError) as caught:
        open_model(specht.Architecture(vocab=VOCAB, length=LENGTH), **settings)
    assert sentence in str(caught.value)


def test_what_a_function_cannot_say_has_to_be_given():
    with pytest.raises(InputError, match="does not say how many tokens it takes and how long sequences are: give vocab and length"):
        open_model(lambda x: x)
    with pytest.raises(InputError, match=r"weights=1 is for an architecture, and sum has weights of its own: leave it out\."):
        open_model(np.sum, VOCAB, LENGTH, weights=1)


def test_names_of_layers():
    assert list(name_layers((np.zeros(2), 1.0))) == ["layer 0", "output"]
    assert list(name_layers([1.0, 2.0])) == ["output"]


def test_a_function_of_numpy_loads_neither_jax_nor_torch():
    code = (
        "import sys, specht\n"
        "found = specht.probe(lambda x: x.sum(axis=1), 3, 4)\n"
        "print(found.invariant, [name for name in ('jax', 'equinox', 'torch') if name in sys.modules])"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "True []"


def test_more_than_the_memory_holds_is_refused(monkeypatch):
    monkeypatch.setattr("specht.probes.stabilisers.available_memory", lambda: 2**20)
    with pytest.raises(InputError, match=r"for 32 sequences need 0\.0 GB, and 0\.0 GB are free: take fewer or shorter sequences"):
        quick(lambda x: np.ones((len(x), 5000)))
