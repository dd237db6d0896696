"""Results of jobs on disk: whole, or not believed."""

from __future__ import annotations

import errno
import json
import os
import shutil

import numpy as np
import pytest
import xarray
from sample_jobs import numbers, some

from specht.errors import InputError, StorageError
from specht.lab.archive import Archive, decode, encode
from specht.lab.executors import this_process
from specht.lab.jobs import Job
from specht.lab.sweeps import sweep


@pytest.fixture
def archive(tmp_path) -> Archive:
    found = Archive(tmp_path / "jobs")
    sweep(some(6), found, this_process)
    return found


def test_what_was_saved_is_loaded(archive):
    for job in some(6):
        assert archive.holds(job)
        loaded = archive.load(job)
        assert loaded is not None
        xarray.testing.assert_identical(loaded, numbers(**job.arguments))
    assert archive.load(Job.of("sample_jobs:numbers", seed=99)) is None


def test_equal_datasets_are_equal_bytes():
    assert encode(numbers(3)) == encode(numbers(3)) != encode(numbers(4))
    assert decode(encode(numbers(3))).identical(numbers(3))


def test_a_job_is_named_by_its_function_and_arguments():
    one = Job.of("sample_jobs:numbers", seed=1, size=4)
    assert one == Job.of("sample_jobs:numbers", size=4, seed=1)
    assert len({one.digest, Job.of("sample_jobs:numbers", seed=2, size=4).digest, Job.of("sample_jobs:fails", seed=1, size=4).digest}) == 3
    assert str(one) == "sample_jobs:numbers(seed=1, size=4)"
    with pytest.raises(ValueError, match="JSON"):
        Job.of("sample_jobs:numbers", seed=float("nan"))


def damage(path, rng: np.random.Generator, way: str) -> None:
    content = bytearray(path.read_bytes())
    if way == "delete":
        path.unlink()
    elif way == "truncate":
        path.write_bytes(content[: int(rng.integers(len(content)))])
    elif way == "empty":
        path.write_bytes(b"")
    else:
        for place in rng.integers(len(content), size=int(rng.integers(1, 4))):
            content[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(content)


def test_damage_is_found_and_mended_two_hundred_times(archive, tmp_path):
    jobs, rng = some(6), np.random.default_rng(0)
    whole = {path.name: path.read_bytes() for path in archive.folder.glob("*.nc")}
    found = 0
    for _ in range(200):
        names = sorted(path for path in archive.folder.iterdir() if path.suffix in (".nc", ".json"))
        path = names[int(rng.integers(len(names)))]
        before = path.read_bytes()
        damage(path, rng, str(rng.choice(["delete", "truncate", "empty", "flip", "flip"])))
        changed = not path.exists() or path.read_bytes() != before  # two flips of one bit are none
        states = [entry.state for entry in archive.entries()]
        assert (states.count("complete") == 6) is not changed, path
        done = sweep(jobs, archive, this_process)
        assert (done.computed, done.failures) == (int(changed), ())
        found += changed
        assert {name: (archive.folder / name).read_bytes() for name in whole} == whole
    assert found > 190


def test_exchanged_files_are_not_believed(archive):
    one, other = some(2)
    for kind in ("nc", "json"):
        shutil.copy(archive.folder / f"{one.digest}.{kind}", archive.folder / f"{other.digest}.{kind}")
    assert archive.load(other) is None
    assert next(entry.state for entry in archive.entries() if entry.name == other.digest).startswith("damaged")


@pytest.mark.parametrize("change", [{"version": "0.0"}, {"schema": 0}])
def test_results_of_another_version_are_computed_again(archive, change, monkeypatch):
    job = some(1)[0]
    if "version" in change:
        monkeypatch.setattr("specht.lab.archive.code_version", lambda: "0.0+00000000")
    else:
        monkeypatch.setattr("specht.lab.archive.SCHEMA", 0)
    assert not archive.holds(job)
    assert {entry.state for entry in archive.entries()} == {"other version"}


def test_the_record_says_what_made_it(archive):
    job = some(1)[0]
    record = json.loads((archive.folder / f"{job.digest}.json").read_text())
    assert (record["function"], record["arguments"], record["schema"]) == ("sample_jobs:numbers", {"seed": 0}, 1)
    assert record["made"]["seconds"] >= 0
    assert {"python", "jax", "numpy", "platform", "time"} <= set(record["made"])


def test_a_full_disk_is_one_sentence_and_loses_nothing(archive, monkeypatch):
    def full(self, content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = {path.name: path.read_bytes() for path in archive.folder.iterdir()}
    monkeypatch.setattr("specht.lab.store.Path.write_bytes", full)
    with pytest.raises(StorageError, match=r"could not be written \(No space left on device\): what was complete before is kept"):
        sweep(some(8), archive, this_process)
    assert {path.name: path.read_bytes() for path in archive.folder.iterdir()} == before
    monkeypatch.undo()
    assert sweep(some(8), archive, this_process).computed == 2


def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(InputError, match=r"cannot be written to .* choose another folder with --store"):
        sweep(some(1), Archive(tmp_path / "file" / "jobs"), this_process)
