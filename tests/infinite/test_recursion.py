"""Closed kernels against one joint covariance of all (sequence, position) points, in plain NumPy that shares nothing with the package."""

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


def attended(arch, k, theta, positions, sees):
    read, read_theta = (k, theta) if arch.values_see_positions else (k + positions, theta + positions)
    share = 1 / np.maximum(sees.sum(axis=1, keepdims=True), 1) if arch.normalised else 1.0
    if arch.scaling == "tied":
        weights = np.where(sees, np.exp(read) if arch.attention == "softmax" else read, 0.0)
        if arch.attention == "softmax":
            weights = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
        weights = weights * share
        out = weights @ k @ weights.T
        return out, 2 * out + weights @ theta @ weights.T
    reach = sees * share
    total = reach @ (read * k) @ reach.T
    out = read * total
    return out, 4 * out + read_theta * total + read * (reach @ (read_theta * k + read * theta) @ reach.T)


def recursion(arch, x, mask):
    """NNGP and NTK of a stack with learned or no positions, every layer acting on all points at once."""
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
        out, out_theta = attended(arch, *(normed(k, theta, mean) if arch.norm == "pre" else (k, theta)), positions, sees)
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
