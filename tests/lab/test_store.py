"""Files are written whole or not at all, and nobody's results are overwritten by others."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xarray

import specht
from specht.commands.kernel import KernelConfig
from specht.errors import InputError
from specht.lab import store

REQUEST = store.Request.of("kernel", KernelConfig())
DATASET = xarray.Dataset({"gram": (("sequence", "other"), np.eye(3))}, attrs={"seed": 7})


def test_writes_and_leaves_nothing_else(tmp_path):
    with store.write_atomically(tmp_path / "new" / "file.txt") as temporary:
        assert temporary.parent == tmp_path / "new"
        assert temporary.suffix == ".txt"
        temporary.write_text("done")
        assert not (tmp_path / "new" / "file.txt").exists()
    assert (tmp_path / "new" / "file.txt").read_text() == "done"
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["file.txt"]


def test_a_failing_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("old")

    def write_half():
        with store.write_atomically(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError("the disk is on fire")

    with pytest.raises(RuntimeError, match="on fire"):
        write_half()
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["file.txt"]


def test_a_killed_process_leaves_the_old_file(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("old")
    code = (
        "import sys, time\n"
        "from specht.lab.store import write_atomically\n"
        f"with write_atomically({str(path)!r}) as temporary:\n"
        "    temporary.write_text('half'); print('writing', flush=True); time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        process.kill()
        assert process.wait() == -signal.SIGKILL
    assert path.read_text() == "old"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no file modes")
def test_permissions_are_those_of_an_ordinary_file(tmp_path):
    (tmp_path / "ordinary").touch()
    store.save_text("text", tmp_path / "ours")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "ordinary").stat().st_mode


def test_dataset_round_trips_with_names(tmp_path):
    store.save_tree(xarray.DataTree(DATASET), tmp_path / "kernel.nc")
    with xarray.open_dataset(tmp_path / "kernel.nc", engine="h5netcdf") as found:
        xarray.testing.assert_identical(found.load(), DATASET)


def test_a_dataset_that_cannot_be_written_leaves_the_old_file(tmp_path):
    path = tmp_path / "kernel.nc"
    store.save_tree(xarray.DataTree(DATASET), path)
    before = path.read_bytes()
    with pytest.raises(TypeError):
        store.save_tree(xarray.DataTree(DATASET.assign_attrs(bad={"no": "place for this"})), path)
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_npz_round_trips(tmp_path):
    store.save_npz({"a": np.arange(3), "b": np.eye(2)}, tmp_path / "kernel.npz")
    with np.load(tmp_path / "kernel.npz", allow_pickle=False) as found:
        np.testing.assert_array_equal(found["a"], np.arange(3))
        np.testing.assert_array_equal(found["b"], np.eye(2))


def test_provenance_says_what_made_a_result():
    config = KernelConfig(seed=3)
    record = store.provenance(store.Request.of("kernel", config))
    assert record["version"] == specht.__version__
    assert record["seed"] == 3
    assert json.loads(record["config"]) == config.identity()
    assert {"python", "jax", "numpy", "platform", "time", "digest", "command"} <= set(record)
    assert all(isinstance(value, str | int) for value in record.values())


def fill(config, out, command="kernel"):
    request = store.Request.of(command, config)
    with store.results_folder(request, out) as folder:
        store.save_config(request, folder)
    return folder


def test_default_folder_is_named_by_the_configuration(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = KernelConfig()
    folder = fill(config, None)
    assert folder == Path("specht-results") / f"kernel-{config.digest()}"
    assert json.loads((folder / "config.json").read_text())["config"] == config.identity()


def test_same_configuration_may_come_again(tmp_path):
    assert fill(KernelConfig(), tmp_path / "out") == fill(KernelConfig(), tmp_path / "out") == tmp_path / "out"


@pytest.mark.parametrize(("config", "command"), [(KernelConfig(seed=1), "kernel"), (KernelConfig(), "spectrum")])
def test_another_configuration_is_refused(tmp_path, config, command):
    fill(KernelConfig(), tmp_path / "out")
    before = (tmp_path / "out" / "config.json").read_bytes()
    with pytest.raises(InputError, match="holds the results of another configuration"):
        fill(config, tmp_path / "out", command)
    assert (tmp_path / "out" / "config.json").read_bytes() == before


@pytest.mark.parametrize("content", ["not json", "[]", '{"theirs": 1}'])
def test_a_foreign_config_file_is_refused(tmp_path, content):
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(InputError, match="was not written by Specht"):
        fill(KernelConfig(), tmp_path)
    assert (tmp_path / "config.json").read_text() == content


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "report.html").write_text("mine")
    with pytest.raises(InputError, match="not results of Specht"):
        fill(KernelConfig(), tmp_path)
    assert (tmp_path / "report.html").read_text() == "mine"


def test_a_file_in_the_way_is_refused(tmp_path):
    (tmp_path / "out").write_text("a file")
    with pytest.raises(InputError, match="cannot be written to"):
        fill(KernelConfig(), tmp_path / "out")


@pytest.mark.parametrize("existed", [False, True])
def test_a_run_that_fails_early_leaves_no_new_folder(tmp_path, existed):
    if existed:
        (tmp_path / "out").mkdir()
    with pytest.raises(InputError, match="bad"), store.results_folder(REQUEST, tmp_path / "out" / "deep" / "er"):
        raise InputError("bad")
    assert (tmp_path / "out").exists() == existed
    assert not (tmp_path / "out" / "deep").exists()


def test_a_folder_that_cannot_be_written_to_is_refused_before_the_work(tmp_path, monkeypatch):
    def refuse(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(store.tempfile, "TemporaryFile", refuse)
    with (
        pytest.raises(InputError, match=r"cannot be written to \(Permission denied\)"),
        store.results_folder(REQUEST, tmp_path),
    ):
        raise AssertionError("the block must not run")


RESULT = {"command": "kernel", "version": specht.__version__, "trace": 1.5}


class TestFinished:
    def folder(self, tmp_path):
        (tmp_path / "data.txt").write_text("numbers")
        store.save_result(RESULT, tmp_path, ["data.txt"])
        return tmp_path

    def test_gives_back_what_was_printed(self, tmp_path):
        assert store.finished_result(self.folder(tmp_path)) == RESULT

    @pytest.mark.parametrize("damage", ["changed", "missing", "cut off", "other code"])
    def test_anything_else_is_not_finished(self, tmp_path, damage, monkeypatch):
        folder = self.folder(tmp_path)
        if damage == "changed":
            (folder / "data.txt").write_text("number")
        elif damage == "missing":
            (folder / "data.txt").unlink()
        elif damage == "cut off":
            (folder / "result.json").write_text((folder / "result.json").read_text()[:40])
        else:
            monkeypatch.setattr("specht.lab.store.code_version", lambda: "0.1.0+00000000")
        assert store.finished_result(folder) is None


def test_time_is_in_universal_time():
    stamp = store.provenance(store.Request.of("kernel", KernelConfig()))["time"]
    assert stamp.endswith("+00:00")
    assert stamp[:4] == str(time.gmtime().tm_year)
