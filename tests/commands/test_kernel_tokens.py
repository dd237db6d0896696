"""Sequences: drawn with a seed, or read from a file with a sentence for each that cannot be used."""

from __future__ import annotations

import re

import numpy as np
import pytest

from specht.architecture import Architecture
from specht.commands.kernel import read_tokens, uniform_tokens
from specht.errors import InputError

ARCH = Architecture(vocab=3, length=4)


def test_drawn_tokens_fit_and_repeat():
    tokens = uniform_tokens(ARCH, 50, seed=1)
    assert tokens.shape == (50, 5)
    assert set(np.unique(tokens)) == {0, 1, 2}
    np.testing.assert_array_equal(tokens, uniform_tokens(ARCH, 50, seed=1))
    assert (tokens != uniform_tokens(ARCH, 50, seed=2)).any()


def test_mean_readout_has_no_readout_column():
    assert uniform_tokens(ARCH.replace(readout="mean"), 5, seed=0).shape == (5, 4)


def test_file_round_trips(tmp_path):
    tokens = uniform_tokens(ARCH, 5, seed=0)
    np.save(tmp_path / "tokens.npy", tokens)
    np.testing.assert_array_equal(read_tokens(tmp_path / "tokens.npy", ARCH), tokens)


BAD_ARRAYS = {
    "has dtype float64, but tokens are whole numbers from 0 to 2": np.zeros((2, 5)),
    "is empty (shape (0, 5))": np.zeros((0, 5), dtype=int),
    "has 8 columns, but length=4 with readout 'last' means 5": np.zeros((2, 8), dtype=int),
    "holds token 3, but vocab=3 allows 0 to 2": np.full((2, 5), 3),
    "holds token -1, but vocab=3 allows 0 to 2": -np.eye(2, 5, dtype=int),
}


@pytest.mark.parametrize(("sentence", "array"), BAD_ARRAYS.items())
def test_bad_array_is_refused_with_a_sentence(tmp_path, sentence, array):
    np.save(tmp_path / "tokens.npy", array)
    with pytest.raises(InputError, match=re.escape(f"tokens.npy {sentence}")):
        read_tokens(tmp_path / "tokens.npy", ARCH)


def test_bad_file_is_refused_with_a_sentence(tmp_path):
    (tmp_path / "text.npy").write_text("hello")
    (tmp_path / "empty.npy").touch()
    np.save(tmp_path / "pickle.npy", np.array([{}], dtype=object))
    np.savez(tmp_path / "many.npz", a=np.zeros(1))
    for name, words in (
        ("text.npy", "not a .npy file"),
        ("empty.npy", "not a .npy file"),
        ("pickle.npy", "not a .npy file"),
        ("many.npz", "is an archive"),
        ("none.npy", "cannot be read"),
    ):
        with pytest.raises(InputError, match=words):
            read_tokens(tmp_path / name, ARCH)
