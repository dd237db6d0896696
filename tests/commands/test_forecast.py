"""The forecast for one's own data from a configuration to files."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import xarray

from specht.commands.app import main
from specht.commands.command import OutputFlags
from specht.commands.forecast import ForecastConfig, forecast
from specht.errors import InputError

FAST = {"learners": ("bag", "positions"), "rows": 160, "budget": "30s"}


@pytest.fixture
def data(tmp_path) -> Path:
    """Classes that depend on the first of seven tokens, with one row of every kind of fault."""
    rng = np.random.default_rng(0)
    lines = ["text,y"]
    for _ in range(160):
        words = rng.choice(["a", "b", "c"], size=7)
        lines.append(f"{' '.join(words)},{'yes' if (words[0] == 'a') != (rng.random() < 0.05) else 'no'}")
    lines += ["a b,", "a,b,c", lines[1]]
    path = tmp_path / "mine.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_files_json_and_text_agree(data, tmp_path, capsys):
    config = ForecastConfig(data=data, target="y", **FAST)
    forecast(config=config, output=OutputFlags(json=True))
    found = json.loads(capsys.readouterr().out)
    assert {"command", "config", "seed", "version", "report", "data", "answer", "learners", "order", "worth"} <= set(found)
    assert (found["command"], found["task"], found["classes"]) == ("forecast", "classification", ["no", "yes"])
    assert [(problem["line"], problem["kind"]) for problem in found["problems"]][-3:] == [
        (162, "missing"),
        (163, "malformed"),
        (164, "duplicate"),
    ]
    assert found["best"] == found["learners"][0]["name"] == "positions"
    assert found["order"]["verdict"] == "yes"
    with xarray.open_datatree(found["data"], engine="h5netcdf") as stored:
        one = found["learners"][0]
        np.testing.assert_array_equal(stored["error_rate_high"].sel(learner="positions"), one["error_rate"]["forecast"]["high"])
        assert stored["error"].dims == ("learner", "horizon")
        assert stored["problems"]["line"].values.tolist() == [problem["line"] for problem in found["problems"]]
    with open(found["rows"], encoding="utf-8") as file:
        assert [int(row["line"]) for row in csv.DictReader(file)] == [problem["line"] for problem in found["problems"]]
    with open(found["csv"], encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if (row["learner"], row["measure"], row["what"]) == ("positions", "error", "forecast")]
        assert [float(row["low"]) for row in rows] == one["error"]["forecast"]["low"]
    report = Path(found["report"]).read_text(encoding="utf-8")
    for words in ("times the 160 rows used", "Does order matter? Yes", "line 163", "mine.csv", "specht forecast", "accuracy"):
        assert words in report

    forecast(config=config, output=OutputFlags())  # found again, and printed for people
    printed = capsys.readouterr()
    assert "computed before" in printed.err
    for words in (
        "with 4 times the 160 rows used",
        "Does order matter? Yes",
        "power law",
        "repeated",
        "left out",
        "1 malformed",
        "report.html",
        "problems.csv",
    ):
        assert words in printed.out


def test_numbers_have_a_root_mean_square(tmp_path, capsys):
    rng = np.random.default_rng(1)
    x = rng.integers(3, size=(70, 4))
    np.savez(tmp_path / "mine.npz", x=x, y=x[:, 0] + 0.1 * rng.normal(size=70))
    forecast(config=ForecastConfig(data=tmp_path / "mine.npz", target="y", **FAST | {"learners": ("bag",)}), output=OutputFlags())
    out = capsys.readouterr().out
    assert "root mean square" in out
    assert "no learner that sees order was measured" in out
    assert "accuracy" not in out


@pytest.mark.parametrize(
    ("content", "sentence"),
    [("text,y\n" + "a b,1\nb a,0\n" * 10, "The table has 20 usable rows, and a forecast needs at least 64"), ("", "is empty")],
)
def test_bad_data_leave_no_folder(tmp_path, content, sentence):
    path = tmp_path / "bad.csv"
    path.write_text(content)
    with pytest.raises(InputError, match=sentence):
        forecast(config=ForecastConfig(data=path, target="y"), output=OutputFlags())
    assert not (tmp_path / "specht-results").exists()


def test_the_former_name_gives_the_same_and_says_the_new_one(data, tmp_path, capsys):
    flags = ["--target", "y", "--learners", "bag", "--rows", "64", "--budget", "5s"]
    assert main(["forecast", str(data), "--json", *flags, "--out", str(tmp_path / "new")]) == 0
    new = capsys.readouterr()
    assert main(["predict", "--data", str(data), "--json", *flags, "--out", str(tmp_path / "former")]) == 0
    former = capsys.readouterr()
    assert "specht: `specht predict --data FILE` is now `specht forecast FILE`, with the same flags and numbers." in former.err
    assert json.loads(new.out)["answer"] == json.loads(former.out)["answer"]


def test_the_former_name_is_refused_with_one_sentence(refuses):
    refuses("predict --data none.csv --target y", "none.csv does not exist")
    refuses("forecast none.csv --target y", "docs/howto/own_data.md shows what a table looks like")


def test_help_teaches(capsys):
    assert main(["forecast", "--help"]) == 0
    shown = capsys.readouterr().out
    for words in ("specht forecast reviews.csv --target stars", "Column of the labels", "--horizons", "--out"):
        assert words in shown


def test_many_faulty_rows_are_listed_in_the_report_and_counted_behind_it(data, capsys):
    with data.open("a") as file:
        file.write("a b,\n" * 50)
    forecast(config=ForecastConfig(data=data, target="y", **FAST), output=OutputFlags())
    shown = capsys.readouterr().out
    assert shown.count("\nline ") == 10
    assert "… and more in the report" in shown
    assert "more in problems.csv" in next(Path().glob("specht-results/*/report.html")).read_text(encoding="utf-8")


def test_a_table_without_faults_has_a_file_of_faults_with_its_header(run_json):
    lines = [f"{' '.join(f'{number:07b}')},{number % 2}" for number in range(70)]
    Path("whole.csv").write_text("\n".join(["text,y", *lines]))
    found = run_json("forecast", "whole.csv", "--target", "y", "--learners", "bag", "--budget", "5s")
    assert found["problems"] == []
    assert Path(found["rows"]).read_text() == "line,kind,detail,kept\n"


def test_a_file_without_header_in_another_encoding(tmp_path, capsys):
    rng = np.random.default_rng(2)
    rows = [f"{' '.join(rng.choice(['é', 'b', 'c'], size=6))};{number % 3}" for number in range(70)]
    path = tmp_path / "mine.csv"
    path.write_bytes("\n".join(rows).encode("cp1252"))
    flags = ["--target", "y", "--columns", "text", "y", "--learners", "bag", "--rows", "64", "--budget", "5s"]
    assert main(["forecast", str(path), *flags]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for words in (
        "Of 70 rows 70 are usable",
        "was read as cp1252 and not as UTF-8",
        "3 classes",
        "--task regression takes them for numbers",
    ):
        assert words in shown


def test_an_encoding_or_columns_that_do_not_fit_are_refused_with_one_sentence(data, refuses):
    refuses(f"forecast {data} --target y --encoding klingon", "encoding 'klingon' is not known")
    refuses(f"forecast {data} --target y --columns a y z", "--columns names 3 columns, and line 1")
