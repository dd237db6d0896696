"""Files that are whole or not there at all, tables as CSV, and what every file of results says about where it comes from."""

from __future__ import annotations

import contextlib
import csv
import datetime
import importlib.metadata
import io
import os
import platform
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from specht.errors import InputError, StorageError


@contextlib.contextmanager
def write_atomically(path: str | os.PathLike[str], durable: bool = True) -> Iterator[Path]:
    """A temporary path beside `path`, renamed to it when the block ends well; otherwise the old file stays as it was.

    A durable file outlives a loss of power, which takes some milliseconds.
    """
    target = Path(path)
    temporary = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # The suffix stays, because writers such as numpy.savez choose the name by it.
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.stem}-", suffix=target.suffix)
        os.close(handle)
        temporary = Path(name)
        yield temporary
        if durable:
            _make_durable(temporary)
        temporary.chmod(0o666 & ~_umask())  # mkstemp makes files that only their owner can read
        temporary.replace(target)
        if durable:
            _make_durable(target.parent)
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(
            f"{target} could not be written ({reason}): what was complete before is kept; make room, then run it again."
        ) from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def reading(path: str | os.PathLike[str], cure: str) -> Iterator[None]:
    """Say in one sentence that a file cannot be read, and what to do about it."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error}): {cure}.") from None


def _make_durable(path: Path) -> None:
    """Ask the disk to keep what was written before it is given its name."""
    if path.is_dir() and os.name == "nt":  # Windows does not open folders
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def csv_text(columns: Sequence[str], lines: Sequence[Mapping[str, Any]]) -> str:
    r"""Lines under the names of their columns.

    >>> csv_text(["n", "loss"], [{"n": 16, "loss": 0.5}])
    'n,loss\n16,0.5\n'
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def made_with() -> dict[str, str]:
    """Versions, machine and time: what no comparison of numbers looks at."""
    return {
        "version": sys.modules["specht"].__version__,  # this package; to import it would tie what is below to all above
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in ("jax", "numpy")},  # the installed ones; reading them does not load JAX
        "platform": platform.platform(),
        "time": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }
