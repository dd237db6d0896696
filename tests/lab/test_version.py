"""Which code made a result: every room that may decide numbers counts, and those that show them do not."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

import specht
from specht.lab.version import PRESENTATION, code_version

PACKAGE = Path(specht.__file__).parent
SUBJECTS = sorted({path.relative_to(PACKAGE).parts[0] for path in PACKAGE.rglob("*.py")})
"""Rooms, and modules at the top."""


@pytest.fixture(scope="module")
def copied(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("copy") / "specht"
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture
def version_of_copy(copied, monkeypatch):
    monkeypatch.setattr(specht, "__file__", str(copied / "__init__.py"))
    return code_version.__wrapped__


def changed(path: Path, version) -> bool:
    """Whether another line in a file is another version."""
    source, before = path.read_bytes(), version()
    path.write_bytes(source + b"# another line\n")
    after = version()
    path.write_bytes(source)
    return after != before


def a_file_of(folder: Path, subject: str) -> Path:
    """The last one of a room, in a folder of it if there is one."""
    return folder / subject if subject.endswith(".py") else max((folder / subject).rglob("*.py"), key=lambda path: (len(path.parts), path))


def test_the_same_code_elsewhere_is_the_same_version(version_of_copy):
    assert version_of_copy() == code_version()
    assert version_of_copy().startswith(f"{specht.__version__}+")


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_change_of_what_decides_numbers_is_another_version(copied, version_of_copy, subject):
    assert changed(a_file_of(copied, subject), version_of_copy) == (subject not in PRESENTATION)


JOBS = ["commands/select/compute.py", "commands/symmetry/compute.py", "lab/threshold_job.py", "learning/adaptive/saddle.py"]


@pytest.mark.parametrize("name", JOBS)
def test_every_job_counts(copied, version_of_copy, name):
    assert changed(copied / name, version_of_copy)


def test_presentation_is_there(copied):
    assert all((copied / room).is_dir() for room in PRESENTATION)


def test_lines_that_move_to_another_file_are_another_version(copied, version_of_copy):
    before, first, second = version_of_copy(), copied / "files.py", copied / "lazy.py"
    texts = first.read_bytes(), second.read_bytes()
    first.write_bytes(texts[0] + texts[1])
    second.write_bytes(b"")
    after = version_of_copy()
    first.write_bytes(texts[0])
    second.write_bytes(texts[1])
    assert after != before


def test_it_takes_milliseconds():
    seconds = []
    for _ in range(5):
        begin = time.process_time()
        code_version.__wrapped__()
        seconds.append(time.process_time() - begin)
    assert min(seconds) < 0.03
