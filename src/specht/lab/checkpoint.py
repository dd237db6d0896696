"""Where a training that may be killed keeps what it has done: one file, whole or not at all."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import time
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from specht.errors import InputError
from specht.lab.store import save_npz
from specht.lab.version import code_version

_IDENTITY = "identity"
_CHECKSUM = "checksum"


@dataclasses.dataclass(eq=False)
class Checkpoint:
    """Keeps the state of a training in a file, so that the same call of `train` goes on from there, to the bit if it has as many threads.

    >>> checkpoint = Checkpoint("training.npz", every=30)  # train(..., checkpoint=checkpoint)
    """

    path: str | os.PathLike[str]
    every: float = 10.0
    """Seconds between two writings."""
    _written: float = dataclasses.field(default=-np.inf, init=False)

    def load(self, identity: str) -> dict[str, np.ndarray] | None:
        """What was kept, or None; another training's file is refused, and never written over."""
        path = Path(self.path)
        if not path.exists():
            return None
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            kept, checksum = str(arrays.pop(_IDENTITY)), str(arrays.pop(_CHECKSUM))
        except (OSError, ValueError, KeyError, EOFError, TypeError, NotImplementedError, RuntimeError, zlib.error, zipfile.BadZipFile):
            raise InputError(f"{path} is no checkpoint or is damaged: give another path, or delete it to start anew.") from None
        if checksum != _checksum(arrays):
            raise InputError(f"{path} is damaged: delete it to start anew.")
        if kept != _full(identity):
            raise InputError(
                f"{path} belongs to another training (other data, settings, seeds or version): give another path, or delete it to start "
                "anew."
            )
        return arrays

    def save(self, identity: str, arrays: Callable[[], Mapping[str, np.ndarray]], now: bool) -> None:
        """Write the file if it is due, or `now`."""
        if not now and time.monotonic() - self._written < self.every:
            return
        made = dict(arrays())
        save_npz(made | {_IDENTITY: np.array(_full(identity)), _CHECKSUM: np.array(_checksum(made))}, self.path)
        self._written = time.monotonic()


def _full(identity: str) -> str:
    """With the version of the code: other code may give other numbers."""
    return f"{identity} {code_version()}"


def _checksum(arrays: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].shape} {arrays[name].dtype}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()
