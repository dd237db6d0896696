"""Kernels against one joint covariance of all (sequence, position) points, in plain NumPy that shares nothing with the package.

Softmax scores are drawn there from their full covariance, and the path through them goes over explicit Jacobians.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import specht

STACKS = [
    {"activation": "relu", "residual": True, "norm": "pre"},
    {"activation": "relu", "residual": True, "depth": 2, "norm": "pre", "normalised": True},
    {"activation": "erf", "residual": True, "depth": 2, "readout": "mean", "normalised": True},
    {"activation": "relu", "depth": 2, "norm": "pre", "extra_linear": True},
    {"activation": "relu", "depth": 2, "norm": "post", "residual": True, "readout": "cls"},
    {"activation": "erf", "causal": True, "depth": 2, "normalised": True, "residual": True},
    {"activation": "relu", "causal": True, "depth": 2, "positions": "none", "norm": "pre"},
    {"activation": "erf", "depth": 2, "values_see_positions": False, "normalised": True},
    {"activation": "relu", "depth": 2, "attention": "softmax", "scaling": "tied", "residual": True, "readout": "mean"},
    {"activation": "erf", "scaling": "tied", "causal": True, "depth": 2, "residual": True, "norm": "post"},
]


def normed(k, theta, mean):
    variance = np.diag(k) - mean**2
    inverse = np.where(variance > 0, 1 / np.sqrt(np.where(variance > 0, variance, 1)), 0)
    return (k - np.outer(mean, mean)) * np.outer(inverse, inverse), theta * np.outer(inverse, inverse)


def activated(activation, k):
    """E[phi phi'], E[phi' phi''] and E[phi] for every pair of points."""
    q = np.diag(k)
    if activation == "erf":
        scale = np.outer(1 + 2 * q, 1 + 2 * q)
        return 2 / np.pi * np.arcsin(2 * k / np.sqrt(scale)), 4 / np.pi / np.sqrt(scale - 4 * k**2), np.zeros_like(q)
    scale = np.sqrt(np.outer(q, q))
    cosine = np.clip(np.where(scale > 0, k / np.where(scale > 0, scale, 1), 0), -1, 1)
    angle = np.arccos(np.where(1 - cosine < 1e-13, 1.0, cosine))
    value = scale / (2 * np.pi) * (np.sin(angle) + (np.pi - angle) * np.cos(angle))
    return value, (np.pi - angle) / (2 * np.pi), np.sqrt(q / (2 * math.pi))


def sampled_attention(k, theta, read, read_theta, sees, rng, draws=4000):
    """Softmax heads with scores from N(0, read x read); every Jacobian diag(a) - a a^T written out."""
    points = len(k)
    pairs = np.argwhere(sees)  # (query, key)
    q, c = pairs.T
    covariance = read[np.ix_(q, q)] * read[np.ix_(c, c)]
    eigenvalues, vectors = np.linalg.eigh(covariance)
    scores = np.full((draws, points, points), -np.inf)
    scores[:, q, c] = rng.standard_normal((draws, len(pairs))) @ (vectors * np.sqrt(np.maximum(eigenvalues, 0))).T
    top = np.where(sees.any(axis=1), scores.max(axis=2), 0.0)[:, :, None]
    weights = np.where(sees, np.exp(scores - top), 0.0)
    weights = weights / np.maximum(weights.sum(axis=2, keepdims=True), 1e-300)
    jacobians = np.einsum("xpe,ec->xpec", weights, np.eye(points)) - np.einsum("xpe,xpc->xpec", weights, weights)
    through_values = np.einsum("xpec,ef->xpcf", jacobians, k)
    slopes = np.einsum("xpcf,xqfd->pqcd", through_values, jacobians, optimize=True) / draws
    score_theta = (
        2 * np.einsum("pq,cd->pqcd", read, read) + np.einsum("pq,cd->pqcd", read_theta, read) + np.einsum("pq,cd->pqcd", read, read_theta)
    )
    out = np.einsum("xpe,ef,xqf->pq", weights, k, weights, optimize=True) / draws
    moved = np.einsum("xpe,ef,xqf->pq", weights, theta, weights, optimize=True) / draws
    return out, 2 * out + moved + (slopes * score_theta).sum(axis=(2, 3))


def attended(arch, k, theta, positions, sees, rng):
    read, read_theta = (k, theta) if arch.values_see_positions else (k + positions, theta + positions)
    share = 1 / np.maximum(sees.sum(axis=1, keepdims=True), 1) if arch.normalised else 1.0
    if arch.scaling == "tied":
        weights = np.where(sees, np.exp(read) if arch.attention == "softmax" else read, 0.0)
        if arch.attention == "softmax":
            weights = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
        weights = weights * share
        out = weights @ k @ weights.T
        return out, 2 * out + weights @ theta @ weights.T
    if arch.attention == "softmax":
        return sampled_attention(k, theta, read, read_theta, sees, rng)
    reach = sees * share
    total = reach @ (read * k) @ reach.T
    out = read * total
    return out, 4 * out + read_theta * total + read * (reach @ (read_theta * k + read * theta) @ reach.T)


def recursion(arch, x, mask, rng=None):
    """NNGP and NTK of a stack with learned or no positions, every layer acting on all points at once; `rng` draws softmax scores."""
    n, columns = x.shape
    tokens = x.copy()
    if arch.readout == "cls":
        tokens[:, -1] = arch.vocab
    token, column, sequence, real = tokens.ravel(), np.tile(np.arange(columns), n), np.repeat(np.arange(n), columns), mask.ravel()
    positions = (arch.s_p if arch.positions == "learned" else 0.0) * (column[:, None] == column[None, :])
    sees = (sequence[:, None] == sequence[None, :]) & real[None, :] & (~np.bool_(arch.causal) | (column[None, :] <= column[:, None]))
    k = arch.s_w * (token[:, None] == token[None, :]) + (positions if arch.values_see_positions else 0.0)
    theta, mean, zero = k, np.zeros(len(token)), np.zeros(len(token))
    for _ in range(arch.depth):
        out, out_theta = attended(arch, *(normed(k, theta, mean) if arch.norm == "pre" else (k, theta)), positions, sees, rng)
        if arch.residual:
            out, out_theta = k + out, theta + out_theta
        if arch.norm == "post":
            out, out_theta = normed(out, out_theta, zero)
        inner, inner_theta = normed(out, out_theta, zero) if arch.norm == "pre" else (out, out_theta)
        value, slope, mean = activated(arch.activation, arch.s_1 * inner)
        value_theta = slope * arch.s_1 * (inner_theta + inner)
        k, theta = (out + value, out_theta + value_theta + value) if arch.residual else (value, value_theta)
        mean = zero if arch.residual else mean
        if arch.norm == "post":
            (k, theta), mean = normed(k, theta, mean), zero
    if arch.norm == "pre":
        k, theta = normed(k, theta, mean)
    chosen = real if arch.readout == "mean" else column == columns - 1
    pool = (sequence[None, :] == np.arange(n)[:, None]) & chosen[None, :]
    pool = pool / pool.sum(axis=1, keepdims=True)
    k, theta = pool @ k @ pool.T, pool @ theta @ pool.T
    theta = theta + k if arch.extra_linear else theta
    return {"nngp": arch.s_2 * k, "ntk": arch.s_2 * (theta + k)}


@pytest.mark.parametrize("fields", STACKS, ids=str)
@pytest.mark.parametrize("padded", [False, True])
def test_kernel_follows_the_recursion_on_all_points(fields, padded):
    arch = specht.Architecture(vocab=3, length=4, s_w=0.6, s_p=0.5, s_1=1.3, s_2=0.7, **fields)
    rng = np.random.default_rng(0)
    x = rng.integers(0, 3, (4, arch.columns))
    x[1] = x[0]
    mask = rng.random(x.shape) < (0.7 if padded else 2.0)
    mask[:, -1] = True
    mask[1] = mask[0]
    kernel, exact = specht.Kernel(arch), recursion(arch, x, mask)
    for kind, expected in exact.items():
        found = getattr(kernel, kind)(x, mask=mask)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


SOFTMAX_STACKS = [
    {"activation": "erf"},
    {"activation": "relu", "residual": True, "norm": "pre", "values_see_positions": False},
    {"activation": "relu", "readout": "mean", "causal": True, "norm": "post"},
    pytest.param({"activation": "erf", "depth": 2, "positions": "none", "extra_linear": True}, marks=pytest.mark.slow),
    pytest.param({"activation": "relu", "depth": 2, "residual": True, "norm": "pre"}, marks=pytest.mark.slow),
]


@pytest.mark.whole  # half a minute each; laws hold the same kernels to their numbers
@pytest.mark.parametrize("fields", SOFTMAX_STACKS, ids=str)
def test_sampled_kernel_follows_the_recursion_on_all_points(fields):
    length = 3 if fields.get("readout") == "mean" else 2
    arch = specht.Architecture(vocab=3, length=length, attention="softmax", s_w=1.5, s_p=1.0, s_2=0.7, **fields)
    x = np.random.default_rng(1).integers(0, 3, (3, arch.columns))
    mask = np.ones(x.shape, bool)
    mask[1, 0] = False
    rounds = [recursion(arch, x, mask, np.random.default_rng(seed)) for seed in range(8)]
    kernel = specht.Kernel(arch, heads=4096)
    for kind in ("nngp", "ntk"):
        expected = np.mean([each[kind] for each in rounds], axis=0)
        error = np.std([each[kind] for each in rounds], axis=0, ddof=1) / math.sqrt(len(rounds))
        found = getattr(kernel, kind)(x, mask=mask)
        total = np.hypot(error, found.stderr)
        assert np.linalg.norm(total) < 0.02 * np.linalg.norm(expected)
        assert (np.abs(found - expected) <= 5 * total + 1e-9 * np.abs(expected).max()).all()
