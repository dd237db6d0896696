"""The judges of "From kernels to features" on results made up for them: yes, no, no to a null, and undecided within the error."""

from __future__ import annotations

import numpy as np
import pytest
from judging import CLAIMS, assert_says_yes_and_no
from made_features import (
    NULL,
    average_results,
    cell_results,
    descent_results,
    embedding_results,
    exponent_results,
    first_order_results,
    growth_results,
    heads_results,
    reach_results,
    symmetry_results,
)

from specht.papers.kernels_to_features import PAPER, exponents, heads, symmetry


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("cells-linear", {"heads": 1.2}),
        ("cells-erf", {"readout": 1.3}),
        ("cells-erf-heads", {"heads": 1.3}),
        ("cells-layers", {"layers": 1.5}),
        ("cells-fast", {"fast": 1.8}),
        ("cells-saddle", {"saddle": 0.3}),
        ("cells-worst", {"readout": 1.3}),
        ("cells-infinite", {"infinite": 1.1}),
        ("cells-counts", {"heads": 1.3}),
    ],
)
def test_judges_of_cells(name, fault):
    assert_says_yes_and_no(f"features.{name}", cell_results(), cell_results(**fault))
    if name != "cells-infinite":  # which speaks of the null itself
        assert CLAIMS[f"features.{name}"].judge(cell_results(**NULL)).outcome == "fails"


def test_infinite_width_is_not_refuted_by_noise():
    assert CLAIMS["features.cells-infinite"].judge(cell_results(infinite=2.0, stderr=0.3)).outcome == "undecided"


@pytest.mark.parametrize("name", ["cells-linear", "cells-erf", "cells-erf-heads", "cells-layers", "cells-fast", "cells-saddle"])
def test_a_bound_within_the_error_decides_nothing(name):
    assert CLAIMS[f"features.{name}"].judge(cell_results(stderr=0.4)).outcome == "undecided"


def test_without_a_cell_that_counts_nothing_is_said_of_counting():
    copies = [result for result in cell_results() if result.arguments["cell"][1] == "copy"]
    assert CLAIMS["features.cells-counts"].judge(copies).outcome == "not tested"


def test_a_worst_cell_within_its_error_decides_nothing():
    judge = CLAIMS["features.cells-worst"].judge
    assert judge(cell_results(heads=1.3, stderr=0.1)).outcome == "undecided"
    assert judge(cell_results(heads=1.3, stderr=0.02)).outcome == "fails"


def test_judge_of_heads():
    assert_says_yes_and_no("features.heads", heads_results(0.02), heads_results(0.3))
    assert CLAIMS["features.heads"].judge(heads_results(0.4)).outcome == "fails"  # the null: heads do not matter
    assert CLAIMS["features.heads"].judge(heads_results(0.12, stderr=0.05)).outcome == "undecided"
    results = heads_results(0.02)
    differences = heads.differences(heads.measure_networks.data(results), heads.measure_theory.data(results))
    assert differences["heads"].values.tolist() == [8, 64]
    assert float(differences["value"].sel(heads=8)) == pytest.approx(0.4)
    assert float(differences["stderr"].sel(heads=64)) == pytest.approx(1.02 * np.hypot(0.001 / 0.3, 0.001 * 1.02 / 0.3))


def test_judge_of_the_embedding():
    assert_says_yes_and_no("features.embedding", embedding_results(), embedding_results(1.2))
    assert CLAIMS["features.embedding"].judge(embedding_results(1.5)).outcome == "fails"  # what infinite width says


def test_judges_of_symmetry():
    good = symmetry_results()
    assert_says_yes_and_no("features.symmetry-broken", good, symmetry_results(wrong=("and",)))
    assert_says_yes_and_no("features.symmetry-kept", good, symmetry_results(wrong=(symmetry.SHUFFLED,)))
    assert CLAIMS["features.symmetry-broken"].judge(symmetry_results(alike=True)).outcome == "fails"


def test_judge_of_the_average():
    assert_says_yes_and_no("features.average", average_results(), average_results(1.5))
    assert CLAIMS["features.average"].judge(average_results(2.0)).outcome == "fails"  # what infinite width says
    assert CLAIMS["features.average"].judge(average_results(1.1, stderr=0.1)).outcome == "undecided"


def test_judges_of_growth():
    assert_says_yes_and_no("features.growth", growth_results(), growth_results(narrow=1.2))
    assert CLAIMS["features.growth"].judge(growth_results(narrow=1.3)).outcome == "fails"  # width changes nothing
    good = assert_says_yes_and_no("features.gradual", growth_results(), growth_results(jumps=(128, 4096)))
    assert good.regime.endswith("The shortest length with a jump is 4096.")
    assert "shortest" not in CLAIMS["features.gradual"].judge(growth_results(jumps=())).regime


def test_judges_of_exponents():
    assert_says_yes_and_no("features.exponents", exponent_results(), exponent_results(theory=1.1))
    assert_says_yes_and_no("features.exponents-fast", exponent_results(), exponent_results(fast=1.35))
    assert_says_yes_and_no("features.exponents-infinite", exponent_results(), exponent_results(infinite=0.85))
    near, far = (CLAIMS[f"features.{name}"].judge for name in ("exponents", "exponents-infinite"))
    assert near(exponent_results(theory=1.35)).outcome == "fails"  # a theory that says what infinite width says
    noisy = (0.5, -0.4, -0.1)
    assert near(exponent_results(noise=noisy)).outcome == "undecided"
    assert far(exponent_results(noise=noisy)).outcome == "undecided"


def test_a_crossing_lies_between_its_neighbours_on_the_grid():
    needed, tried = exponents.crossing(lambda n: 4.0 / n)
    assert needed == pytest.approx(20.0)  # a power law is a straight line
    assert set(tried) <= set(exponents.GRID)
    assert exponents.crossing(lambda n: 1.0)[0] == exponents.GRID[-1]
    assert exponents.crossing(lambda n: 0.1)[0] == exponents.GRID[0]


def test_judges_of_descent():
    leaves, near = "features.descent-leaves", "features.descent-near"
    assert_says_yes_and_no(leaves, descent_results(), descent_results(trained=2.5))
    assert_says_yes_and_no(near, descent_results(), descent_results(trained=1.6))
    for name in (leaves, near):
        assert CLAIMS[name].judge(descent_results(trained=3.0)).outcome == "fails"  # what infinite width says
    assert CLAIMS[leaves].judge(descent_results(trained=1.7, noise=0.6)).outcome == "undecided"
    assert CLAIMS[leaves].judge(descent_results(infinite=1.2)).outcome == "not tested"  # nothing to tell apart
    assert CLAIMS[near].judge(descent_results(trained=1.25, noise=0.3)).outcome == "undecided"


def test_judges_of_reach():
    assert_says_yes_and_no("features.reach-exact", reach_results(), reach_results(off=0.2))
    assert_says_yes_and_no("features.reach-approximate", reach_results(), reach_results(rough=1.2))
    null = reach_results(off=1.0, rough=1.0)  # what infinite width says
    assert CLAIMS["features.reach-exact"].judge(null).outcome == "fails"
    assert CLAIMS["features.reach-approximate"].judge(null).outcome == "undecided"
    assert CLAIMS["features.reach-approximate"].judge(reach_results(stderr=0.2)).outcome == "undecided"


def test_judge_of_the_first_order():
    assert_says_yes_and_no("features.first-order", first_order_results(), first_order_results(0.06))
    assert CLAIMS["features.first-order"].judge(first_order_results(0.07)).outcome == "fails"  # nothing is corrected
    assert CLAIMS["features.first-order"].judge(first_order_results(0.0, 0.0)).outcome == "not tested"


@pytest.mark.parametrize(
    ("name", "results"),
    [
        ("cells", cell_results()),
        ("symmetry", symmetry_results()),
        ("average", average_results()),
        ("growth", growth_results()),
        ("exponents", exponent_results()),
        ("descent", descent_results()),
        ("reach", reach_results()),
        ("first-order", first_order_results()),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_figures_and_tables(name, results):
    (experiment,) = (experiment for experiment in PAPER.experiments if experiment.name == f"features.{name}")
    plots, tables = experiment.plots(results), experiment.tables(results)
    assert plots or tables
    assert all(plot.caption for plot in plots)
    assert all(len(row) == len(table.header) for table in tables for row in table.rows)
