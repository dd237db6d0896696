"""Random codes for token selection: pools, dynamics and dimensions against brute force."""

from __future__ import annotations

import numpy as np
import pytest

from specht.errors import InputError
from specht.sequences.codes import dual_code, random_codes
from specht.studies.selection.codes_theory import (
    Pool,
    best_share,
    check_code,
    code_needed,
    coherence,
    draw_pool,
    pool_loss,
    smallest_code,
    stochastic_dynamics,
)
from specht.studies.selection.task import Selection
from specht.studies.selection.theory import one_hot_dynamics


def products_one_by_one(length, support, code, draws, query):
    """Codes of all positions and any set of them, drawn with the functions of the task."""
    rng, task, found = np.random.default_rng(7), Selection(length, support, 1), []
    for chosen in task.draw_sets(rng, draws):
        codes = random_codes(rng, code, length)
        asked = dual_code(codes, chosen) if query == "dual" else codes[:, chosen].sum(axis=1)
        found.append(np.concatenate([asked @ codes[:, chosen], np.delete(asked @ codes, chosen)]))
    return np.array(found)


@pytest.mark.parametrize("query", ["dual", "sum"])
def test_pools_have_the_law_of_codes_drawn_one_by_one(query):
    draws = 3000
    pool = draw_pool(np.random.default_rng(0), 12, 3, 20, draws, query)
    other = products_one_by_one(12, 3, 20, draws, query)
    if query == "dual":
        np.testing.assert_allclose(pool.products[:, :3], 1.0, atol=1e-9)
    for function in (lambda c: c[:, :3].std(axis=1), lambda c: (c[:, 3:] ** 2).mean(axis=1), lambda c: np.abs(c[:, 3:]).max(axis=1) ** 2):
        ours, theirs = function(pool.products), function(other)
        error = np.hypot(ours.std(), theirs.std()) / np.sqrt(draws)
        assert abs(ours.mean() - theirs.mean()) < 4 * error + 1e-9


def test_orthogonal_codes_have_the_dynamics_of_one_hot_ones():
    """Products one and zero: the same recursion, but that the score takes 1/m of a step and not 1/(T - 1)."""
    T, q, d = 12, 3, 2
    pool = Pool(np.tile(np.r_[np.ones(q), np.zeros(T - q)], (2, 1)), q, code=T - 1)
    found = stochastic_dynamics(pool, d, learning_rate=0.7, steps=500, records=9)
    exact = one_hot_dynamics(T, q, d, learning_rate=0.7, steps=500, records=9)
    np.testing.assert_allclose(found.score, exact.score, rtol=1e-11)
    np.testing.assert_allclose(found.value, exact.value, rtol=1e-11)
    np.testing.assert_allclose(found.loss, exact.loss, rtol=1e-10)


@pytest.mark.parametrize("sees_query", [False, True])
def test_a_step_of_the_dynamics_goes_down_the_loss(sees_query):
    """Differences of the loss over the pool, as d and m parts of the gradient."""
    pool, d = draw_pool(np.random.default_rng(1), 10, 2, 16, 50, sees_query=sees_query), 3

    def loss(w, v):
        p = np.exp(w * pool.products)
        p /= p.sum(axis=1, keepdims=True) + (np.exp(w * pool.own)[:, None] if sees_query else 0.0)
        return d / 2 * ((v * p - np.r_[0.5, 0.5, np.zeros(8)]) ** 2).sum(axis=1).mean()

    found = stochastic_dynamics(pool, d, learning_rate=0.3, steps=40, records=1000)
    for place in (1, 5, 30):
        w, v, h = found.score[place], found.value[place], 1e-6
        by_w, by_v = (loss(w + h, v) - loss(w - h, v)) / (2 * h), (loss(w, v + h) - loss(w, v - h)) / (2 * h)
        assert found.loss[place] == pytest.approx(loss(w, v), rel=1e-12)
        assert found.score[place + 1] == pytest.approx(w - 0.3 * by_w / 16, abs=1e-9)
        assert found.value[place + 1] == pytest.approx(v - 0.3 * by_v / d, abs=1e-9)


@pytest.mark.parametrize("sees_query", [False, True])
def test_the_loss_over_a_pool_is_that_of_attention_on_samples(sees_query):
    """Contents, codes and sets drawn one by one, and the error of what attention reads; a query that is a key has no content."""
    T, q, d, code, w, v = 9, 2, 3, 30, 2.5, 1.2
    rng, task, draws = np.random.default_rng(3), Selection(T, q, d), 6000
    losses = []
    for tokens, chosen in zip(*task.draw(rng, draws), strict=True):
        codes = random_codes(rng, code, T)
        asked = dual_code(codes, chosen)
        weights = np.exp(w * (asked @ codes))
        whole = weights.sum() + (np.exp(w * (asked @ asked)) if sees_query else 0.0)
        losses.append(0.5 * np.sum((v * weights @ tokens / whole - tokens[chosen].mean(axis=0)) ** 2))
    found = pool_loss(draw_pool(rng, T, q, code, 4000, sees_query=sees_query), d, w, v)
    error = np.hypot(found.stderr, np.std(losses) / np.sqrt(draws))
    assert abs(found.mean - np.mean(losses)) < 4 * error
    assert error < 0.03 * found.mean


def test_groups_scatter_as_their_error_says():
    pool = draw_pool(np.random.default_rng(2), 12, 2, 24, 1200)
    whole = stochastic_dynamics(pool, 3, learning_rate=1.0, steps=200, records=3)
    parts = stochastic_dynamics(pool, 3, learning_rate=1.0, steps=200, records=3, groups=6)
    assert whole.loss_stderr is None
    assert parts.loss_stderr is not None
    assert 0 < parts.loss_stderr[-1] < 0.2 * parts.loss[-1]
    assert abs(parts.loss[-1] - whole.loss[-1]) < 4 * parts.loss_stderr[-1]


@pytest.mark.parametrize(("sees_query", "most"), [(False, 1.4), (True, 8.0)])
def test_the_best_share_is_where_descent_goes(sees_query, most):
    """Small codes, with which the loss has a least value at a finite score: a grid of both numbers finds it, and descent comes near."""
    pool = draw_pool(np.random.default_rng(3), 20, 2, 10, 200, sees_query=sees_query)
    reach = best_share(pool)
    shares = []
    for w in np.geomspace(1.0, 60.0, 120):
        largest = pool.keys.max()
        p = np.exp(w * (pool.products - largest))
        p /= p.sum(axis=1, keepdims=True) + (np.exp(w * (pool.own - largest))[:, None] if sees_query else 0.0)
        shares += [2 * ((v * p - np.r_[0.5, 0.5, np.zeros(18)]) ** 2).sum(axis=1).mean() for v in np.linspace(0.8, most, 121)]
    assert min(shares) == pytest.approx(reach.share, rel=2e-3)
    found = stochastic_dynamics(pool, 40, learning_rate=1.0, steps=4000, records=2)
    assert (1 - 1e-6) * reach.share <= found.loss[-1] / (40 / 4) < 1.02 * reach.share


def test_more_dimensions_reach_further():
    shares = [best_share(draw_pool(np.random.default_rng(0), 30, 2, code, 400)).share for code in (8, 16, 32)]
    assert shares[0] > shares[1] > shares[2]
    assert shares[0] > 0.1
    assert shares[2] < 0.02
    found = smallest_code(30, 2, 0.02, draws=400)
    assert 12 < found < 32
    assert smallest_code(240, 2, 0.02, draws=200) < 2 * found  # eight times the length


def test_the_dimension_needed_is_the_first_that_is_enough():
    needed = code_needed(30, 2)
    assert coherence(30, 2, needed) <= 0.05
    assert coherence(30, 2, needed // 2) > 0.05
    check_code(30, 2, needed)


def test_codes_that_are_too_small_are_told():
    with pytest.raises(InputError, match=r"Codes of dimension 12 are too small for 3 of 60 positions: .* reaches 1/2 in \d+% of draws"):
        check_code(60, 3, 12)
    with pytest.raises(InputError, match=r"reaches 1/2 always, beside 1 on the set. A dimension of 1\d\d brings that down to 5%"):
        check_code(60, 3, 2)
    with pytest.raises(InputError, match="Codes of dimension 2 cannot tell 3 chosen positions apart"):
        draw_pool(np.random.default_rng(0), 60, 3, 2)


def test_a_rate_that_diverges_is_told():
    pool = draw_pool(np.random.default_rng(0), 12, 2, 24, 50)
    with pytest.raises(InputError, match="At learning rate 90 gradient descent does not come to rest"):
        stochastic_dynamics(pool, 3, learning_rate=90.0, steps=400)
