"""The forecast for one's own data from a configuration to files."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import xarray

from specht.cli.forecast import forecast
from specht.commands.output import OutputFlags
from specht.errors import InputError
from specht.lab.forecast_config import ForecastConfig

FAST = {"compare": ("bag", "positions"), "rows": 64, "fit_rows": 64, "repeats": 2, "sizes": (8, 16, 40)}


@pytest.fixture
def data(tmp_path) -> Path:
    """Classes that depend on the first of four tokens, with one row of every kind of fault."""
    rng = np.random.default_rng(0)
    lines = ["text,y"]
    for _ in range(80):
        words = rng.choice(["a", "b", "c"], size=4)
        lines.append(f"{' '.join(words)},{'yes' if (words[0] == 'a') != (rng.random() < 0.05) else 'no'}")
    lines += ["a b,", "a,b,c", lines[1]]
    path = tmp_path / "mine.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_files_json_and_text_agree(data, tmp_path, capsys):
    config = ForecastConfig(data=data, target="y", **FAST)
    forecast(config=config, output=OutputFlags(json=True))
    found = json.loads(capsys.readouterr().out)
    assert {"command", "config", "seed", "version", "report", "data", "n_train", "theory", "gp", "architectures", "order"} <= set(found)
    assert (found["command"], found["task"], found["classes"]) == ("predict", "classification", ["no", "yes"])
    assert found["n_train"] == [8, 16, 40]
    assert len(found["theory"]["test"]) == len(found["gp"]["test"]) == 3
    assert [(problem["line"], problem["kind"]) for problem in found["problems"]][-3:] == [
        (82, "missing"),
        (83, "malformed"),
        (84, "duplicate"),
    ]
    assert found["best"] == "positions"
    assert found["order"]["low"] > 0
    with xarray.open_dataset(found["data"], engine="h5netcdf") as stored:
        one = next(entry for entry in found["architectures"] if entry["name"] == "positions")
        np.testing.assert_array_equal(stored["forecast_high"].sel(architecture="positions"), one["forecast"]["high"])
        assert stored["measured"].dims == ("architecture", "n_train", "repeat")
        assert stored["problem_line"].values.tolist() == [problem["line"] for problem in found["problems"]]
    with open(found["rows"], encoding="utf-8") as file:
        assert [int(row["line"]) for row in csv.DictReader(file)] == [problem["line"] for problem in found["problems"]]
    with open(found["csv"], encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["what"] == "forecast" and row["architecture"] == "positions"]
        assert [float(row["low"]) for row in rows] == one["forecast"]["low"]
    report = Path(found["report"]).read_text(encoding="utf-8")
    for words in ("times your data", "Order carries", "line 83", "mine.csv", "specht predict --data", "Accuracy"):
        assert words in report

    forecast(config=config, output=OutputFlags())  # found again, and printed for people
    printed = capsys.readouterr()
    assert "computed before" in printed.err
    for words in (
        "At 4 times your data (256 rows)",
        "Order carries",
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
    forecast(config=ForecastConfig(data=tmp_path / "mine.npz", target="y", **FAST | {"compare": ("positions",)}), output=OutputFlags())
    out = capsys.readouterr().out
    assert "root mean square" in out
    assert "no architecture with positions was compared to the bag of words" in out
    assert "Accuracy" not in out


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
