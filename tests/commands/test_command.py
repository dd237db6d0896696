"""What every command has without saying it: files, JSON, tables, and results that are found again, or not."""

from __future__ import annotations

import csv
import dataclasses
import json
import shutil
from pathlib import Path
from typing import Annotated

import cyclopts
import pytest
import xarray
from pydantic import Field

from specht.commands.app import _sentence
from specht.commands.command import Command, Many, OutputFlags, command_line
from specht.errors import InputError
from specht.lab import store
from specht.lab.config import Config
from specht.report import Page, Step, Table
from specht.trees import facts, tree


class SquaresConfig(Config):
    largest: int = 3
    """The largest number."""
    seed: int = 0
    """Of nothing."""


@dataclasses.dataclass(frozen=True)
class SquaresOptions:
    note: bool = False
    """Write a note as well."""


class Squares(Command):
    """Squares of small numbers."""

    name = "squares"
    config = SquaresConfig
    options = SquaresOptions
    csv = "squares"
    computed = 0
    resumes = True

    def compute(self, config, progress=None):
        type(self).computed += 1
        if config.largest < 0:
            raise InputError("--largest must not be negative.")
        assert self.folder is not None
        assert (self.folder / "config.json").exists()  # a run that is killed is found by this file
        return tree({"largest": config.largest, "squares": [{"number": n, "square": n * n} for n in range(config.largest + 1)]})

    def page(self, data):
        result = facts(data)
        table = Table(["number", "square"], [[str(row.number), str(row.square)] for row in result.squares], note="One.\nTwo.")
        hidden = Table(["hidden"], [["x"]], title="Details", brief=False)
        return Page(
            title="Squares",
            subtitle="small numbers",
            question="How large are squares?",
            answer=f"At most x^{{2}} = {result.largest**2}.",
            plots=[],
            tables=[table, hidden],
            method=[Step("By multiplication.")],
        )

    def more_files(self, data):
        return {"note": ("note.txt", lambda path: store.save_text("a note", path))} if self.chosen.note else {}


@pytest.fixture(autouse=True)
def none_yet(monkeypatch):
    monkeypatch.setattr(Squares, "computed", 0)


def run(capsys, config: SquaresConfig | None = None, out: Path | None = None, note: bool = False) -> dict:
    Squares(SquaresOptions(note)).run(config or SquaresConfig(), OutputFlags(out=out, json=True))
    return json.loads(capsys.readouterr().out)


def test_json_has_the_numbers_and_where_the_files_are(capsys):
    result = run(capsys)
    assert list(result) == ["command", "config", "seed", "version", "largest", "squares", "report", "data", "csv"]
    assert result["squares"][-1] == {"number": 3, "square": 9}
    with open(result["csv"], encoding="utf-8") as file:
        assert list(csv.DictReader(file))[-1] == {"number": "3", "square": "9"}
    with xarray.open_datatree(result["data"], engine="h5netcdf") as data:
        assert data["squares"]["square"].values.tolist() == [0, 1, 4, 9]
        assert {"command", "config", "seed", "version", "code", "time"} <= set(data.attrs)
    report = Path(result["report"]).read_text()
    assert "specht squares" in report
    assert "Details" in report


def test_the_terminal_shows_answer_tables_and_notes(capsys):
    Squares().run(SquaresConfig(largest=1), OutputFlags())
    assert capsys.readouterr().out.splitlines()[:12] == [
        *("small numbers", "", "At most x^2 = 1.", "", "Numbers:"),
        *("number  square", "0       0", "1       1", "", "One.", "Two.", ""),
    ]


def test_a_result_is_found_again_from_its_data(capsys):
    first = run(capsys)
    assert run(capsys) == first
    assert Squares.computed == 1


def test_a_file_that_is_missing_is_made_from_the_data(capsys):
    first = run(capsys)
    Path(first["csv"]).write_text("changed")
    again = run(capsys, note=True)
    assert Squares.computed == 1
    assert Path(first["csv"]).read_text().startswith("number,square\n")
    assert Path(again["note"]).read_text() == "a note"
    assert run(capsys, note=True) == again


def swap(one: Path, other: Path) -> None:
    """Put the results of one folder in place of those of another, whose configuration stays."""
    for path in one.iterdir():
        if path.name != "config.json":
            shutil.copy(path, other / path.name)


@pytest.mark.parametrize("config", [SquaresConfig(largest=4), SquaresConfig(seed=1)])
def test_results_of_another_configuration_are_not_believed(capsys, config):
    run(capsys, out=Path("mine"))
    run(capsys, config, out=Path("other"))
    swap(Path("other"), Path("mine"))
    assert run(capsys, out=Path("mine"))["squares"][-1]["number"] == 3
    assert Squares.computed == 3


def test_results_of_older_code_are_not_believed(capsys, monkeypatch):
    run(capsys)
    monkeypatch.setattr(store, "code_version", lambda: "0.0.0+older")
    run(capsys)
    assert Squares.computed == 2


@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(path.read_bytes()[:-9])], ids=["gone", "cut"])
def test_data_that_are_damaged_are_computed_again(capsys, damage):
    first = run(capsys)
    damage(Path(first["data"]))
    assert run(capsys)["squares"] == first["squares"]
    assert Squares.computed == 2


def test_identity_is_asked_for_once(capsys, monkeypatch):
    asked = []
    monkeypatch.setattr(SquaresConfig, "identity", lambda self: asked.append(1) or self.model_dump(mode="json"))
    run(capsys)
    run(capsys)
    assert len(asked) == 2


def test_bad_input_leaves_nothing_behind(capsys):
    with pytest.raises(InputError, match="must not be negative"):
        run(capsys, SquaresConfig(largest=-1))
    assert list(Path().iterdir()) == []


class NeededConfig(SquaresConfig):
    file: Path
    """A file that has to be there."""


class Needing(Squares):
    config = NeededConfig


def test_flags_are_those_of_the_configuration(capsys):
    app = cyclopts.App(result_action="return_value")
    app.command(command_line(Squares), name="squares")
    app.command(command_line(Needing), name="needing")
    app(["squares", "--largest", "2", "--note", "--json"])
    assert json.loads(capsys.readouterr().out)["note"].endswith("note.txt")
    with pytest.raises(cyclopts.MissingArgumentError):
        app(["needing"], exit_on_error=False, print_error=False)
    app(["squares", "--help"])
    shown = capsys.readouterr().out
    assert "Squares of small numbers." in shown
    assert "The largest number." in shown


class NamedConfig(SquaresConfig):
    positional = "largest"
    note: str = ""
    """Said with a flag."""


class Named(Squares):
    config = NamedConfig
    options = None
    more_files = Command.more_files


@pytest.mark.parametrize("words", [["4", "--note", "mine"], ["--note", "mine", "4"], ["--note", "mine", "--largest", "4"]])
def test_one_field_needs_no_flag(capsys, words):
    app = cyclopts.App(result_action="return_value")
    app.command(command_line(Named), name="squares")
    app(["squares", *words, "--json"])
    assert json.loads(capsys.readouterr().out)["config"] == {"largest": 4, "note": "mine", "seed": 0}
    with pytest.raises(cyclopts.UnusedCliTokensError):
        app(["squares", "4", "mine"], exit_on_error=False, print_error=False)


def test_the_field_without_a_flag_comes_first():
    assert NamedConfig(note="mine", largest=4).flags() == ["4", "--note", "mine"]
    assert NamedConfig().flags() == ["3"]


class SeveralConfig(Config):
    "Several values, and no seed."

    lengths: Annotated[tuple[int, ...], Field(min_length=1), Many] = (4, 8)
    """Lengths."""
    listed: list[int] | None = None
    """A list."""


class Several(Squares):
    config = SeveralConfig
    options = None
    more_files = Command.more_files

    def compute(self, config, progress=None):
        return super().compute(SquaresConfig(largest=max(config.lengths)))


def test_a_flag_may_take_several_values_and_what_draws_nothing_has_no_seed(capsys):
    app = cyclopts.App(result_action="return_value")
    app.command(command_line(Several), name="squares")
    app(["squares", "--lengths", "2", "3", "--listed", "5", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert (found["config"], found["seed"]) == ({"lengths": [2, 3], "listed": [5]}, 0)
    assert "specht squares --lengths 2 3 --listed 5" in Path(found["report"]).read_text()
    with pytest.raises(cyclopts.ValidationError) as refused:
        app(["squares", "--lengths"], exit_on_error=False, print_error=False)
    assert _sentence(refused.value) == "--lengths is empty: give at least one value, or leave it out."
