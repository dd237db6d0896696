"""Kernels behind a given embedding: against loops in NumPy, and against the infinitely wide network that they average to."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import specht
from specht.kernel.embedded import Embedding, Heads, embedded_diagonal, embedded_kernel, why_not_embedded
from specht.kernel.model import model_of
from specht.kernel.pairs import sequences


def batch(arch, n=4, mask=None, seed=0):
    x = np.random.default_rng(seed).integers(0, arch.vocab, (n, arch.columns))
    return x, jax.tree.map(jnp.asarray, sequences(arch, x, mask, "x"))


def vectors(arch, width, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((arch.symbols, width)), rng.standard_normal((arch.columns, width))


def embedded(arch, width, seed=0):
    tokens, positions = vectors(arch, width, seed)
    return Embedding.scaled(model_of(arch), jnp.asarray(tokens), jnp.asarray(positions) if arch.has_positions else None)


def by_loops(arch, x, width, seed, visible):
    """Linear attention with infinitely many heads at the readout query, one pair of columns after the other."""
    tokens, positions = vectors(arch, width, seed)
    tokens, positions = np.sqrt(np.asarray(arch.variances.tokens)) * tokens, np.sqrt(np.asarray(arch.variances.positions)) * positions
    symbols = x.copy()
    if arch.readout == "cls":
        symbols[:, -1] = arch.vocab
    n, columns = x.shape
    value = tokens[symbols] + (positions if arch.values_see_positions else 0.0)
    read = tokens[symbols] + positions
    gram = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            total = sum(
                (read[i, a] @ read[j, b] / width) * (value[i, a] @ value[j, b] / width)
                for a in range(columns)
                for b in range(columns)
                if visible[i, a] and visible[j, b]
            )
            total /= visible[i].sum() * visible[j].sum() if arch.normalised else 1.0
            gram[i, j] = (read[i, -1] @ read[j, -1] / width) * total
    s_1 = arch.variances.dense
    diagonal = np.sqrt(np.diag(gram))
    correlation = np.clip(gram / np.outer(diagonal, diagonal), -1.0, 1.0)
    after = {
        "linear": s_1 * gram,
        "erf": 2 / np.pi * np.arcsin(2 * s_1 * gram / np.sqrt(np.outer(1 + 2 * s_1 * np.diag(gram), 1 + 2 * s_1 * np.diag(gram)))),
        "relu": s_1 * np.outer(diagonal, diagonal) / (2 * np.pi)
        * (np.sqrt(1 - correlation**2) + (np.pi - np.arccos(correlation)) * correlation),
    }[arch.activation]  # fmt: skip
    return arch.variances.readout * after


CASES = {
    "linear": {},
    "erf": {"activation": "erf", "s_1": 0.7, "s_2": 1.3},
    "relu": {"activation": "relu"},
    "cls": {"readout": "cls"},
    "normalised": {"normalised": True},
    "positions in scores only": {"values_see_positions": False},
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("padded", [False, True])
def test_one_block_equals_loops(name, padded):
    arch = specht.Architecture(vocab=3, length=4, **CASES[name])
    visible = np.ones((4, 5), dtype=bool)
    if padded:
        visible[1, 0] = visible[2, 2] = visible[2, 3] = False
    with jax.enable_x64(True):
        x, sequences_ = batch(arch, mask=visible)
        found = np.asarray(embedded_kernel(model_of(arch), embedded(arch, 6), sequences_))
        own = np.asarray(embedded_diagonal(model_of(arch), embedded(arch, 6), sequences_))
    expected = by_loops(arch, x, 6, 0, visible)
    np.testing.assert_allclose(found, expected, rtol=1e-7 if name == "relu" else 1e-11, atol=1e-12 * np.abs(expected).max())
    np.testing.assert_allclose(own, np.diag(found), rtol=1e-12)


AVERAGED = {
    **CASES,
    "mean": {"readout": "mean"},
    "causal mean": {"readout": "mean", "causal": True},
    "mean relu": {"readout": "mean", "activation": "relu"},
    "residual pre-norm": {"residual": True, "norm": "pre", "activation": "erf"},
    "two blocks": {"depth": 2, "normalised": True, "activation": "erf"},
    "two causal blocks": {"depth": 2, "causal": True, "normalised": True, "activation": "erf"},
    "tied softmax": {"attention": "softmax", "scaling": "tied"},
    "no positions": {"positions": "none"},
}


ORDINARY = ("linear", "mean", "mean relu", "residual pre-norm", "two blocks", "tied softmax")
"""In the ordinary check; loops hold most of the others."""


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.whole] * (name not in ORDINARY)) for name in AVERAGED])
def test_wide_embeddings_have_the_kernel_of_the_wide_network(name):
    """Two widths w and 2w show the deviation c/w and remove it: the mean over embeddings tends to the NNGP."""
    arch = specht.Architecture(vocab=3, length=3, **AVERAGED[name])
    with jax.enable_x64(True):
        _, x = batch(arch, n=3)
        model = model_of(arch)

        def gram(key, width):
            tokens, positions = (jax.random.normal(part, shape) for part, shape in zip(
                jax.random.split(key), ((arch.symbols, width), (arch.columns, width)), strict=True))  # fmt: skip
            return embedded_kernel(model, Embedding.scaled(model, tokens, positions if arch.has_positions else None), x)

        def draws(width, seed):
            keys = jax.random.split(jax.random.key(seed), 800)
            return np.asarray(jax.jit(lambda k: jax.lax.map(lambda one: gram(one, width), k, batch_size=50))(keys))

        narrow, wide = draws(24, 1), draws(48, 2)
        limit = np.asarray(specht.nngp(arch, np.asarray(batch(arch, n=3)[0])))
    extrapolated = 2 * wide.mean(axis=0) - narrow.mean(axis=0)
    stderr = np.sqrt(4 * wide.var(axis=0, ddof=1) + narrow.var(axis=0, ddof=1)) / np.sqrt(800)
    assert np.linalg.norm(stderr) < 0.25 * np.linalg.norm(limit)  # else the comparison would show nothing
    assert (np.abs(extrapolated - limit) <= 5 * stderr + 0.02 * np.abs(limit).max()).all()  # what is left falls as 1/width^2


@pytest.mark.parametrize("fields", [{}, {"normalised": True}, {"readout": "mean"}, {"values_see_positions": False}], ids=str)
def test_linear_heads_average_to_infinitely_many(fields):
    arch = specht.Architecture(vocab=3, length=4, **fields)
    with jax.enable_x64(True):
        _, x = batch(arch)
        model, embedding = model_of(arch), embedded(arch, 5)
        expected = np.asarray(embedded_kernel(model, embedding, x))

        def gram(key):
            one, two = jax.random.split(key)
            heads = Heads.of_weights(arch, jax.random.normal(one, (3, 5, 2)), jax.random.normal(two, (3, 5, 2)), jnp.ones(3))
            return embedded_kernel(model, embedding, x, heads=heads)

        draws = np.asarray(jax.jit(lambda keys: jax.lax.map(gram, keys, batch_size=100))(jax.random.split(jax.random.key(0), 4000)))
    stderr = draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - expected) <= 5 * stderr).all()


def test_softmax_heads_are_those_of_a_network():
    """The same weights, put into a finite network by hand: its hidden vector averages to the features of the heads."""
    arch = specht.Architecture(vocab=3, length=4, attention="softmax")
    size = specht.nn.Size(width=512, heads=2, head_size=3, embedding=6)
    with jax.enable_x64(True):
        x, sequences_ = batch(arch)
        model = model_of(arch)
        networks = [specht.nn.Network.init(arch, size, key=jax.random.key(i)).in_double() for i in range(60)]
        first = networks[0]
        embedding = Embedding.scaled(model, first.embedding.raw, first.position.raw)
        block = first.blocks[0]
        heads = Heads.of_weights(arch, block.query.raw, block.key.raw, jnp.ones(2))
        expected = np.asarray(embedded_kernel(model, embedding, sequences_, heads=heads))
        draws = []
        for other in networks:  # values and later layers drawn anew, embedding, queries and keys kept
            weights = other.blocks[0]
            mixed = specht.nn.Network(
                first.embedding, first.position,
                (type(block)(block.query, block.key, weights.value, weights.output, weights.dense, None, arch),),
                None, other.readout, arch,
            )  # fmt: skip
            hidden = np.asarray(mixed.hidden(x))
            draws.append(hidden @ hidden.T / 512)
    draws = np.array(draws)
    stderr = draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - expected) <= 5 * stderr).all()
    assert np.linalg.norm(stderr) < 0.5 * np.linalg.norm(expected)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"positions": "sinusoidal"}, "no learned vectors"),
        ({"attention": "softmax", "depth": 2}, "have no closed form"),
        ({"depth": 2, "values_see_positions": False}, "values have to see positions"),
    ],
)
def test_what_has_no_kernel_behind_an_embedding_says_why(fields, words):
    assert words in (why_not_embedded(specht.Architecture(vocab=2, length=3, **fields)) or "")
