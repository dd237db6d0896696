"""Every command runs in an empty folder."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from specht.cli import main


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
