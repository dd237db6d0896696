"""The finite network against the loops, and its initialisation."""

from __future__ import annotations

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from loops import (
    LENGTH,
    OPTIONS,
    SIZE,
    VOCAB,
    architecture,
    drawn_signs,
    left_padding,
    network_of,
    outputs_of,
    raw_weights,
    reference,
    sequences,
    streams_of,
)

from specht.errors import InputError
from specht.nn.network import Network, Size, Weight

# ---------------------------------------------------------------------------------------------------------------------------------
# The forward pass


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_forward_pass_matches_loops(options):
    arch = architecture(**options)
    network, tokens, key = network_of(arch), sequences(arch), jax.random.key(3)
    signs = drawn_signs(arch, network, tokens, key)
    for mask in (np.ones(tokens.shape, bool), left_padding(arch)):
        rows = zip(tokens, mask, [None] * len(tokens) if signs is None else signs, strict=True)
        expected = [reference(arch, raw_weights(network), *row) for row in rows]
        outputs = outputs_of(network, tokens, mask, key)
        assert outputs.shape == (len(tokens), 1)
        np.testing.assert_allclose(outputs[:, 0], expected, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_double_precision_matches_loops(options):
    arch = architecture(**options)
    network, tokens, key = network_of(arch), sequences(arch), jax.random.key(3)
    with jax.enable_x64(True):
        signs = drawn_signs(arch, network.in_double(), tokens, key)  # others than in float32
        outputs = np.asarray(outputs_of(network.in_double(), tokens, None, key))
    assert outputs.dtype == np.float64
    every = np.ones(tokens.shape[1], bool)
    expected = [
        reference(arch, raw_weights(network), row, every, None if signs is None else signs[number]) for number, row in enumerate(tokens)
    ]
    np.testing.assert_allclose(outputs[:, 0], expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("norm", ["none", "pre", "post"])
@pytest.mark.parametrize("positions", ["learned", "stochastic"])
def test_blocks_go_on_from_what_attention_hands_on(norm, positions):
    arch = architecture(attention="softmax", activation="relu", depth=2, residual=True, norm=norm, positions=positions, causal=True)
    network, tokens, key = network_of(arch), sequences(arch), jax.random.key(3)
    weights = raw_weights(network)

    def normal(values):
        return (values - values.mean(axis=-1, keepdims=True)) / values.std(axis=-1, keepdims=True)

    with jax.enable_x64(True):
        double = network.in_double()
        streams, attended = (np.asarray(each) for each in (double.streams(tokens, key=key), double.attended(tokens, key=key)))
    assert attended.shape == (2, len(tokens), arch.columns, SIZE.width)
    for layer in range(2):
        o = streams[layer] + attended[layer]
        o = normal(o) if norm == "post" else o
        dense = np.sqrt(arch.s_1 / SIZE.width) * (normal(o) if norm == "pre" else o) @ weights[f"dense{layer}"]
        after = o + np.maximum(dense, 0.0) @ weights[f"branch{layer}"] / np.sqrt(SIZE.width)
        np.testing.assert_allclose(streams[layer + 1], normal(after) if norm == "post" else after, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("readout", ["last", "mean"])
def test_streams_end_where_the_hidden_vector_begins(readout):
    arch = architecture(attention="softmax", activation="erf", depth=2, readout=readout)
    network, tokens = network_of(arch), sequences(arch)
    streams, hidden = streams_of(network, tokens), jax.jit(Network.hidden)(network, tokens)
    assert [stream.shape for stream in streams] == [(len(tokens), arch.columns, SIZE.width)] * 3
    final = np.asarray(streams[-1]).mean(axis=1) if readout == "mean" else streams[-1][:, -1]
    np.testing.assert_allclose(hidden, final, rtol=1e-5, atol=1e-6)
    outputs = math.sqrt(arch.s_2 / SIZE.width) * np.asarray(hidden) @ raw_weights(network)["readout"]
    np.testing.assert_allclose(outputs_of(network, tokens), outputs, rtol=1e-4, atol=1e-5)


def test_class_symbol_replaces_the_last_column():
    arch = architecture(readout="cls")
    tokens = sequences(arch)
    other = tokens.copy()
    other[:, -1] = (other[:, -1] + 1) % VOCAB
    assert network_of(arch).embedding.raw.shape[0] == VOCAB + 1
    np.testing.assert_array_equal(outputs_of(network_of(arch), tokens), outputs_of(network_of(arch), other))


def test_stochastic_positions_are_signs_drawn_from_the_key():
    arch = architecture(positions="stochastic")
    network, tokens = network_of(arch), np.zeros((40, arch.columns), int)
    signs = drawn_signs(arch, network, tokens, jax.random.key(0))
    assert signs is not None
    np.testing.assert_allclose(np.abs(signs), 1, rtol=1e-5)
    assert abs(signs.mean()) < 5 / math.sqrt(signs.size)
    assert not np.allclose(signs[0], signs[1])  # sequences do not share a draw
    with pytest.raises(InputError, match="Stochastic positions are drawn anew at every call: pass key"):
        network(tokens)


def test_sinusoidal_positions_have_the_norm_of_learned_ones():
    arch = architecture(positions="sinusoidal", s_w=0.0)
    stream = streams_of(network_of(arch), sequences(arch))[0]
    np.testing.assert_allclose(np.square(stream).mean(axis=-1), arch.s_p, rtol=1e-5)


# ---------------------------------------------------------------------------------------------------------------------------------
# Symmetries


def test_mean_readout_without_positions_ignores_the_order():
    arch = architecture(positions="none", readout="mean", attention="softmax", activation="relu", depth=2)
    network, tokens = network_of(arch), sequences(arch)
    shuffled = outputs_of(network, tokens[:, [2, 0, 3, 1]])
    np.testing.assert_allclose(outputs_of(network, tokens), shuffled, rtol=1e-4, atol=1e-5)


def test_causal_streams_do_not_see_later_tokens():
    arch = architecture(causal=True, attention="softmax", activation="erf", depth=2, residual=True, norm="pre")
    network, tokens = network_of(arch), sequences(arch)
    other = tokens.copy()
    other[:, 3] = (other[:, 3] + 1) % VOCAB
    for stream, changed in zip(streams_of(network, tokens), streams_of(network, other), strict=True):
        stream, changed = np.asarray(stream), np.asarray(changed)
        np.testing.assert_allclose(stream[:, :3], changed[:, :3], rtol=1e-5, atol=1e-6)
        assert not np.allclose(stream[:, 3:], changed[:, 3:], atol=1e-3)


PADDED = {
    "none, last": {"positions": "none", "normalised": True, "depth": 2},
    "none, causal": {"positions": "none", "causal": True, "normalised": True, "depth": 2, "residual": True, "norm": "pre"},
    "none, mean": {"positions": "none", "readout": "mean", "attention": "softmax", "depth": 2},
    "rotary, which sees distances only": {"positions": "rotary", "attention": "softmax", "depth": 2},
}


@pytest.mark.parametrize("options", PADDED.values(), ids=PADDED)
def test_left_padding_equals_the_shorter_sequence(options):
    """The weights know nothing of the length where positions are none or rotary, so the same network runs at both."""
    arch = architecture(activation="relu", **options)
    network, tokens = network_of(arch), sequences(arch)
    mask = np.broadcast_to(np.arange(arch.columns) >= 2, tokens.shape)
    short = _at_length(network, LENGTH - 2)
    padded, whole = outputs_of(network, tokens, mask), outputs_of(network, tokens, np.ones_like(mask))
    np.testing.assert_allclose(padded, outputs_of(short, tokens[:, 2:]), rtol=1e-4, atol=1e-5)
    assert not np.allclose(padded, whole, atol=1e-3)


def _at_length(network: Network, length: int) -> Network:
    arch = network.arch.replace(length=length)
    blocks = tuple(dataclasses.replace(block, arch=arch) for block in network.blocks)
    return dataclasses.replace(network, arch=arch, blocks=blocks)


# ---------------------------------------------------------------------------------------------------------------------------------
# Initialisation


@pytest.mark.parametrize("parametrisation", ["ntk", "standard"])
def test_parameters_are_float32(parametrisation):
    arch = architecture(residual=True, extra_linear=True)
    leaves = jax.tree.leaves(network_of(arch, parametrisation=parametrisation))
    assert len(leaves) == 2 + 6 + 2
    assert {leaf.dtype for leaf in leaves} == {jnp.dtype("float32")}
    outputs = outputs_of(network_of(arch, outputs=3, parametrisation=parametrisation), sequences(arch))
    assert (outputs.shape, outputs.dtype) == ((5, 3), jnp.float32)


def test_standard_weights_have_variance_over_fan_in():
    arch = architecture(residual=True, extra_linear=True)
    width, heads, head_size = SIZE[:3]
    variances = {"embedding": 0.7, "position": 0.4, "extra": 1 / width, "readout": 0.8 / width}
    variances |= {"query0": 1 / width, "key0": 1 / width, "value0": 1 / width, "output0": 1 / (heads * head_size)}
    variances |= {"dense0": 1.3 / width, "branch0": 1 / width}
    samples = [raw_weights(network_of(arch, seed, parametrisation="standard")) for seed in range(100)]
    assert samples[0].keys() == variances.keys()
    for name, variance in variances.items():
        squares = np.array([sample[name] for sample in samples]) ** 2
        assert abs(squares.mean() - variance) < 5 * variance * math.sqrt(2 / squares.size), name  # var of z^2 is 2 var(z)^2


def test_all_weights_can_have_one_deviation():
    network = Network.init(architecture(), Size(64, 4, 16), key=jax.random.key(0), deviation=0.02)
    weights = jax.tree.leaves(network, is_leaf=lambda node: isinstance(node, Weight))
    values = np.concatenate([weight.scale * np.asarray(weight.raw).ravel() for weight in weights])
    assert abs(values.std() / 0.02 - 1.0) < 4 / math.sqrt(2 * len(values))
    with pytest.raises(InputError, match="deviation"):
        Network.init(architecture(), SIZE, key=jax.random.key(0), deviation=-1.0)


def test_parametrisations_have_the_same_law():
    arch = architecture(attention="softmax", activation="erf", extra_linear=True)  # bounded, so that the fourth moment converges
    tokens = jnp.asarray(sequences(arch, n=1))
    ntk = np.array([outputs_of(network_of(arch, seed), tokens) for seed in range(300)]) ** 2
    standard = np.array([outputs_of(network_of(arch, 1000 + seed, parametrisation="standard"), tokens) for seed in range(300)]) ** 2
    error = math.sqrt((ntk.var() + standard.var()) / len(ntk))
    assert abs(ntk.mean() - standard.mean()) < 5 * error
    assert error < 0.2 * ntk.mean()  # sharp enough to notice a missing factor of the width


def test_same_key_gives_the_same_function_in_both_parametrisations():
    arch = architecture(residual=True, activation="relu", extra_linear=True, depth=2)
    tokens, ntk, standard = sequences(arch), network_of(arch), network_of(arch, parametrisation="standard")
    np.testing.assert_allclose(outputs_of(ntk, tokens), outputs_of(standard, tokens), rtol=1e-4)
    scales = {weight.scale for weight in jax.tree.leaves(standard, is_leaf=lambda node: isinstance(node, Weight))}
    assert scales == {1.0}


def test_sizes_that_cannot_be_used_are_refused():
    with pytest.raises(InputError, match="Sinusoidal positions pair coordinates up, so width must be even, got 5"):
        Network.init(architecture(positions="sinusoidal"), Size(5, 1, 2), key=jax.random.key(0))
    with pytest.raises(InputError, match="head_size must be even, got 3"):
        Network.init(architecture(positions="rotary"), Size(4, 1, 3), key=jax.random.key(0))
    with pytest.raises(InputError, match="heads must be a whole number of at least 1, got 0"):
        Network.init(architecture(), Size(4, 0, 2), key=jax.random.key(0))
    with pytest.raises(InputError, match="did you mean 'standard'"):
        network_of(architecture(), parametrisation="standart")
    with pytest.raises(InputError, match="x has 4 columns, but length=4"):
        network_of(architecture())(np.zeros((2, 4), int))
