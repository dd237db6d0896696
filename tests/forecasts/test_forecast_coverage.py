"""Forecasts with real kernels hold as often as they say: a small version of benchmarks/forecast.py."""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
REPEATS, ROWS = 20, 120


@pytest.fixture(scope="module")
def bench():
    if not BENCHMARKS.exists():
        pytest.skip("the benchmarks are not part of this copy")
    sys.path.insert(0, str(BENCHMARKS))
    try:
        yield importlib.import_module("forecast")
    finally:
        sys.path.remove(str(BENCHMARKS))


@pytest.mark.slow
def test_intervals_hold_and_beat_a_power_law(bench):
    tables = {name: bench.TABLES[name] for name in ("positions", "counts", "components")}
    real = bench.wikitext()
    if real is not None:
        tables["wikitext comma"] = (real, "positions", 200)
    low, _ = bench.coverage_band(REPEATS)
    ratios = {}
    for name, (draw, architecture, vocab) in tables.items():
        outcomes = [bench.try_once(draw, architecture, vocab, seed=5000 + seed, rows=ROWS, repeats=4) for seed in range(REPEATS)]
        found = bench.summary(outcomes)
        assert found["held"] >= low, name
        ratios[name] = math.log(found["score"] / found["law_score"])
    assert sum(ratios.values()) < 0, ratios
