"""The judges of the networks that learn to add, on numbers made up for them, and a short training as the jobs run it."""

from __future__ import annotations

import numpy as np
import pytest
from judging import CLAIMS, assert_says_yes_and_no
from made_breaking import BOUND, SEEDS, stacks, sums, trained

from specht.papers.breaking_symmetry import PAPER, addition, slices, training
from specht.papers.breaking_symmetry.multisets import floor
from specht.papers.breaking_symmetry.training import models, over_seeds

CASES = {
    "breaking.addition-invariant": (sums, {"invariant": 1.05 * BOUND + 0.01}),
    "breaking.addition-causal": (sums, {"causal": 0.81 * BOUND}),
    "breaking.addition-positions": (sums, {"solved": 0.979}),
    "breaking.addition-residual": (sums, {"bare": 0.9}),
    "breaking.slices-training": (stacks, {"bare_end": 0.15}),
    "breaking.slices-start": (stacks, {"bare_start": 0.2}),
    "breaking.slices-trained": (stacks, {"bare_end": 0.35}),
}


@pytest.mark.parametrize(("name", "case"), CASES.items(), ids=CASES)
def test_judges_say_yes_and_no(name, case):
    make, fault = case
    assert assert_says_yes_and_no(name, make(), make(**fault)).stderr > 0.0


def test_every_judge_of_these_experiments_is_tried():
    names = ("breaking.addition", "breaking.slices")
    claims = [claim.id for experiment in PAPER.experiments if experiment.name in names for claim in experiment.claims]
    assert sorted(claims) == sorted(CASES)


def test_a_loss_below_the_bound_is_a_fault_too():
    """A network that ignores order and beats the bound would show a mistake of ours."""
    judge = CLAIMS["breaking.addition-invariant"].judge
    assert judge(sums(invariant=0.97 * BOUND)).outcome == "fails"
    assert judge(sums(invariant=BOUND - 0.001)).outcome == "undecided"  # within its error


def test_errors_are_those_of_seeds_or_of_test_problems():
    """The spread of seeds, unless they agree better than so many test problems can know."""
    model = training.MODELS[0]

    def runs(apart):
        (found,) = models(addition.trainings.data([trained(model, apart * seed, 1.0) for seed in range(SEEDS)])).values()
        return found

    mean = over_seeds(runs(1), "loss")
    assert mean.value == pytest.approx(1.0)
    assert mean.stderr == pytest.approx(0.002 / np.sqrt(SEEDS))
    assert over_seeds(runs(100), "loss").stderr == pytest.approx(0.1 / np.sqrt(SEEDS))


@pytest.mark.parametrize("module", [addition, slices])
@pytest.mark.parametrize("scale", ["quick", "full"])
def test_every_model_has_three_seeds(module, scale):
    seeds = {}
    for job in module.trainings.jobs(scale):
        given = job.arguments
        seeds.setdefault(tuple(given[name] for name in training.Stack._fields), set()).add(given["seed"])
    assert min(map(len, seeds.values())) >= 3


def test_problems_and_their_sums():
    x, y = training.draw(3)(np.random.default_rng(0), 50)
    assert x.shape == (50, 8)
    for tokens, digits in zip(x.tolist(), y.tolist(), strict=True):
        assert (tokens[3], tokens[7]) == (training.PLUS, training.EQUALS)
        one, other, total = (int("".join(map(str, part))) for part in (tokens[:3], tokens[4:7], digits))
        assert one + other == total


def test_a_network_that_ignores_order_has_a_profile_of_level_zero():
    """As the job trains it: finite, no better than the bound, and nothing that needs order."""
    model = training.Stack("none", causal=True, depth=1, residual=True)
    given = training.settings("smoke") | {"steps": 30}
    data = training.measure_training(**model._asdict(), **given, seed=0)
    assert float(data["loss"]) > floor(given["digits"]).loss - 4.0 * float(data["loss_stderr"])
    assert float(data["order"]) < 1e-6
    assert data["curve"].values[-1] < data["curve"].values[0]
    assert data.sizes["pair"] == 1
