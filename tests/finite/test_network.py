"""The finite network against a second implementation: one sequence, one position, one head at a time, in NumPy float64."""

from __future__ import annotations

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from specht.architecture import Architecture
from specht.errors import InputError
from specht.finite.empirical import empirical_nngp, empirical_ntk, feature_kernel, tangent_kernel
from specht.finite.network import Network, Size, Weight

VOCAB, LENGTH = 3, 4
SIZE = Size(width=6, heads=3, head_size=4)
SCALES = {"s_w": 0.7, "s_p": 0.4, "s_1": 1.3, "s_2": 0.8}  # all different from one and from each other

OPTIONS = {
    "linear": {},
    "softmax erf": {"attention": "softmax", "activation": "erf"},
    "causal normalised, depth 2": {"causal": True, "normalised": True, "depth": 2, "activation": "relu"},
    "causal softmax, mean readout": {"causal": True, "attention": "softmax", "readout": "mean", "activation": "gelu"},
    "tied softmax, class symbol": {"scaling": "tied", "attention": "softmax", "readout": "cls", "activation": "relu"},
    "untied normalised": {"scaling": "untied", "normalised": True, "activation": "erf"},
    "residual pre-norm, depth 2": {"residual": True, "norm": "pre", "depth": 2, "attention": "softmax", "activation": "gelu"},
    "residual post-norm, mean": {"residual": True, "norm": "post", "depth": 2, "readout": "mean", "activation": "relu"},
    "post-norm": {"norm": "post", "activation": "erf"},
    "sinusoidal, extra linear": {"positions": "sinusoidal", "extra_linear": True, "activation": "relu"},
    "rotary softmax, depth 2": {"positions": "rotary", "attention": "softmax", "depth": 2, "activation": "erf"},
    "learned qk-only pre-norm, depth 2": {"values_see_positions": False, "norm": "pre", "depth": 2, "attention": "softmax"},
    "sinusoidal qk-only residual": {"positions": "sinusoidal", "values_see_positions": False, "residual": True, "activation": "relu"},
    "stochastic": {"positions": "stochastic", "attention": "softmax", "activation": "relu"},
    "no positions, mean, extra linear": {"positions": "none", "readout": "mean", "extra_linear": True, "activation": "gelu"},
}


def architecture(**options) -> Architecture:
    return Architecture(**{"vocab": VOCAB, "length": LENGTH, **SCALES, **options})


def network_of(arch: Architecture, seed: int = 0, **options) -> Network:
    return Network.init(arch, SIZE, key=jax.random.key(seed), **options)


@jax.jit
def outputs_of(network: Network, tokens, mask=None, key=None):
    return network(tokens, mask, key=key)


@jax.jit
def streams_of(network: Network, tokens, key=None):
    return network.streams(tokens, key=key)


def sequences(arch: Architecture, n: int = 5, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, VOCAB, (n, arch.columns))


def left_padding(arch: Architecture, n: int = 5) -> np.ndarray:
    """Row i has its first i mod 3 columns masked, so that the readout column is always real."""
    return np.arange(arch.columns)[None] >= (np.arange(n) % 3)[:, None]


# ---------------------------------------------------------------------------------------------------------------------------------
# The second implementation


def raw_weights(network: Network) -> dict[str, np.ndarray]:
    """Every trained array by name, such as `query0`, in float64."""
    named = {"embedding": network.embedding, "position": network.position, "extra": network.extra, "readout": network.readout}
    for layer, block in enumerate(network.blocks):
        named |= {f"{name}{layer}": getattr(block, name) for name in ("query", "key", "value", "output", "dense", "branch")}
    return {name: np.asarray(weight.raw, np.float64) for name, weight in named.items() if weight is not None}


def frequency(i: int, count: int) -> float:
    return 10000 ** (-(i + 0.5) / count)


def position_vectors(arch: Architecture, weights: dict[str, np.ndarray], signs: np.ndarray | None) -> np.ndarray:
    width = weights["embedding"].shape[1]
    vectors = np.zeros((arch.columns, width))
    for a in range(arch.columns):
        if arch.positions == "learned":
            vectors[a] = math.sqrt(arch.s_p) * weights["position"][a]
        if arch.positions == "stochastic":
            assert signs is not None
            vectors[a] = math.sqrt(arch.s_p) * signs[a]
        if arch.positions == "sinusoidal":
            for i in range(width // 2):
                vectors[a, i] = math.sqrt(2 * arch.s_p) * math.sin(a * frequency(i, width // 2))
                vectors[a, i + width // 2] = math.sqrt(2 * arch.s_p) * math.cos(a * frequency(i, width // 2))
    return vectors


def turned(vector: np.ndarray, a: int) -> np.ndarray:
    half = len(vector) // 2
    out = np.empty_like(vector)
    for i in range(half):
        number = complex(vector[i], vector[i + half]) * np.exp(1j * a * frequency(i, half))
        out[i], out[i + half] = number.real, number.imag
    return out


def standardised(vector: np.ndarray) -> np.ndarray:
    return (vector - vector.mean()) / vector.std()


def activated(arch: Architecture, u: np.ndarray) -> np.ndarray:
    erf = scipy.special.erf
    return {"linear": u, "erf": erf(u), "relu": u * (u > 0), "gelu": u * (1 + erf(u / math.sqrt(2))) / 2}[arch.activation]


def attended(arch: Architecture, weights: dict[str, np.ndarray], layer: int, read, values, a: int, real) -> np.ndarray:
    """What position a takes from the positions it sees; `read` holds what queries and keys read."""
    query, value, output = (weights[f"{name}{layer}"] for name in ("query", "value", "output"))
    key = query if arch.scaling == "tied" else weights[f"key{layer}"]
    heads, width, size = query.shape
    seen = [b for b in range(arch.columns) if real[b] and (b <= a or not arch.causal)]
    total = np.zeros(width)
    for h in range(heads):
        q = query[h].T @ read[a] / math.sqrt(width)
        keys = {b: key[h].T @ read[b] / math.sqrt(width) for b in seen}
        if arch.positions == "rotary":
            q, keys = turned(q, a), {b: turned(k, b) for b, k in keys.items()}
        score = {b: q @ keys[b] / (math.sqrt(size) if arch.scaling == "sqrt" else size) for b in seen}
        if arch.attention == "softmax":
            partition = sum(math.exp(s) for s in score.values())
            score = {b: math.exp(s) / partition for b, s in score.items()}
        if arch.normalised:
            score = {b: s / len(seen) for b, s in score.items()}
        for b in seen:
            total += output[h].T @ (score[b] * value[h].T @ values[b] / math.sqrt(width))
    return total / math.sqrt(heads * size)


def reference(arch: Architecture, weights: dict[str, np.ndarray], row, real, signs=None) -> float:
    """The output for one sequence."""
    symbols = [*row[:-1], VOCAB] if arch.readout == "cls" else row
    width = weights["embedding"].shape[1]
    positions = position_vectors(arch, weights, signs)
    stream = [math.sqrt(arch.token_variance) * weights["embedding"][symbol] for symbol in symbols]
    if arch.values_see_positions:
        stream = [z + p for z, p in zip(stream, positions, strict=True)]
    for layer in range(arch.depth):
        values = [standardised(z) if arch.norm == "pre" else z for z in stream]
        read = values if arch.values_see_positions else [z + p for z, p in zip(values, positions, strict=True)]
        following = []
        for a in range(arch.columns):
            o = attended(arch, weights, layer, read, values, a, real)
            o = stream[a] + o if arch.residual else o
            if not o.any():  # padding that sees nothing, and that nothing sees
                following.append(np.ones(width))
                continue
            o = standardised(o) if arch.norm == "post" else o
            h = activated(arch, math.sqrt(arch.s_1 / width) * weights[f"dense{layer}"].T @ (standardised(o) if arch.norm == "pre" else o))
            h = o + weights[f"branch{layer}"].T @ h / math.sqrt(width) if arch.residual else h
            following.append(standardised(h) if arch.norm == "post" else h)
        stream = following
    if arch.norm == "pre":
        stream = [standardised(z) for z in stream]
    hidden = sum(z for z, r in zip(stream, real, strict=True) if r) / sum(real) if arch.readout == "mean" else stream[-1]
    if arch.extra_linear:
        hidden = weights["extra"].T @ hidden / math.sqrt(width)
    return float(math.sqrt(arch.s_2 / width) * hidden @ weights["readout"][:, 0])


def drawn_signs(arch: Architecture, network: Network, tokens: np.ndarray, key) -> np.ndarray | None:
    """The signs behind stochastic positions, read off the embedded stream."""
    if arch.positions != "stochastic":
        return None
    symbols = raw_weights(network)["embedding"][tokens]
    return (np.asarray(streams_of(network, tokens, key)[0]) - math.sqrt(arch.token_variance) * symbols) / math.sqrt(arch.s_p)


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
    with pytest.raises(InputError, match="pass key"):
        tangent_kernel(network, tokens)


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
    width, heads, head_size = SIZE
    variances = {"embedding": 0.7, "position": 0.4, "extra": 1 / width, "readout": 0.8 / width}
    variances |= {"query0": 1 / width, "key0": 1 / width, "value0": 1 / width, "output0": 1 / (heads * head_size)}
    variances |= {"dense0": 1.3 / width, "branch0": 1 / width}
    samples = [raw_weights(network_of(arch, seed, parametrisation="standard")) for seed in range(100)]
    assert samples[0].keys() == variances.keys()
    for name, variance in variances.items():
        squares = np.array([sample[name] for sample in samples]) ** 2
        assert abs(squares.mean() - variance) < 5 * variance * math.sqrt(2 / squares.size), name  # var of z^2 is 2 var(z)^2


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
    with pytest.raises(InputError, match="tokens have 4 columns"):
        network_of(architecture())(np.zeros((2, 4), int))


# ---------------------------------------------------------------------------------------------------------------------------------
# Kernels


DIFFERENTIATED = [
    "causal normalised, depth 2",  # padded on the left, causal queries see nothing: their gradients must be zero, not NaN
    "causal softmax, mean readout",
    "tied softmax, class symbol",
    "residual pre-norm, depth 2",
    "sinusoidal, extra linear",
]


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_tangent_kernel_matches_finite_differences(name):
    """Central differences of the loops in every raw weight: nothing here is differentiated by JAX."""
    arch = architecture(**{**OPTIONS[name], "activation": "erf", "length": 3})  # smooth, so that differences converge
    network = Network.init(arch, Size(4, 2, 2), key=jax.random.key(0))
    tokens, mask, step = sequences(arch, n=3)[1:], left_padding(arch, n=3)[1:], 1e-5
    weights = raw_weights(network)
    jacobian = []
    for values in weights.values():
        for index in np.ndindex(values.shape):
            ends = []
            for shift in (step, -step):
                values[index] += shift
                ends.append([reference(arch, weights, row, real) for row, real in zip(tokens, mask, strict=True)])
                values[index] -= shift
            jacobian.append((np.array(ends[0]) - ends[1]) / (2 * step))
    expected = np.array(jacobian).T @ np.array(jacobian)
    kernel = tangent_kernel(network, tokens, mask=mask)
    assert kernel.dtype == np.float64
    np.testing.assert_allclose(kernel, expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("kernel", [feature_kernel, tangent_kernel])
def test_kernels_do_not_depend_on_blocks(kernel):
    arch = architecture(attention="softmax")
    network, x, y = network_of(arch), sequences(arch, n=6), sequences(arch, n=3, seed=2)
    blocks, whole = kernel(network, x, chunk=2), kernel(network, x, chunk=6)
    np.testing.assert_array_equal(blocks, blocks.T)
    np.testing.assert_allclose(blocks, whole, rtol=1e-4, atol=1e-5)
    both = np.concatenate([x, y])
    np.testing.assert_allclose(kernel(network, x, y, chunk=2), kernel(network, both, chunk=2)[:6, 6:], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kernel", [feature_kernel, tangent_kernel])
def test_stochastic_positions_differ_between_x_and_y(kernel):
    arch = architecture(positions="stochastic")
    network, x = network_of(arch), np.zeros((3, arch.columns), int)
    own, other = (kernel(network, x, y, key=jax.random.key(0)) for y in (None, x))
    np.testing.assert_array_equal(own, own.T)
    assert np.unique(np.diag(own)).size == 3  # one sequence, three draws
    assert np.abs(other - own).min() > 1e-4


def wishart_nngp(arch: Architecture, x: np.ndarray, width: int, samples: int) -> tuple[np.ndarray, np.ndarray]:
    r"""Mean and standard error over embeddings of $s_1 s_2\, G_{cc} \sum_{ab} G_{ab}^2$, with G the Gram matrix of embedded tokens.

    Given the embedding, this is the exact average over the other weights of the linear network, at any number and size of heads:
    each of them enters linearly, so that only its own covariance counts.
    """
    rng = np.random.default_rng(0)
    kernels = []
    for _ in range(samples):
        table = math.sqrt(arch.token_variance) * rng.standard_normal((arch.vocab, width))
        z = table[x] + math.sqrt(arch.s_p) * rng.standard_normal((arch.columns, width))
        gram = np.einsum("nai,mbi->nmab", z, z) / width
        kernels.append(arch.s_1 * arch.s_2 * gram[..., -1, -1] * (gram**2).sum(axis=(-2, -1)))
    return np.mean(kernels, axis=0), np.std(kernels, axis=0) / math.sqrt(samples)


def test_linear_network_has_the_nngp_kernel_of_its_embedding():
    arch, size = architecture(), Size(width=24, heads=12, head_size=4)
    x, done = sequences(arch, n=4), []
    expected, error = wishart_nngp(arch, x, size.width, samples=4000)
    estimate = empirical_nngp(arch, x, size=size, networks=300, seed=0, progress=lambda *count: done.append(count))
    assert np.all(np.abs(estimate.mean - expected) < 5 * np.hypot(estimate.stderr, error))
    assert np.all(estimate.stderr < 0.1 * np.diag(expected).min())
    assert (estimate.networks, done[0], done[-1], len(done)) == (300, (1, 300), (300, 300), 300)


def test_linear_network_has_a_tangent_kernel_nine_times_its_nngp_kernel():
    """Six weights enter the output linearly and the embedding enters it three times, up to corrections of order 1/width."""
    arch, sizes = architecture(), {"size": Size(width=32, heads=8, head_size=8), "networks": 60, "seed": 0}
    x = sequences(arch, n=3)
    nngp, ntk = empirical_nngp(arch, x, **sizes), empirical_ntk(arch, x, **sizes)
    error = np.hypot(ntk.stderr, 9 * nngp.stderr)
    assert np.all(np.abs(ntk.mean - 9 * nngp.mean) < 5 * error)
    assert np.all(error < 0.3 * np.diag(ntk.mean).min())


def test_standard_error_is_that_of_the_networks():
    arch = architecture()
    x, sizes = sequences(arch, n=2), {"size": SIZE, "seed": 7}
    first, second = empirical_ntk(arch, x, networks=2, **sizes), empirical_ntk(arch, x, networks=3, **sizes)
    third = 3 * second.mean - 2 * first.mean  # network number i does not depend on how many there are
    ends = first.mean + first.stderr, first.mean - first.stderr  # two samples lie one standard error either side of their mean
    np.testing.assert_allclose(second.stderr, np.std([*ends, third], axis=0, ddof=1) / math.sqrt(3), rtol=1e-4)


def test_inputs_that_cannot_be_used_are_refused():
    arch = architecture()
    x, sizes = sequences(arch), {"size": SIZE, "seed": 0}
    with pytest.raises(InputError, match="networks must be a whole number of at least 2, got 1"):
        empirical_nngp(arch, x, networks=1, **sizes)
    with pytest.raises(InputError, match="x holds token 3, but vocab=3 allows 0 to 2"):
        empirical_ntk(arch, np.maximum(x * 0, np.eye(5, dtype=int) * 3), networks=2, **sizes)
    with pytest.raises(InputError, match="y has 3 columns, but length=4"):
        empirical_nngp(arch, x, x[:, :3], networks=2, **sizes)
    with pytest.raises(InputError, match=r"the mask of y has shape \(5, 4\), but the tokens have shape \(5, 5\)"):
        empirical_nngp(arch, x, x, networks=2, mask_y=np.ones((5, 4), bool), **sizes)
    with pytest.raises(InputError, match="chunk must be a whole number of at least 1, got 0"):
        tangent_kernel(network_of(arch), x, chunk=0)
