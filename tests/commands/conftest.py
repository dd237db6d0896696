"""Every command runs in an empty folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from specht.commands.app import main


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run_json(capsys) -> Callable[..., dict]:
    """Run a command with --json and give back its one object."""

    def run(*arguments: str) -> dict:
        assert main([*arguments, "--json"]) == 0
        printed = capsys.readouterr()
        assert printed.out.count("\n") == 1
        return json.loads(printed.out)

    return run


def contents(folder: Path) -> dict[Path, bytes | None]:
    """Every file and folder in a folder."""
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.fixture
def refuses(capsys, empty_folder) -> Callable[[str | list[str], str], None]:
    """Check that a command answers with one sentence and exit code 2, and leaves every file as it was."""

    def check(line: str | list[str], sentence: str) -> None:
        before = contents(empty_folder)
        assert main(line.split() if isinstance(line, str) else line) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith("specht: ")
        assert sentence in printed.err
        assert printed.err.count("\n") == 1
        assert contents(empty_folder) == before

    return check
