"""Where results are kept: whole files or none, with a record of what made them."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray

from specht.errors import InputError
from specht.files import made_with, write_atomically
from specht.lab.config import Config, digest_of_identity
from specht.lab.locks import Locks
from specht.lab.version import code_version

CONFIG_FILE, RESULT_FILE, RUNNING = "config.json", "result.json", ".running"
_WORK = "1"
"""The lock that a run holds in its folder."""


@dataclasses.dataclass(frozen=True)
class Request:
    """What a run is asked for. It is made once a run, since the identity of a configuration may take reading files or loading JAX."""

    command: str
    identity: dict[str, Any]
    """What decides the numbers."""
    seed: int

    @classmethod
    def of(cls, command: str, config: Config) -> Request:
        return cls(command, config.identity(), getattr(config, "seed", 0))  # what draws nothing has none

    @property
    def digest(self) -> str:
        return digest_of_identity(self.identity)

    @property
    def name(self) -> str:
        """Of the folder that the results go to unless another is given."""
        return f"{self.command}-{self.digest}"


def save_text(text: str, path: str | os.PathLike[str]) -> None:
    """Write a text file, whole or not at all."""
    with write_atomically(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def save_bytes(content: bytes, path: str | os.PathLike[str], durable: bool = True) -> None:
    """Write a file of any kind, whole or not at all."""
    with write_atomically(path, durable) as temporary:
        temporary.write_bytes(content)


def save_tree(tree: xarray.DataTree, path: str | os.PathLike[str]) -> None:
    """Write a tree as netCDF 4, whole or not at all."""
    with write_atomically(path) as temporary:
        tree.to_netcdf(temporary, engine="h5netcdf")


def load_tree(path: Path, request: Request) -> xarray.DataTree | None:
    """The tree in a file, or None where it is not what this code computes for the request: a file may have come from elsewhere."""
    try:
        with xarray.open_datatree(path, engine="h5netcdf") as tree:
            wanted = deciding(request)
            if {name: tree.attrs.get(name) for name in wanted} != wanted:
                return None
            return xarray.DataTree.from_dict({node.path: node.to_dataset(inherit=False).load() for node in tree.subtree})
    except (OSError, ValueError, KeyError):
        return None


def save_npz(arrays: Mapping[str, np.ndarray], path: str | os.PathLike[str]) -> None:
    """Write named arrays as a NumPy archive, whole or not at all."""
    with write_atomically(path) as temporary:
        np.savez(temporary, allow_pickle=False, **arrays)


def deciding(request: Request) -> dict[str, Any]:
    """What decides the numbers of a result: the request and the code."""
    config = json.dumps(request.identity, sort_keys=True)
    return {"command": request.command, "config": config, "seed": request.seed, "code": code_version()}


def provenance(request: Request) -> dict[str, Any]:
    """What made a result: what decides its numbers, and the versions, machine and time, which are outside any comparison of them."""
    return deciding(request) | {"digest": request.digest, **made_with()}


@contextlib.contextmanager
def results_folder(request: Request, out: Path | None) -> Iterator[Path]:
    """The folder for the results of a request, made if need be; one with other results, or that cannot be written to, is refused.

    Folders that are made are taken away again when the block fails before it has written anything.
    """
    folder = out or Path("specht-results") / request.name
    _refuse_others(folder, request)
    made = [path for path in (folder, *folder.parents) if not path.exists()]  # innermost first
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise InputError(f"{folder} cannot be written to ({error.strerror}): choose another folder with --out.") from None
    try:
        with _at_work(folder):
            yield folder
    except BaseException:
        with contextlib.suppress(OSError):  # one that is not empty stays, and so do those around it
            for path in made:
                path.rmdir()
        raise


@contextlib.contextmanager
def _at_work(folder: Path) -> Iterator[None]:
    """Let others see that a run is going on in a folder."""
    path = folder / RUNNING
    locks = Locks(path)
    first = locks.acquire(_WORK)
    try:
        yield
    finally:
        if first:
            path.unlink(missing_ok=True)
        locks.close()


def is_at_work(folder: Path) -> bool:
    """Whether a run is going on in a folder, here or in another process."""
    if not (folder / RUNNING).exists():
        return False
    locks = Locks(folder / RUNNING)
    try:
        return not locks.acquire(_WORK)
    finally:
        locks.close()


def save_result(result: Mapping[str, Any], folder: Path, files: Iterable[str]) -> None:
    """Close a run: what it printed, and the checksums of its files. Written last, so a folder that has it is complete."""
    record = {"result": dict(result), "files": {name: _checksum(folder / name) for name in files}, "code": code_version()}
    record["checksum"] = checksum_of(record)
    save_text(json.dumps(record, indent=2, allow_nan=False) + "\n", folder / RESULT_FILE)


def finished_result(folder: Path) -> dict[str, Any] | None:
    """What a complete run of this very code printed, or None where files are missing or not those that it wrote."""
    record = read_record(folder / RESULT_FILE)
    if record is None or record["code"] != code_version() or _intact(record, folder) != set(record["files"]):
        return None
    return record["result"]


def intact_files(folder: Path) -> set[str]:
    """Names of the files that a complete run wrote into a folder and that are still as it wrote them."""
    record = read_record(folder / RESULT_FILE)
    return set() if record is None else _intact(record, folder)


def _intact(record: dict[str, Any], folder: Path) -> set[str]:
    return {name for name, checksum in record["files"].items() if (folder / name).is_file() and _checksum(folder / name) == checksum}


def read_record(path: Path) -> dict[str, Any] | None:
    """What a record in a file says besides its checksum, or None if that is not what was written."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return record if record.pop("checksum") == checksum_of(record) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):  # somebody has changed it
        return None


def checksum_of(record: Mapping[str, Any]) -> str:
    """SHA-256 of plain values, in whatever order their names are."""
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def _checksum(path: Path) -> str | None:
    """SHA-256 of a file, or None if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def save_config(request: Request, folder: Path) -> None:
    """Mark a folder as holding the results of this request."""
    record = {"command": request.command, "digest": request.digest, "config": request.identity}
    save_text(json.dumps(record, indent=2) + "\n", folder / CONFIG_FILE)


@contextlib.contextmanager
def begun(request: Request, folder: Path) -> Iterator[None]:
    """Mark a folder at once, for a run that is killed has to find it again; if its input turns out to be bad, nothing is left behind."""
    fresh = not (folder / CONFIG_FILE).exists()
    save_config(request, folder)
    try:
        yield
    except InputError:
        if fresh:
            (folder / CONFIG_FILE).unlink()
        raise


def _refuse_others(folder: Path, request: Request) -> None:
    record = folder / CONFIG_FILE
    if not record.exists():
        # A name with a dot in front is what a run that was killed was writing.
        if folder.is_dir() and any(not path.name.startswith(".") for path in folder.iterdir()):
            raise InputError(f"{folder} holds files that are not results of Specht: choose an empty or new folder with --out.")
        return
    try:
        owner = json.loads(record.read_text(encoding="utf-8"))
        owner_name = f"{owner['command']}-{owner['digest']}"
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{record} was not written by Specht: choose another folder with --out.") from None
    if owner_name != request.name:
        raise InputError(
            f"{folder} holds the results of another configuration ({owner_name}, this one is {request.name}): "
            "choose another folder with --out, or leave --out away."
        )
