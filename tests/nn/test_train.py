"""Training against loops written out by hand, and against itself: alone, in company, and after an interruption."""

from __future__ import annotations

import itertools
import math

import jax
import numpy as np
import pytest
from linear_model import Linear, first_weight, linear, problem

from specht.architecture import Architecture
from specht.errors import InputError
from specht.nn import training as train_module
from specht.nn.data import Fixed, Fresh
from specht.nn.network import Network, Size
from specht.nn.recipe import Recipe
from specht.nn.training import train

STEPS, RATE = 30, 0.05


def by_hand(recipe: Recipe, x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Full-batch training of the linear model in double precision, from the definitions of the optimisers."""
    start, first, second = weight.copy(), np.zeros_like(weight), np.zeros_like(weight)
    anchor = start if recipe.decay_to == "start" else 0.0
    for t in range(recipe.steps):
        gradient = 2.0 * x.T @ (x @ weight - y) / len(x)
        decay = recipe.weight_decay * (weight - anchor)
        gradient = gradient + (0.0 if recipe.optimiser == "adamw" else decay)
        first = 0.9 * first + gradient * (0.1 if recipe.optimiser.startswith("adam") else 1.0)
        second = 0.999 * second + 0.001 * gradient**2
        if recipe.optimiser.startswith("adam"):
            update = first / (1 - 0.9 ** (t + 1)) / (np.sqrt(second / (1 - 0.999 ** (t + 1))) + 1e-8)
            update = update + (decay if recipe.optimiser == "adamw" else 0.0)
        else:
            update = first if recipe.optimiser == "momentum" else gradient
        if t < recipe.warmup:
            share = t / recipe.warmup
        else:
            done = (t - recipe.warmup) / (recipe.steps - recipe.warmup)
            share = {"constant": 1.0, "linear": 1.0 - done, "cosine": (1.0 + math.cos(math.pi * done)) / 2.0}[recipe.schedule]
        weight = weight - recipe.learning_rate * share * update
    return weight


RECIPES = {
    "gradient descent": {},
    "momentum": {"optimiser": "momentum"},
    "adam": {"optimiser": "adam"},
    "adam with decay": {"optimiser": "adam", "weight_decay": 0.3},
    "decoupled decay": {"optimiser": "adamw", "weight_decay": 0.3},
    "decay to the start": {"weight_decay": 0.5, "decay_to": "start"},
    "a whole number of decay": {"weight_decay": 1},
    "cosine after warmup": {"schedule": "cosine", "warmup": 7},
    "linear": {"schedule": "linear", "optimiser": "momentum"},
}


@pytest.mark.parametrize("name", RECIPES)
def test_optimisers_match_their_definitions(name):
    recipe = Recipe(steps=STEPS, learning_rate=RATE, **RECIPES[name])
    x, y = problem()
    found = train(linear(3), Fixed(x, y), recipe, seeds=[5])
    expected = by_hand(recipe, x.astype(float), y.astype(float), first_weight(3, 5))
    np.testing.assert_allclose(found.models.weight[0, 0, 0], expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.losses["train"][0, 0, 0, -1], np.mean((x @ expected - y) ** 2), rtol=1e-3)


def test_centred_and_scaled_outputs():
    """f = a (w - w_0) x: gradient descent on it is gradient descent on the weights with a^2 times the rate."""
    x, y = problem()
    recipe = Recipe(steps=STEPS, learning_rate=0.01, centred=True, output_scale=3.0)
    found = train(linear(3), Fixed(x, y), recipe, seeds=[2])
    assert found.losses["train"][0, 0, 0, 0] == pytest.approx(np.mean(y**2), rel=1e-5)  # the function zero
    moved = by_hand(Recipe(steps=STEPS, learning_rate=0.09), x.astype(float), y.astype(float), np.zeros((3, 1)))
    start = first_weight(3, 2)
    np.testing.assert_allclose(3.0 * (found.models.weight[0, 0, 0] - start), moved, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.function()(x), x @ moved, rtol=1e-3, atol=1e-4)


def test_an_epoch_shows_every_sample_once():
    """With one-hot inputs each weight moves exactly when its sample is shown, and two epochs go in different orders."""
    n, rate = 8, 0.1
    x, y = np.eye(n, dtype=np.float32), np.arange(1, n + 1, dtype=np.float32)
    recipe = Recipe(steps=4, learning_rate=rate, batch=2, records=4)
    start = first_weight(n, 0)[:, 0]
    after = train(linear(n), Fixed(x, y), recipe).models.weight[0, 0, 0, :, 0]
    np.testing.assert_allclose(after, start + rate * (y - start), rtol=1e-5)  # mean over two samples: 2/2 of the residual
    after = [start]
    for steps in range(1, 9):
        recipe = Recipe(steps=steps, learning_rate=rate, batch=2)
        after.append(train(linear(n), Fixed(x, y), recipe).models.weight[0, 0, 0, :, 0])
    shown = [set(np.flatnonzero(~np.isclose(new, old, rtol=1e-6))) for old, new in itertools.pairwise(after)]  # at each step of two epochs
    assert [len(each) for each in shown] == [2] * 8
    assert sorted(itertools.chain(*shown[:4])) == list(range(n))
    assert sorted(itertools.chain(*shown[4:])) == list(range(n))
    assert shown[:4] != shown[4:]  # in another order


def draw_normal(rng, n):
    x = rng.standard_normal((n, 3))
    return x, x.sum(axis=1)


def test_fresh_samples_are_drawn_once(monkeypatch):
    """The same draws, gone through by hand; and shorter slices go through the same training with other draws."""
    recipe = Recipe(steps=10, learning_rate=RATE, batch=4)
    found = train(linear(3), Fresh(draw_normal), recipe, seeds=[3]).models.weight[0, 0, 0]
    x, y = draw_normal(np.random.default_rng(np.random.SeedSequence(3, spawn_key=(0,))), 40)
    weight = first_weight(3, 3)
    for t in range(10):
        batch, labels = x[4 * t : 4 * t + 4], y[4 * t : 4 * t + 4, None]
        weight = weight - RATE * 2.0 * batch.T @ (batch @ weight - labels) / 4
    np.testing.assert_allclose(found, weight, rtol=1e-4, atol=1e-5)
    monkeypatch.setattr(train_module, "_BLOCK_NUMBERS", 4 * 3 * 2)  # two steps a slice
    sliced = train(linear(3), Fresh(draw_normal), recipe, seeds=[3])
    weight = first_weight(3, 3)
    for place in range(5):
        x, y = draw_normal(np.random.default_rng(np.random.SeedSequence(3, spawn_key=(place,))), 8)
        for batch, labels in ((x[:4], y[:4, None]), (x[4:], y[4:, None])):
            weight = weight - RATE * 2.0 * batch.T @ (batch @ weight - labels) / 4
    np.testing.assert_allclose(sliced.models.weight[0, 0, 0], weight, rtol=1e-4, atol=1e-5)
    assert np.isnan(sliced.losses["train"][0, 0, 0, 0])  # no batch was seen before the first step


def transformer(key):
    return Network.init(Architecture(vocab=2, length=3, attention="softmax", activation="relu"), Size(8, 2, 4), key=key)


def token_data(datasets: int = 2, n: int = 16) -> Fixed:
    x = np.random.default_rng(1).integers(2, size=(datasets, n, 4))
    return Fixed(x, (x[..., :1] * x[..., 1:2]).astype(float))


def test_runs_do_not_know_of_each_other():
    """Datasets, learning rates and seeds: each run of the grid is what it is alone, to the bit."""
    recipe = Recipe(steps=20, learning_rate=0.1, optimiser="adam", batch=8)
    data, seeds, rates = token_data(), (4, 9), (0.01, 0.1)
    together = train(transformer, data, recipe, seeds=seeds, learning_rates=rates, evaluate={"test": data})
    assert together.losses["test"].shape == (2, 2, 2, len(together.steps))
    one = Fixed(data.x[1], data.y[1])
    alone = train(transformer, one, recipe, seeds=[9], learning_rates=[0.1], evaluate={"test": one})
    np.testing.assert_array_equal(together.losses["test"][1, 1, 1], alone.losses["test"][0, 0, 0])
    np.testing.assert_array_equal(together.models.readout.raw[1, 1, 1], alone.models.readout.raw[0, 0, 0])
    side_by_side = train(transformer, data, recipe, seeds=seeds, learning_rates=rates, chunk=3)
    np.testing.assert_allclose(side_by_side.losses["train"], together.losses["train"], rtol=1e-3, atol=1e-5)


def test_a_trained_function_has_the_recorded_loss():
    data = token_data()
    found = train(transformer, data, Recipe(steps=20, learning_rate=0.02, optimiser="adam"), seeds=[0, 1])
    for dataset, seed in ((0, 1), (1, 0)):
        values = found.function(dataset, 0, seed)(data.x[dataset])
        assert np.mean((values - data.y[dataset]) ** 2) == pytest.approx(found.losses["train"][dataset, 0, seed, -1], rel=1e-4)


def test_stochastic_positions_are_drawn_at_every_step():
    """The batch is the same at every step, and without learning so would its loss be."""
    arch, x = Architecture(vocab=2, length=3, positions="stochastic"), token_data(1).x[0]
    data = Fresh(lambda rng, n: (np.tile(x[:4], (n // 4, 1)), np.zeros(n)))
    recipe = Recipe(steps=5, learning_rate=1e-12, batch=4, records=30)
    losses = train(lambda key: Network.init(arch, Size(8, 2, 4), key=key), data, recipe).losses["train"][0, 0, 0, 1:]
    assert len(np.unique(losses)) == len(losses) == 5


def test_functions_of_the_model_are_recorded():
    """The weight itself is followed step by step, beside the loss on a set."""
    x, y = problem()
    recipe = Recipe(steps=STEPS, learning_rate=RATE, records=5)
    found = train(linear(3), Fixed(x, y), recipe, seeds=[2, 7], evaluate={"test": Fixed(x, y), "first": lambda model: model.weight[0, 0]})
    assert found.losses["first"].shape == found.losses["test"].shape == (1, 1, 2, len(found.steps))
    for place, steps in enumerate(found.steps[1:], 1):
        alone = train(linear(3), Fixed(x, y), Recipe(steps=int(steps), learning_rate=RATE), seeds=[7])
        assert found.losses["first"][0, 0, 1, place] == pytest.approx(alone.models.weight[0, 0, 0, 0, 0], rel=1e-5)
    assert found.losses["first"][0, 0, 1, 0] == pytest.approx(first_weight(3, 7)[0, 0], rel=1e-6)


def test_divergence_is_told_and_the_rest_goes_on():
    x, y = problem()
    found = train(linear(3), Fixed(x, y), Recipe(steps=200, learning_rate=RATE), seeds=[0, 1], learning_rates=[RATE, 5.0])
    assert found.diverged.tolist() == [[[False, False], [True, True]]]
    assert found.warning is not None
    assert "2 of 4 runs diverged" in found.warning
    assert "learning rate 5:" in found.warning
    alone = train(linear(3), Fixed(x, y), Recipe(steps=200, learning_rate=RATE), seeds=[0, 1])
    assert alone.warning is None
    np.testing.assert_array_equal(found.models.weight[0, 0], alone.models.weight[0, 0])


def test_training_stops_when_it_is_good_enough():
    x, y = problem()
    recipe = Recipe(steps=1000, learning_rate=RATE, stop_below=0.1, records=40)
    found = train(linear(3), Fixed(x, y), recipe, seeds=[0, 1, 2], chunk=2)
    for seed in range(3):
        losses, stop = found.losses["train"][0, 0, seed], found.stopped_at[0, 0, seed]
        first = found.steps[np.flatnonzero(losses <= 0.1)[0]]
        assert stop == first < 1000
        assert len(np.unique(losses[found.steps >= stop])) == 1
        expected = by_hand(Recipe(steps=int(stop), learning_rate=RATE), x.astype(float), y.astype(float), first_weight(3, seed))
        np.testing.assert_allclose(found.models.weight[0, 0, seed], expected, rtol=1e-4, atol=1e-5)


def test_patience_keeps_the_best():
    """More columns than samples: the loss on other data falls first, then rises."""
    x, y = problem(n=6, columns=5, seed=1)
    y = y + np.random.default_rng(0).standard_normal(y.shape).astype(np.float32)
    other = Fixed(np.random.default_rng(7).standard_normal((200, 5)), np.zeros(200))
    recipe = Recipe(steps=2000, learning_rate=0.05, patience=3, records=60)
    found = train(linear(5), Fixed(x, y), recipe, evaluate={"validation": other})
    losses = found.losses["validation"][0, 0, 0]
    assert 0 < found.stopped_at[0, 0, 0] < 2000
    values = found.function()(other.x)
    assert np.mean(values**2) == pytest.approx(losses.min(), rel=1e-4)


CLASSES = {
    "hinge": lambda f, y: np.maximum(0.0, 1.0 - y * f)[:, 0],
    "logistic": lambda f, y: np.log1p(np.exp(-y * f))[:, 0],
    "cross-entropy": lambda f, y: np.log(np.exp(f).sum(axis=1)) - np.take_along_axis(f, y, axis=1)[:, 0],
}


@pytest.mark.parametrize("loss", CLASSES)
def test_losses_of_classes(loss):
    x, _ = problem(n=300)
    three = loss == "cross-entropy"
    y = x.argmax(axis=1)[:, None] if three else np.sign(x[:, :1]).astype(int)
    found = train(linear(3, 3 if three else 1), Fixed(x, y), Recipe(steps=200, learning_rate=0.1, loss=loss))
    start = first_weight(3, 0, 3 if three else 1)
    assert found.losses["train"][0, 0, 0, 0] == pytest.approx(CLASSES[loss](x @ start, y).mean(), rel=1e-4)
    right = (x @ start).argmax(axis=1) == y[:, 0] if three else x @ start * y > 0
    assert found.accuracies["train"][0, 0, 0, 0] == pytest.approx(right.mean(), rel=1e-5)
    assert found.accuracies["train"][0, 0, 0, -1] > 0.9


def test_several_columns_of_classes_are_as_many_choices():
    x, _ = problem(n=300)
    y = np.stack([x.argmax(axis=1), x.argmin(axis=1)], axis=1)
    found = train(linear(3, 6), Fixed(x, y), Recipe(steps=300, learning_rate=0.3, loss="cross-entropy"))
    f = (x @ first_weight(3, 0, 6)).reshape(300, 2, 3)
    each = np.stack([CLASSES["cross-entropy"](f[:, column], y[:, column : column + 1]) for column in (0, 1)], axis=1)
    assert found.losses["train"][0, 0, 0, 0] == pytest.approx(each.mean(), rel=1e-4)
    assert found.accuracies["train"][0, 0, 0, 0] == pytest.approx((f.argmax(axis=2) == y).all(axis=1).mean(), rel=1e-5)
    assert found.accuracies["train"][0, 0, 0, -1] > 0.8


def test_records_are_even_on_a_logarithmic_scale():
    steps = Recipe(steps=10_000, learning_rate=0.1, records=9).record_steps()
    assert steps.tolist() == [0, 1, 3, 10, 32, 100, 316, 1000, 3162, 10_000]


def test_progress_ends_at_the_total():
    seen = []
    x, y = problem()
    train(linear(3), Fixed(x, y), Recipe(steps=7, learning_rate=RATE), seeds=range(3), progress=lambda *args: seen.append(args))
    assert seen[-1] == (21, 21)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


GOOD = problem()
FAULTS = [
    (lambda: train(linear(3), Fixed(GOOD[0][:0], GOOD[1][:0]), Recipe(steps=1, learning_rate=1.0)), "empty"),
    (lambda: train(linear(3), Fixed(GOOD[0], GOOD[1] * np.nan), Recipe(steps=1, learning_rate=1.0)), r"data.y holds nan at \[0, 0\]"),
    (lambda: train(linear(3), Fixed(GOOD[0] * np.inf, GOOD[1]), Recipe(steps=1, learning_rate=1.0)), "NaN or infinity"),
    (lambda: train(linear(3), Fixed(GOOD[0], GOOD[1][1:]), Recipe(steps=1, learning_rate=1.0)), "each input one label"),
    (lambda: train(linear(3), Fixed(*GOOD), Recipe(steps=1, learning_rate=1.0, batch=13)), "more than the 12 samples"),
    (lambda: train(linear(3), Fixed(*GOOD), Recipe(steps=1, learning_rate=1.0), seeds=[]), "seeds is empty"),
    (lambda: train(linear(3), Fixed(*GOOD), Recipe(steps=1, learning_rate=1.0), learning_rates=[-1.0]), "learning_rate must be"),
    (lambda: train(linear(3), Fixed(*GOOD), Recipe(steps=1, learning_rate=1.0, loss="hinge")), "are -1 and 1"),
    (lambda: train(linear(3), Fixed(*GOOD), Recipe(steps=1, learning_rate=1.0, loss="cross-entropy")), "number the classes"),
    (lambda: train(linear(3), Fixed(*GOOD), Recipe(steps=1, learning_rate=1.0), evaluate={"train": Fixed(*GOOD)}), "take another"),
    (lambda: train(linear(3), Fixed(*GOOD), Recipe(steps=1, learning_rate=1.0), evaluate={"train": lambda model: 0.0}), "take another"),
    (
        lambda: train(linear(3), Fixed(*GOOD), Recipe(steps=1, learning_rate=1.0), evaluate={"weight": lambda model: model.weight}),
        r"weight turns a model into an array of shape \(3, 1\): what is recorded must be one number",
    ),
    (lambda: train(linear(3), Fresh(draw_normal), Recipe(steps=1, learning_rate=1.0)), "give the recipe a batch"),
    (lambda: train(linear(3), Fresh(lambda rng, n: draw_normal(rng, 5)), Recipe(steps=9, learning_rate=1.0, batch=2)), "asked for 2"),
    (lambda: train(lambda key: Linear(jax.numpy.arange(3)), Fixed(*GOOD), Recipe(steps=1, learning_rate=1.0)), "nothing to train"),
    (lambda: train(linear(3), GOOD, Recipe(steps=1, learning_rate=1.0)), r"data must be Fixed\(x, y\) or Fresh\(draw\), got tuple"),
    (lambda: train(linear(3), Fixed(*GOOD), Recipe(steps=1, learning_rate=1.0), seeds=3), "seeds must be a list"),
    (
        lambda: train(linear(3), Fixed(*GOOD), Recipe(steps=1, learning_rate=1.0), evaluate={"test": GOOD}),
        r"test must be Fixed\(x, y\), got",
    ),
    (lambda: train(linear(3, 2), Fixed(*GOOD), Recipe(steps=1, learning_rate=1.0)), "2 outputs and labels have 1 columns"),
    (lambda: train(linear(3, 2), Fixed(GOOD[0], np.arange(12)), Recipe(steps=1, learning_rate=1.0, loss="cross-entropy")), "class 11"),
    (lambda: train(linear(3), Fixed(GOOD[0], np.eye(12, 3)), Recipe(steps=1, learning_rate=1.0, loss="cross-entropy")), "multiple of 3"),
    (lambda: train(transformer, Fixed([[0, 1, 2, 0]], [1.0]), Recipe(steps=1, learning_rate=1.0)), "holds token 2, but vocab=2"),
    (lambda: train(linear(3), Fixed([[1.0], [1.0, 2.0]], [1.0, 2.0]), Recipe(steps=1, learning_rate=1.0)), "unequal length"),
    (lambda: Recipe(steps=1, learning_rate="0.1"), "learning_rate must be"),
    (lambda: Recipe(steps=1, learning_rate=0.1, weight_decay=None), "weight_decay must be"),
    (lambda: Recipe(steps=1, learning_rate=1.0, optimiser="adma"), "did you mean 'adam'"),
    (lambda: Recipe(steps=0, learning_rate=1.0), "steps must be"),
    (lambda: Recipe(steps=5, learning_rate=1.0, warmup=6), "warmup must be"),
    (lambda: Recipe(steps=5, learning_rate=math.nan), "learning_rate must be"),
]


@pytest.mark.parametrize("number", range(len(FAULTS)))
def test_bad_input_gets_a_sentence(number):
    call, sentence = FAULTS[number]
    with pytest.raises(InputError, match=sentence):
        call()


def test_more_seeds_than_memory(monkeypatch):
    monkeypatch.setattr(train_module, "available_memory", lambda: 2**20)
    with pytest.raises(InputError, match=r"train about \d+ seeds at a time"):
        train(linear(3), Fixed(*GOOD), Recipe(steps=1, learning_rate=1.0), seeds=range(100_000))
