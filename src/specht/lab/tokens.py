"""Token sequences for a command: drawn, or read from a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from specht.architecture import Architecture
from specht.errors import InputError
from specht.sequences.tokens import check_tokens


def uniform_tokens(architecture: Architecture, n: int, seed: int) -> np.ndarray:
    """`n` sequences of independent, uniform tokens.

    >>> uniform_tokens(Architecture(vocab=2, length=3), n=2, seed=0)
    array([[1, 1, 1, 0],
           [0, 0, 0, 0]])
    """
    return np.random.default_rng(seed).integers(architecture.vocab, size=(n, architecture.columns))


def read_tokens(path: Path, architecture: Architecture) -> np.ndarray:
    """The sequences in a .npy file, one a row, checked against the architecture."""
    try:
        tokens = np.load(path, allow_pickle=False)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error}): check the path given to --tokens.") from None
    except (ValueError, EOFError):
        raise InputError(f"{path} is not a .npy file of numbers: save the sequences with numpy.save as an integer array.") from None
    if not isinstance(tokens, np.ndarray):
        raise InputError(f"{path} is an archive of arrays: save one integer array with numpy.save.")
    return check_tokens(architecture, tokens, str(path))
