"""Statistics of token pairs: against loops over all pairs, outer products, and the same text counted in other pieces and orders."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from specht.corpus.read.stream import Blocks, Encoded, Segment, segments
from specht.corpus.stats.moments import Plan, Sketches, Tables, _marginals as marginals, moments_of
from specht.corpus.stats.sketch import MeanProducts, Sketch
from specht.errors import InputError

METHODS = {"tables": Tables, "sketch": Sketches}


def zipf(symbols: int) -> np.ndarray:
    p = 1 / np.arange(1, symbols + 1)
    return p / p.sum()


def text(seed: int, total: int, symbols: int, records: int) -> Encoded:
    """Tokens that often repeat the one before them, so that there is something to measure."""
    rng = np.random.default_rng(seed)
    ids, again = rng.choice(symbols, size=total, p=zipf(symbols)), rng.random(total) < 0.3
    ids[1:][again[1:]] = ids[:-1][again[1:]]
    return Encoded(ids, np.sort(rng.choice(np.arange(1, total), size=records, replace=False)))


def plan_of(encoded: Encoded, symbols: int, *, length: int = 6, blocks: int = 4, **more) -> Plan:
    counts = np.bincount(encoded.ids, minlength=symbols)
    return Plan(counts / counts.sum(), Blocks(len(encoded), blocks), length, **more)


def count(plan: Plan, encoded: Encoded, offset: int = 0, **how):
    moments = plan.counter()
    for segment in segments([encoded], plan.blocks, plan.lags, offset=offset, **how):
        moments.update(segment)
    return moments


def pairs_of(encoded: Encoded, lag: int) -> list[tuple[int, int]]:
    """Places of all pairs in one record."""
    record = np.searchsorted(encoded.records, np.arange(len(encoded)), side="right")
    return [(s, s + lag) for s in range(len(encoded) - lag) if record[s] == record[s + lag]]


def matrices(plan: Plan, encoded: Encoded, lag: int) -> np.ndarray:
    """By block the sum of (x - p)(x' - p)^T in the metric over their number, pair by pair."""
    symbols = plan.symbols
    found = np.zeros((plan.blocks.number, symbols, symbols))
    pairs = pairs_of(encoded, lag)
    for s, t in pairs:
        block = np.searchsorted(plan.blocks.bounds, s, side="right") - 1
        x, y = (np.eye(symbols)[encoded.ids[place]] - plan.probabilities for place in (s, t))
        found[block] += np.outer(plan.weights * x, plan.weights * y)
    firsts = np.searchsorted(plan.blocks.bounds, [s for s, _ in pairs], side="right") - 1
    return found / np.bincount(firsts, minlength=plan.blocks.number)[:, None, None]


@pytest.mark.parametrize("metric", ["chi2-floor", "chi2", "plain"])
@pytest.mark.parametrize("records", [0, 40])
@pytest.mark.parametrize("method", METHODS)
def test_estimates_are_sums_over_pairs(method, metric, records):
    encoded = text(1, 800, 7, records)
    plan = plan_of(encoded, 7, metric=metric, method=method)
    moments = count(plan, encoded, size=150)
    assert isinstance(moments, METHODS[method])
    for lag in range(1, 6):
        expected = matrices(plan, encoded, lag)
        even, odd = ((expected + sign * expected.transpose(0, 2, 1)).reshape(4, -1) / 2 for sign in (1, -1))
        symmetric, antisymmetric = moments.centred(lag)
        assert symmetric.dtype == antisymmetric.dtype == np.float64
        # Seven types have cells of their own, so sketches are exact but for single precision.
        scale = abs(even @ even.T).max()
        tolerance = 1e-12 if method == "tables" else 1e-5
        np.testing.assert_allclose(symmetric @ symmetric.T, even @ even.T, atol=tolerance * scale)
        np.testing.assert_allclose(antisymmetric @ antisymmetric.T, odd @ odd.T, atol=tolerance * scale)
        if method == "tables":  # the upper triangle, in which an entry off the diagonal stands for two
            rows, columns = np.triu_indices(7)
            twice = np.where(rows == columns, 1.0, np.sqrt(2.0))
            np.testing.assert_allclose(symmetric, even.reshape(4, 7, 7)[:, rows, columns] * twice, atol=1e-12)
            np.testing.assert_allclose(antisymmetric, odd.reshape(4, 7, 7)[:, rows, columns] * twice, atol=1e-12)
        assert moments.pairs[:, lag - 1].sum() == len(pairs_of(encoded, lag))


@pytest.mark.parametrize("records", [0, 60])
def test_tables_count_every_pair(records):
    encoded = text(2, 500, 5, records)
    plan = plan_of(encoded, 5, method="tables")
    moments = count(plan, encoded)
    assert isinstance(moments, Tables)
    for lag in range(1, 6):
        expected = np.zeros((5, 5), dtype=int)
        for s, t in pairs_of(encoded, lag):
            expected[encoded.ids[s], encoded.ids[t]] += 1
        np.testing.assert_array_equal(sum(sums[lag - 1] for sums in moments.sums.values()), expected)


@pytest.mark.parametrize("symbols", [20, 64])
def test_sketches_of_heavy_types_only_are_exact(symbols):
    encoded = text(3, 4000, symbols, 30)
    exact, sketched = (count(plan_of(encoded, symbols, method=method), encoded) for method in METHODS)
    for lag in (1, 3, 5):
        for table, sketch in zip(exact.centred(lag), sketched.centred(lag), strict=True):
            gram = table @ table.T
            np.testing.assert_allclose(sketch @ sketch.T, gram, atol=2e-6 * abs(gram).max())


def test_a_type_too_many_makes_sketches_approximate():
    encoded = text(3, 4000, 90, 0)
    exact, sketched = (count(plan_of(encoded, 90, method=method), encoded).centred(1)[0] for method in METHODS)
    error = abs(sketched @ sketched.T - exact @ exact.T).max() / abs(exact @ exact.T).max()
    assert 1e-4 < error < 0.05


# Sketches: unbiased over their seeds.


def sketched(sketch: Sketch, matrix: np.ndarray) -> np.ndarray:
    """The sketch of a matrix, entry by entry."""
    cells = sketch.places[0][:, None] + sketch.places[1]
    assert cells.max() < sketch.cells
    return np.bincount(cells.ravel(), (matrix * np.outer(*sketch.weights)).ravel(), minlength=sketch.cells)


@pytest.mark.parametrize("cells", [64, 1024])
def test_inner_products_of_sketches_have_no_bias(cells):
    symbols, seeds = 60, 400
    rng = np.random.default_rng(5)
    p, weights = zipf(symbols), rng.uniform(0.5, 2.0, symbols)
    noise = rng.normal(size=(symbols, symbols)) * np.sqrt(np.outer(p, p))
    one = rng.normal(size=(symbols, symbols)) * np.sqrt(np.outer(p, p)) + noise
    two = rng.normal(size=(symbols, symbols)) * np.sqrt(np.outer(p, p)) + noise
    metric = np.outer(weights, weights) ** 2
    for other in (two, two.T):  # of a matrix and of its transpose the same functions make the sketch
        exact = float((metric * one * other).sum())
        found = []
        for seed in range(seeds):
            sketch = Sketch.draw(p, weights, cells, seed)
            found.append(float(sketched(sketch, one) @ sketched(sketch, other)))
        assert abs(np.mean(found) - exact) < 4 * np.std(found) / math.sqrt(seeds)
        # The error is at most that of spreading all pairs over a quarter of the cells.
        bound = 2 * math.sqrt((metric * one**2).sum() * (metric * other**2).sum() / (cells / 4))
        assert 0 < np.std(found) < bound


def test_statistics_from_sketches_have_no_bias():
    encoded = text(6, 3000, 120, 20)
    exact = count(plan_of(encoded, 120, method="tables"), encoded)
    grams = [[part @ part.T for part in exact.centred(lag)] for lag in (1, 4)]
    found = []
    for seed in range(100):
        moments = count(plan_of(encoded, 120, method="sketch", cells=1024, seed=seed), encoded)
        found.append([[part @ part.T for part in moments.centred(lag)] for lag in (1, 4)])
    error = np.mean(found, axis=0) - np.array(grams)
    assert (abs(error) < 4 * np.std(found, axis=0) / math.sqrt(len(found))).all()


def test_pairs_of_heavy_types_share_no_cell():
    p = zipf(300)[::-1]
    sketch = Sketch.draw(p, np.ones(300), 1024, seed=0)
    heavy = np.argsort(-p)[:16]
    cells = sketch.places[0][:, None] + sketch.places[1]
    own = cells[np.ix_(heavy, heavy)]
    assert len(np.unique(own)) == 256
    others = np.ones((300, 300), dtype=bool)
    others[np.ix_(heavy, heavy)] = False
    assert not np.isin(cells[others], own).any()
    assert cells.max() < 1024


def test_cells_are_four_times_a_square():
    with pytest.raises(InputError, match="cells must be four times a square, such as 4096, 16384 or 65536, got 5000"):
        Sketch.draw(zipf(9), np.ones(9), 5000, 0)
    with pytest.raises(InputError, match="cells must be a whole number of at least 16"):
        Sketch.draw(zipf(9), np.ones(9), 4, 0)


def test_products_with_means_are_outer_products():
    symbols, rng = 100, np.random.default_rng(7)
    p = zipf(symbols)
    sketch = Sketch.draw(p, rng.uniform(0.5, 2, symbols), 256, seed=1)
    products = MeanProducts(sketch, p)
    firsts, seconds = rng.integers(0, 50, (2, symbols))
    for step in range(12):
        # Few types change at most steps, which moves sketches, and many at some, which transforms them.
        changed = rng.choice(symbols, size=60 if step % 5 == 4 else 3, replace=False)
        firsts, seconds = firsts.copy(), seconds.copy()
        firsts[changed] = rng.integers(0, 50, len(changed))
        seconds[np.roll(changed, 1)[:2]] += 1
        number = firsts.sum()
        direct = np.outer(p, seconds) + np.outer(firsts, p) - number * np.outer(p, p)
        found = products.at(firsts, seconds)
        np.testing.assert_allclose(found[0], sketched(sketch, direct), atol=1e-9)
        np.testing.assert_allclose(found[1], sketched(sketch, direct.T), atol=1e-9)


@pytest.mark.parametrize(("owned", "behind"), [(1, 0), (3, 0), (3, 9), (12, 2), (12, 9), (30, 9), (30, 0)])
@pytest.mark.parametrize("records", [False, True])
def test_marginals_of_short_segments(owned, behind, records):
    rng = np.random.default_rng(owned + behind)
    ids = rng.integers(0, 4, owned + behind)
    left = rng.integers(0, 12, owned) if records else None
    if left is not None:
        left = np.minimum(left, len(ids) - 1 - np.arange(owned))
    segment = Segment(ids, owned, 0, left)
    for lag, firsts, seconds in marginals(segment, range(1, 10), 4):
        expected = np.zeros((2, 4), dtype=int)
        for s in range(min(owned, len(ids) - lag)):
            if left is None or left[s] >= lag:
                expected[0, ids[s]] += 1
                expected[1, ids[s + lag]] += 1
        np.testing.assert_array_equal([firsts, seconds], expected)


# Parts of a corpus: counted apart, sent as arrays and added.


def three_parts(plan: Plan, encoded: Encoded) -> list:
    """A text in three parts, each of which begins a record."""
    parts, bounds = [], [0, 310, 700, len(encoded)]
    for low, high in itertools.pairwise(bounds):
        inside = encoded.records[(encoded.records >= low) & (encoded.records < high)] - low
        parts.append(count(plan, Encoded(encoded.ids[low:high], inside), offset=low))
    return parts


def text_of_parts() -> Encoded:
    encoded = text(8, 1000, 80, 12)
    return Encoded(encoded.ids, np.union1d(encoded.records, [310, 700]))


def same(one, other) -> bool:
    return (
        one.sums.keys() == other.sums.keys()
        and all(one.sums[block].tobytes() == other.sums[block].tobytes() for block in one.sums)
        and one.pairs.tobytes() == other.pairs.tobytes()
    )


def content_of(moments) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in moments.arrays().items()}


@pytest.mark.parametrize("method", METHODS)
def test_parts_are_sent_and_added(method):
    encoded = text_of_parts()
    plan = plan_of(encoded, 80, method=method, cells=256)
    added, sent = plan.counter(), plan.counter()
    for part, twin in zip(three_parts(plan, encoded), three_parts(plan, encoded), strict=True):
        sent.add(moments_of(twin.arrays(), plan))
        added.add(part)
        assert not part.sums
        assert not part.pairs.any()
    assert same(added, sent)

    whole = count(plan, encoded)
    np.testing.assert_array_equal(added.pairs, whole.pairs)
    assert added.sums.keys() == whole.sums.keys()
    for block, sums in whole.sums.items():
        if method == "tables":
            np.testing.assert_array_equal(added.sums[block], sums)
        else:
            np.testing.assert_allclose(added.sums[block], sums, atol=1e-5 * abs(sums).max())


@pytest.mark.parametrize("size", [1, 7, 100, 5000])
@pytest.mark.parametrize("piece", [1, 33, 1000])
def test_pieces_and_segments_of_any_size_give_the_same_tables(size, piece):
    encoded = text(9, 1000, 6, 25)
    plan = plan_of(encoded, 6, method="tables")
    begins = np.isin(np.arange(1000), encoded.records)
    pieces = [Encoded(encoded.ids[low : low + piece], np.flatnonzero(begins[low : low + piece])) for low in range(0, 1000, piece)]
    moments = plan.counter()
    for segment in segments(pieces, plan.blocks, plan.lags, size=size):
        moments.update(segment)
    assert same(moments, count(plan, encoded))


def test_segments_of_any_size_give_nearly_the_same_sketches():
    encoded = text(9, 3000, 300, 25)
    plan = plan_of(encoded, 300, method="sketch", cells=1024)
    one, other = count(plan, encoded), count(plan, encoded, size=100)
    np.testing.assert_array_equal(one.pairs, other.pairs)
    for block, sums in one.sums.items():
        np.testing.assert_allclose(other.sums[block], sums, atol=1e-5 * abs(sums).max())


CHANGES = {
    "seed": {"seed": 1},
    "cells": {"cells": 1024},
    "metric": {"metric": "plain"},
    "length": {"length": 5},
    "blocks": {"blocks": 5},
    "method": {"method": "tables"},
}


@pytest.mark.parametrize("change", [*CHANGES.values(), None], ids=[*CHANGES, "vocabulary"])
def test_plans_that_differ_are_refused(change):
    encoded = text_of_parts()
    given = {"method": "sketch", "cells": 256}
    plan = plan_of(encoded, 80, **given)
    other = plan_of(encoded, 81 if change is None else 80, **given | (change or {}))
    with pytest.raises(InputError, match="counted with another vocabulary, other blocks, lags or metric: count all parts alike"):
        moments_of(count(plan, encoded).arrays(), other)


@pytest.mark.parametrize("method", METHODS)
def test_statistics_made_of_arrays_have_the_same_arrays(method):
    encoded = text_of_parts()
    plan = plan_of(encoded, 80, method=method, cells=256)
    moments = count(plan, encoded)
    again = moments_of(moments.arrays(), plan)
    assert same(again, moments)
    assert content_of(again) == content_of(moments)


def test_blocks_without_pairs_count_as_nothing():
    encoded = Encoded(np.tile([0, 1], 40), np.arange(40, 80))  # the second half has records of one token
    plan = plan_of(encoded, 2, method="tables", length=3)
    symmetric, _ = count(plan, encoded).centred(1)
    assert not symmetric[2:].any()
    assert symmetric[0] == pytest.approx(np.array([-0.25, 0.25 * np.sqrt(2.0), -0.25]) / plan.probabilities[0], rel=0.1)


def test_a_window_longer_than_all_records_is_refused():
    encoded = Encoded(np.tile([0, 1, 2], 40), np.arange(0, 120, 4))
    plan = plan_of(encoded, 3, method="tables", length=6)
    moments = count(plan, encoded)
    with pytest.raises(InputError, match="A window of 6 tokens is longer than any record, the longest of which has 4: take a smaller"):
        plan.check_windows(moments)
    with pytest.raises(InputError, match="length must be a whole number of at least 2, got 1"):
        plan_of(encoded, 3, length=1)
