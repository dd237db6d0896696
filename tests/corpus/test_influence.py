"""Windows that carry the score: against sums over pairs of positions, and with ornamental lines put into clean texts."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from specht.corpus.measuring import explain, measure
from specht.corpus.read.corpora import open_corpus
from specht.corpus.read.stream import Segment
from specht.corpus.stats.influence import WINDOWS, WindowSample, _contributions as contributions, _invariant as invariant, influence
from specht.corpus.survey import SurveySettings


def random_windows(number: int, length: int, symbols: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    laws = rng.dirichlet(np.full(symbols, 0.7), size=number)
    windows = (rng.random((number, length, 1)) > laws.cumsum(axis=1)[:, None, :-1]).sum(axis=2)
    p = np.bincount(windows.ravel(), minlength=symbols) / windows.size
    return windows, p, rng.uniform(0.5, 2.0, symbols)


def own_matrices(windows: np.ndarray, p: np.ndarray, s: np.ndarray) -> np.ndarray:
    """L (L - 1) B_w of every window, pair of positions by pair of positions."""
    x = (np.eye(len(p))[windows] - p) * s
    return np.sum([np.einsum("ni,nj->nij", x[:, a], x[:, b]) for a, b in itertools.permutations(range(windows.shape[1]), 2)], axis=0)


def test_contributions_add_up_to_the_square_of_the_invariant_part():
    windows, p, s = random_windows(60, 5, 4)
    own = own_matrices(windows, p, s)
    mean = own.mean(axis=0)
    np.testing.assert_allclose(invariant(windows, p, s), mean, atol=1e-12)
    values = contributions(windows, invariant(windows, p, s), p, s)
    np.testing.assert_allclose(values, np.einsum("nij,ij->n", own, mean), atol=1e-10)
    assert values.mean() == pytest.approx((mean**2).sum(), rel=1e-12)


def test_halves_give_each_other_their_mean():
    windows, p, s = random_windows(500, 6, 4, seed=1)
    own = own_matrices(windows, p, s)
    means = own[0::2].mean(axis=0), own[1::2].mean(axis=0)
    values = np.array([(own[n] * means[1 - n % 2]).sum() for n in range(500)])
    carried = np.cumsum(np.sort(values)[::-1]) / values.sum()
    found = influence(windows, p, s)
    assert found.windows == 500
    assert found.carrying_half == int(np.argmax(carried >= 0.5)) + 1
    assert found.top_share == pytest.approx(carried[4], rel=1e-9)
    assert found.is_uneven == (found.carrying_half <= 5)


def test_two_windows_that_are_alike_and_unlike_all_others():
    rng = np.random.default_rng(2)
    windows = rng.integers(0, 9, size=(1000, 8))
    windows[[100, 501]] = 9
    p = np.bincount(windows.ravel(), minlength=11) / windows.size
    found = influence(windows, p, np.where(p > 0, 1 / np.sqrt(np.maximum(p, 1e-3)), 0))
    assert found.is_uneven
    assert found.carrying_half <= 2
    assert found.tokens[0] == 9


def test_few_windows_say_nothing():
    found = influence(np.zeros((3, 4), dtype=int), np.array([1.0, 0.0]), np.ones(2))
    assert (found.windows, found.is_uneven, found.tokens) == (3, False, ())
    assert not influence(np.empty((0, 4), dtype=int), np.array([1.0, 0.0]), np.ones(2)).is_uneven


def test_windows_are_taken_at_regular_distances():
    sample = WindowSample(5, 3)
    for block in range(2):
        sample.update(Segment(np.arange(100 * block, 100 * block + 108) % 1000, 100, block))
    assert sample.windows[:, 0].tolist() == [*range(0, 100, 15), *range(100, 200, 15)]
    assert (np.diff(sample.windows, axis=1) == 1).all()
    again = WindowSample(5, 3)
    again.restore(sample.arrays())
    again.merge(sample)
    np.testing.assert_array_equal(again.windows, np.concatenate([sample.windows, sample.windows]))
    assert WindowSample.spread(64, 10**9).step == 10**9 // 64 // WINDOWS
    assert WindowSample.spread(64, 1000).step == 1
    assert WindowSample(4, 1).windows.shape == (0, 4)


# Real texts.


def measured(source: str, **settings):
    survey, found = measure(open_corpus(source), SurveySettings(lengths=(), how="sketch", extras=("influence",), **settings))
    assert found.influence is not None
    return explain(survey, found.influence.tokens), found


def ornamented(file: Path, line: str, number: int, folder: Path) -> Path:
    """A text with so many ornamental lines, evenly spread."""
    lines = file.read_text(encoding="utf-8").split("\n")
    for place in np.linspace(0, len(lines), number + 2)[-2:0:-1].astype(int):
        lines.insert(place, line)
    path = folder / file.name
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("source", ["moby-dick", "char:moby-dick", "alice", "char:alice", "hongloumeng"])
def test_clean_texts_are_even(data, source):
    _, found = measured(source)
    assert found.influence.windows > 500
    assert not found.influence.is_uneven
    assert found.influence.top_share < 0.5


def test_lines_of_dashes_in_a_chinese_novel(data, tmp_path):
    path = ornamented(data / "gutenberg_zh/hongloumeng.txt", "-" * 60, 120, tmp_path)
    tokens, found = measured(f"cjk:{path}")
    assert found.influence.is_uneven
    assert tokens[0] == "-"
    assert found.influence.top_share > 0.5
    assert found.main.score > 0.2  # of the text alone it is 0.065


@pytest.mark.parametrize(("tokens", "clean"), [("char", 0.018), ("word", 0.077)])
def test_lines_of_asterisks_in_alice(data, tmp_path, tokens, clean):
    path = ornamented(data / "gutenberg_alice/alice_in_wonderland.txt", "*" * 60, 12, tmp_path)
    first, found = measured(f"{tokens}:{path}")
    assert first[0] == "*"
    assert found.main.score > 3 * clean
    if tokens == "char":
        assert found.influence.is_uneven
        assert found.influence.top_share > 0.5


def test_more_types_than_are_told_apart(data):
    tokens, found = measured("alice", vocab=1500)
    assert not found.influence.is_uneven
    assert len(tokens) == 5
