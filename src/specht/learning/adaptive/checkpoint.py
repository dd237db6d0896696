"""Chains in a file, so that a run that was stopped goes on where it was: the same numbers as without a stop."""

from __future__ import annotations

import hashlib
import os
import zipfile
from typing import Any

import numpy as np

from specht.errors import InputError
from specht.files import write_atomically
from specht.learning.adaptive.chains import Chains
from specht.learning.adaptive.problem import AdaptiveProblem
from specht.learning.adaptive.widths import Widths
from specht.nn.trajectories import ChainState

_AVERAGED = 5
"""Numbers of the step's adaptation."""


def fingerprint(problem: AdaptiveProblem, widths: Widths, level: str, chains: Chains, at_saddle: bool) -> str:
    """What a checkpoint belongs to: samples, network and settings."""
    digest = hashlib.sha256()
    for array in (problem.x, problem.visible, problem.y):
        digest.update(np.ascontiguousarray(array).tobytes())
    settings = (chains.chains, chains.burn_in, chains.samples, chains.kept, chains.seed)
    digest.update(repr((problem.arch, problem.ridge, problem.scale, tuple(widths), level, settings, at_saddle)).encode())
    return digest.hexdigest()


def save(path: str | os.PathLike[str], owner: str, state: ChainState) -> None:
    """Write the state to a file, whole or not at all."""
    arrays: dict[str, Any] = {name: getattr(state, name) for name in ("position", "kept", "trace", "acceptance")}
    with write_atomically(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, owner=np.array(owner), done=np.array(state.done), averaging=np.array(state.averaging), **arrays)


def load(path: str | os.PathLike[str], owner: str) -> ChainState | None:
    """The state in a file; None where there is no such file."""
    if not os.path.exists(path):
        return None
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        found = str(arrays["owner"])
        averaging = tuple(np.asarray(number) for number in arrays["averaging"])
        if len(averaging) != _AVERAGED:
            raise ValueError(f"{len(averaging)} numbers")
        state = ChainState(int(arrays["done"]), arrays["position"], averaging, arrays["kept"], arrays["trace"], arrays["acceptance"])
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        raise InputError(f"{os.fspath(path)} is no checkpoint of `adapt`, or is damaged: give another path, or delete the file.") from None
    if found != owner:
        raise InputError(
            f"{os.fspath(path)} belongs to other samples, another network or other settings: give another path, or delete the file."
        )
    return state
