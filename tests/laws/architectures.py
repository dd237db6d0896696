"""One table of architectures, crossed with every law: each row names what its kernel must be invariant under."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import specht


class Case(NamedTuple):
    """An architecture and the largest group of position permutations that leaves its kernel unchanged."""

    arch: specht.Architecture
    symmetry: str
    """context: all columns but the readout; all: every column; none: a causal mask or fixed positions break it."""


def _case(symmetry: str, **fields) -> Case:
    return Case(specht.Architecture(vocab=3, length=4, s_w=0.6, s_p=0.5, **fields), symmetry)


CASES = {
    "linear": _case("context"),
    "linear, 1/T, erf": _case("context", normalised=True, activation="erf"),
    "linear, relu": _case("context", activation="relu", s_1=1.5, s_2=0.7),
    "linear, gelu, positions in scores only": _case("context", activation="gelu", values_see_positions=False),
    "linear, cls, extra layer": _case("context", readout="cls", extra_linear=True),
    "linear, mean readout, relu": _case("all", readout="mean", activation="relu"),
    "bag of words": _case("all", positions="none", readout="mean", activation="relu"),
    "two residual pre-norm blocks": _case("context", depth=2, residual=True, norm="pre", activation="relu"),
    "two post-norm blocks, gelu": _case("context", depth=2, norm="post", activation="gelu"),
    "two pre-norm blocks, no residual": _case("context", depth=2, norm="pre", activation="relu", normalised=True),
    "causal, two blocks": _case("none", causal=True, depth=2, activation="erf", normalised=True),
    "no positions, causal, two blocks": _case("none", positions="none", causal=True, depth=2, activation="relu", norm="pre"),
    "sinusoidal": _case("none", positions="sinusoidal", activation="relu"),
    "sinusoidal, residual pre-norm": _case("none", positions="sinusoidal", residual=True, norm="pre", activation="erf"),
    "tied linear attention": _case("context", scaling="tied", activation="erf"),
    "tied softmax": _case("context", attention="softmax", scaling="tied", activation="relu"),
    "tied softmax, two blocks, mean": _case("all", attention="softmax", scaling="tied", depth=2, readout="mean", activation="erf"),
    "softmax": _case("context", attention="softmax"),
    "softmax, relu, residual pre-norm": _case("context", attention="softmax", activation="relu", residual=True, norm="pre"),
    "softmax, sinusoidal": _case("none", attention="softmax", positions="sinusoidal", activation="gelu"),
    "softmax, causal, mean": _case("none", attention="softmax", causal=True, readout="mean", activation="erf"),
    "softmax, two residual pre-norm blocks": _case("context", attention="softmax", depth=2, residual=True, norm="pre", activation="relu"),
}

SAMPLED = [name for name, case in CASES.items() if case.arch.attention == "softmax" and case.arch.scaling == "sqrt"]
CLOSED = [name for name in CASES if name not in SAMPLED]


def tokens(arch: specht.Architecture, n: int = 6, seed: int = 0) -> np.ndarray:
    """Sequences with a repeated row and a permuted row, where correlations are exactly 1 or nearly so."""
    x = np.random.default_rng(seed).integers(0, arch.vocab, (n, arch.columns))
    x[1] = x[0]
    x[2, : arch.length] = x[0, : arch.length][::-1]
    x[2, arch.length :] = x[0, arch.length :]
    return x
