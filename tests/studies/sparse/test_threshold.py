"""The search for a threshold on success curves that are known: coverage of intervals, cost, and the ends of the range."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, special

from specht.errors import InputError
from specht.studies.sparse.threshold import LAPSE, PLATEAUS, WIDTHS, Batch, Belief, Search, find_threshold


def trials_of(theta: float, width: float, seed: int, share: float = 0.8, plateau: float = 1.0):
    """Trials that succeed along a logistic curve with its threshold at e^theta."""
    rng, offset = np.random.default_rng(seed), special.logit(share / plateau)
    return lambda m, trials: rng.binomial(len(trials), plateau * special.expit((math.log(m) - theta) / width + offset))


def step_at(theta: float):
    """Trials that all fail below e^theta and all succeed from there on."""
    return lambda m, trials: len(trials) if math.log(m) >= theta else 0


def three_errors(searches: int) -> float:
    """The least number of intervals at 90 % confidence that must hold: three binomial errors below what is expected."""
    return 0.9 * searches - 3 * math.sqrt(searches * 0.9 * 0.1)


CURVES = {
    "step": lambda theta, seed: step_at(theta),
    "plateau of 0.9": lambda theta, seed: trials_of(theta, 0.15, seed, plateau=0.9),
    "narrow, plateau of 0.9": lambda theta, seed: trials_of(theta, 0.05, seed, plateau=0.9),
} | {f"width {width}": lambda theta, seed, width=width: trials_of(theta, width, seed) for width in (0.02, 0.05, 0.15, 0.35, 0.8)}


SEARCHES = 80
SLOW = ("width 0.8", "width 0.35", "narrow, plateau of 0.9")


@pytest.mark.parametrize("curve", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in CURVES])
def test_intervals_hold_as_often_as_they_say(curve):
    """At 90 % confidence."""
    rng, held, errors, reached = np.random.default_rng(1), 0, [], 0
    for seed in range(SEARCHES):
        theta = math.log(rng.uniform(15, 300))
        found = find_threshold(CURVES[curve](theta, seed), Search(width=1.5, budget=240, plateau="plateau" in curve))
        held += found.low <= math.exp(theta) <= found.high
        errors.append(math.log(found.m) - theta)
        reached += found.state == "found"
    assert held >= three_errors(SEARCHES)
    assert abs(np.mean(errors)) < 4 * np.std(errors) / math.sqrt(SEARCHES) + 0.02
    assert reached >= (0.93 if curve == "width 0.8" else 1.0) * SEARCHES  # wide curves use up the budget and may end near the largest m


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
    search, batches = Search(smallest=10, largest=100, plateau=True), [Batch(20, 1, 8), Batch(40, 5, 8), Batch(60, 8, 8)]
    belief = Belief(search)
    for batch in batches:
        belief.learn(batch)
    total, mean, lapses = 0.0, 0.0, 0.0
    for theta in np.linspace(math.log(10 / 8), math.log(800), 400):
        for width in np.geomspace(0.01, 1.2, 10):
            for lapse in (0.01, 0.05, 0.1, 0.15):
                weight, offset = 1.0, special.logit(0.8 / (1 - lapse))
                for m, successes, trials in batches:
                    p = (1 - lapse) / (1 + math.exp(min(500.0, -((math.log(m) - theta) / width + offset))))
                    weight *= p**successes * (1 - p) ** (trials - successes)
                total, mean, lapses = total + weight, mean + weight * theta, lapses + weight * lapse
    assert float(belief.density @ belief.theta) == pytest.approx(mean / total, abs=2e-3)
    assert belief.lapse() == pytest.approx(lapses / total, abs=1e-3)


@pytest.mark.parametrize(("share", "lapses"), [(0.8, 4), (0.87, 3), (0.9, 2), (0.97, 1)])
def test_lapses_leave_the_share_that_is_looked_for(share, lapses):
    belief = Belief(Search(share=share, plateau=True))
    belief.learn(Batch(20, 1, 8))
    belief.learn(Batch(100, 8, 8))
    assert belief.lapse() < 1.0 - share
    assert belief.density.sum() == pytest.approx(1.0)
    assert len(belief._log[0]) == lapses * len(WIDTHS)
    assert LAPSE - 1e-9 < belief.lapse() < (LAPSE, *PLATEAUS)[lapses - 1] + 1e-9
    assert Belief(Search(share=share)).lapse() == pytest.approx(LAPSE)


def test_intervals_reach_the_trials_next_to_a_step():
    belief = Belief(Search())
    for m, successes in ((64, 8), (32, 0), (45, 8), (38, 0)):
        belief.learn(Batch(m, successes, 8))
    assert belief.interval() == (38, belief.quantile(0.95))
    assert belief.quantile(0.05) > 38  # the curves of the model alone would leave out the step right above
    belief.learn(Batch(38, 1, 8))  # no step, as it succeeded once
    assert belief.interval() == (belief.quantile(0.05), belief.quantile(0.95))


def test_the_next_size_is_that_of_the_least_variance():
    """Against the same expectation with nothing left out and in float64."""
    search = Search(smallest=10, largest=60)
    belief = Belief(search)
    for batch in (Batch(20, 1, 8), Batch(40, 5, 8)):
        belief.learn(batch)
    variance = {}
    for m in range(10, 61):
        variance[m] = 0.0
        for k in range(5):
            after = Belief(search)
            for batch in (Batch(20, 1, 8), Batch(40, 5, 8), Batch(m, k, 4)):
                after.learn(batch)
            weights = np.exp(after._log - belief._log.max()) * special.comb(4, k)
            mass = weights.sum(axis=1) / np.exp(belief._log - belief._log.max()).sum()
            mean = mass @ belief.theta / mass.sum()
            variance[m] += mass @ (belief.theta - mean) ** 2
    chosen = belief.next_size(4)
    assert variance[chosen] <= 1.001 * min(variance.values())


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
    assert (found.state, found.reached) == ("not reached", False)
    assert found.trials < 80
    plateau = find_threshold(trials_of(math.log(20), 0.1, 0, share=0.4, plateau=0.5), Search(largest=200, budget=240))
    assert plateau.state == "not reached"


def test_what_may_lie_above_the_largest_is_not_found():
    """Most is below, but not with the confidence that is asked for."""
    belief = Belief(Search(largest=64))
    belief.learn(Batch(64, 7, 8))
    belief.learn(Batch(40, 1, 8))
    assert 0.05 < belief.above_largest() < 0.5
    assert belief.found([]).state == "not reached"
    belief.learn(Batch(64, 40, 40))
    assert belief.above_largest() < 0.05
    assert belief.found([]).state == "found"


def test_what_is_always_learnt_is_below():
    found = find_threshold(lambda m, trials: len(trials), Search(smallest=16, largest=64))
    assert (found.state, found.reached) == ("below", True)


def test_trials_are_numbered_and_batches_add_up():
    seen = []

    def count(m, trials):
        seen.extend(trials)
        return len(trials) // 2

    progress = []
    found = find_threshold(count, Search(batch=4, budget=30, width=1.01), lambda done, total: progress.append((done, total)))
    assert seen == list(range(28))
    assert found.trials == 28 == sum(batch.trials for batch in found.batches)
    assert progress[-1] == (30, 30)


def test_an_equal_search_is_equal():
    first, second = (find_threshold(trials_of(4.0, 0.2, 9)) for _ in range(2))
    assert (first.m, first.batches) == (second.m, second.batches)


BAD = {
    "budget": ({"budget": 0}, "A budget of 0 trials is less than one batch of 8, so nothing could be tried: raise the budget."),
    "range": ({"smallest": 50, "largest": 50}, "The largest number of samples, 50, must be above the smallest, 50"),
    "share": ({"share": 1.0}, "share must be a finite number above 0 and below 0.99, got 1.0."),
    "width": ({"width": 1.0}, "width (ratio of the ends of the interval) must be a finite number above 1, got 1.0."),
    "confidence": ({"confidence": 0}, "confidence must be a finite number above 0 and below 1, got 0."),
    "batch": ({"batch": 0}, "batch must be a whole number from 1 to 64, got 0."),
    "large batch": ({"batch": 65, "budget": 100}, "batch must be a whole number from 1 to 64, got 65."),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_a_sentence(case):
    fields, sentence = BAD[case]
    with pytest.raises(InputError) as error:
        Search(**fields)
    assert sentence in str(error.value)
