"""Locks between processes that work in one folder: whoever dies, however, has let go of them.

All locks of a folder live in one file, a byte each, so that there is nothing to clean up.
"""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

from specht.errors import StorageError

if os.name == "nt":
    import msvcrt
else:
    import fcntl

_BYTES = 2**31 - 1
"""Bytes of the file that can be locked; none of them is ever written."""
_TAKEN = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
_IN_PROCESS: dict[str, set[int]] = {}
"""Places that this process holds, by file: the system does not tell apart who holds one within a process."""
_GUARD = threading.Lock()


class Locks:
    """Named locks of one folder, held until they are released or the process ends."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        self._path = path
        with _GUARD:
            self._taken = _IN_PROCESS.setdefault(os.path.realpath(path), set())
        self._mine: set[int] = set()

    def acquire(self, name: str) -> bool:
        """Take the lock of a name in hexadecimal digits; False if somebody has it."""
        place = _place(name)
        with _GUARD:
            if place in self._taken:
                return False
            try:
                self._lock(place)
            except OSError as error:
                if error.errno in _TAKEN:
                    return False
                raise StorageError(f"{self._path} cannot be locked ({error.strerror}): choose a folder on another disk.") from error
            self._taken.add(place)
            self._mine.add(place)
            return True

    def release(self, name: str) -> None:
        """Let go of a lock that was taken here."""
        with _GUARD:
            self._let_go(_place(name))

    def close(self) -> None:
        """Let go of all that were taken here."""
        with _GUARD:
            for place in list(self._mine):
                self._let_go(place)
            # Closing the file would drop what others in this process hold of it.
            if not self._taken:
                os.close(self._descriptor)

    def _let_go(self, place: int) -> None:
        self._mine.remove(place)
        self._taken.remove(place)
        self._unlock(place)

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


def _place(name: str) -> int:
    return int(name, 16) % _BYTES
