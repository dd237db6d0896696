"""Every wrong input gets one sentence: what is wrong, what was given, what to do."""

from __future__ import annotations

import numpy as np
import pytest

import specht
from specht.errors import InputError, NoLimitError
from specht.kernel import forms

ARCH = specht.Architecture(vocab=3, length=2)
GOOD = np.array([[0, 1, 2]])


@pytest.mark.parametrize(
    ("tokens", "sentence"),
    [
        ([[0, 1, 3]], "x holds token 3, but vocab=3 allows 0 to 2: remap it or raise vocab."),
        ([[0, -1, 2]], "x holds token -1, but vocab=3 allows 0 to 2"),
        ([[0.0, 1.0, 2.0]], "x has dtype float64, but tokens are whole numbers from 0 to 2: convert them to integers first."),
        ([[0.0, float("nan"), 2.0]], "x contains NaN, but tokens are whole numbers"),
        ([["a", "b", "c"]], "but tokens are whole numbers from 0 to 2: encode them first."),
        (np.zeros((0, 3), int), r"x is empty \(shape \(0, 3\)\): give at least one sequence."),
        ([[0, 1]], r"x has 2 columns, but length=2 with readout 'last' means 3 \(context and readout token\)"),
        ([[0, 1, 2], [0, 1]], "x has sequences of unequal length: pad them to 3 columns and say which are real with a mask."),
        (np.zeros((2, 3, 4), int), r"one sequence a row, got an array of shape \(2, 3, 4\)"),
    ],
)
def test_unusable_tokens(tokens, sentence):
    for kind in ("nngp", "ntk", "diagonal", "features"):
        with pytest.raises(InputError, match=sentence):
            getattr(specht.Kernel(ARCH), kind)(tokens)


def test_the_second_batch_is_checked_too():
    with pytest.raises(InputError, match="y holds token 5"):
        specht.Kernel(ARCH)(GOOD, [[0, 1, 5]])


@pytest.mark.parametrize(
    ("mask", "sentence"),
    [
        ([[1, 2, 1]], "the mask of x holds 2: give True or 1 where the token is real, and False or 0 where it is padding."),
        ([[1.0, 1.0, 1.0]], "the mask of x has dtype float64: give True or 1 where the token is real"),
        ([[True, True]], r"the mask of x has shape \(1, 2\), but the tokens have shape \(1, 3\)"),
        ([[True, True, False]], "the mask of x hides the readout token of row 0: pad the context, before the last column."),
    ],
)
def test_unusable_masks(mask, sentence):
    with pytest.raises(InputError, match=sentence):
        specht.Kernel(ARCH)(GOOD, mask=mask)


def test_a_mask_may_not_hide_everything():
    with pytest.raises(InputError, match="hides every token of row 0"):
        specht.Kernel(ARCH.replace(readout="mean"))([[0, 1]], mask=[[False, False]])


def test_a_mask_without_its_batch():
    with pytest.raises(InputError, match="mask_y belongs to y"):
        specht.Kernel(ARCH)(GOOD, mask_y=[[True, True, True]])


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"scaling": "untied"}, "vanish as the width grows.*use scaling='sqrt', or 'tied'"),
        ({"positions": "stochastic"}, "drawn anew for every sequence.*use positions='learned'"),
        ({"positions": "rotary"}, "Rotary positions.*or a finite Network"),
    ],
)
def test_architectures_without_a_kernel(fields, sentence):
    with pytest.raises(NoLimitError, match=sentence):
        specht.Kernel(ARCH.replace(**fields))


def test_a_gram_that_does_not_fit(monkeypatch):
    monkeypatch.setattr(forms, "available_memory", lambda: 8 * 2**30)
    with pytest.raises(
        InputError, match=r"A Gram of 100000 x 100000 in float64 needs 74.5 GiB and 8.0 GiB are free: .*tiles\(x, y, rows=2684\)"
    ):
        specht.Kernel(ARCH)(np.zeros((100_000, 3), int))


def test_a_deep_softmax_stack_that_is_too_large():
    deep = specht.Kernel(ARCH.replace(attention="softmax", depth=2))
    with pytest.raises(InputError, match="up to 2048 positions, and 700 sequences of 3 columns have 2100: give at most 682 of them"):
        deep(np.zeros((700, 3), int))
    with pytest.raises(InputError, match="its Gram has no tiles"):
        next(deep.tiles(GOOD, rows=1))


def test_features_that_do_not_exist():
    with pytest.raises(InputError, match="no explicit features: they need one block, a linear activation"):
        specht.Kernel(ARCH.replace(activation="relu")).features(GOOD)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"relative_error": 0.0}, "relative_error must lie between 0 and 1, got 0.0"),
        ({"heads": 0}, "heads must be a whole number of at least 1, got 0"),
        ({"seed": -1}, "seed must be a whole number from 0"),
        ({"memory": 10}, "memory .bytes of working space. must be a whole number of at least 1048576, got 10"),
    ],
)
def test_unusable_options(options, sentence):
    with pytest.raises(InputError, match=sentence):
        specht.Kernel(ARCH, **options)


def test_unknown_kind():
    with pytest.raises(InputError, match=r"Unknown kernel 'nttk'.*did you mean 'ntk'"):
        specht.Kernel(ARCH).diagonal(GOOD, kind="nttk")
