"""Which code made a result: the release, and the sources of everything that may decide numbers."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import specht

PRESENTATION = ("explorer", "report")
"""Rooms that show results and do not make them. All others count, new ones too: computing again costs minutes, a stale result is wrong."""


@functools.cache
def code_version() -> str:
    """The release with eight digits of its sources, so that a change of the code between releases is another version, too.

    It reads all of them, in some milliseconds, once a process: only what reads or writes results asks for it.
    """
    root, digest = os.path.dirname(os.path.abspath(specht.__file__)), hashlib.sha256()
    for name, path in sorted((path.removeprefix(root).replace(os.sep, "/"), path) for path in _sources(root)):
        source = Path(path).read_bytes()
        digest.update(f"{name} {len(source)}\n".encode())  # with names and sizes, so that lines cannot move to another file unseen
        digest.update(source)
    return f"{specht.__version__}+{digest.hexdigest()[:8]}"


def _sources(folder: str, leave_out: tuple[str, ...] = PRESENTATION) -> Iterator[str]:
    """Python files in a folder and those below; `leave_out` are folders at its top."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                yield entry.path
            elif entry.name not in leave_out and "." not in entry.name and entry.name != "__pycache__" and entry.is_dir():
                yield from _sources(entry.path, ())
