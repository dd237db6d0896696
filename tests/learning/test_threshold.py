"""The search for a threshold on success curves that are known: coverage of intervals, cost, and the ends of the range."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, special

from specht.errors import InputError
from specht.learning.threshold import LAPSE, Batch, Belief, Search, find_threshold


def trials_of(theta: float, width: float, seed: int, share: float = 0.8, plateau: float = 1.0):
    """Trials that succeed along a logistic curve with its threshold at e^theta."""
    rng, offset = np.random.default_rng(seed), special.logit(share / plateau)
    return lambda m, trials: rng.binomial(len(trials), plateau * special.expit((math.log(m) - theta) / width + offset))


@pytest.mark.parametrize("width", [0.05, 0.15, 0.35])
def test_intervals_hold_as_often_as_they_say(width):
    """40 searches each, at 90 % confidence."""
    rng, held, errors = np.random.default_rng(round(100 * width)), 0, []
    for seed in range(40):
        theta = math.log(rng.uniform(15, 300))
        found = find_threshold(trials_of(theta, width, seed), Search(width=1.5, budget=240))
        held += found.low <= math.exp(theta) <= found.high
        errors.append(math.log(found.m) - theta)
        assert found.reached
    assert held >= 36 - 4 * math.sqrt(40 * 0.9 * 0.1)
    assert abs(np.mean(errors)) < 4 * np.std(errors) / math.sqrt(40) + 0.02


def test_other_curves_are_covered_too():
    """A cumulative normal instead of a logistic, which the search does not know."""
    rng, held = np.random.default_rng(5), 0
    for _ in range(40):
        middle, width = math.log(rng.uniform(20, 200)), 0.2
        wanted = math.exp(middle + width * special.ndtri(0.8))
        found = find_threshold(lambda m, t, c=middle, w=width: rng.binomial(len(t), special.ndtr((math.log(m) - c) / w)), Search(width=1.5))
        held += found.low <= wanted <= found.high
    assert held >= 36 - 4 * math.sqrt(40 * 0.9 * 0.1)


def test_narrower_intervals_cost_more():
    costs = [find_threshold(trials_of(math.log(60), 0.2, 3), Search(width=width, budget=2000)).trials for width in (2.0, 1.5, 1.2)]
    assert costs[0] <= costs[1] < costs[2]


def test_belief_is_the_posterior_of_brute_force():
    """Against the same integral on a grid of its own, point by point."""
    search, batches = Search(smallest=10, largest=100), [Batch(20, 1, 8), Batch(40, 5, 8), Batch(60, 8, 8)]
    belief = Belief(search)
    for batch in batches:
        belief.learn(batch)
    offset, total, mean = special.logit(0.8 / (1 - LAPSE)), 0.0, 0.0
    for theta in np.linspace(math.log(10 / 8), math.log(800), 400):
        for width in np.geomspace(0.03, 0.6, 11):
            weight = 1.0
            for m, successes, trials in batches:
                p = (1 - LAPSE) / (1 + math.exp(-((math.log(m) - theta) / width + offset)))
                weight *= p**successes * (1 - p) ** (trials - successes)
            total, mean = total + weight, mean + weight * theta
    assert float(belief.density @ belief.theta) == pytest.approx(mean / total, abs=2e-3)


def test_maximum_likelihood_lies_in_the_interval():
    rng, sizes = np.random.default_rng(0), [20, 30, 40, 60]
    batches = [Batch(m, int(rng.binomial(40, special.expit((math.log(m) - math.log(35)) / 0.2))), 40) for m in sizes]
    belief = Belief(Search())
    for batch in batches:
        belief.learn(batch)

    def negative(p):
        chance = np.clip(special.expit((np.log(sizes) - p[0]) / math.exp(p[1])), 1e-12, 1 - 1e-12)
        return -sum(b.successes * math.log(c) + (b.trials - b.successes) * math.log(1 - c) for b, c in zip(batches, chance, strict=True))

    fitted = optimize.minimize(negative, [math.log(35), math.log(0.2)], method="Nelder-Mead").x
    threshold = math.exp(fitted[0] + math.exp(fitted[1]) * special.logit(0.8))
    found = belief.found(batches)
    assert found.low < threshold < found.high
    assert found.m == pytest.approx(threshold, rel=0.05)


def test_what_is_never_learnt_is_not_reached():
    found = find_threshold(lambda m, trials: 0, Search(largest=64, budget=80))
    assert not found.reached
    assert found.words == "not reached by m = 64"
    assert found.trials < 80
    plateau = find_threshold(trials_of(math.log(20), 0.1, 0, share=0.4, plateau=0.5), Search(largest=200, budget=240))
    assert plateau.words == "not reached by m = 200"


def test_what_is_always_learnt_is_below():
    found = find_threshold(lambda m, trials: len(trials), Search(smallest=16, largest=64))
    assert found.reached
    assert found.words == "reached by m = 16 already"


def test_trials_are_numbered_and_batches_add_up():
    seen = []

    def count(m, trials):
        seen.extend(trials)
        return len(trials) // 2

    progress = []
    found = find_threshold(count, Search(batch=4, budget=30, width=1.01), lambda done, total: progress.append((done, total)))
    assert seen == list(range(28))
    assert found.trials == 28 == sum(batch.trials for batch in found.shares)
    assert progress[-1] == (30, 30)
    assert [batch.m for batch in found.shares] == sorted({batch.m for batch in found.batches})


def test_an_equal_search_is_equal():
    first, second = (find_threshold(trials_of(4.0, 0.2, 9)) for _ in range(2))
    assert (first.m, first.batches) == (second.m, second.batches)


BAD = {
    "budget": ({"budget": 0}, "A budget of 0 trials is less than one batch of 8, so nothing could be tried: raise the budget."),
    "range": ({"smallest": 50, "largest": 50}, "The largest number of samples, 50, must be above the smallest, 50"),
    "share": ({"share": 1.0}, "share must be a finite number above 0 and below 0.99, got 1.0."),
    "width": ({"width": 1.0}, "width (ratio of the ends of the interval) must be a finite number above 1, got 1.0."),
    "confidence": ({"confidence": 0}, "confidence must be a finite number above 0 and below 1, got 0."),
    "batch": ({"batch": 0}, "batch must be a whole number of at least 1, got 0."),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_a_sentence(case):
    fields, sentence = BAD[case]
    with pytest.raises(InputError) as error:
        Search(**fields)
    assert sentence in str(error.value)
