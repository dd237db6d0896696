"""Results of jobs in a folder: one netCDF file each, named by the job, believed only if its checksum says so.

Beside `NAME.nc`, which holds the numbers, stands `NAME.json`, which says what made them and what the checksum of the first is; the second
also holds a checksum of itself and is written last. So a result is there as a whole or not at all: whatever is cut off, changed, missing or
of another version is computed again. Nothing is ever unpickled.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import io
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import xarray

from specht.errors import InputError
from specht.files import made_with
from specht.lab.jobs import Job
from specht.lab.locks import Locks
from specht.lab.store import checksum_of, read_record, save_bytes
from specht.lab.version import code_version

SCHEMA = 1
"""Of the two files. Results of another one are computed again."""
LOCKS = ".locks"
COMPLETE = "complete"


@dataclasses.dataclass(frozen=True)
class Entry:
    """A result in an archive as its record describes it."""

    name: str
    job: Job | None
    """None if the record cannot be read."""
    state: str
    """`complete`, `other version`, or what is wrong with it."""
    bytes: int
    made: dict[str, Any]
    """Versions, machine, time and seconds: outside any comparison of numbers."""


class Archive:
    """A folder of results, which several processes may use at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextlib.contextmanager
    def open(self) -> Iterator[Locks]:
        """Make the folder ready to be written to, and take part in its locks while the block lasts."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=self.folder).close()
            locks = Locks(self.folder / LOCKS)
        except OSError as error:
            raise InputError(f"{self.folder} cannot be written to ({error.strerror}): choose another folder with --store.") from None
        try:
            yield locks
        except InputError:  # before anything was computed: leave nothing behind
            if not any(self.entries()):
                (self.folder / LOCKS).unlink(missing_ok=True)
                with contextlib.suppress(OSError):
                    self.folder.rmdir()
            raise
        finally:
            locks.close()

    def holds(self, job: Job) -> bool:
        """Whether the result of a job is there, whole and of this version."""
        return self._content(job) is not None

    def load(self, job: Job) -> xarray.Dataset | None:
        """The result of a job; None if it is not there, or not as it was written."""
        content = self._content(job)
        return None if content is None else decode(content)

    def save(self, job: Job, content: bytes, seconds: float) -> None:
        """Keep the encoded result of a job."""
        # Checksums find what a loss of power has cut off, so the disk need not be waited for.
        save_bytes(content, self._data(job.digest), durable=False)
        body = {
            "schema": SCHEMA,
            "function": job.function,
            "arguments": job.arguments,
            "version": code_version(),
            "data": hashlib.sha256(content).hexdigest(),
            "made": {"seconds": seconds, **made_with()},
        }
        text = json.dumps({"checksum": checksum_of(body)} | body, indent=1) + "\n"
        save_bytes(text.encode(), self._record(job.digest), durable=False)

    def entries(self) -> Iterator[Entry]:
        """Every result in the folder, in the order of names."""
        names = {path.stem for kind in ("nc", "json") for path in self.folder.glob(f"*.{kind}") if _is_ours(path)}
        return (self._entry(name) for name in sorted(names))

    def prune(self) -> list[Entry]:
        """Take away what is of no use, unless somebody is at it; returns what went."""
        gone = []
        with self.open() as locks:
            for entry in [entry for entry in self.entries() if entry.state != COMPLETE]:
                if not locks.acquire(entry.name):
                    continue
                if self._entry(entry.name).state != COMPLETE:  # it may have been computed meanwhile
                    self._record(entry.name).unlink(missing_ok=True)  # first: without it the rest counts for nothing
                    self._data(entry.name).unlink(missing_ok=True)
                    gone.append(entry)
                locks.release(entry.name)
        return gone

    def _data(self, name: str) -> Path:
        return self.folder / f"{name}.nc"

    def _record(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    def _content(self, job: Job) -> bytes | None:
        body = read_record(self._record(job.digest))
        if body is None or _made_elsewhere(body) or Job.of(body["function"], **body["arguments"]) != job:
            return None
        return self._data_of(job.digest, body)

    def _data_of(self, name: str, body: dict[str, Any]) -> bytes | None:
        """The file of numbers, if it is the one that the record speaks of."""
        try:
            content = self._data(name).read_bytes()
        except OSError:
            return None
        return content if hashlib.sha256(content).hexdigest() == body["data"] else None

    def _entry(self, name: str) -> Entry:
        try:
            size = self._data(name).stat().st_size
        except OSError:
            size = 0
        body = read_record(self._record(name))
        if body is None:
            return Entry(name, None, "damaged: no readable record", size, {})
        job = Job.of(body["function"], **body["arguments"])
        state = COMPLETE
        if _made_elsewhere(body):
            state = "other version"
        elif self._data_of(name, body) is None or job.digest != name:
            state = "damaged: not the numbers that were written"
        return Entry(name, job, state, size, body["made"])


def encode(dataset: xarray.Dataset) -> bytes:
    """A dataset as the content of a netCDF 3 file, which takes a tenth of the time of netCDF 4; equal datasets give equal bytes."""
    # On a worker of a cluster xarray would ask all the others for a lock, although this file is in memory.
    dask = sys.modules.get("dask") if "distributed" in sys.modules else None
    with dask.config.set(scheduler="synchronous") if dask else contextlib.nullcontext():
        return bytes(dataset.to_netcdf(engine="scipy", format="NETCDF3_64BIT"))


def decode(content: bytes) -> xarray.Dataset:
    """The dataset in the content of a netCDF 3 file."""
    return xarray.load_dataset(io.BytesIO(content), engine="scipy")


def _is_ours(path: Path) -> bool:
    """Whether a file has a name that results have, and is a file."""
    return re.fullmatch("[0-9a-f]{16}", path.stem) is not None and path.is_file() and not path.is_symlink()


def _made_elsewhere(body: dict[str, Any]) -> bool:
    return (body["schema"], body["version"]) != (SCHEMA, code_version())
