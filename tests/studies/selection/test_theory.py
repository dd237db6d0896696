"""Exact dynamics of token selection against full matrices, closed forms against the recursion, bounds against eigenvalues."""

from __future__ import annotations

import numpy as np
import pytest

from specht.errors import InputError
from specht.studies.selection.task import Selection
from specht.studies.selection.theory import (
    asymptote,
    attention_mass,
    best_loss,
    one_hot_dynamics,
    phases,
    population_loss,
    time_of_loss,
    time_of_mass,
    width_bound,
    width_needed,
)


def gradient_descent(task: Selection, rate: float, steps: int):
    """The population loss over every set, its gradient in the full matrices W (codes) and V (contents and codes), and steps down it.

    Contents are Gaussian with mean zero, so that scores that read them vanish at the start and stay so; this is checked by sampling in
    the tests of the model. Given weights p the loss is d/2 |vp - t|^2 for V_1 = vI, but V_1 and V_2 are free here.
    """
    T, q, d = task.length, task.support, task.dimension
    sets = np.zeros((task.sets, T))
    np.put_along_axis(sets, task.subsets(), 1.0, axis=1)
    W, V1, V2 = np.zeros((T, T)), np.zeros((d, d)), np.zeros((d, T))
    courses = []
    for _ in range(steps + 1):
        scores = sets @ W.T  # one-hot: W e_y, for every set
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        t = sets / q
        square = np.einsum("si,si->s", p, p)
        # L = 1/2 E|V1 X p - X t + V2 p|^2 = 1/2 [ |V1|^2 p.p - 2 tr(V1) p.t + d t.t + |V2 p|^2 ]
        norm, trace = (V1**2).sum(), np.trace(V1)
        loss = 0.5 * (norm * square - 2 * trace * (p * t).sum(axis=1) + d * (t**2).sum(axis=1) + ((p @ V2.T) ** 2).sum(axis=1)).mean()
        courses.append((W.copy(), V1.copy(), V2.copy(), loss))
        toward_p = norm * p - trace * t + p @ V2.T @ V2
        toward_scores = p * (toward_p - (p * toward_p).sum(axis=1, keepdims=True))
        gW = toward_scores.T @ sets / len(sets)
        gV1 = V1 * square.mean() - np.eye(d) * (p * t).sum(axis=1).mean()
        gV2 = V2 @ (p.T @ p) / len(sets)
        W, V1, V2 = W - rate * gW, V1 - rate * gV1, V2 - rate * gV2
    return courses


@pytest.mark.parametrize("sizes", [(10, 2, 3), (7, 3, 1), (6, 1, 2)])
def test_two_numbers_are_the_full_matrices(sizes):
    """All sets are listed, and the matrices are free to go anywhere: they stay on the two numbers to rounding."""
    task, rate, steps = Selection(*sizes), 0.3, 1500
    full = gradient_descent(task, rate, steps)
    found = one_hot_dynamics(task.length, task.support, task.dimension, learning_rate=rate, steps=steps)
    T = task.length
    for place, step in enumerate(found.steps):
        W, V1, V2, loss = full[step]
        np.testing.assert_allclose(W, found.score[place] * (np.eye(T) - 1 / T), atol=1e-12)
        np.testing.assert_allclose(V1, found.value[place] * np.eye(task.dimension), atol=1e-12)
        np.testing.assert_allclose(V2, 0.0, atol=1e-12)
        assert loss == pytest.approx(found.loss[place], abs=1e-12)


def test_rates_below_the_edge_come_to_rest_and_others_would_not():
    """What the refusal at 2q rests on: the recursion by hand, on either side of it."""

    def end(rate, T=10.0, q=2.0, d=3.0):
        score = v = 0.0
        for _ in range(200_000):
            A = q * np.exp(score) / (q * np.exp(score) + T - q)
            off, rest = (v * A - 1) / q, v * (1 - A) / (T - q)
            score, v = score - rate * d / (T - 1) * A * (1 - A) * v * (off - rest), v - rate * (A * off + (1 - A) * rest)
        return d / 2 * ((v * A - 1) ** 2 / q + (v * (1 - A)) ** 2 / (T - q))

    assert end(3.9) < 1e-4
    assert end(5.0) > 0.02


@pytest.mark.parametrize("length", [4, 5, 6, 50])
def test_times_are_never_negative(length):
    found = phases(length, 3, 5, learning_rate=1.0)
    assert 0 < found.value <= found.attention <= found.tail
    assert time_of_loss(5 / 6 * (1 - 3 / length), length, 3, 5, 1.0) == pytest.approx(length)


def test_the_loss_of_the_oracle_is_the_one_of_the_formula():
    task = Selection(6, 2, 2)
    (first, *_, last) = gradient_descent(task, 0.5, 40)
    W, V1, _, _ = last
    score, value = W[0, 0] - W[0, 1], V1[0, 0]
    assert first[3] == pytest.approx(task.trivial_loss)
    assert last[3] == pytest.approx(float(population_loss(score, value, 6, 2, 2)), abs=1e-13)
    mass = float(attention_mass(score, 6, 2))
    p, t = np.array([mass / 2] * 2 + [(1 - mass) / 4] * 4), np.array([0.5] * 2 + [0.0] * 4)
    assert last[3] == pytest.approx(2 / 2 * ((value * p - t) ** 2).sum(), abs=1e-13)


@pytest.mark.parametrize(("length", "support", "dimension", "rate"), [(10, 2, 3, 0.3), (50, 3, 5, 1.0), (200, 3, 5, 1.0), (200, 8, 1, 2.0)])
def test_the_loss_falls_as_the_length_over_time(length, support, dimension, rate):
    steps = int(40 * length**2 / (rate * dimension) + 2000)
    found = one_hot_dynamics(length, support, dimension, learning_rate=rate, steps=steps, records=400)
    late = found.steps >= steps / 2
    slope = np.polyfit(found.steps[late], 1 / found.loss[late], 1)[0]
    assert 0.98 < slope * (length - 1) / (4 * rate) < 1.02
    assert found.loss[-1] == pytest.approx(float(asymptote(steps, length, rate)), rel=0.1)


def test_lengths_in_one_call_are_those_by_themselves():
    together = one_hot_dynamics([10, 40], 2, 3, learning_rate=0.5, steps=300, records=10)
    assert together.loss.shape == (2, len(together.steps))
    for place, length in enumerate((10, 40)):
        alone = one_hot_dynamics(length, 2, 3, learning_rate=0.5, steps=300, records=10)
        np.testing.assert_allclose(together.loss[place], alone.loss, rtol=1e-13)


def test_closed_forms_become_exact_for_long_sequences():
    """The time to a loss and to a share of attention, against the recursion step by step: the error falls with the length."""
    errors = []
    for length in (100, 1000, 5000):
        steps = int(2.5 * length**2 / 5)
        found = one_hot_dynamics(length, 3, 5, learning_rate=1.0, steps=steps, records=6000)
        mass = attention_mass(found.score, length, 3)
        half = np.interp(0.5, mass, found.steps)
        tenth = np.interp(-0.1 * 5 / 6, -found.loss, found.steps)
        by_half = float(time_of_mass(0.5, length, 3, 5, 1.0)) / half - 1
        by_tenth = float(time_of_loss(0.1 * 5 / 6, length, 3, 5, 1.0)) / tenth - 1
        errors.append(max(abs(by_half), abs(by_tenth)))
        assert phases(length, 3, 5, 1.0).attention == pytest.approx(half, rel=2 * errors[-1])
    assert errors[0] < 0.1
    assert errors[1] < 0.02
    assert errors[2] < errors[1] < errors[0]


def test_phases_at_a_million():
    lengths = np.array([10**3, 10**4, 10**5, 10**6])
    found = phases(lengths, 3, 5, 1.0)
    np.testing.assert_allclose(found.value, lengths)
    np.testing.assert_allclose(found.attention / lengths**2, 0.2, rtol=0.05)  # T^2 / eta d
    assert (found.tail > 4 * found.attention).all()
    loss_at_tail = asymptote(found.tail, lengths, 1.0) * 1.1
    np.testing.assert_allclose(time_of_loss(loss_at_tail, lengths, 3, 5, 1.0), found.tail, rtol=1e-6)


def test_the_best_value_is_the_least_loss():
    mass, T, q, d = 0.3, 20, 3, 2
    score = np.log(mass / (1 - mass)) - np.log(q / (T - q))
    values = np.linspace(0.5, 3.0, 200_001)
    losses = population_loss(score, values, T, q, d)
    best = mass * (T - q) / (mass**2 * (T - q) + q * (1 - mass) ** 2)  # it passes one on its way to one
    assert values[losses.argmin()] == pytest.approx(best, abs=2e-5)
    assert losses.min() == pytest.approx(float(best_loss(mass, T, q, d)), rel=1e-9)


@pytest.mark.parametrize(("length", "support", "dimension"), [(10, 2, 1), (6, 3, 2), (5, 1, 3)])
def test_the_width_bound_is_a_sum_of_eigenvalues(length, support, dimension):
    task = Selection(length, support, dimension)
    sets = np.zeros((task.sets, length))
    np.put_along_axis(sets, task.subsets(), 1.0, axis=1)
    moment = np.kron(sets.T @ sets / len(sets), np.eye(dimension)) / support**2
    eigenvalues = np.sort(np.linalg.eigvalsh(moment))[::-1]
    widths = np.arange(length * dimension + 3)
    expected = [eigenvalues[m:].sum() for m in widths]
    np.testing.assert_allclose(width_bound(widths, length, support, dimension), expected, atol=1e-12)
    for share in (0.0, 0.02, 0.3, 0.999):
        first = next(m for m in widths if expected[m] <= share * expected[0] + 1e-12)
        assert width_needed(share, length, support, dimension) == first


def test_the_width_bound_is_reached_by_the_best_projection():
    """A predictor that knows the best directions and the set, fitted to samples."""
    task, width, rng = Selection(8, 2, 1), 5, np.random.default_rng(0)
    tokens, chosen = task.draw(rng, 20_000)
    sets = np.zeros((len(chosen), 8))
    np.put_along_axis(sets, chosen, 1.0, axis=1)
    basis = np.concatenate([np.ones((1, 8)) / np.sqrt(8), np.linalg.svd(np.eye(8) - 1 / 8)[2][: width - 1]])
    known = tokens[..., 0] @ basis.T @ basis
    errors = ((known * sets).sum(axis=1) / 2 - task.target(tokens, chosen)[:, 0]) ** 2
    bound = float(width_bound(width, 8, 2, 1))
    assert abs(errors.mean() - bound) < 4 * errors.std() / np.sqrt(len(errors))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: one_hot_dynamics(10, 2, 3, learning_rate=40.0, steps=5000), "At learning rate 40 gradient descent does not come to rest"),
        (lambda: one_hot_dynamics(10, 2, 3, learning_rate=0.0, steps=10), "learning_rate must be a finite number above 0"),
        (lambda: one_hot_dynamics([10, 2], 3, 3, learning_rate=1.0, steps=10), "length must be above the support 3, got 10, 2"),
        (lambda: one_hot_dynamics(10, 2, 3, learning_rate=4.0, steps=10), "take a rate below 2q = 4"),
        (lambda: time_of_loss(1.0, 10, 2, 3, 1.0), "loss must lie between 0 and the least one of uniform attention"),
        (lambda: time_of_loss(0.61, 10, 2, 3, 1.0), "loss must lie between 0 and the least one of uniform attention"),
        (lambda: time_of_mass(0.1, 10, 2, 3, 1.0), "mass must lie from q/T"),
        (lambda: width_needed(1.0, 10, 2, 3), "share must be a finite number"),
    ],
)
def test_bad_input(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()
