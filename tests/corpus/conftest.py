"""The folder of real corpora, for the tests that read them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("texts")


@pytest.fixture
def data(monkeypatch) -> Path:
    """The folder of corpora, in which their names are looked up too."""
    folder = (Path(__file__).parents[2] / os.environ.get("SPECHT_DATA", "../shared/data")).resolve()
    if not folder.is_dir():
        pytest.skip(f"there are no corpora in {folder}: set SPECHT_DATA")
    monkeypatch.setenv("SPECHT_DATA", str(folder))
    return folder
