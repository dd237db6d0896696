"""Learners that fit in other ways, and what holds for all: easy tables are learnt, classes may be absent, nothing is learnt from noise."""

from __future__ import annotations

import logging

import jax
import numpy as np
import pytest
from learner_tables import easy, shuffled, table_of
from scipy import sparse

from specht.errors import InputError
from specht.forecasts.learners import (
    LEARNERS,
    EstimatorLearner,
    Learner,
    accuracy,
    choose_learners,
    default_learners,
    logistic,
    softmax,
    squared_error,
    transformer,
)
from specht.forecasts.learners.estimators import inputs

NEED = [pytest.param(name, marks=pytest.mark.skipif(
    LEARNERS[name].needs_scikit_learn and not logistic.has_scikit_learn(), reason="needs scikit-learn"
)) for name in ("bag", "local", "ngrams", "places", "adapted", "transformer")]  # fmt: skip


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Fewer steps of training than tables of people take."""
    monkeypatch.setattr(transformer, "STEPS", 150)
    monkeypatch.setattr(transformer, "MEMBERS", 2)
    monkeypatch.setattr(transformer, "SIZE", transformer.Size(8, 1, 8))


def chosen(name, table) -> Learner:
    learner = choose_learners([name], table)[0]
    assert isinstance(learner, Learner)
    assert learner.name == name
    assert learner.cost(2000) >= learner.cost(100) > 0
    return learner


@pytest.mark.parametrize("name", NEED)
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_an_easy_table_is_learnt(name, task):
    table = easy(300, task=task)
    train, test = table.take(np.arange(200)), table.take(np.arange(200, 300))
    outputs = chosen(name, table).predict(train, test, seed=0)
    assert outputs.shape == test.labels.shape
    assert outputs.dtype == np.float64
    assert squared_error(test.labels, outputs, np.sum(table.labels.var(axis=0))) < 0.5
    if task == "classification":
        assert accuracy(test.labels, outputs) > 0.9


@pytest.mark.parametrize("name", NEED)
def test_classes_that_are_absent_break_nothing(name):
    rng = np.random.default_rng(1)
    table = table_of(rng.integers(3, size=(60, 5)), rng.choice([0, 0, 0, 2, 5], size=60), 3)
    learner, test = chosen(name, table), table.take(np.arange(40, 60))
    few, one = table.take(np.arange(12)), table.take(np.flatnonzero(table.labels[:, 2] == 1)[:4])
    outputs = learner.predict(few, test, seed=0)
    assert outputs.shape == (20, 6)
    assert np.isfinite(outputs).all()
    assert np.abs(outputs[:, [1, 3, 4]]).max() < 0.1
    np.testing.assert_array_equal(learner.predict(one, test, seed=0), np.tile(np.eye(6)[2], (20, 1)))


@pytest.mark.parametrize("name", NEED)
def test_noise_is_not_learnt(name):
    table = shuffled(easy(300))
    train, test = table.take(np.arange(200)), table.take(np.arange(200, 300))
    outputs = chosen(name, table).predict(train, test, seed=0)
    assert 0.9 < squared_error(test.labels, outputs, np.sum(table.labels.var(axis=0))) < 1.2
    assert accuracy(test.labels, outputs) < test.labels.mean(axis=0).max() + 0.1


def test_the_same_seed_gives_the_same():
    table = easy(60)
    train, test = table.take(np.arange(40)), table.take(np.arange(40, 60))
    for name in default_learners(table):
        one, two = (choose_learners([name], table)[0].predict(train, test, seed=3) for _ in range(2))
        np.testing.assert_array_equal(one, two)


def test_places_see_where_tokens_stand():
    pytest.importorskip("sklearn")
    tokens = np.random.default_rng(0).integers(3, size=(200, 6))
    table = table_of(tokens, (tokens[:, 2] == tokens.max()).astype(int), 3)
    train, test = table.take(np.arange(150)), table.take(np.arange(150, 200))
    assert accuracy(test.labels, chosen("places", table).predict(train, test, seed=0)) > 0.95


def test_ridges_of_many_rows_are_those_of_few(monkeypatch):
    """Beyond the rows that are judged, numbers are fitted by iterations."""
    table = easy(120, task="regression")
    train, test = table.take(np.arange(90)), table.take(np.arange(90, 120))
    exact = chosen("ngrams", table).predict(train, test, seed=0)
    monkeypatch.setattr(logistic, "_JUDGED", 80)
    learner = chosen("ngrams", table)
    assert isinstance(learner, logistic.LinearLearner)
    iterated = learner.predict(train, test, seed=0)
    assert np.sqrt(np.mean((exact - iterated) ** 2)) < 0.2
    blocks = logistic.ngram_features(train, test)
    assert learner.choice is not None
    x = logistic.with_offset(logistic.scaled(blocks, learner.choice[0])).toarray()
    mean = train.labels.mean()
    weights = np.linalg.solve(x[:90].T @ x[:90] + learner.choice[1] * np.eye(x.shape[1]), x[:90].T @ (train.labels - mean))
    np.testing.assert_allclose(iterated, x[90:] @ weights + mean, atol=1e-4)


def test_without_scikit_learn_its_learners_are_left_out(monkeypatch):
    monkeypatch.setattr("specht.forecasts.learners.registry.has_scikit_learn", lambda: False)
    table = easy(20)
    assert "ngrams" not in default_learners(table)
    assert "ngrams" in default_learners(easy(20, task="regression"))
    assert [learner.name for learner in choose_learners(None, table)] == default_learners(table)
    with pytest.raises(InputError, match=r"needs scikit-learn for classes: install it with `pip install 'specht\[learners\]'`"):
        choose_learners(["ngrams"], table)


@pytest.mark.parametrize(
    ("names", "sentence"), [([], "No learner is named"), (["bga"], "did you mean 'bag'"), (["bag", "bag"], "named twice")]
)
def test_names_that_cannot_be_used(names, sentence):
    with pytest.raises(InputError, match=sentence):
        choose_learners(names, easy(20))


class Remembers:
    """An estimator that is none of scikit-learn's: the label of the equal sequence, else the first class."""

    def __init__(self):
        self.seen = {}

    def fit(self, x, y):
        assert not self.seen, "not a fresh copy"
        self.seen = {tuple(row): label for row, label in zip(x, y, strict=True)}

    def predict(self, x):
        return np.array([self.seen.get(tuple(row), 0) for row in x])


def test_an_object_with_fit_and_predict_is_a_learner():
    rng = np.random.default_rng(0)
    table = table_of(rng.integers(9, size=(30, 6)), rng.choice([1, 3, 4], size=30), 9)
    learner = EstimatorLearner("mine", Remembers())
    assert isinstance(learner, Learner)
    for _ in range(2):
        outputs = learner.predict(table, table, seed=0)
        np.testing.assert_array_equal(outputs, table.labels)
    numbers = table_of(table.tokens, rng.standard_normal(30), 9)
    np.testing.assert_array_equal(learner.predict(numbers, numbers, seed=0), numbers.labels)


def test_estimators_read_texts_or_padded_integers():
    lengths, tokens = np.array([2, 3]), np.array([[0, 1, 2], [2, 1, 0]])
    assert inputs(table_of(tokens, np.array([0, 1]), 3, "words", lengths)) == ["b c", "c b a"]
    assert inputs(table_of(tokens, np.array([0, 1]), 3, "characters", lengths)) == ["bc", "cba"]
    np.testing.assert_array_equal(inputs(table_of(tokens, np.array([0, 1]), 3, "items", lengths)), [[-1, 1, 2], [2, 1, 0]])


def test_an_estimator_of_scikit_learn_is_cloned_and_seeded():
    pytest.importorskip("sklearn")
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.pipeline import make_pipeline

    table = easy(120, cut_into="words")
    pipeline = make_pipeline(CountVectorizer(token_pattern=r"\w+"), RandomForestClassifier(20))
    learner = EstimatorLearner("forest", pipeline)
    train, test = table.take(np.arange(80)), table.take(np.arange(80, 120))
    one, two = learner.predict(train, test, seed=5), learner.predict(train, test, seed=5)
    np.testing.assert_array_equal(one, two)
    assert accuracy(test.labels, one) > 0.9
    assert not hasattr(pipeline[0], "vocabulary_")


def test_estimators_that_cannot_be_used():
    with pytest.raises(InputError, match="must have the methods fit and predict"):
        EstimatorLearner("mine", object())

    class Wrong(Remembers):
        def predict(self, x):
            return np.zeros(len(x) + 1)

    table = easy(10)
    with pytest.raises(InputError, match="must give an array of shape"):
        EstimatorLearner("mine", Wrong()).predict(table, table, seed=0)


def test_subsets_of_all_sizes_share_a_program(caplog):
    rng = np.random.default_rng(0)
    table = table_of(rng.integers(5, size=(150, 7)), rng.integers(3, size=150), 5)  # a shape that no other test has
    learner, test = chosen("transformer", table), table.take(np.arange(100, 150))
    compiled = []
    for rows in (np.arange(100), np.arange(24)):
        caplog.clear()
        with jax.log_compiles(), caplog.at_level(logging.WARNING):
            learner.predict(table.take(rows), test, seed=1)
        compiled.append(sum("Compiling" in message and "advance" in message for message in caplog.messages))
    assert compiled == [1, 0]


def test_what_is_held_out_is_not_trained_on():
    held, rest = transformer._parts(np.arange(100))
    assert sorted([*held, *rest]) == list(range(100))
    assert len(held) == transformer.held_out(100)


def test_gaps_leave_no_sequence_empty():
    x = np.arange(1, 201).reshape(50, 4)
    gaps = transformer.with_gaps(x, 0, np.random.default_rng(0))
    np.testing.assert_array_equal(gaps[:, -1], x[:, -1])
    assert 0.1 < np.mean(gaps[:, :-1] == 0) < 0.4
    assert np.isin(gaps, [0, *x.ravel()]).all()


def test_rare_features_give_way_where_weights_are_many():
    table = easy(80)
    blocks = logistic.ngram_features(table.take(np.arange(60)), table.take(np.arange(60, 80)))
    few = logistic.most_frequent(blocks, 60, 10)
    assert 1 <= sum(block.shape[1] for block in few) <= 10
    kept = min(np.bincount(block[:60].indices).min() for block in few if block.shape[1])
    total = np.concatenate([np.bincount(block[:60].indices, minlength=block.shape[1]) for block in blocks])
    assert np.sum(total >= kept) == sum(block.shape[1] for block in few)
    assert logistic.most_frequent(blocks, 60, 10**6)[0].shape == blocks[0].shape


def test_shares_of_classes_are_near_those_of_separable_data():
    pytest.importorskip("sklearn")
    x = sparse.csr_array(np.repeat(np.eye(3), 20, axis=0))
    classes = np.repeat([0, 2, 3], 20)
    shares = logistic.Regressor(5).shares(x, classes, sparse.csr_array(np.eye(3)), strength=100.0)
    assert shares.shape == (3, 5)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_allclose(shares[:, [0, 2, 3]], np.eye(3), atol=0.05)
    assert not shares[:, [1, 4]].any()


@pytest.mark.parametrize("classes", [2, 4])
def test_fits_by_what_rows_share_are_those_by_features(classes):
    """Against scikit-learn with tight tolerance: to rows that train alone, to some of them, and from another strength on."""
    linear = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(7)
    x, x_new = rng.random((60, 200)) / 5.0, rng.random((10, 200)) / 5.0
    labels = rng.integers(classes, size=60)
    space = softmax.Coordinates(x @ x.T)
    np.testing.assert_allclose(space.rows @ space.rows.T, x @ x.T, atol=1e-10)
    for inside in (np.arange(60), np.arange(20, 60)):
        regression = softmax.SoftmaxRegression(space, labels, classes + 1, steps=200)
        for strength in (0.1, 3.0, 100.0):
            exact = linear.LogisticRegression(C=strength, tol=1e-9, max_iter=5000).fit(x[inside], labels[inside])
            shares = regression.shares(inside, space.of(x_new @ x.T), strength)
            np.testing.assert_allclose(shares[:, :classes], exact.predict_proba(x_new), atol=2e-3)
            assert not shares[:, classes].any()


def test_fits_by_what_rows_share_know_a_single_class():
    regression = softmax.SoftmaxRegression(softmax.Coordinates(np.eye(4)), np.array([1, 1, 0, 1]), 3, steps=10)
    np.testing.assert_array_equal(regression.shares(np.array([0, 1, 3]), np.zeros((2, 4)), 1.0), [[0, 1, 0], [0, 1, 0]])


def test_both_kinds_of_fits_predict_alike(monkeypatch):
    pytest.importorskip("sklearn")
    table, outputs = easy(150), []
    for weight in (0.0, 1e9):
        monkeypatch.setattr(logistic, "_WEIGHT", weight)
        monkeypatch.setattr(logistic, "blocks_size", lambda blocks: 0)
        outputs.append(chosen("ngrams", table).predict(table.take(np.arange(100)), table.take(np.arange(100, 150)), 0))
    np.testing.assert_allclose(*outputs, atol=0.05)
