"""specht runs: lists, shows, exports and prunes what has been computed."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from sample_jobs import some

from specht.commands.app import main
from specht.lab.archive import Archive
from specht.lab.executors import this_process
from specht.lab.locks import Locks
from specht.lab.sweeps import sweep


@pytest.fixture
def results(tmp_path, monkeypatch, capsys) -> Path:
    monkeypatch.chdir(tmp_path)
    for length in ("4", "6"):
        assert main(["spectrum", "--vocab", "2", "--length", length]) == 0
    sweep(some(3), Archive(tmp_path / "specht-results" / "jobs"), this_process)
    capsys.readouterr()
    return tmp_path / "specht-results"


def said(capsys, *words: str) -> str:
    assert main(["runs", *words]) == 0
    return capsys.readouterr().out


def names(results: Path) -> list[str]:
    return sorted(path.name for path in results.glob("spectrum-*"))


def test_list(results, capsys):
    text = said(capsys)
    assert all(name in text for name in names(results))
    assert text.count("complete") == 3
    assert "results of 3 jobs, 3 of them complete" in text
    found = json.loads(said(capsys, "--json"))
    assert [run["state"] for run in found["runs"]] == ["complete", "complete"]
    assert {run["of"] for run in found["runs"]} == {"spectrum"}


def test_nothing_yet(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert "Nothing has been computed" in said(capsys)


def test_show(results, capsys):
    name = names(results)[0]
    text = said(capsys, "show", name[:-4])
    assert "report.html" in text
    assert "architecture" in text
    assert json.loads(said(capsys, "show", name, "--json"))["result"]["command"] == "spectrum"
    assert main(["runs", "show", "spectrum"]) == 2
    assert "2 runs in specht-results begin with 'spectrum'" in capsys.readouterr().err
    assert main(["runs", "show", "kernel"]) == 2
    assert "There is no run 'kernel' in specht-results: `specht runs` lists them." in capsys.readouterr().err


def test_export(results, capsys):
    name = names(results)[0]
    said(capsys, "export", name, "mine.zip")
    with zipfile.ZipFile("mine.zip") as archive:
        assert archive.testzip() is None
        assert f"{name}/report.html" in archive.namelist()
    assert main(["runs", "export", name, "mine.zip"]) == 2
    assert "mine.zip exists already" in capsys.readouterr().err


def test_prune_lists_first_and_removes_what_is_of_no_use(results, capsys):
    one, other = names(results)
    assert "Nothing to remove" in said(capsys, "prune")
    (results / one / "report.html").write_text("changed")
    broken = next((results / "jobs").glob("*.nc"))
    broken.write_bytes(broken.read_bytes()[:-1])
    text = said(capsys, "prune")
    assert one in text
    assert other not in text
    assert "2 would be removed: say --yes." in text
    assert (results / one).exists()
    assert "2 removed." in said(capsys, "prune", "--yes")
    assert names(results) == [other]
    assert len(list((results / "jobs").glob("*.json"))) == 2
    assert "1 would be removed" in said(capsys, "prune", "--older-than", "0")
    (results / other / "result.json").unlink()
    assert "unfinished" in said(capsys, "prune")


def test_prune_leaves_what_is_going_on_and_what_is_not_ours(results, capsys):
    one, other = names(results)
    (results / one / "result.json").unlink()
    (results / other / "result.json").unlink()
    (results / other / "thesis.tex").write_text("mine")
    (results / "theirs").mkdir()
    (results / "theirs" / "config.json").write_text('{"command": "npm", "config": {}}')
    (results / "jobs" / "data.nc").write_text("mine")
    (results.parent / "outside").mkdir()
    (results.parent / "outside" / "0123456789abcdef.nc").write_text("elsewhere")
    (results.parent / "outside" / ".locks").touch()
    (results / "link").symlink_to(results.parent / "outside")
    running = Locks(results / one / ".running")
    assert running.acquire("1")  # as a run does
    text = said(capsys, "prune", "--yes")
    running.close()
    assert "0 removed." in text
    assert f"{other} stays: it holds files that are not results of Specht." in text
    assert (results / one / "report.html").exists()
    assert [path.name for path in (results / other).iterdir()] == ["thesis.tex"]
    assert (results / "theirs" / "config.json").exists()
    assert (results / "jobs" / "data.nc").exists()
    assert (results / "link" / "0123456789abcdef.nc").exists()


def test_prune_leaves_a_job_that_somebody_is_at(results, capsys):
    broken = next((results / "jobs").glob("*.nc"))
    broken.write_bytes(b"")
    with Archive(results / "jobs").open() as locks:
        assert locks.acquire(broken.stem)
        assert "0 removed." in said(capsys, "prune", "--yes")
    assert "1 removed." in said(capsys, "prune", "--yes")


def test_prune_keeps_the_jobs_of_an_unfinished_run(results, capsys):
    one = results / names(results)[0]
    (one / "result.json").unlink()
    sweep(some(2), Archive(one / "jobs"), this_process)
    assert "Nothing to remove" in said(capsys, "prune")


def test_a_changed_number_in_a_result_is_found(results, capsys):
    path = results / names(results)[0] / "result.json"
    path.write_text(path.read_text().replace('"trace": ', '"trace": 1', 1))
    assert said(capsys).count("damaged") == 1
