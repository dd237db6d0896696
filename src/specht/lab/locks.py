"""Locks between processes that work in one folder: whoever dies, however, has let go of them.

All locks of a folder live in one file, a byte each, so that there is nothing to clean up.
"""

from __future__ import annotations

import os
from pathlib import Path

if os.name == "nt":
    import msvcrt
else:
    import fcntl

_BYTES = 2**31 - 1
"""Bytes of the file that can be locked; none of them is ever written."""


class Locks:
    """Named locks of one folder, held by this process until they are released or it ends."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        self._held: set[str] = set()

    def acquire(self, name: str) -> bool:
        """Take the lock of a name in hexadecimal digits; False if another process has it."""
        if name in self._held:
            return False
        try:
            self._lock(int(name, 16) % _BYTES)
        except OSError:
            return False
        self._held.add(name)
        return True

    def release(self, name: str) -> None:
        """Let go of a lock that this process holds."""
        self._held.remove(name)
        self._unlock(int(name, 16) % _BYTES)

    def close(self) -> None:
        """Let go of all of them."""
        os.close(self._descriptor)
        self._held.clear()

    if os.name == "nt":

        def _lock(self, place: int) -> None:
            os.lseek(self._descriptor, place, os.SEEK_SET)
            msvcrt.locking(self._descriptor, msvcrt.LK_NBLCK, 1)

        def _unlock(self, place: int) -> None:
            os.lseek(self._descriptor, place, os.SEEK_SET)
            msvcrt.locking(self._descriptor, msvcrt.LK_UNLCK, 1)

    else:

        def _lock(self, place: int) -> None:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)

        def _unlock(self, place: int) -> None:
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, place)
