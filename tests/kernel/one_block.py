"""One block of linear attention, position by position in plain NumPy, with a variance for each token and each position."""

from __future__ import annotations

import numpy as np


def one_block(arch, x, mask, variances):
    """NNGP and NTK of all pairs of sequences, every sum over columns written out."""
    symbols = x.copy()
    if arch.readout == "cls":
        symbols[:, -1] = arch.vocab
    n, columns = symbols.shape
    w, p = np.asarray(variances.tokens), np.asarray(variances.positions)
    k = np.zeros((n, columns, n, columns))
    for i, a, j, b in np.ndindex(k.shape):
        k[i, a, j, b] = w[symbols[i, a]] * (symbols[i, a] == symbols[j, b]) + p[a] * (a == b)
    real = mask[:, :, None, None] & mask[None, None]
    total = np.where(real, k**2, 0.0).sum(axis=(1, 3))
    attended = k * total[:, None, :, None]
    tangent = 7 * attended  # queries, keys, values, outputs, and three embeddings
    own = variances.dense * np.einsum("iaia->ia", attended)
    value, slope = activated(arch.activation, variances.dense * attended, own)
    tangent = slope * variances.dense * (tangent + attended)
    if arch.readout == "mean":
        share = mask / mask.sum(axis=1, keepdims=True)
        value, tangent = (np.einsum("ia,iajb,jb->ij", share, part, share) for part in (value, tangent))
    else:
        value, tangent = value[:, -1, :, -1], tangent[:, -1, :, -1]
    return {"nngp": variances.readout * value, "ntk": variances.readout * (tangent + value)}


def activated(name, k, own):
    """E[phi phi'] and E[phi' phi''] for covariances (n, T, n, T) and variances (n, T)."""
    q, r = np.broadcast_arrays(own[:, :, None, None], own[None, None])
    if name == "linear":
        return k, np.ones_like(k)
    if name == "erf":
        scale = (1 + 2 * q) * (1 + 2 * r)
        return 2 / np.pi * np.arcsin(2 * k / np.sqrt(scale)), 4 / np.pi / np.sqrt(scale - 4 * k**2)
    cosine = np.clip(k / np.sqrt(q * r), -1, 1)
    cosine = np.where(1 - cosine < 1e-14, 1.0, cosine)
    if name == "relu":
        angle = np.arccos(cosine)
        return np.sqrt(q * r) / (2 * np.pi) * (np.sin(angle) + (np.pi - angle) * cosine), (np.pi - angle) / (2 * np.pi)
    # any other: a double integral over equal steps, for every pair that occurs
    nodes = np.linspace(-10, 10, 241)
    weights = np.exp(-(nodes**2) / 2) / np.exp(-(nodes**2) / 2).sum()
    shapes = np.stack([cosine.ravel(), np.sqrt(q).ravel(), np.sqrt(r).ravel()], axis=1)
    distinct, inverse = np.unique(shapes, axis=0, return_inverse=True)
    values = np.array([_double_integral(*row, nodes, weights) for row in distinct])[inverse.ravel()]
    return values[:, 0].reshape(k.shape), values[:, 1].reshape(k.shape)


def _double_integral(cosine, left, right, nodes, weights):
    u = left * nodes[:, None]
    v = right * (cosine * nodes[:, None] + np.sqrt(1 - cosine**2) * nodes[None, :])
    value = weights @ (np.tanh(u) * np.tanh(v)) @ weights
    return value, weights @ ((1 - np.tanh(u) ** 2) * (1 - np.tanh(v) ** 2)) @ weights
