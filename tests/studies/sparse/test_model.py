"""The transformer on bits against one written sequence by sequence, and its training against single steps."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy import special

from specht.errors import InputError
from specht.studies.sparse.model import BitTransformer, Perceptron
from specht.studies.sparse.task import Samples
from specht.studies.sparse.trials import Schooling, run_stream, run_trial

LENGTH, SMALL = 6, {"width": 8, "heads": 2}
RNG = np.random.default_rng(0)


def made_up(model, scale=1.0):
    """Weights that are not those of the start: every one of them matters."""
    rng = np.random.default_rng(7)
    start = model.init(rng)
    return {name: (scale * rng.standard_normal(value.shape)).astype(np.float32) for name, value in start.items()}


def norm(p, place, x):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5) * p[f"norm{place}_gain"] + p[f"norm{place}_shift"]


def plainly(model, params, bits):
    """Logits and attention of one sequence as a textbook has them, in float64."""
    p = {name: np.asarray(value, dtype=np.float64) for name, value in params.items()}
    h, k = model.heads, model.width // model.heads
    stream = np.concatenate([p["token"][bits], p["token"][2:]]) + p["position"]
    read = norm(p, 1, stream)
    q, keys, values = read[-1] @ p["query"] + p["query_bias"], read @ p["key"], read @ p["value"] + p["value_bias"]
    mixed, weights = [], []
    for head in range(h):
        at = slice(head * k, (head + 1) * k)
        weights.append(special.softmax(keys[:, at] @ q[at] / math.sqrt(k)))
        mixed.append(weights[-1] @ values[:, at])
    last = stream[-1] + np.concatenate(mixed) @ p["output"] + p["output_bias"]
    u = norm(p, 2, last) @ p["up"] + p["up_bias"]
    gelu = 0.5 * u * (1 + np.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3)))
    last = last + gelu @ p["down"] + p["down_bias"]
    return norm(p, 3, last) @ p["readout"], np.array(weights)


MODEL = BitTransformer(LENGTH, **SMALL)
LOGITS, ATTENTION = jax.jit(MODEL.logits), jax.jit(MODEL.attention)


@pytest.mark.parametrize("scale", [0.3, 1.0, 1.5])
def test_tables_give_what_sequences_give(scale):
    params, x = made_up(MODEL, scale), RNG.integers(2, size=(20, LENGTH))
    expected, attention = zip(*(plainly(MODEL, params, bits) for bits in x), strict=True)
    found = LOGITS(params, jnp.asarray(x, jnp.float32))
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-4 * np.abs(expected).max())
    np.testing.assert_allclose(ATTENTION(params, jnp.asarray(x, jnp.float32)), attention, atol=2e-5)


def test_scores_far_apart_lose_nothing():
    """Scores tens of units apart: sums of differences would lose the small ones to rounding."""
    params, x = made_up(MODEL), RNG.integers(2, size=(20, LENGTH))
    params |= {"query": 2.0 * params["query"], "key": 2.0 * params["key"]}
    expected = np.array([plainly(MODEL, params, bits)[0] for bits in x])
    np.testing.assert_allclose(LOGITS(params, jnp.asarray(x, jnp.float32)), expected, rtol=2e-3, atol=2e-3 * np.abs(expected).max())


def test_starts():
    small, uniform = (BitTransformer(30, start=start).init(np.random.default_rng(0)) for start in ("small", "uniform"))
    assert small["up"].std() == pytest.approx(0.02, rel=0.02)
    assert np.abs(uniform["up"]).max() <= 1 / 8
    assert uniform["position"].std() == pytest.approx(0.02, rel=0.1)
    assert {name: value.shape for name, value in small.items()} == {name: value.shape for name, value in uniform.items()}


def test_dropout_leaves_the_mean_alone():
    model = BitTransformer(LENGTH, **SMALL, dropout=0.5)
    kept = model._kept(4000, jax.random.key(0))
    values, counts = np.unique(np.asarray(kept), return_counts=True)
    assert values.tolist() == [0.0, 2.0]
    assert abs(counts[1] / counts.sum() - 0.5) < 5 * 0.5 / math.sqrt(counts.sum())
    assert (np.asarray(model._kept(3, None)) == 1.0).all()


def test_perceptron_has_about_as_many_weights():
    for length in (10, 100, 400):
        transformer = BitTransformer(length)
        mine, theirs = (
            sum(value.size for value in model.init(np.random.default_rng(0)).values())
            for model in (Perceptron.like(transformer), transformer)
        )
        assert mine == pytest.approx(theirs, rel=0.02)


def test_training_is_that_of_optax():
    """Five steps of full-batch Adam with decoupled decay of matrices and clipped gradients, written with another library."""
    model, schooling = Perceptron(LENGTH, 5), Schooling(steps=5, every=5, learning_rate=0.1, weight_decay=0.3, clip=0.05)
    x = RNG.integers(2, size=(40, LENGTH))
    data = Samples(x, x[:, 0] ^ x[:, 1])
    found = run_trial(model, data, data, schooling, seed=3)
    params = model.init(np.random.default_rng([3, 1]))
    mask = {name: value.ndim == 2 for name, value in params.items()}
    optimiser = optax.chain(optax.clip_by_global_norm(0.05), optax.adamw(0.1, weight_decay=0.3, mask=mask))

    def loss(params):
        logits = model.logits(params, jnp.asarray(x, jnp.float32))
        return optax.softmax_cross_entropy_with_integer_labels(logits, jnp.asarray(data.y)).mean()

    @jax.jit
    def step(params, state):
        with jax.numpy_dtype_promotion("standard"):
            updates, state = optimiser.update(jax.grad(loss)(params), state, params)
        return optax.apply_updates(params, updates), state

    params = jax.tree.map(jnp.asarray, params)
    state = optimiser.init(params)
    for _ in range(5):
        params, state = step(params, state)
    for name, value in params.items():
        np.testing.assert_allclose(found.params[name], value, rtol=2e-3, atol=2e-4)
    assert found.train_loss[-1] == pytest.approx(float(loss(params)), rel=1e-3)


def test_runs_end_when_enough_is_right_and_copies_do_not_count():
    model, schooling = Perceptron(LENGTH, 16), Schooling(steps=100, every=20, learning_rate=0.01)
    x = RNG.integers(2, size=(50, LENGTH))
    data = Samples(x, x[:, 0])
    whole = run_trial(model, data, data, schooling, seed=0)
    assert np.isfinite(whole.accuracy).all()
    stopped = run_trial(model, data, data, schooling, seed=0, enough=0.9)
    seen = np.isfinite(stopped.accuracy)
    assert stopped.best >= 0.9
    assert seen.sum() < 5
    np.testing.assert_array_equal(stopped.accuracy[seen], whole.accuracy[seen])
    assert (stopped.accuracy[seen][:-1] < 0.9).all()
    again = run_trial(model, Samples(x[:50].copy(), data.y), data, schooling, seed=0)
    np.testing.assert_array_equal(again.train_loss, whole.train_loss)


def test_fresh_samples_teach_a_small_parity():
    losses = run_stream(Perceptron(4, 32), (False, True, True, False), 0.5, Schooling(steps=200, learning_rate=0.01), seed=0, batch=64)
    assert losses.shape == (200,)
    assert losses[:3] == pytest.approx(math.log(2), abs=0.2)
    assert losses[-1] < 0.1


def test_training_on_fresh_samples_ends_where_the_loss_is_small_enough():
    """At the first loss below it, and with the same losses until then."""
    settings = (Perceptron(4, 32), (False, True, True, False), 0.5, Schooling(steps=200, learning_rate=0.01))
    whole, stopped = run_stream(*settings, seed=0, batch=64), run_stream(*settings, seed=0, batch=64, enough=0.3)
    assert 0 < len(stopped) < len(whole)
    assert stopped[-1] < 0.3 <= stopped[:-1].min()
    np.testing.assert_array_equal(stopped, whole[: len(stopped)])


BAD = {
    "heads": (lambda: BitTransformer(5, width=10, heads=4), "A width of 10 cannot be shared out between 4 heads"),
    "start": (lambda: BitTransformer(5, start="smal"), "Unknown start 'smal': did you mean 'small'?"),
    "dropout": (lambda: BitTransformer(5, dropout=1.0), "dropout must be a finite number of at least 0 and below 1, got 1.0."),
    "steps": (lambda: Schooling(steps=0), "steps must be a whole number of at least 1, got 0."),
    "every": (lambda: Schooling(steps=5, every=6), "every must be a whole number from 1 to 5, got 6."),
    "rate": (lambda: Schooling(learning_rate=0.0), "learning_rate must be a finite number above 0, got 0.0."),
    "hidden": (lambda: Perceptron(5, 0), "hidden must be a whole number of at least 1, got 0."),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_a_sentence(case):
    call, sentence = BAD[case]
    with pytest.raises(InputError) as error:
        call()
    assert sentence in str(error.value)


@pytest.mark.parametrize(("n", "share", "wrong"), [(107, 1.0, 0), (109, 1.0, 0), (10_000, 0.99, 100)])
def test_exactly_enough_right_samples_are_enough(n, share, wrong):
    """In float32 the mean of 107 ones is less than one, and 0.99 of 10000 more than 9900 of them."""
    x = np.random.default_rng(0).integers(2, size=(n, 3))
    data = Samples(x, x[:, 0].copy())
    test = Samples(x, data.y.copy())
    test.y[:wrong] ^= 1
    found = run_trial(Perceptron(3, 16), data, test, Schooling(steps=400, every=50, learning_rate=0.01), seed=(0, 1), enough=share)
    assert found.most_right == n - wrong
    assert found.best == (n - wrong) / n
    assert np.isnan(found.accuracy[-1])  # it ended there
    one_more = run_trial(
        Perceptron(3, 16), data, test, Schooling(steps=400, every=50, learning_rate=0.01), seed=(0, 1), enough=share + 1 / n
    )
    assert np.isfinite(one_more.accuracy).all()
