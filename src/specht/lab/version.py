"""Which code made a result: the release, and the sources of everything that decides numbers."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

import specht

DECIDES_NUMBERS = (
    "activations.py",
    "architecture.py",
    "presets.py",
    "groups",
    "sequences",
    "kernel",
    "nn",
    "symmetry",
    "lab/threshold_job.py",
    "learning",
    "corpus",
    "papers",
    "commands",
)
"""Rooms and files; of those that only run things, those that hold a measurement."""


@functools.cache
def code_version() -> str:
    """The release with eight digits of its sources, so that a change of the code between releases is another version, too."""
    root, digest = Path(specht.__file__).parent, hashlib.sha256()
    for name in DECIDES_NUMBERS:
        for path in sorted(root.glob(name if name.endswith(".py") else f"{name}/**/*.py")):
            digest.update(f"{path.relative_to(root).as_posix()}\n".encode())
            digest.update(path.read_bytes())
    return f"{specht.__version__}+{digest.hexdigest()[:8]}"
