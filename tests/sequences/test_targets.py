"""Targets and tasks: what they compute, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

from specht.errors import InputError
from specht.sequences import targets
from specht.sequences.sources import default_mixture, exchangeability_gap, exchangeable, graded_mixture, hmm, uniform
from specht.sequences.targets import TARGETS, Setting, Target, target
from specht.sequences.tasks import SHIFTS, TASKS, Task, order_forgotten, shifted, task

X = np.array([[1, 0, 1, 0, 2], [0, 0, 0, 0, 1], [1, 1, 1, 1, 0], [0, 1, 2, 2, 2]])


@pytest.mark.parametrize(
    ("built", "expected"),
    [
        (targets.counts(4), [0.5, 0.0, 1.0, 0.25]),
        (targets.counts(4, token=2), [0.0, 0.0, 0.0, 0.5]),
        (targets.level(0, 4), [1, 1, 1, 1]),
        (targets.level(1, 4), [1, 0, 0, -1]),
        (targets.level(2, 4), [1, 0, 0, 0]),
        (targets.conjunction(2, 4), [-1, -1, 1, -1]),
        (targets.disjunction(2, 4), [1, -1, 1, 1]),
        (targets.majority(3, 4), [1, -1, 1, -1]),
        (targets.parity(3, 4), [-1, -1, 1, 1]),
    ],
)
def test_values_by_hand(built, expected):
    values = built(X)
    assert values.dtype == np.float64
    np.testing.assert_array_equal(values, np.array(expected, dtype=float)[:, None])


@pytest.mark.parametrize("level", [0, 1, 2])
def test_level_targets_have_mean_square_one(level):
    source = default_mixture(3)
    x, p = source.enumerate(5)
    assert p @ targets.level(level, 4, source=source)(x)[:, 0] ** 2 == pytest.approx(1.0)


def test_next_token_is_bayes_prediction_and_labels_follow_it():
    source = graded_mixture(0.4, vocab=3)
    best = targets.next_token(source)
    x, p = source.enumerate(4)
    _longer, q = source.enumerate(5)
    np.testing.assert_allclose(best(x), q.reshape(-1, 3) / p[:, None], rtol=1e-10)
    assert best.pairs is None
    assert targets.next_token(default_mixture(3)).pairs == 0
    drawn, labels = best.draw(source, np.random.default_rng(0), 20000, 4)
    residual = labels - best(drawn)
    assert (np.abs(residual.mean(axis=0)) < 5 * residual.std(axis=0) / np.sqrt(len(drawn))).all()
    noise, scatter = best.label_variance(drawn), (residual**2).sum(axis=1)
    assert abs(noise.mean() - scatter.mean()) < 5 * (noise - scatter).std() / np.sqrt(len(drawn))


def test_next_token_of_a_sequence_that_cannot_be_is_refused():
    source = exchangeable([1.0], [[1.0, 0.0]])
    with pytest.raises(InputError, match="impossible under the source"):
        targets.next_token(source)(np.array([[1, 1]]))


def test_labels_from_a_table():
    known = targets.labelled(X, np.arange(8.0).reshape(4, 2), vocab=3)
    np.testing.assert_array_equal(known(X[[2, 0]]), [[4, 5], [0, 1]])
    with pytest.raises(InputError, match="0 0 0 0 0 has no label"):
        known(np.zeros((1, 5), dtype=int))


@pytest.mark.parametrize("name", TARGETS)
def test_every_named_target_is_built(name):
    source = default_mixture(3)
    built = target(name, Setting(source, 6, 2, 1))
    x, y = built.draw(source, np.random.default_rng(0), 50, 7)
    assert x.shape == (50, 7)
    assert y.shape == built(x).shape == (50, built.outputs)


BAD = {
    "Unknown target 'party': did you mean 'parity'": lambda: target("party", Setting(uniform(2), 4)),
    "token must be from 0 to 1": lambda: target("counts", Setting(uniform(2), 4, token=2)),
    "support must be a whole number from 1 to 4": lambda: targets.parity(5, 4),
    "A function of level 3 needs 6 positions, and the context has 4": lambda: targets.level(3, 4),
    "never varies under this source": lambda: targets.level(1, 4, source=exchangeable([1.0], [[1.0, 0.0]])),
    "shape .2, 3. for 4 sequences": lambda: Target("odd", lambda x: np.ones((2, 3)))(X),
    "gave nan for a sequence": lambda: Target("nan", lambda x: np.full(len(x), np.nan))(X),
    "does not turn tokens of shape .4, 5. into numbers .TypeError: they are complex": lambda: Target("c", lambda x: x[:, 0] * 1j)(X),
    "into numbers .ValueError": lambda: Target("text", lambda x: ["a"] * len(x))(X),
    "one label a sequence": lambda: targets.labelled(X, [1.0, 2.0], vocab=3),
    "source must be one of specht.sources": lambda: Task("uniform", targets.counts(4)),
    "wrap a function as Target": lambda: Task(uniform(2), lambda x: x),
    "give both the same vocab": lambda: Task(uniform(2), targets.counts(4), uniform(3)),
    "has no test source": lambda: Task(uniform(2), targets.counts(4)).draw_ood(np.random.default_rng(0), 2, 5),
    "Unknown shift 'redrown': did you mean 'redrawn'": lambda: shifted(default_mixture(), "redrown"),
    "Unknown task 'sparse-party': did you mean 'sparse-parity'": lambda: task("sparse-party"),
    "single component": lambda: shifted(default_mixture(components=1), "reweighted"),
}


@pytest.mark.parametrize("words", BAD)
def test_bad_input(words):
    with pytest.raises(InputError, match=words):
        BAD[words]()


@pytest.mark.parametrize("name", TASKS)
def test_every_named_task_can_be_drawn(name):
    made = task(name, vocab=3, length=6)
    x, y = made.draw(np.random.default_rng(0), 20, 7)
    assert x.shape == (20, 7)
    assert np.isfinite(y).all()
    assert made.source.is_exchangeable == (name not in ("graded", "generic"))
    assert (made.test_source is None) == (TASKS[name].shift is None)


@pytest.mark.parametrize("name", SHIFTS)
def test_shifts_change_the_law(name):
    source = default_mixture(3)
    other = shifted(source, name)
    assert np.abs(source.enumerate(4)[1] - other.enumerate(4)[1]).max() > 1e-4
    assert other.is_exchangeable == (name != "order-broken")


def test_forgetting_the_order_keeps_how_often_tokens_occur():
    source = graded_mixture(0.5, vocab=3)
    twin = order_forgotten(source, columns=5)
    x, p = source.enumerate(5)
    y, q = twin.enumerate(5)
    for token in range(3):
        assert p @ (x == token).mean(axis=1) == pytest.approx(q @ (y == token).mean(axis=1), rel=1e-12)
    assert exchangeability_gap(source, 4).value > 1e-3
    assert exchangeability_gap(twin, 4).value < 1e-12
    chain = hmm([1, 0], [[0.5, 0.5], [0.1, 0.9]], [[0.9, 0.1], [0.2, 0.8]])
    mean = np.mean([chain.joint([a]) for a in range(4)], axis=0)
    np.testing.assert_allclose(order_forgotten(chain, 4).probabilities, [mean], rtol=1e-12)


def test_an_exchangeable_source_is_not_changed():
    source = default_mixture(3)
    np.testing.assert_array_equal(order_forgotten(source, 9).probabilities, source.mixture.probabilities)
