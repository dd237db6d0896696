"""Tables drawn from known laws, and one of WikiText-2: from a window of words, is the next token a comma?"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

Draw = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray, np.ndarray]]
"""(generator, n) -> tokens (n, columns), mask (n, columns), labels (n, outputs)"""


def positions(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Regression on what stands at three of ten places, with noise."""
    x = rng.integers(5, size=(n, 10))
    y = 1.5 * (x[:, 1] == 0) - (x[:, 4] == 2) + (x[:, 8] == 1) + rng.normal(0.0, 0.5, n)
    return x, np.ones(x.shape, bool), y[:, None]


def counts(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Regression on counts of tokens and a product of two of them, lengths from 6 to 12, little noise."""
    lengths = rng.integers(6, 13, size=n)
    mask = np.arange(12)[None, :] >= 12 - lengths[:, None]
    x = np.where(mask, rng.integers(6, size=(n, 12)), 0)
    share = np.stack([((x == v) & mask).sum(1) / lengths for v in range(3)])
    y = 4.0 * share[0] + 12.0 * share[1] * share[2] + rng.normal(0.0, 0.2, n)
    return x, mask, y[:, None]


def components(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Classification: which of three laws drew the tokens, and one of them repeats its neighbours."""
    component = rng.integers(3, size=n)
    weights = np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.25, 0.25]])
    draws = np.stack([rng.choice(4, size=(n, 8), p=weights[k]) for k in range(3)])
    x = draws[component, np.arange(n)]
    repeated = x.copy()
    repeated[:, 1::2] = np.where(rng.random((n, 4)) < 0.6, x[:, ::2], x[:, 1::2])
    x = np.where((component == 2)[:, None], repeated, x)
    return x, np.ones(x.shape, bool), np.eye(3)[component]


def conjunction(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Regression without noise on two places at once: what a linear kernel never learns, and a nonlinear one slowly."""
    x = rng.integers(4, size=(n, 9))
    y = 3.0 * ((x[:, 1] == 0) & (x[:, 5] == 1)) + (x[:, 3] == x[:, 7])
    return x, np.ones(x.shape, bool), y[:, None].astype(float)


def wikitext(window: int = 8, vocab: int = 200) -> Draw | None:
    """From a window of words of WikiText-2: is the next token a comma? Half of the rows are, and windows do not overlap."""
    folder = Path(os.environ.get("SPECHT_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")) / "wikitext2"
    if not folder.exists():
        return None
    words = [
        word
        for line in (folder / "train.txt").read_text(encoding="utf-8").splitlines()
        if not line.startswith(" =")
        for word in line.split()
    ]
    names, ids = np.unique(words, return_inverse=True)
    common = np.argsort(-np.bincount(ids))[: vocab - 1]
    place = np.full(len(names), vocab - 1)
    place[common] = np.arange(vocab - 1)
    tokens, comma = place[ids], place[np.searchsorted(names, ",")]
    ends = np.arange(window, len(tokens), window + 1)
    yes, no = ends[tokens[ends] == comma], ends[tokens[ends] != comma]

    def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        chosen = rng.permutation(np.concatenate([rng.choice(yes, n // 2, replace=False), rng.choice(no, n - n // 2, replace=False)]))
        x = tokens[chosen[:, None] + np.arange(-window, 0)]
        return x, np.ones(x.shape, bool), np.eye(2)[(tokens[chosen] == comma).astype(int)]

    return draw


TABLES: dict[str, tuple[Draw, str, int]] = {
    "positions": (positions, "positions", 5),
    "counts": (counts, "bag", 6),
    "components": (components, "mean", 4),
    "conjunction": (conjunction, "erf", 4),
}
"""Where rows come from, the architecture, and the number of tokens."""
