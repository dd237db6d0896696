"""Grams from counts that NumPy made once, against `Kernel`, whose programs count by themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from specht import Architecture, Kernel, Variances
from specht.errors import InputError
from specht.kernel import counts
from specht.kernel.counts import CountedBatch

PLAIN = Architecture(vocab=3, length=4)
ARCHITECTURES = {
    "last": PLAIN,
    "mean": PLAIN.replace(readout="mean", length=5, normalised=True),
    "class symbol": PLAIN.replace(readout="cls", activation="relu"),
    "no positions": PLAIN.replace(positions="none", activation="erf"),
    "deep": PLAIN.replace(depth=2, activation="erf", residual=True, norm="pre"),
    "tied": PLAIN.replace(attention="softmax", scaling="tied"),
}
VARIANCES = [None, Variances(0.3, 2.0, 1.5, 0.7), Variances(0.5, 0.0), Variances(0.5, np.arange(5.0))]


@pytest.fixture(scope="module")
def batch() -> CountedBatch:
    rng = np.random.default_rng(0)
    mask = np.arange(5)[None, :] >= rng.integers(0, 5, 40)[:, None]
    return CountedBatch(rng.integers(0, 3, (40, 5)), mask)


@pytest.mark.parametrize("arch", ARCHITECTURES.values(), ids=ARCHITECTURES)
def test_it_is_the_gram_of_the_kernel(batch, arch):
    for variances in VARIANCES[: 3 if arch.depth > 1 or not arch.has_positions else 4]:
        exact = Kernel(arch, variances=variances)(batch.tokens, mask=batch.mask)
        found = batch.gram(arch, variances)
        np.testing.assert_allclose(found, exact, rtol=1e-13, atol=1e-13)
        np.testing.assert_array_equal(found, found.T)


def test_blocks_fit_together():
    x = np.random.default_rng(1).integers(0, 3, (300, 5))  # two blocks, the second of them filled up
    np.testing.assert_allclose(CountedBatch(x).gram(PLAIN), Kernel(PLAIN)(x), rtol=1e-13)


@pytest.mark.parametrize("arch", ARCHITECTURES.values(), ids=ARCHITECTURES)
@pytest.mark.parametrize("block", [8, 256])
def test_leading_columns_are_those_of_the_gram(batch, arch, block, monkeypatch):
    monkeypatch.setattr(counts, "_BLOCK", block)
    exact = Kernel(arch)(batch.tokens, mask=batch.mask)
    for columns in (1, 8, 19, 40):
        gram, own = batch.leading(arch, columns)
        np.testing.assert_allclose(gram, exact[:, :columns], rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(own, np.diagonal(exact), rtol=1e-13)


def test_many_columns_are_counted_as_few_are():
    """More matches than a byte holds."""
    rng = np.random.default_rng(3)
    for dtype in (np.int16, np.int32):
        left, right = (rng.integers(0, 3, (4, 700)).astype(dtype) for _ in range(2))
        expected = (left[:, None] == right[None]).sum(axis=2)
        np.testing.assert_array_equal(counts.matching_places(left, right), expected)


def test_one_program_serves_all_variances_and_sizes():
    x, arch = np.random.default_rng(2).integers(0, 3, (600, 5)), PLAIN.replace(s_1=0.5)
    program: Any = counts._from_counts
    program.clear_cache()
    for rows in (257, 300, 600):
        batch = CountedBatch(x[:rows])
        for s_p in (0.0, 0.5, 2.0):
            batch.gram(arch, Variances(0.5, s_p))
    assert program._cache_size() == 1


def test_many_symbols_are_left_to_the_kernel(monkeypatch, batch):
    monkeypatch.setattr(counts, "MAX_SYMBOLS", 2)
    monkeypatch.setattr(CountedBatch, "_tiles_of", None)
    np.testing.assert_array_equal(batch.gram(PLAIN), Kernel(PLAIN)(batch.tokens, mask=batch.mask))


def test_sequences_that_do_not_fit_the_architecture_are_refused(batch):
    with pytest.raises(InputError, match="columns"):
        batch.gram(PLAIN.replace(length=5))
    with pytest.raises(InputError, match="token"):
        batch.gram(PLAIN.replace(vocab=2))
