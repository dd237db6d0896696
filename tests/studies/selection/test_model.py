"""Attention that selects tokens: against its definition written out, its gradient by differences, and the exact dynamics."""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from specht.errors import InputError
from specht.nn import FullyConnected
from specht.nn.data import Fresh
from specht.nn.recipe import Recipe
from specht.nn.training import train
from specht.sequences.codes import dual_code, random_codes
from specht.studies.selection.codes_theory import draw_pool, stochastic_dynamics
from specht.studies.selection.model import (
    SelectionModel,
    drawing,
    held_out,
    keys_cosine,
    off_block_share,
    query_codes,
    rows_of,
    selection_forward,
    values_cosine,
)
from specht.studies.selection.task import Selection
from specht.studies.selection.theory import one_hot_dynamics
from specht.studies.selection.training import SelectionTraining, as_function, train_selection

TASK = Selection(9, 2, 3)
KEY = jax.random.key(3)


def written_out(W, V, codes, tokens, chosen, query, sees_query):
    """V Z softmax(Z^T W z_y), sample by sample, in float64; Z has the query as its last column where that is a key."""
    found = []
    for x, y in zip(tokens, chosen, strict=True):
        e = codes[:, y].sum(axis=1) if query == "sum" else dual_code(codes, y)
        Z = np.concatenate([x.T, codes[:, : len(x)]])
        z = np.concatenate([np.zeros(x.shape[1]), e])
        Z = np.concatenate([Z, z[:, None]], axis=1) if sees_query else Z
        scores = Z.T @ W @ z
        p = np.exp(scores - scores.max())
        found.append(V @ Z @ (p / p.sum()))
    return np.array(found)


def drawn(n=6, task=TASK, seed=0):
    return task.draw(np.random.default_rng(seed), n)


@pytest.mark.parametrize("sees_query", [False, True])
@pytest.mark.parametrize(("codes", "query"), [("one-hot", "dual"), ("fixed", "dual"), ("fixed", "sum"), ("stochastic", "dual")])
def test_the_model_is_its_definition(codes, query, sees_query):
    code, asked = None if codes == "one-hot" else 24, {"query": query, "sees_query": sees_query}
    model = SelectionModel.init(TASK, code, key=KEY, codes=codes, **asked, scale=0.7, longest=12, room=4)
    tokens, chosen = drawn()
    rows = rows_of(tokens, chosen, room=4)
    found = model(jnp.asarray(rows), KEY)
    of_positions = np.asarray(model.position_codes(9, KEY), np.float64)
    matrices = np.asarray(model.keys, float), np.asarray(model.values, float)
    expected = written_out(*matrices, of_positions, tokens.astype(float), chosen, **asked)
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-4)


def test_fixed_codes_of_more_positions_begin_with_the_same():
    model = SelectionModel.init(TASK, 24, key=KEY, codes="fixed", longest=15)
    few, many = model.position_codes(9, KEY), model.position_codes(15, jax.random.key(8))
    np.testing.assert_array_equal(few, many[:, :9])
    np.testing.assert_allclose(jnp.abs(few), 1 / np.sqrt(24), rtol=1e-6)
    assert model.signs is not None
    assert not eqx.is_inexact_array(model.signs)  # hence not trained


def test_stochastic_codes_are_drawn_by_key_and_draw():
    model = SelectionModel.init(TASK, 24, key=KEY)
    first = model.position_codes(9, KEY)
    np.testing.assert_array_equal(first, model.position_codes(9, KEY))
    for other in (model.position_codes(9, KEY, 1), model.position_codes(9, jax.random.key(4))):
        assert 0.3 < float((jnp.sign(other) == jnp.sign(first)).mean()) < 0.7
    assert len(np.unique(held_out(TASK, 600, 0).x[:, -1])) == 3  # blocks of 256


def test_queries_are_dual_codes_whatever_the_room():
    codes = random_codes(np.random.default_rng(0), 20, 9)
    chosen = np.array([[0, 3, 5], [1, 2, 8], [4, 6, 7]])
    filled = np.concatenate([chosen, np.full((3, 2), -1)], axis=1)
    for given in (chosen, filled):
        found = query_codes(jnp.asarray(codes, jnp.float32), jnp.asarray(given))
        np.testing.assert_allclose(found, dual_code(codes, chosen), rtol=1e-4, atol=1e-5)
    total = query_codes(jnp.asarray(codes, jnp.float32), jnp.asarray(filled), "sum")
    np.testing.assert_allclose(total, codes[:, chosen].sum(axis=2).T, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("sees_query", [False, True])
def test_a_step_goes_down_the_full_gradient(sees_query):
    """Every entry of both matrices, by central differences of the definition in float64."""
    task = Selection(5, 2, 2)
    given = {"task": task, "code": 14, "codes": "fixed", "sees_query": sees_query}
    setting = SelectionTraining(**given, learning_rate=0.4, steps=1, batch=8, scale=0.5, records=1)
    draw = drawing(task)
    found = train(setting.start, Fresh(draw), setting.recipe(), seeds=[1], forward=selection_forward)
    start, end = found.first_model(), found.model()
    rows, y = draw(np.random.default_rng(np.random.SeedSequence(1, spawn_key=(0,))), 8)
    tokens, chosen = rows[:, :10].reshape(8, 5, 2).astype(float), rows[:, 10:12].astype(int)
    codes = np.asarray(start.position_codes(5, KEY), float)

    def loss(W, V):
        return 0.5 * ((written_out(W, V, codes, tokens, chosen, "dual", sees_query) - y) ** 2).sum(axis=1).mean()

    begin = [np.asarray(start.keys, float), np.asarray(start.values, float)]
    for which, after in enumerate((end.keys, end.values)):
        for place in np.ndindex(*begin[which].shape):
            moved = [[matrix.copy() for matrix in begin] for _ in range(2)]
            moved[0][which][place] += 1e-5
            moved[1][which][place] -= 1e-5
            slope = (loss(*moved[0]) - loss(*moved[1])) / 2e-5
            assert float(after[place]) == pytest.approx(begin[which][place] - 0.4 * slope, abs=3e-5)


def test_contents_do_not_move_scores_at_first():
    """Samples and their mirror images: from zero, blocks of contents in W and of codes in V have no gradient."""
    model = SelectionModel.init(TASK, key=KEY, codes="one-hot")
    model = dataclasses.replace(model, keys=model.keys.at[3:, 3:].set(jnp.eye(9)), values=model.values.at[:, :3].set(jnp.eye(3)))
    tokens, chosen = drawn(50)
    rows = jnp.asarray(np.concatenate([rows_of(tokens, chosen), rows_of(-tokens, chosen)]))
    y = jnp.asarray(np.concatenate([TASK.target(tokens, chosen), -TASK.target(tokens, chosen)]))
    gradient = eqx.filter_grad(lambda model: ((model(rows) - y) ** 2).sum())(model)
    assert float(jnp.abs(gradient.keys[3:, 3:]).max()) > 0.1
    for block in (gradient.keys[:3], gradient.keys[:, :3], gradient.values[:, 3:]):
        np.testing.assert_allclose(block, 0.0, atol=1e-3)


def test_the_ground_truth_is_told():
    model = SelectionModel.init(TASK, 16, key=KEY, scale=1.0)
    assert abs(float(keys_cosine(model))) < 0.5
    perfect = dataclasses.replace(
        model, keys=jnp.zeros((19, 19)).at[3:, 3:].set(9.0 * jnp.eye(16)), values=jnp.zeros((3, 19)).at[:, :3].set(1.1 * jnp.eye(3))
    )
    assert float(keys_cosine(perfect)) == pytest.approx(1.0, abs=1e-6)
    assert float(values_cosine(perfect)) == pytest.approx(1.0, abs=1e-6)
    assert float(off_block_share(perfect)) == pytest.approx(0.0, abs=1e-6)
    assert float(off_block_share(model)) == pytest.approx(1 - 9 / 57, abs=0.15)
    tokens, chosen = drawn(200)
    assert np.abs(as_function(perfect)(tokens, chosen) - 1.1 * TASK.target(tokens, chosen)).mean() < 0.1


def test_one_hot_training_follows_the_exact_dynamics():
    """Fresh samples instead of expectations: the two numbers within what batches scatter."""
    task, seeds = Selection(8, 2, 3), range(4)
    setting = SelectionTraining(task=task, codes="one-hot", learning_rate=1.0, steps=300, batch=256, records=12, n_test=2)
    exact = one_hot_dynamics(8, 2, 3, learning_rate=1.0, steps=300, records=12)
    found = [train_selection(setting, seed).model for seed in seeds]
    scores = np.array([np.diag(each := np.asarray(model.keys)[3:, 3:]).mean() - (each.sum() - np.trace(each)) / 56 for model in found])
    values = np.array([np.diag(np.asarray(model.values)[:, :3]).mean() for model in found])
    for measured, expected in ((scores, exact.score[-1]), (values, exact.value[-1])):
        assert abs(measured.mean() - expected) < 4 * measured.std(ddof=1) / 2 + 0.005 * expected


@pytest.mark.runs_long
def test_stochastic_training_is_within_three_errors_of_its_dynamics():
    task, seeds = Selection(20, 2, 3), range(5)
    setting = SelectionTraining(task=task, code=32, learning_rate=1.0, steps=800, records=5, n_test=2)
    models = [train_selection(setting, seed).model for seed in seeds]
    w = np.array([np.diag(np.asarray(model.keys)[3:, 3:]).mean() for model in models])
    v = np.array([np.diag(np.asarray(model.values)[:, :3]).mean() for model in models])
    pool = draw_pool(np.random.default_rng(0), 20, 2, 32, draws=2000)
    exact = stochastic_dynamics(pool, 3, learning_rate=1.0, steps=800, records=5, groups=5)
    assert exact.score_stderr is not None
    assert exact.value_stderr is not None
    for measured, expected, error in ((w, exact.score[-1], exact.score_stderr[-1]), (v, exact.value[-1], exact.value_stderr[-1])):
        assert abs(measured.mean() - expected) < 3 * np.hypot(measured.std(ddof=1) / np.sqrt(len(seeds)), error)


def test_training_tests_other_lengths_and_supports():
    setting = SelectionTraining(task=Selection(10, 2, 2), code=32, optimiser="adam", learning_rate=0.02, steps=400, scale=0.02, n_test=300)
    setting = dataclasses.replace(setting, lengths=(12, 20), supports=(1, 3), records=4)
    found = train_selection(setting, 1)
    assert list(found.losses) == ["validation", "T=12", "T=20", "q=1", "q=3", "train"]
    assert all(values.shape == found.steps.shape for values in found.losses.values())
    assert found.losses["T=20"][-1] < 0.3 * found.losses["T=20"][0]
    assert found.measures["keys_cosine"][-1] > 0.9
    tokens, chosen = Selection(20, 3, 2).draw(np.random.default_rng(5), 10)
    assert found.function()(tokens, chosen).shape == (10, 2)
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(found.function(first=True)(tokens, chosen), found.function()(tokens, chosen), atol=0.01)


def test_a_perceptron_is_its_definition():
    net = FullyConnected.init([4, 6, 5, 2], key=KEY)
    x = np.random.default_rng(0).standard_normal((7, 4))
    hidden = x
    for weight, bias in zip(net.weights[:2], net.biases[:2], strict=True):
        hidden = np.maximum(hidden @ np.asarray(weight) + np.asarray(bias), 0)
    np.testing.assert_allclose(net(jnp.asarray(x, jnp.float32)), hidden @ np.asarray(net.weights[2]), rtol=1e-4, atol=1e-5)


BAD = {
    "One-hot codes of 9 positions have that dimension, got 12": lambda: SelectionModel.init(TASK, 12, key=KEY, codes="one-hot"),
    "Stochastic codes need a dimension": lambda: SelectionModel.init(TASK, key=KEY),
    "Unknown codes 'stochastc': did you mean 'stochastic'": lambda: SelectionModel.init(TASK, 12, key=KEY, codes="stochastc"),
    "Unknown query 'mean'": lambda: SelectionModel.init(TASK, 12, key=KEY, query="mean"),
    "One-hot codes know the 9 positions of training only": lambda: SelectionTraining(task=TASK, codes="one-hot", lengths=(12,)),
    "Learning rate 300 diverges by step": lambda: train_selection(
        SelectionTraining(task=TASK, code=24, learning_rate=300.0, steps=200, n_test=64, records=40)
    ),
    "widths must name the input and the output at least": lambda: FullyConnected.init([3], key=KEY),
}


@pytest.mark.parametrize("sentence", BAD)
def test_bad_input(sentence):
    with pytest.raises(InputError, match=sentence):
        BAD[sentence]()


def test_recipes_halve_the_rate_of_gradient_descent_alone():
    setting = SelectionTraining(task=TASK, code=24, learning_rate=1.0, steps=5)
    assert setting.recipe() == Recipe(steps=5, learning_rate=0.5, batch=256, records=60)
    assert dataclasses.replace(setting, optimiser="adam").recipe().learning_rate == 1.0


def test_a_query_that_is_a_key_draws_attention_and_costs_accuracy():
    """In training as over a pool of draws: the share of the query, and a loss that no two numbers can bring down."""
    setting = SelectionTraining(task=Selection(10, 3, 2), code=48, learning_rate=1.0, steps=1200, sees_query=True, records=20)
    run = train_selection(setting, 0)
    pool = draw_pool(np.random.default_rng(0), 10, 3, 48, 600, sees_query=True)
    exact = stochastic_dynamics(pool, 2, learning_rate=1.0, steps=1200, records=20)
    share = 1 - pool.attention(exact.score[-1]).sum(axis=1).mean()
    assert share > 0.3
    assert run.query_share() == pytest.approx(share, abs=0.1)
    assert run.losses["validation"][-1] == pytest.approx(exact.loss[-1], rel=0.15)
    assert run.losses["validation"][-1] > 0.1 * setting.task.trivial_loss
    assert train_selection(dataclasses.replace(setting, sees_query=False, steps=2), 0).query_share() == 0.0


def test_a_stopped_training_keeps_the_model_of_its_least_validation():
    """At a rate of Adam at which losses go up and down."""
    setting = SelectionTraining(
        task=TASK, code=24, optimiser="adam", learning_rate=0.1, scale=0.02, steps=400, patience=8, pairs=((12, 3),), records=60, n_test=256
    )
    run = train_selection(setting, 0)
    losses = run.losses["validation"]
    assert losses[run.stop] == losses.min()
    assert run.stop < len(losses) - 1
    held = held_out(TASK, 256, 0, 3)
    errors = np.asarray(run.model(jnp.asarray(held.x), KEY)) - held.y
    assert 0.5 * (errors**2).sum(axis=1).mean() < 1.5 * losses.min() + 0.1
    assert run.losses["T=12 q=3"].shape == losses.shape
    assert setting.room == 3
