"""The page for one's own table: what is read of a file, what is guessed, and that the answer is the command's."""

from __future__ import annotations

import csv
import io
import os
import pickle
import re
import shlex
import tempfile
from types import SimpleNamespace

import numpy as np
import pytest

from specht.commands.app import app as command_line, main
from specht.errors import InputError
from specht.explorer import layout, own_data, own_data_controls
from specht.explorer.own_data import Upload, Wish
from specht.explorer.state import BUDGETS, OWN, SAMPLE, DataPage

PAGE = DataPage()


class Listening:
    """Stands for the page: what it is told."""

    def __init__(self) -> None:
        self.shares, self.firsts = [], []

    def __call__(self, done, total):
        self.shares.append(done / total)

    def first(self, result):
        self.firsts.append(result)


def dropped(name: str, contents: bytes) -> own_data.Opened:
    found = own_data.opened(OWN, [SimpleNamespace(name=name, contents=contents)])
    assert found is not None
    return found


def wish(opened: own_data.Opened, **changes) -> Wish:
    fields = {"target": opened.guess.target, "sequence": opened.guess.sequence, "goal": "", "learners": ("bag", "positions"), "page": PAGE}
    return Wish(opened.digest, **(fields | changes))


def reviews(rows: int = 100, bad: int = 0) -> bytes:
    """Classes that say which of two words comes first."""
    rng = np.random.default_rng(0)
    lines = ["id,review,verdict"]
    for row in range(rows):
        words = rng.choice(["good", "bad", "warm"], size=5)
        lines.append(f"{row},{' '.join(words)},{'yes' if words[-1] == 'good' else 'no'}")
    lines += [f"{rows + row},,yes" for row in range(bad)]
    return "\n".join(lines).encode()


def npy(array) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def test_nothing_is_there_until_a_file_or_the_sample_is_chosen():
    assert own_data.opened(OWN, []) is None
    found = own_data.opened(SAMPLE, [])
    assert (found.name, found.columns, found.guess.target) == ("reviews.csv", ("text", "stars"), "stars")
    assert len(found.raw.lines) == own_data.SAMPLE_ROWS


def test_columns_are_guessed_and_nothing_stays_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    found = dropped("C:\\mine\\table.csv", reviews())
    assert (found.name, found.columns, found.guess.target, found.complaint) == ("table.csv", ("id", "review", "verdict"), "verdict", "")
    assert dropped("tokens.npy", npy(np.arange(300).reshape(100, 3) % 7)).guess.target == "2"
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "contents", "sentence"),
    [
        ("mine.csv", b"", "mine.csv is empty: give a file with at least one row."),
        ("mine.csv", b"a,b\n", "mine.csv has a header and no rows: give a file with at least one row."),
        ("book.xlsx", b"PK", "book.xlsx ends in '.xlsx', which is none of .csv, .tsv,"),
        ("../../x/noending", b"a", "noending ends in '', which is none of"),
        ("mine.jsonl", b"nothing\n", "mine.jsonl has no line that is a JSON object"),
        ("mine.jsonl", b"{}\n", "mine.jsonl has no columns"),
        ("mine.npy", pickle.dumps([1, 2]), "mine.npy holds Python objects (a pickle), which are never loaded"),
        ("mine.parquet", b"PAR1", "mine.parquet is "),
        (
            "big.csv",
            b"a" * (own_data.LARGEST + 1),
            "big.csv has 20 MB, more than the 20 MB that fit here: give the",
        ),
    ],
)
def test_a_bad_file_is_one_sentence_without_a_path_of_this_machine(name, contents, sentence, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    complaint = dropped(name, contents).complaint
    assert complaint.startswith(sentence)
    assert str(tmp_path) not in complaint
    assert "--" not in complaint
    assert "\n" not in complaint
    assert os.listdir(tmp_path) == []


def test_what_nobody_foresaw_is_a_sentence_too(monkeypatch, capsys):
    def broken(raw):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(own_data, "guess_columns", broken)
    assert dropped("mine.csv", reviews()).complaint.startswith("This is a fault of Specht, not of yours (ZeroDivisionError")
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_the_answer_is_that_of_the_command(tmp_path, monkeypatch, capsys):
    found, heard = dropped("mine.csv", reviews(bad=3)), Listening()
    asked = wish(found, goal="accuracy=0.9")
    answer = own_data.data_answer(found, asked, "10s", own_data.Measurements(), heard)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.csv").write_bytes(reviews(bad=3))
    command = shlex.split(answer.report.reproduce)
    expected = "specht forecast mine.csv --target verdict --learners bag positions --goal accuracy=0.9 --budget 10s"
    assert answer.report.reproduce == expected
    _, bound, _ = command_line.parse_args(command[1:])
    assert bound.arguments["config"].identity() == own_data.forecast_config("mine.csv", asked, "10s").identity()
    assert main(command[1:]) == 0
    said = capsys.readouterr().out
    assert all(sentence in said for sentence in answer.report.answer.splitlines())
    assert "The goal, accuracy 90 %" in answer.report.answer
    assert [row["kind"] for row in csv.DictReader(io.StringIO(answer.problems))][-3:] == ["missing"] * 3
    assert heard.shares[-1] == 1.0
    assert [type(first) for first in heard.firsts] == [own_data.DataAnswer] * len(heard.firsts)
    assert len(answer.report.plots) == 3  # with squared errors beside accuracies


def test_refining_measures_only_what_is_new(monkeypatch):
    import specht.forecasts

    found, measured, done = dropped("mine.csv", reviews()), specht.forecasts.measured, []
    monkeypatch.setattr(specht.forecasts, "measured", lambda *given: done.append(given[2]) or measured(*given))
    kept, asked = own_data.Measurements(), wish(found, learners=("bag",))
    own_data.data_answer(found, asked, "1s", kept, Listening())
    few = len(done)
    own_data.data_answer(found, asked, "10s", kept, Listening())
    assert 0 < few < len(done) == len(set(done))
    more = len(done)
    own_data.data_answer(found, wish(found, learners=("bag",), goal="accuracy=0.9"), "10s", kept, Listening())
    assert len(done) == more
    own_data.data_answer(found, wish(found, learners=("bag",), page=DataPage(tokens="characters")), "1s", kept, Listening())
    assert len(done) > more


@pytest.mark.parametrize(
    ("rows", "changes", "sentence"),
    [
        (20, {}, "The table has 20 usable rows, and a forecast needs at least 64: add rows."),
        (100, {"goal": "speed=1"}, "goal must be accuracy=, R2= or error= and a number between 0 and 1, got 'speed=1'"),
        (
            100,
            {"target": "id", "goal": "accuracy=0.9"},
            "goal accuracy needs classes, and the labels are numbers: give R2= or error=, or task = cl",
        ),
        (100, {"target": "gone"}, "Unknown column of mine.csv 'gone'. Choose from: id, review, verdict."),
        (
            100,
            {"sequence": "verdict"},
            "Column 'verdict' cannot be both the label and the sequence: name another one with the list sequence.",
        ),
    ],
)
def test_a_wish_that_cannot_be_met_is_a_sentence_of_the_page(rows, changes, sentence):
    found = dropped("mine.csv", reviews(rows))
    with pytest.raises(InputError, match=re.escape(sentence)) as caught:
        own_data.data_answer(found, wish(found, **changes), "1s", own_data.Measurements(), Listening())
    assert "--" not in str(caught.value)


def test_a_bad_file_is_told_by_the_work_as_well():
    found = dropped("mine.csv", b"")
    with pytest.raises(InputError, match=r"mine\.csv is empty"):
        own_data.data_answer(found, Wish(found.digest, "", None, "", (), PAGE), "1s", own_data.Measurements(), Listening())


def test_the_button_raises_the_budget_of_one_wish_step_by_step():
    wanted, found = own_data.BudgetWanted(), dropped("mine.csv", reviews())
    first, other = wish(found), wish(found, page=DataPage(budget="10m"))
    assert (wanted.on(first, False), wanted.before) == (BUDGETS[0], "")
    assert (wanted.on(first, True), wanted.before) == (BUDGETS[1], BUDGETS[0])
    assert (wanted.on(first, False), wanted.before) == (BUDGETS[1], BUDGETS[0])
    assert (wanted.on(first, False, stopped=True), wanted.before) == (BUDGETS[0], "")
    assert (wanted.on(first, False, stopped=True), wanted.before) == (BUDGETS[0], "")
    assert (wanted.on(other, True), wanted.before) == ("10m", "")
    for _ in BUDGETS:
        last = wanted.on(other, True)
    assert last == BUDGETS[-1]
    assert own_data.next_budget(last) is None


def test_every_control_says_what_it_is_for():
    found = dropped("mine.csv", reviews())
    columns, settings = own_data_controls.columns(found), own_data_controls.settings(PAGE)
    source = own_data_controls.source(PAGE)
    shown = own_data_controls.data_panel(source, own_data_controls.upload(), columns, settings).text
    names = ["table", "file", *columns.elements, *settings.elements]
    assert names == ["table", "file", "target", "sequence", "goal", "learners", "budget", "tokens", "task"]
    for name in names:
        sentence = own_data.explanation(name)
        assert sentence.endswith((".", "?."))
        assert sentence.split(":")[0].replace("'", "") in shown
    assert shown.count('class="note"') == len(names)


def test_controls_ask_what_they_show():
    found = dropped("mine.csv", reviews())
    columns, settings = own_data_controls.columns(found), own_data_controls.settings(DataPage(task="regression", budget="2m"))
    page = own_data_controls.data_page(own_data_controls.source(DataPage(table=SAMPLE)), settings)
    assert page == DataPage(SAMPLE, "2m", "auto", "regression")
    assert own_data_controls.wish(found, page, columns, settings) == Wish(found.digest, "verdict", None, "", (), page)
    nothing = own_data_controls.columns(None)
    assert own_data_controls.wish(dropped("x.csv", b""), page, nothing, settings).target == ""
    twins = dropped("mine.csv", b"a,b,y\n" + b"x y,x y z,1\nz,z y x,0\n" * 50)
    assert own_data_controls.columns(twins).value["sequence"] in (None, "b")


def test_the_view_folds_bad_rows_and_escapes_what_a_file_says():
    contents = reviews(bad=2).replace(b"verdict", b"<script>x</script>")
    found = dropped("<b>mine</b>.csv", contents)
    answer = own_data.data_answer(found, wish(found, target="<script>x</script>"), "1s", own_data.Measurements(), Listening())
    text = layout.result_view(answer).text
    assert "<script>x" not in text
    assert "<b>mine" not in text
    assert "<details><summary>Rows of the file that were not as they should be</summary>" in text
    assert "All of them (CSV)" in text
    assert text.count('class="answer"') == len(answer.report.answer.splitlines())
    assert Upload("a", b"") != own_data.sample()


def test_many_rows_are_said_to_take_longer():
    many = dropped("mine.csv", b"text,y\n" + b"a b,1\n" * (own_data_controls.MANY + 1))
    assert own_data_controls.busy(many) == "Measuring learners on subsets of 4,001 rows: so many take a minute or more."
    assert "first answer is refined" in own_data_controls.busy(dropped("mine.csv", reviews()))
    assert "first answer is refined" in own_data_controls.busy(dropped("mine.csv", b""))


def test_an_answer_can_be_refined_until_the_largest_budget():
    assert "Up to 2 minutes measure more" in own_data_controls.refinement("10s", "BUTTON").text
    assert "BUTTON" in own_data_controls.refinement("10s", "BUTTON").text
    assert "BUTTON" not in own_data_controls.refinement(BUDGETS[-1], "BUTTON").text
