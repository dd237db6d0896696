"""Architectures and sources small enough that every sequence can be listed."""

from __future__ import annotations

import numpy as np

import specht
from specht.sequences.sources import Source, exchangeable


def architecture(vocab: int, length: int, **fields) -> specht.Architecture:
    return specht.Architecture(**{"vocab": vocab, "length": length, "s_w": 0.6, "s_p": 0.5, **fields})


def mixture(vocab: int, seed: int = 0) -> Source:
    rng = np.random.default_rng(seed)
    return exchangeable(rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(vocab), size=3))


def all_sequences(arch, source):
    """Every sequence that the network tells apart, its probability, and nothing of the class symbol's column."""
    if arch.readout == "cls":
        x, p = source.enumerate(arch.length)
        return np.hstack([x, np.zeros((len(x), 1), x.dtype)]), p
    return source.enumerate(arch.columns)


def repeated(spec: specht.Spectrum) -> np.ndarray:
    """Every eigenvalue as often as its degeneracy says, largest first."""
    return np.sort(np.concatenate([np.repeat(block.eigenvalues, block.irrep.dimension) for block in spec.blocks]))[::-1]


def assert_same_spectrum(spec, exact):
    found = repeated(spec)
    size = max(len(found), len(exact))
    found, exact = (np.sort(np.pad(values, (0, size - len(values))))[::-1] for values in (found, exact))
    assert np.abs(found - exact).max() <= 1e-12 * exact[0]
