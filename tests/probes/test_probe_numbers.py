"""What counts as a change of an output: whole numbers, large constants beside small numbers, late randomness, buffers, rare differences."""

from __future__ import annotations

import numpy as np
import pytest

from specht.errors import InputError
from specht.probes.search import probe


def quick(model, vocab=4, length=6, **settings):
    return probe(model, vocab, length, **({"profile_samples": 0} | settings))


def test_every_change_of_a_whole_number_counts():
    """The last digit of thirteen: far below the rounding of float64 relative to the whole."""
    found = quick(lambda x: x @ 10 ** np.arange(13), vocab=10, length=12)
    assert found.precision == "exact"
    assert found.output.readout.ignored == ()
    assert len(found.subgroups[0]) == 13


@pytest.mark.parametrize(("constant", "dtype"), [(1e12, np.float64), (-1e9, np.float64), (float(np.finfo(np.float32).min), np.float32)])
def test_a_large_constant_hides_nothing(constant, dtype):
    """A masked logit beside one that reads the first position."""

    def masked(x):
        return np.stack([x[:, 0] / 64.0, np.full(len(x), constant)], axis=1).astype(dtype)

    found = quick(masked)
    assert found.output.readout.ignored == tuple(range(1, 7))
    assert not found.invariant
    assert found.residual.value == 1.0


def test_small_positions_beside_large_ones_are_seen():
    found = quick(lambda x: (np.cumsum(x, axis=1) * np.logspace(0, 14, 7))[:, :, None])
    for position, view in enumerate(found.output.views):
        assert view.ignored == tuple(range(position + 1, 7))


def test_numbers_that_are_rounding_are_no_changes():
    """A sum less the same in another order is zero but for rounding, beside numbers of ordinary size."""
    weights = np.random.default_rng(0).normal(size=4)

    def model(x):
        values = weights[x]
        zero = values.sum(axis=1) - values[:, ::-1].cumsum(axis=1)[:, -1]
        return np.stack([values.sum(axis=1), zero], axis=1)

    assert quick(model).invariant


def test_randomness_that_begins_late_is_refused():
    calls, rng = [], np.random.default_rng(0)

    def drifting(x):
        calls.append(len(x))
        return x.sum(axis=1) + (0.1 * rng.normal(size=len(x)) if len(calls) > 8 else 0.0)

    with pytest.raises(InputError, match="switch off dropout"):
        quick(drifting)


def test_a_model_may_use_its_array_again():
    buffer = np.empty((4096, 2))

    def buffered(x):
        buffer[: len(x)] = np.stack([x[:, 0] * x[:, 1], x.sum(axis=1)], axis=1)
        return buffer[: len(x)]

    settings = {"profile_samples": 300, "sequences": 600}
    one, other = quick(buffered, **settings), quick(lambda x: buffered(x).copy(), **settings)
    assert one.subgroups == other.subgroups
    np.testing.assert_array_equal(one.profile.weights, other.profile.weights)


@pytest.mark.parametrize("seed", range(6))
def test_rare_differences_make_no_contradiction(seed):
    found = quick(lambda x: (x[:, 0] == 0) * 1.0, vocab=64, seed=seed)
    assert "by 0 of its spread" not in found.verdict
    assert "rotations" not in found.verdict
    assert any("single tokens may be missed" in remark for remark in found.remarks)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (lambda x: np.full(len(x), 1e200) * x[:, 0], "whose squares are out of range"),
        (lambda x: (1e38 * (x[:, 0] - 1.5)).astype(np.float32), "whose squares are out of range"),
        (lambda x: x.astype(np.int64) * 2**60, r"whole numbers above 2\^53"),
        (lambda x: ([[1], [1, 2]], x), "must return an array of real numbers"),
        (lambda x: {1: x, "1": x}, "Two layers have the same name"),
        (lambda x: exit("usage: nothing"), "raised SystemExit: usage: nothing"),
    ],
)
def test_bad_numbers_are_one_sentence(model, words):
    with pytest.raises(InputError, match=words) as refusal:
        quick(model)
    assert "\n" not in str(refusal.value)


def test_a_function_with_defaults_is_a_model():
    def model(tokens=None, mask=None):
        return tokens.sum(axis=1) * 1.0

    assert quick(model).invariant


def test_layers_with_names_of_several_kinds():
    found = quick(lambda x: {0: x[:, :1] * 1.0, "states": x * 1.0, (1, 2): x.sum(axis=1) * 1.0})
    assert [layer.name for layer in found.layers] == ["0", "states", "(1, 2)"]
