"""One door for tokens: every form gives the same numbers everywhere, and what is no array of tokens gets a sentence."""

from __future__ import annotations

import functools

import jax
import numpy as np
import pandas as pd
import pytest
from arrays_people_have import FORMS, BatchEncoding, Tensor

import specht
from specht.arrays import as_numpy
from specht.corpus.read.corpora import open_corpus
from specht.errors import InputError
from specht.learning.target_content import content
from specht.sequences import permute_context
from specht.sequences.tokens import check_batch, check_mask, check_sequences, check_tokens
from specht.studies.sparse.task import sparse_function

ARCH = specht.Architecture(vocab=3, length=2, activation="relu")
TOKENS = np.array([[0, 1, 2], [1, 1, 0], [2, 0, 1]])
LEFT = np.array([[0, 1, 1], [1, 1, 1], [0, 0, 1]])
"""A mask that hides some tokens of the context."""
SOURCE = specht.sources.markov([0.5, 0.2, 0.3], [[0.1, 0.4, 0.5], [0.3, 0.3, 0.4], [0.6, 0.2, 0.2]])
FIRST = specht.Target("first token", lambda x: x[:, 0] - 0.5 * x[:, 1])


@functools.cache
def network():
    return specht.nn.Network.init(ARCH, specht.nn.Size(4, 2, 2), key=jax.random.key(0))


@functools.cache
def eigenfunction():
    spectrum = specht.spectrum(specht.Architecture(vocab=3, length=2))
    return spectrum.eigenfunction(spectrum.rows[0])


def assert_sees_sums(x):
    read = []
    specht.testing.assert_invariant(lambda left, right: read.append(left) or left.sum(axis=1)[:, None] * right.sum(axis=1)[None], x)
    return read[0]


def train(x, y):
    recipe = specht.nn.Recipe(steps=3, learning_rate=1e-4)
    start = lambda key: specht.nn.Network.init(ARCH, specht.nn.Size(4, 2, 2), key=key)  # noqa: E731
    return specht.nn.train(start, specht.nn.Fixed(x, y), recipe)


DOORS = {
    "tokens": lambda x: check_tokens(ARCH, x),
    "batch": lambda x: check_batch(ARCH, x).tokens,
    "sequences": lambda x: check_sequences(3, x),
    "kernel": specht.Kernel(ARCH).nngp,
    "network": lambda x: network()(x),
    "hidden": lambda x: network().hidden(x),
    "streams": lambda x: np.stack(network().streams(x)),
    "data": lambda x: specht.nn.Fixed(x, [0.0, 1.0, 2.0]).checked("mse").x,
    "probability": SOURCE.log_probability,
    "target": FIRST,
    "labels": lambda x: specht.targets.labelled(x, [1.0, 2.0, 3.0], vocab=3)(TOKENS),
    "eigenfunction": lambda x: eigenfunction()(x),
    "permutation": lambda x: permute_context(x, (1, 0), 2),
    "assertion": assert_sees_sums,
    "corpus": lambda x: np.concatenate([part.reshape(-1) for part in open_corpus(x).parts]),
}
"""Functions of tokens."""


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("form", FORMS)
def test_every_form_means_the_same_everywhere(form, door):
    np.testing.assert_array_equal(DOORS[door](FORMS[form](TOKENS)), DOORS[door](TOKENS))


@pytest.mark.parametrize("form", ["tensor on a device", "data frame", "tokenizer"])
def test_training_reads_every_form(form):
    labels = Tensor(np.array([0.5, -1.0, 2.0], dtype=np.float32), requires_grad=True)
    expected, losses = (train(x, y).losses["train"] for x, y in ((TOKENS, labels.values), (FORMS[form](TOKENS), labels)))
    np.testing.assert_array_equal(losses, expected)
    assert np.isfinite(losses).all()


def test_exact_inference_reads_every_form():
    task = specht.Task(specht.sources.uniform(3), FIRST)
    expected, *others = (
        specht.gp.mean_outputs(ARCH, task, x, n_train=4, datasets=2).mean for x in (TOKENS, FORMS["tensor"](TOKENS), FORMS["dict"](TOKENS))
    )
    assert np.abs(expected).max() > 0.1
    for mean in others:
        np.testing.assert_array_equal(mean, expected)


@pytest.mark.parametrize("form", FORMS)
def test_sparse_functions_read_bits_in_every_form(form):
    bits = np.array([[0, 1, 1], [1, 1, 0], [0, 0, 1]])
    assert sparse_function("parity", 2).values(FORMS[form](bits)).tolist() == [1, 0, 0]


def test_a_target_taken_apart_reads_every_form():
    spectrum = specht.spectrum(specht.Architecture(vocab=3, length=2))
    parts = content(spectrum, specht.Task(specht.sources.uniform(3), specht.targets.counts(2)), samples=200)
    np.testing.assert_array_equal(parts.components(FORMS["tokenizer"](TOKENS)), parts.components(TOKENS))
    assert parts.components(TOKENS).shape == (3, len(spectrum.rows), 1)


def test_empirical_kernels_read_masks_of_tokenizers():
    size = specht.nn.Size(4, 2, 2)
    masked = specht.nn.empirical_nngp(ARCH, TOKENS, mask=LEFT == 1, size=size, networks=2, seed=0)
    encoded = specht.nn.empirical_nngp(ARCH, BatchEncoding(input_ids=TOKENS, attention_mask=Tensor(LEFT)), size=size, networks=2, seed=0)
    np.testing.assert_array_equal(encoded.mean, masked.mean)


def test_a_sampler_and_a_function_may_speak_of_tensors():
    weights = specht.profile(
        lambda x: Tensor(2.0 * x[:, 0] - 1.0, requires_grad=True), lambda rng, n: Tensor(rng.integers(2, size=(n, 6))), 6, samples=200
    ).weights
    same = specht.profile(lambda x: 2.0 * x[:, 0] - 1.0, lambda rng, n: rng.integers(2, size=(n, 6)), 6, samples=200).weights
    np.testing.assert_array_equal(weights, same)


# ---------------------------------------------------------------------------------------------------------------------------------
# Masks


@pytest.mark.parametrize("form", [lambda m: m == 1, np.asarray, lambda m: m.tolist(), Tensor, pd.DataFrame, lambda m: m.astype(np.uint8)])
def test_masks_are_booleans_or_zeros_and_ones(form):
    np.testing.assert_array_equal(check_mask(ARCH, form(LEFT), TOKENS), LEFT == 1)
    np.testing.assert_array_equal(check_batch(ARCH, TOKENS, form(LEFT)).visible, LEFT == 1)
    np.testing.assert_array_equal(check_batch(ARCH, {"input_ids": TOKENS, "attention_mask": form(LEFT)}).visible, LEFT == 1)
    np.testing.assert_array_equal(network()(TOKENS, form(LEFT)), network()(TOKENS, LEFT == 1))


def test_the_mask_of_a_mapping_is_the_mask():
    encoded = BatchEncoding(input_ids=TOKENS.tolist(), attention_mask=LEFT.tolist())
    hidden = network()(TOKENS, LEFT == 1)
    np.testing.assert_array_equal(network()(encoded), hidden)
    assert not np.array_equal(hidden, network()(TOKENS))
    compiled = jax.jit(lambda x: network()(x))({"input_ids": TOKENS, "attention_mask": LEFT})
    np.testing.assert_allclose(compiled, hidden, rtol=1e-5, atol=1e-6)


def test_padding_is_left_out_of_a_corpus():
    parts = open_corpus({"input_ids": TOKENS, "attention_mask": LEFT}).parts
    assert [part.tolist() for part in parts] == [[1, 2], [1, 1, 0], [1]]
    assert [part.tolist() for part in open_corpus(pd.Series([[0, 1], [2]])).parts] == [[0, 1], [2]]
    assert [part.tolist() for part in open_corpus({"input_ids": [[0, 1], [2]], "attention_mask": [[1, 0], [1]]}).parts] == [[0], [2]]


@pytest.mark.parametrize(
    ("mask", "sentence"),
    [
        ([[1, 2, 1]] * 3, "the mask of x holds 2: give True or 1 where the token is real, and False or 0 where it is padding."),
        ([[0.0, 0.0, 0.0]] * 3, "the mask of x has dtype float64: give True or 1 where the token is real"),
        ([[1, 1], [1]], "the mask of x has rows of unequal length: give rows of one length."),
        ("yes", "the mask of x has dtype <U3: give True or 1"),
        (
            [[1, 1, 0]] * 3,
            "hides the readout token of row 0: pad the context, .* as a tokenizer with padding_side='left' does.",
        ),
    ],
)
def test_unusable_masks(mask, sentence):
    for given in (lambda: check_batch(ARCH, TOKENS, mask), lambda: check_batch(ARCH, {"input_ids": TOKENS, "attention_mask": mask})):
        with pytest.raises(InputError, match=sentence):
            given()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda x: check_batch(ARCH, x, LEFT), "x brings an attention_mask, and a mask was given beside it: leave one of the two out."),
        (lambda x: network()(x, LEFT), "x brings an attention_mask, and a mask was given beside it"),
        (
            SOURCE.log_probability,
            "x brings an attention_mask that hides 3 tokens, and padding cannot be told apart here: give sequences",
        ),
        (lambda x: train(x, [1.0, 2.0, 3.0]), "data.x brings an attention_mask that hides 3 tokens"),
        (
            lambda x: open_corpus({**x, "attention_mask": [[1]]}),
            "The attention_mask of tokens has another shape than they have: give",
        ),
    ],
)
def test_masks_that_cannot_be_taken(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call({"input_ids": TOKENS, "attention_mask": LEFT})


# ---------------------------------------------------------------------------------------------------------------------------------
# What is no array of tokens

EXAMPLE = r"write one list of numbers a sequence, for example \[\[0, 1, 1\], \[1, 0, 1\]\]\.$"
ENCODE = r"encode them first, as a tokenizer does, for example as \[\[0, 1, 1\]\]\.$"
FILL = "leave these sequences out, or put any token there and hide it with a mask"
CONVERT = r"convert them to integers first, for example with numpy.asarray\(x\).astype\(int\)\.$"
WRONG = {
    "text": ("abc", f"x holds the text 'abc', but tokens are whole numbers from 0 to 2: {ENCODE}"),
    "words": ([["a", "b", "c"]], f"x holds the text 'a', but .*{ENCODE}"),
    "series of words": (pd.Series(["a", "b"]), f"x holds the text 'a', but .*{ENCODE}"),
    "generator": ((token for token in range(3)), r"x is an object of type generator, but .* to 2: write list\(\.\.\.\) around it\.$"),
    "values": ({"a": 1}.values(), r"x is dict_values\(\[1\]\), but .*: write list\(\.\.\.\) around it\.$"),
    "set": ({0, 1}, f"x is {{0, 1}}, but .*{EXAMPLE}"),
    "rows of sets": ([{0, 1}], f"x holds {{0, 1}}, but .*{EXAMPLE}"),
    "nothing": (None, f"x is None, but .*{EXAMPLE}"),
    "an object": (object(), f"x is an object of type object, but .*{EXAMPLE}"),
    "whole floats": ([[0.0, 1.0, 2.0]], f"x has dtype float64, but .*{CONVERT}"),
    "booleans": ([[True, False, True]], f"x has dtype bool, but .*{CONVERT}"),
    "fractions": ([[0.5, 1.0, 2.0]], f"x holds 0.5, but .*{EXAMPLE}"),
    "infinity": ([[0.0, float("inf"), 2.0]], f"x holds inf, but .*{EXAMPLE}"),
    "NaN": ([[0.0, float("nan"), 2.0]], f"x contains NaN, but .*{FILL}"),
    "missing": (pd.DataFrame([[0, None, 2]]).astype("Int64"), f"x holds <NA>, but .*{FILL}"),
    "None inside": ([[0, None, 2]], f"x holds None, but .*{FILL}"),
    "huge": ([[0, 2**70, 2]], f"x holds {2**70}, but tokens are whole numbers from 0 to 2: remap it."),
    "complex": ([[1j, 0, 0]], f"x has dtype complex128, but .*{EXAMPLE}"),
    "three axes": (
        np.zeros((2, 3, 4), int),
        r"got an array of shape \(2, 3, 4\): write x.argmax\(axis=-1\) if it is one-hot, or",
    ),
    "a number": (3, rf"x must be a table with one sequence a row, got an array of shape \(\): {EXAMPLE}"),
    "no rows": ([], r"x is empty \(shape \(0,\)\): give at least one sequence\.$"),
    "unequal": ([[0, 1], [0]], r"x has sequences of unequal length: pad them to 3 columns and say which are real with a mask\.$"),
    "unequal series": (pd.Series([[0, 1], [0]]), "x has sequences of unequal length"),
    "unequal tensors": ([Tensor([0, 1]), Tensor([0])], "x has sequences of unequal length"),
    "mapping": (
        {"ids": TOKENS},
        "x is a dict with 'ids', but tokens are read from 'input_ids': give the array alone, or write {'",
    ),
    "empty mapping": (BatchEncoding(), "x is a BatchEncoding with nothing, but tokens are read from 'input_ids'"),
    "too large": (pd.DataFrame([[0, 1, 3]]), "x holds token 3, but vocab=3 allows 0 to 2: remap it or raise vocab."),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_type_is_told_with_what_to_write(wrong):
    tokens, sentence = WRONG[wrong]
    with pytest.raises(InputError, match=sentence):
        check_batch(ARCH, tokens)


@pytest.mark.parametrize("wrong", ["text", "set", "three axes", "whole floats", "mapping", "too large"])
def test_networks_and_kernels_say_the_same(wrong):
    tokens, sentence = WRONG[wrong]
    for call in (network(), specht.Kernel(ARCH)):
        with pytest.raises(InputError, match=sentence):
            call(tokens)


def test_networks_check_shapes_where_values_are_not_known():
    with pytest.raises(InputError, match=r"x has shape \(2, 7\), and V=3 L=2 .* needs \(n, 3\)"):
        jax.jit(lambda x: network()(x))(np.zeros((2, 7), int))


def test_traced_tokens_are_refused_where_values_are_needed():
    with pytest.raises(InputError, match="x is traced by JAX, so its numbers are not known: take it from outside the function"):
        jax.jit(lambda x: check_tokens(ARCH, x))(TOKENS)


class Broken:
    def detach(self):
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")


def test_arrays_that_cannot_be_read():
    with pytest.raises(InputError, match=r"x is a Broken that NumPy cannot read \(Cannot copy .* data!\): convert it with numpy.array"):
        as_numpy(Broken())
    with pytest.raises(InputError, match=r"y has rows of unequal length: give rows of one length\."):
        as_numpy([[1], [1, 2]], "y")


def test_half_precision_that_numpy_does_not_know():
    class Half(Tensor):
        dtype = "torch.bfloat16"

        def __init__(self, values):
            self.values = np.asarray(values)

        def detach(self):
            return self

        cpu = detach

        def numpy(self):
            raise TypeError("Got unsupported ScalarType BFloat16")

        def float(self):
            return Tensor(self.values.astype(np.float32))

    assert as_numpy(Half([1.5, 2.0])).tolist() == [1.5, 2.0]


def test_kernels_read_the_mask_of_a_tokenizer():
    mask = np.array([[0, 1, 1], [1, 1, 1]])
    encoded = {"input_ids": TOKENS[:2], "attention_mask": mask}
    kernel = specht.Kernel(ARCH)
    np.testing.assert_array_equal(kernel(encoded), kernel(TOKENS[:2], mask=mask.astype(bool)))
    np.testing.assert_array_equal(np.asarray(specht.nngp(ARCH, encoded)), np.asarray(specht.nngp(ARCH, TOKENS[:2], mask=mask)))
    assert not np.array_equal(kernel(encoded), kernel(TOKENS[:2]))
