"""`specht.adapt` from end to end: files, checkpoints, padding, several outputs, and one sentence for every mistake."""

from __future__ import annotations

import json

import jax
import numpy as np
import pytest

import specht
from specht.errors import InputError
from specht.learning.adaptive import Adapted, Chains, Widths
from specht.learning.adaptive.adapt import level_of
from specht.learning.adaptive.problem import AdaptiveProblem, singled_out, widths_of
from specht.nn.trajectories import kept_after

ARCH = specht.Architecture(vocab=2, length=4)
X = np.random.default_rng(0).integers(0, 2, (12, 5))
Y = 2.0 * X[:, 0] - 1.0
NEW = np.random.default_rng(1).integers(0, 2, (7, 5))
SHORT = {"burn_in": 20, "samples": 20, "kept": 10}


@pytest.fixture(scope="module")
def sampled() -> Adapted:
    return specht.adapt(ARCH, X, Y, width=8, chains=Chains(**SHORT))


class TestResult:
    def test_says_what_it_is(self, sampled):
        words = repr(sampled)
        assert words.startswith("Adapted: V=2 L=4")
        assert "embedding 8, hidden 8, 4 heads of size 4" in words
        assert "12 samples, 1 output, ridge 0.1" in words
        assert "R-hat" in words

    @pytest.mark.parametrize("method", ["sample", "saddle"])
    def test_comes_back_from_a_file_and_shows_itself(self, method, sampled, tmp_path):
        found = sampled if method == "sample" else specht.adapt(ARCH, X, Y, width=8, method="saddle")
        found.save(tmp_path / "found.nc")
        again = specht.load(tmp_path / "found.nc")
        for one, two in zip(found.predict(NEW), again.predict(NEW), strict=True):
            np.testing.assert_array_equal(one, two)
        table = found.to_dataframe()
        assert table["positions"].tolist() == found.order.positions.tolist()
        figure = found.plot()
        assert list(figure.data[1].y) == found.order.positions.tolist()
        assert "<table" in found._repr_html_()
        json.dumps(found.summary())

    def test_says_where_the_width_of_hidden_layers_does_not_count(self, sampled):
        assert "count as infinitely wide" not in repr(sampled)
        erf = ARCH.replace(activation="erf")
        assert "(hidden layers count as infinitely wide)" in repr(specht.adapt(erf, X, Y, width=4, method="saddle"))

    def test_shapes_of_predictions(self, sampled):
        mean, variance, stderr = sampled.predict(NEW)
        assert mean.shape == variance.shape == stderr.shape == (7,)
        loss, error = sampled.mean_square_error(NEW, 2.0 * NEW[:, 0] - 1.0)
        assert 0 < error < loss < 2


def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path):
    path, seen = tmp_path / "chains.npz", []

    class Stopped(Exception):
        pass

    def stop(done, total):
        seen.append(done)
        if done >= 20:
            raise Stopped

    whole = specht.adapt(ARCH, X, Y, width=Widths(4), chains=Chains(**SHORT))
    with pytest.raises(Stopped):
        specht.adapt(ARCH, X, Y, width=Widths(4), chains=Chains(**SHORT, checkpoint=path), progress=stop)
    assert path.exists()
    later = specht.adapt(
        ARCH, X, Y, width=Widths(4), chains=Chains(**SHORT, checkpoint=path), progress=lambda done, total: seen.append(done)
    )
    assert seen == [10, 20, 30, 40]
    np.testing.assert_array_equal(later.kept, whole.kept)
    np.testing.assert_array_equal(later.trace, whole.trace)
    with pytest.raises(InputError, match=r"chains\.npz belongs to other samples"):
        specht.adapt(ARCH, X, -Y, width=Widths(4), chains=Chains(**SHORT, checkpoint=path))
    path.write_bytes(b"nonsense")
    with pytest.raises(InputError, match=r"chains\.npz is no checkpoint"):
        specht.adapt(ARCH, X, Y, width=Widths(4), chains=Chains(**SHORT, checkpoint=path))
    assert path.read_bytes() == b"nonsense"


@pytest.mark.parametrize(("samples", "kept"), [(20, 10), (25, 9), (7, 7), (100, 30)])
def test_weights_are_kept_evenly_up_to_the_last_trajectory(samples, kept):
    after = kept_after(Chains(burn_in=10, samples=samples, kept=kept))
    assert len(set(after)) == kept
    assert after[-1] == 10 + samples
    assert set(np.diff([10, *after])) <= {samples // kept, samples // kept + 1}
    found = (
        specht.adapt(ARCH, X, Y, width=Widths(2), chains=Chains(chains=2, burn_in=10, samples=samples, kept=kept))
        if samples == 25
        else None
    )
    assert found is None or found.kept.shape[:2] == (2, kept)


@pytest.mark.parametrize(
    ("fields", "width", "level"),
    [
        ({}, 4, "heads"),
        ({"activation": "erf"}, 4, "readout"),
        ({"activation": "relu", "residual": True}, 4, "heads"),  # no level is exact: the deepest there is
        ({"activation": "erf"}, Widths(4, 4), "layers"),
        ({"activation": "erf"}, Widths(4), "embedding"),
        ({"depth": 2, "normalised": True}, 4, "layers"),
    ],
    ids=str,
)
def test_what_is_sampled_unless_a_level_is_given(fields, width, level):
    problem = AdaptiveProblem.of(ARCH.replace(**fields), X, Y, None, 0.1, 1.0)
    assert level_of(problem, widths_of(width), None) == level


def test_several_outputs_are_sampled_up_to_the_readout():
    problem = AdaptiveProblem.of(ARCH, X, np.stack([Y, -Y * X[:, 1]], axis=1), None, 0.1, 1.0)
    assert level_of(problem, widths_of(4), None) == "readout"
    assert level_of(problem, Widths(4, 4), None) == "layers"


def test_the_same_seed_gives_the_same_numbers(sampled):
    again = specht.adapt(ARCH, X, Y, width=8, chains=Chains(**SHORT))
    other = specht.adapt(ARCH, X, Y, width=8, chains=Chains(**SHORT, seed=1))
    np.testing.assert_array_equal(again.kept, sampled.kept)
    assert not np.array_equal(other.kept, sampled.kept)


@pytest.mark.parametrize("method", [pytest.param("sample", marks=pytest.mark.whole), "saddle"])
def test_padding_is_the_same_as_being_shorter(method):
    """Sequences whose first two columns are padding, and an architecture that is two columns shorter."""
    options = {"width": Widths(3), "ridge": 0.2, "scale": 3.0, "method": method}
    if method == "sample":
        options["chains"] = Chains(chains=4, burn_in=150, samples=400, kept=200)
    mask = np.ones(X.shape, dtype=bool)
    mask[:, :2] = False
    long = specht.adapt(ARCH, X, Y - X[:, 2], mask=mask, **options)
    short = specht.adapt(ARCH.replace(length=2), X[:, 2:], Y - X[:, 2], **options)
    one, two = long.predict(NEW, mask=mask[:7]), short.predict(NEW[:, 2:])
    if method == "saddle":
        np.testing.assert_allclose(one.mean, two.mean, atol=1e-6)
    else:
        assert (np.abs(one.mean - two.mean) <= 5 * np.hypot(one.stderr, two.stderr)).all()


def test_classes_as_several_outputs():
    """One-hot labels of two classes: both outputs learn which position tells them apart."""
    x = np.random.default_rng(3).integers(0, 2, (40, 5))
    hot = np.eye(2)[x[:, 1]] - 0.5
    found = specht.adapt(ARCH, x, hot, width=8, chains=Chains(chains=2, burn_in=40, samples=40, kept=20))
    mean, variance, _ = found.predict(x)
    assert mean.shape == variance.shape == (40, 2)
    assert (mean.argmax(axis=1) == x[:, 1]).mean() > 0.95
    assert found.order.positions.argmax() == 1


@pytest.mark.whole  # their gradients are in the ordinary check
def test_softmax_heads_that_are_infinitely_many_are_drawn():
    found = specht.adapt(ARCH.replace(attention="softmax"), X, Y, width=Widths(4), chains=Chains(**SHORT))
    assert np.isfinite(found.predict(NEW).mean).all()


def test_entries_stand_out_or_not():
    values = np.ones(12) + 0.01 * np.random.default_rng(0).standard_normal(12)
    assert not singled_out(values, np.zeros(12)).any()
    values[3] = 1.6
    assert singled_out(values, np.zeros(12)).nonzero()[0].tolist() == [3]
    assert not singled_out(values, np.full(12, 0.3)).any()


MISTAKES = {
    "width must be a whole number of at least 1, got 0": {"width": 0},
    "No labels were given": {"y": None},
    "All labels are equal": {"y": np.ones(12)},
    "ridge must be": {"ridge": 0.0},
    "Unknown method 'sampled'": {"method": "sampled"},
    "need a head_size": {"width": Widths(4, 4, 2)},
    "Unknown level": {"chains": Chains(**SHORT, level="head")},
    "is not possible for": {"width": Widths(4), "chains": Chains(**SHORT, level="heads")},
    "chains must be a Chains": {"chains": 4},
    "no learned vectors": {"arch": ARCH.replace(positions="sinusoidal")},
    "have no closed form": {"arch": ARCH.replace(attention="softmax", depth=2)},
    "arch must be an Architecture": {"arch": "V=2"},
    "x holds token": {"x": X + 1},
}


@pytest.mark.parametrize("words", MISTAKES)
def test_mistakes_are_one_sentence(words):
    with pytest.raises(InputError) as caught:
        specht.adapt(**({"arch": ARCH, "x": X, "y": Y} | MISTAKES[words]))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_more_positions_than_a_form_allows():
    arch = specht.Architecture(vocab=2, length=255, depth=2)
    x = np.random.default_rng(0).integers(0, 2, (60, 256))
    with pytest.raises(InputError, match="give at most 32 sequences, or use one block"):
        specht.adapt(arch, x, x[:, 0], width=Widths(4))


def test_short_chains_begin_at_the_saddle():
    """At a width at which nothing moves, both are the Gaussian process; the saddle's variances are where the chains begin."""
    from specht.learning.adaptive.adapt import _start
    from specht.learning.adaptive.collapsed import Collapsed
    from specht.learning.adaptive.saddle import LocalMinimum

    found = specht.adapt(ARCH, X, Y, width=8, method="fast", chains=Chains(**SHORT))
    assert isinstance(found, Adapted)
    assert np.isfinite(found.predict(NEW).mean).all()
    near = LocalMinimum(0.0, np.full(ARCH.symbols, 4.0), np.full(ARCH.columns, 9.0), np.empty(0))
    collapsed = Collapsed(ARCH, Widths(3), "embedding")
    with jax.enable_x64(True):
        plain, moved = (_start(collapsed, Chains(**SHORT), each) for each in (None, near))
    tokens = 3 * ARCH.symbols
    assert moved[:, :tokens] == pytest.approx(2.0 * plain[:, :tokens])
    assert moved[:, tokens:] == pytest.approx(3.0 * plain[:, tokens:])
