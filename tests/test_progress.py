"""Bars: where someone is looking, in a terminal and in notebooks, and nowhere else."""

from __future__ import annotations

import sys
import types

import pytest

from specht import progress


@pytest.fixture
def bars(monkeypatch):
    """Every bar that is made, as (total, updates); neither total nor position can be read from it, as in marimo."""
    made: list[tuple[int, list[int]]] = []

    class Bar:
        def __init__(self, *, desc, total, delay, leave, file):
            self._steps: list[int] = []
            made.append((total, self._steps))

        def update(self, step):
            self._steps.append(step)

        def close(self):
            self._steps.append(-1)

    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=Bar))
    return made


def looked_at(monkeypatch, where: str) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: where == "terminal", raising=False)
    if where == "jupyter":
        monkeypatch.setitem(sys.modules, "ipykernel.zmqshell", types.ModuleType("ipykernel.zmqshell"))
    monkeypatch.setitem(sys.modules, "marimo", types.SimpleNamespace(running_in_notebook=lambda: where == "marimo"))


@pytest.mark.parametrize("where", ["terminal", "jupyter", "marimo"])
def test_a_bar_shows_where_someone_is_looking(monkeypatch, bars, where):
    looked_at(monkeypatch, where)
    with progress.progress_bar("work") as shown:
        assert shown is not None
        for done in (1, 3, 4):
            shown(done, 4)
        shown(1, 2)  # another stage
    assert bars == [(4, [1, 2, 1, -1]), (2, [1, -1])]


def test_no_bar_shows_where_nobody_is(monkeypatch, bars):
    looked_at(monkeypatch, "file")
    with progress.progress_bar("work") as shown:
        assert shown is None
    assert bars == []


def test_a_forecast_in_one_call_shows_a_bar_unless_it_is_told_not_to(monkeypatch, bars):
    from specht.forecasts import own_data

    heard = []
    monkeypatch.setattr(own_data, "forecast_table", lambda rows, learners, settings, *, progress: heard.append(progress))
    looked_at(monkeypatch, "jupyter")
    texts, labels = ["a b", "b a"] * 40, ["x", "y"] * 40
    for asked in (True, False, print):
        own_data.forecast(texts, labels, learners=["bag"], progress=asked)
    assert callable(heard[0])
    assert heard[1:] == [None, print]
