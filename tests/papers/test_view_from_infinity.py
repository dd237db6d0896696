"""The claims of the view from infinity: what there is, and some jobs against other computations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from specht.papers import common
from specht.papers.view_from_infinity import PAPER, blocks, complexity, losses, nonlinear, sources, symmetries


def test_every_row_of_the_notes_has_a_claim():
    rows = [f"f{i}" for i in range(4)] + [f"q{i}" for i in range(1, 9)] + [f"e{i}" for i in range(1, 11)]
    assert {claim.id.split(".")[1].split("-")[0] for claim in PAPER.claims} == set(rows)


def test_a_job_gives_the_same_numbers_again():
    job = losses.measure_losses.jobs("smoke")[0]
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
