"""The claims of the view from infinity: what there is, the smoke scale, and some jobs against other computations."""

from __future__ import annotations

import importlib
import inspect
import itertools
import json
import math
import subprocess
import sys

import numpy as np
import pytest

from specht.lab.archive import Archive
from specht.papers import common
from specht.papers.claims import Result
from specht.papers.registry import select
from specht.papers.scorecard import expected_outcomes, jobs_of
from specht.papers.view_from_infinity import PAPER, blocks, complexity, losses, nonlinear, sources, symmetries


class TestPaper:
    def test_claims_have_different_names_that_begin_with_the_paper(self):
        names = [claim.id for claim in PAPER.claims]
        assert len(names) == len(set(names))
        assert all(name.startswith(f"{PAPER.id}.") for name in names)
        experiments = [experiment.name for experiment in PAPER.experiments]
        assert len(experiments) == len(set(experiments))

    def test_every_claim_says_what_where_and_how(self):
        for claim in PAPER.claims:
            assert claim.sentence.endswith(".")
            assert claim.citation
            assert claim.criterion
            assert (claim.judge is None) == bool(claim.untested)

    def test_every_row_of_the_notes_has_a_claim(self):
        rows = [f"f{i}" for i in range(4)] + [f"q{i}" for i in range(1, 9)] + [f"e{i}" for i in range(1, 11)]
        assert {claim.id.split(".")[1].split("-")[0] for claim in PAPER.claims} == set(rows)

    def test_every_claim_can_be_tested(self):
        assert [claim.id for claim in PAPER.claims if claim.judge is None] == []

    @pytest.mark.parametrize("scale", ["smoke", "quick", "full"])
    def test_jobs_of_every_scale_are_named_by_their_arguments(self, scale):
        for experiment in PAPER.experiments:
            jobs = experiment.jobs(scale)
            assert len(jobs) == len(set(jobs))
            assert bool(jobs) == any(claim.judge is not None for claim in experiment.claims)

    def test_listing_claims_loads_no_jax(self):
        code = (
            "import sys; from specht.papers.view_from_infinity import PAPER; "
            "jobs = [e.jobs('full') for e in PAPER.experiments]; assert len(PAPER.claims) > 40; assert 'jax' not in sys.modules"
        )
        subprocess.run([sys.executable, "-c", code], check=True)


def test_every_experiment_at_smoke_scale(tmp_path):
    """As a user runs it: verdicts as on record, numbers finite, figures and tables for every experiment."""
    command = [
        sys.executable,
        "-m",
        "specht",
        "reproduce",
        PAPER.id,
        "--scale",
        "smoke",
        "--workers",
        "1",
        "--out",
        str(tmp_path),
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    assert len(json.loads(done.stdout)["claims"]) == len(PAPER.claims)
    archive = Archive(tmp_path / "jobs")
    for experiment in PAPER.experiments:
        jobs = experiment.jobs("smoke")
        results = [Result(job.arguments, archive.load(job)) for job in jobs]
        for result in results:
            for name, values in result.data.data_vars.items():
                assert values.dtype == np.float64, (experiment.name, name)
                assert np.isfinite(values.values).all(), (experiment.name, name)
        if not jobs:
            continue
        for claim in experiment.claims:
            verdict = claim.judge(results)
            assert verdict.outcome in ("holds", "fails", "not tested")
            assert verdict.regime.endswith("."), claim.id
            assert verdict.outcome == "not tested" or math.isfinite(verdict.measured)
        plots, tables = experiment.plots(results), experiment.tables(results)
        assert plots or tables
        assert all(plot.title and plot.caption for plot in plots)
        assert all(len(row) == len(table.header) for table in tables for row in table.rows)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert all(experiment.title in page for experiment in PAPER.experiments)


def test_a_job_gives_the_same_numbers_again():
    job = losses.jobs("smoke")[0]
    assert job.run().identical(job.run())


class TestNumbers:
    def test_blocks_are_those_of_brute_force(self):
        """Every multiplet is counted, and the eigenvalues are those of the matrix itself."""
        import specht

        data = blocks.measure_blocks(vocab=2, length=3, activation="erf", seed=0)
        assert (data["copies"] * data["dimension"]).sum() == 2**4
        arch = specht.Architecture(vocab=2, length=3, activation="erf")
        x, p = specht.sources.default_mixture(2, seed=0).enumerate(4)
        matrix = np.sqrt(p)[:, None] * specht.Kernel(arch)(x) * np.sqrt(p)
        np.testing.assert_allclose(data["eigenvalue"], np.linalg.eigvalsh(matrix)[::-1], atol=1e-14)

    @pytest.mark.parametrize("activation", ["linear", "erf"])
    def test_top_eigenvalues_by_listing_all_sequences(self, activation):
        """For two tokens, functions antisymmetric in m pairs of positions and symmetric in the others all belong to [L-m,m]."""
        import specht

        length = 5
        found = nonlinear.measure_levels(activation, 0.5, length)["normalised"].values
        x, p = specht.sources.uniform(2).enumerate(length + 1)
        gram = specht.Kernel(specht.Architecture(vocab=2, length=length, activation=activation, s_w=0.5))(x)

        def moved(order):
            """The permutation of all sequences that an order of their columns makes."""
            return np.eye(len(x))[x[:, list(order)] @ 2 ** np.arange(length, -1, -1)]

        for m in sources.LEVELS:
            rest = itertools.permutations(range(2 * m, length))
            projector = np.mean([moved([*range(2 * m), *order, length]) for order in rest], axis=0)
            for first in range(0, 2 * m, 2):
                order = list(range(length + 1))
                order[first], order[first + 1] = first + 1, first
                projector = projector @ (np.eye(len(x)) - moved(order)) / 2.0
            top = p[0] * np.linalg.eigvalsh(projector @ gram @ projector)[-1]
            assert found[m] == pytest.approx(top / (p @ np.diag(gram)), abs=1e-13)

    def test_half_learning_is_where_the_formula_says(self):
        """N* of a function that lies in one row, from eigenvalues of the dense operator."""
        import specht

        data = complexity.measure_bare(length=5, ridge=1.0)
        x, p = specht.sources.uniform(2).enumerate(6)
        gram = specht.Kernel(specht.Architecture(vocab=2, length=5, s_w=0.5))(x)
        eigenvalues = np.linalg.eigvalsh(np.sqrt(p)[:, None] * gram * np.sqrt(p))
        own = 2 * 0.5 * (0.5 + 2 * 1.0) / 4  # 2 s_w s_p (s_w + V s_p) / V^2
        assert float(data["bare"]) == pytest.approx(1.0 / own, rel=1e-10)
        assert float(data["samples"]) == pytest.approx(1.0 / own + (eigenvalues / (eigenvalues + own)).sum(), rel=1e-9)

    def test_total_variation_by_listing_orders(self):
        import specht

        gaps = symmetries.measure_law(vocab=2, length=3, seeds=[3])["gap"]
        x, p = specht.sources.generic_mixture(2, seed=3).enumerate(4)
        place = 2 ** np.arange(3, -1, -1)
        mean = np.mean([p[x[:, [*order, 3]] @ place] for order in itertools.permutations(range(3))], axis=0)
        assert float(gaps.sel(kind="generic", seed=3)) == pytest.approx(np.abs(p - mean).sum() / 2, rel=1e-10)

    def test_power_laws_leave_out_what_is_noise(self):
        found = common.power_law([1, 2, 4, 8], [1.0, 0.25, 0.0625, 0.1], [0.01, 0.01, 0.001, 0.1])
        assert found.exponent == pytest.approx(-2.0, abs=0.05)
        assert common.power_law([1, 2], [1.0, 0.1], [0.1, 0.1]) is None


@pytest.mark.parametrize("scale", ["smoke", "quick", "full"])
def test_jobs_name_functions_that_exist(scale):
    for job in itertools.chain.from_iterable(experiment.jobs(scale) for experiment in PAPER.experiments):
        module, function = job.function.split(":")
        inspect.signature(getattr(importlib.import_module(module), function)).bind(**job.arguments)


@pytest.mark.parametrize("scale", ["smoke", "quick", "full"])
def test_every_claim_that_can_be_tested_is_on_record(scale):
    assert set(expected_outcomes(scale)) == {claim.id for claim in PAPER.claims if claim.judge is not None}


def test_another_seed_draws_all_that_is_random_anew():
    for part in select(among=[PAPER]):
        for job, other in zip(jobs_of(part, "quick", 0), jobs_of(part, "quick", 1), strict=True):
            assert (job != other) == bool({"seed", "seeds"} & set(job.arguments))
            assert job.arguments.keys() == other.arguments.keys()
        assert jobs_of(part, "quick", 0) == list(part.experiment.jobs("quick")) or not any(claim.judge for claim in part.claims)
