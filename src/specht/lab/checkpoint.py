"""Where a training that may be killed keeps what it has done: one file, whole or not at all."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from specht.errors import InputError, explains_calls
from specht.files import reading
from specht.lab.store import save_bytes
from specht.lab.version import code_version

_IDENTITY = "identity"
_DIGITS = 64
"""Of the checksum, which stands behind the arrays: programs that read archives of arrays do not mind it."""


@explains_calls
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
        with reading(path, "give another path"):
            content = path.read_bytes()
        body, checksum = content[:-_DIGITS], content[-_DIGITS:]
        if checksum != _checksum(body):  # asked first, so that what is read below is as it was written
            raise InputError(f"{path} is no checkpoint or is damaged: give another path, or delete it to start anew.")
        with np.load(io.BytesIO(body), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        if str(arrays.pop(_IDENTITY)) != _full(identity):
            raise InputError(
                f"{path} belongs to another training (other data, settings, seeds or version): give another path, or delete it to start "
                "anew."
            )
        return arrays

    def save(self, identity: str, arrays: Callable[[], Mapping[str, np.ndarray]], now: bool) -> None:
        """Write the file if it is due, or `now`."""
        if not now and time.monotonic() - self._written < self.every:
            return
        body = io.BytesIO()
        np.savez(body, allow_pickle=False, **arrays(), **{_IDENTITY: np.array(_full(identity))})
        save_bytes(body.getvalue() + _checksum(body.getvalue()), self.path)
        self._written = time.monotonic()


def _full(identity: str) -> str:
    """With the version of the code: other code may give other numbers."""
    return f"{identity} {code_version()}"


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()
