"""Text files from elsewhere: their encodings, and CSV files without a header."""

from __future__ import annotations

import codecs

import pytest

from specht.errors import InputError
from specht.forecasts.table import TableOptions, read_table
from specht.forecasts.table_encodings import read_text

LINES = "text,y\ncafé au lait,1\nthé noir,0\n"


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (LINES.encode(), "utf-8"),
        (codecs.BOM_UTF8 + LINES.encode(), "utf-8"),
        (LINES.encode("utf-16"), "utf-16"),
        (codecs.BOM_UTF16_BE + LINES.encode("utf-16-be"), "utf-16"),
        (LINES.encode("utf-32"), "utf-32"),
        (LINES.encode("cp1252"), "cp1252"),
        (LINES.encode("latin-1") + b"\x81 b,0\n", "latin-1"),  # cp1252 has no character 0x81
    ],
)
def test_encodings_are_guessed(tmp_path, data, encoding):
    path = tmp_path / "a.csv"
    path.write_bytes(data)
    table = read_table(path, "y")
    assert table.facts.encoding == encoding
    assert {"café", "thé"} <= set(table.vocabulary)


@pytest.mark.parametrize(
    ("given", "encoding"), [("utf-16-le", "utf-16-le"), ("koi8-r", "koi8-r"), ("UTF_8_SIG", "utf-8"), ("latin1", "latin-1")]
)
def test_an_encoding_can_be_given(tmp_path, given, encoding):
    text = LINES.replace("é", "e" if encoding == "koi8-r" else "é")
    path = tmp_path / "a.jsonl"
    path.write_bytes(text.encode(given))
    assert read_text(path, given) == (text, encoding)


def test_json_lines_have_encodings_too(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes('{"s": "é b", "y": 1}\n{"s": "b", "y": 0}\n'.encode("latin-1"))
    table = read_table(path, "y")
    assert (table.facts.encoding, set(table.vocabulary)) == ("cp1252", {"é", "b"})


@pytest.mark.parametrize(
    ("data", "encoding", "sentence"),
    [
        (LINES.encode("latin-1"), "utf-8", r"is not utf-8 text \(byte 0xe9 in line 2\): give the right one with --encoding"),
        (LINES.encode("latin-1"), "ascii", r"is not ascii text \(byte 0xe9 in line 2\)"),
        (LINES.encode("latin-1"), "utf-16", "is not utf-16 text"),
        (b"\x1f\x8b\x08\x01\xff\xfe", None, "holds binary data, not text"),
        (b"a,b\0", "utf-8", "holds binary data, not text"),
        (codecs.BOM_UTF8 + b" \n", None, "is empty"),
    ],
)
def test_text_that_cannot_be_read_is_refused(tmp_path, data, encoding, sentence):
    path = tmp_path / "a.csv"
    path.write_bytes(data)
    with pytest.raises(InputError, match=sentence) as refused:
        read_text(path, encoding)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["klingon", "base64", ""])
def test_an_encoding_that_there_is_not_is_refused(name):
    with pytest.raises(InputError, match="is not known: write utf-8"):
        TableOptions(encoding=name)


def test_columns_of_a_file_without_header(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a b,7,1\nb a,8,0\nb,9\n")
    table = read_table(path, "y", options=TableOptions(columns=("text", "key", "y")))
    assert table.lines.tolist() == [1, 2]
    assert table.facts.sequence == "text"
    assert [(problem.line, problem.detail) for problem in table.problems] == [(3, "2 fields, but --columns names 3")]


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        (("text", "y"), r"--columns names 2 columns, and line 1 of .* has 3 fields: give one name a field"),
        (("text", "text", "y"), "two columns named 'text'"),
        ((), "columns must be names"),
        ("text", "columns must be names"),
    ],
)
def test_columns_that_do_not_fit_are_refused(tmp_path, columns, sentence):
    path = tmp_path / "a.csv"
    path.write_text("a b,7,1\nb a,8,0\n")
    with pytest.raises(InputError, match=sentence):
        read_table(path, "y", options=TableOptions(columns=columns))


@pytest.mark.parametrize("options", [{"columns": ("s", "y")}, {"delimiter": ","}])
def test_options_of_csv_files_are_refused_elsewhere(tmp_path, options):
    path = tmp_path / "a.jsonl"
    path.write_text('{"s": "a", "y": 1}\n')
    with pytest.raises(InputError, match="belongs to CSV files"):
        read_table(path, "y", options=TableOptions(**options))
    path.rename(path.with_suffix(".npy"))
    with pytest.raises(InputError, match="--encoding belongs to text files"):
        read_table(path.with_suffix(".npy"), "y", options=TableOptions(encoding="utf-8"))
