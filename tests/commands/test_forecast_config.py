"""The configuration of a forecast: flags, checks, and a name that follows the content of the file."""

from __future__ import annotations

from pathlib import Path

import pydantic
import pytest

from specht.commands.forecast import ForecastConfig
from specht.errors import InputError
from specht.forecasts.table import TableOptions


@pytest.fixture
def data(tmp_path) -> Path:
    path = tmp_path / "mine.csv"
    path.write_text("text,y\na b,1\nb a,0\n")
    return path


def test_the_name_follows_the_content_and_not_the_place(data, tmp_path):
    copy = tmp_path / "copy.csv"
    copy.write_bytes(data.read_bytes())
    one, other = (ForecastConfig(data=path, target="y").digest() for path in (data, copy))
    assert one == other
    copy.write_text("text,y\na b,1\nb a,1\n")
    assert ForecastConfig(data=copy, target="y").digest() != one
    assert ForecastConfig(data=data, target="y", rows=100).digest() != one


def test_flags_give_the_configuration_again(data):
    config = ForecastConfig(data=data, target="y", learners=("bag", "mean"), goal="accuracy=0.9", keep="first", confidence=0.8)
    assert config.flags() == [
        *(str(data), "--target", "y", "--keep", "first", "--learners", "bag", "mean"),
        *("--goal", "accuracy=0.9", "--confidence", "0.8"),
    ]


def test_options_of_the_table_are_passed_on(data):
    config = ForecastConfig(data=data, target="y", max_vocab=7, max_length=5, keep="first", duplicates="drop", task="regression")
    assert config.table_options() == TableOptions(vocab=7, max_length=5, keep="first", duplicates="drop", task="regression")
    elsewhere = ForecastConfig(data=data, target="y", encoding="cp1252", columns=("text", "y"))
    assert elsewhere.table_options() == TableOptions(encoding="cp1252", columns=("text", "y"))
    assert elsewhere.flags()[3:] == ["--encoding", "cp1252", "--columns", "text", "y"]


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"learners": ("bags",)}, "did you mean 'bag'"),
        ({"learners": ("bag", "bag")}, "is named twice"),
        ({"learners": ()}, "--learners is empty"),
        ({"goal": "accuracy"}, "--goal must be accuracy="),
        ({"budget": "soon"}, "The budget must be a time"),
        ({"columns": ()}, "--columns is empty"),
        ({"horizons": (4.0, 2.0)}, "--horizons must increase, got 4.0 2.0"),
        ({"horizons": (-1.0,)}, "greater than 0"),
        ({"confidence": 1.0}, "less than 1"),
        ({"rows": 10}, "greater than or equal to 64"),
        ({"task": "ranking"}, "regression"),
    ],
)
def test_bad_values_are_refused(data, fields, sentence):
    with pytest.raises(pydantic.ValidationError, match=sentence):
        ForecastConfig(data=data, target="y", **fields)


@pytest.mark.parametrize(("name", "sentence"), [("none.csv", "does not exist"), (".", "is a folder")])
def test_a_file_that_cannot_be_read_has_no_name(tmp_path, name, sentence):
    with pytest.raises(InputError, match=sentence):
        ForecastConfig(data=tmp_path / name, target="y").digest()
