"""One's own data: what is read, what is reported, and what is refused with a sentence."""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

from specht.errors import InputError
from specht.forecasts.table import OTHER, TableOptions, read_table
from specht.forecasts.table_files import guess_delimiter


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def words_of(table, row: int) -> list[str]:
    return [table.vocabulary[token] for token in table.tokens[row][table.mask[row]]]


def test_csv_of_words(tmp_path):
    table = read_table(written(tmp_path, "a.csv", 'text,label\n"a b a",yes\n"b c",no\n"a a a b",yes\n'), "label")
    assert [words_of(table, row) for row in range(3)] == [["a", "b", "a"], ["b", "c"], ["a", "a", "a", "b"]]
    assert table.vocabulary == ("a", "b", "c")  # by frequency
    assert (table.task, table.classes) == ("classification", ("yes", "no"))
    np.testing.assert_array_equal(table.labels, [[1, 0], [0, 1], [1, 0]])
    np.testing.assert_array_equal(table.lines, [2, 3, 4])
    assert table.problems == ()


def test_sequences_are_aligned_at_their_end_and_the_readout_is_real(tmp_path):
    table = read_table(written(tmp_path, "a.csv", "text,y\na b c,1\nc,0\n"), "y")
    assert table.tokens.shape == (2, 3)
    np.testing.assert_array_equal(table.mask, [[True, True, True], [False, False, True]])


def test_a_table_of_single_tokens_has_a_context_column_too(tmp_path):
    table = read_table(written(tmp_path, "a.csv", "text,y\na,1\nb,0\n"), "y")
    assert table.tokens.shape == (2, 2)
    assert table.mask[:, -1].all()


def test_texts_without_spaces_are_cut_into_characters(tmp_path):
    path = written(tmp_path, "a.csv", "dna,y\nacgt,0.5\nggc,1.25\n")
    table = read_table(path, "y")
    assert words_of(table, 1) == ["g", "g", "c"]
    assert (table.task, table.facts.cut_into) == ("regression", "characters")
    assert words_of(read_table(path, "y", options=TableOptions(tokens="words")), 0) == ["acgt"]


def test_one_space_among_names_does_not_make_words_of_them(tmp_path):
    rng = np.random.default_rng(0)
    names = ["".join(rng.choice(list("aeilmnorst"), size=6)) for _ in range(20049)] + ["de la Cruz"]
    table = read_table(written(tmp_path, "names.csv", "name,y\n" + "".join(f"{name},{i % 2}\n" for i, name in enumerate(names))), "y")
    assert table.facts.cut_into == "characters"
    assert words_of(table, 20049)[:4] == ["d", "e", " ", "l"]
    assert len(table.vocabulary) == 15


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_guessed_or_given(tmp_path, delimiter):
    text = delimiter.join(["text", "y"]) + "\n" + "".join(f"a b{delimiter}{value}\n" for value in (0.5, 1.5, 2.5))
    path = written(tmp_path, "a.csv", text)
    assert guess_delimiter(text) == delimiter
    np.testing.assert_array_equal(read_table(path, "y").labels, read_table(path, "y", options=TableOptions(delimiter=delimiter)).labels)


def test_json_lines_of_strings_and_lists(tmp_path):
    rows = [{"s": [3, 1, 3], "y": 0.5}, {"s": [1], "y": 1.5}, {"s": ["3", "x"], "y": 2.5}]
    table = read_table(written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, rows))), "y")
    assert [words_of(table, row) for row in range(3)] == [["3", "1", "3"], ["1"], ["3", "x"]]
    assert table.facts.cut_into == "items"


def test_numpy_arrays_by_column_number_by_field_and_by_name(tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.integers(4, size=(20, 5)), rng.integers(2, size=20)
    np.save(tmp_path / "plain.npy", np.column_stack([x, y]))
    np.savez(tmp_path / "named.npz", sequences=np.where(np.arange(5) < 2, -1, x), labels=y)
    fields = np.zeros(20, dtype=[("x", int, 5), ("y", float)])
    fields["x"], fields["y"] = x, rng.normal(size=20)
    np.save(tmp_path / "fields.npy", fields)
    for target in ("5", "-1"):
        table = read_table(tmp_path / "plain.npy", target)
        assert words_of(table, 3) == [str(token) for token in x[3]]
        assert table.facts.unit == "row"
    named = read_table(tmp_path / "named.npz", "labels")
    assert words_of(named, 3) == [str(token) for token in x[3, 2:]]  # negative numbers fill up
    assert read_table(tmp_path / "fields.npy", "y").task == "regression"


@pytest.mark.parametrize(
    ("labels", "task"),
    [
        (["0", "1", "1", "0"], "classification"),
        (["0", "1", "2.5", "0"], "regression"),
        ([str(i) for i in range(30)], "regression"),
        (["cat", "dog", "cat"], "classification"),
        (["1.0", "2.0", "1.0"], "classification"),
        ([str(i % 26) for i in range(520)], "classification"),
        ([str(1 + i % 26) for i in range(520)], "classification"),
        ([str(i % 26) for i in range(519)], "regression"),  # fewer than 20 rows a class
        ([str(2 + i % 26) for i in range(520)], "regression"),  # no codes
        ([str(i % 26 + (i % 26 == 25)) for i in range(520)], "regression"),  # a gap
        ([str(i % 101) for i in range(2020)], "regression"),  # more than MAX_CLASSES
    ],
)
def test_the_task_is_guessed_from_the_labels_and_can_be_given(tmp_path, labels, task):
    path = written(tmp_path, "a.csv", "text,y\n" + "".join(f"a b {i},{label}\n" for i, label in enumerate(labels)))
    assert read_table(path, "y").task == task
    if task == "classification" and "cat" not in labels:
        assert read_table(path, "y", options=TableOptions(task="regression")).task == "regression"


def test_every_bad_row_is_reported_with_its_line(tmp_path):
    text = "text,y\na b,1.5\n,2.5\nb a,\nb b,nan\na a,1,2\na c,oops\nc c,inf\na b,1.5\na b,7.5\n\n" + "".join(
        f"c a {i},{i}.5\n" for i in range(20)
    )
    table = read_table(written(tmp_path, "a.csv", text), "y")
    found = [(problem.line, problem.kind, problem.kept) for problem in table.problems]
    assert found == [
        (3, "missing", False),
        (4, "missing", False),
        (5, "missing", False),
        (6, "malformed", False),
        (7, "malformed", False),
        (8, "malformed", False),
        (9, "duplicate", True),
        (10, "conflict", True),
    ]
    assert "line 2" in table.problems[6].detail
    assert (table.facts.rows_read, table.facts.rows_used) == (29, len(table))
    assert table.lines[:3].tolist() == [2, 9, 10]


def test_duplicates_are_dropped_when_asked_and_conflicts_never(tmp_path):
    path = written(tmp_path, "a.csv", "text,y\na b,1\na b,1\na b,0\n")
    table = read_table(path, "y", options=TableOptions(duplicates="drop"))
    assert table.lines.tolist() == [2, 4]
    assert [(problem.line, problem.kind, problem.kept) for problem in table.problems] == [(3, "duplicate", False), (4, "conflict", True)]


def test_quotes_over_several_lines_keep_line_numbers(tmp_path):
    table = read_table(written(tmp_path, "a.csv", 'text,y\n"a\nb",1\n"a""b c",0\n"a" b,1\nc d,1\n'), "y")
    assert table.lines.tolist() == [2, 4, 6]
    assert [problem.line for problem in table.problems] == [5]


def test_json_problems_have_lines(tmp_path):
    table = read_table(
        written(tmp_path, "a.jsonl", '{"s": "a b", "y": 1}\n{oops\n[1]\n{"y": 0}\n{"s": [1.5], "y": 0}\n{"s": "b", "y": 0}\n'), "y"
    )
    assert [(problem.line, problem.kind) for problem in table.problems] == [
        (2, "malformed"),
        (3, "malformed"),
        (4, "missing"),
        (5, "malformed"),
    ]
    assert table.lines.tolist() == [1, 6]


def test_long_sequences_lose_one_end_and_are_counted(tmp_path):
    path = written(tmp_path, "a.csv", "text,y\na b c d,1\nd c,0\n")
    last = read_table(path, "y", options=TableOptions(max_length=3))
    first = read_table(path, "y", options=TableOptions(max_length=3, keep="first"))
    assert (words_of(last, 0), words_of(first, 0)) == (["b", "c", "d"], ["a", "b", "c"])
    assert (last.facts.cut, last.facts.longest, last.facts.kept_end) == (1, 4, "last")


def test_rare_tokens_become_one_symbol_and_are_counted(tmp_path):
    table = read_table(written(tmp_path, "a.csv", "text,y\na a a b b,1\nc d b,0\n"), "y", options=TableOptions(vocab=3))
    assert table.vocabulary == ("a", "b", OTHER)
    assert words_of(table, 1) == [OTHER, OTHER, "b"]
    assert (table.facts.types, table.facts.other_share) == (4, 2 / 8)


def test_the_sequence_column_is_guessed_only_when_it_is_clear(tmp_path):
    path = written(tmp_path, "a.csv", "id,text,note,y\n1,a b,x y,1\n2,b a,z,0\n")
    assert read_table(path, "y", "text").facts.sequence == "text"
    with pytest.raises(InputError, match=r"2 columns of text beside 'y' \(text, note\): say which holds the sequences with --sequence"):
        read_table(path, "y")
    assert read_table(written(tmp_path, "b.csv", "id,text,y\n1,a b,1\n2,b a,0\n"), "y").facts.sequence == "text"


def table_of_stories(folder: Path, rows: int = 40, more: str = "") -> Path:
    """Identifiers, addresses and sections beside titles, and bodies if asked for."""
    lines = ["key,url,section,title" + (",body" if more else "") + ",y"]
    for i in range(rows):
        lines.append(f"k{i},http://a.org/{i},{['news', 'sport'][i % 2]},a title {i % 30}" + (f",{more} {i}" if more else "") + f",{i}.5")
    return written(folder, "stories.csv", "\n".join(lines))


def test_identifiers_and_categories_are_no_sequences_if_one_other_column_is_left(tmp_path):
    assert read_table(table_of_stories(tmp_path), "y").facts.sequence == "title"
    with pytest.raises(InputError, match=r"2 columns of text beside 'y' \(section, title\)"):
        read_table(table_of_stories(tmp_path, rows=6), "y")  # six rows do not tell a section from a sequence
    with pytest.raises(InputError, match=r"2 columns of text beside 'y' \(title, body\)"):
        read_table(table_of_stories(tmp_path, more="it was"), "y")


def test_parquet_of_lists_and_of_texts(tmp_path):
    import pyarrow as arrow
    from pyarrow import parquet

    path = tmp_path / "a.parquet"
    parquet.write_table(arrow.table({"s": [["a", "b"], ["b"], None], "y": [0.5, 1.5, 2.5]}), path)
    table = read_table(path, "y")
    assert words_of(table, 0) == ["a", "b"]
    assert [(problem.line, problem.kept) for problem in table.problems] == [(3, False)]
    parquet.write_table(arrow.table({"s": ["a b", "b a a"], "y": ["yes", "no"]}), path)
    assert words_of(read_table(path, "y"), 1) == ["b", "a", "a"]
    with pytest.raises(InputError, match="is not a Parquet file"):
        read_table(written(tmp_path, "b.parquet", "PAR1"), "y")


def test_parquet_asks_for_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match="pyarrow, which reads these, is not installed"):
        read_table(written(tmp_path, "a.parquet", "PAR1"), "y")


def make_bad(folder: Path, kind: str) -> Path:
    path = folder / "bad.csv"
    texts = {
        "empty": "",
        "blank": "\n \n",
        "header only": "text,y\n",
        "no such column": "text,lable\na b,1\n",
        "all missing": "text,y\na b,\nb a,nan\n",
        "one class": "text,y\na b,yes\nb a,yes\n",
        "constant": "text,y\na b,1.5\nb a,1.5\n",
        "ragged": "text,y\na b\nb a,1,2\n",
        "twice": "text,text,y\na,b,1\n",
        "no sequence": "y\n1\n0\n",
        "identifiers": "text,y\n" + "".join(f"a b,name{i}\n" for i in range(200)),
    }
    if kind in texts:
        return written(folder, "bad.csv", texts[kind])
    if kind == "folder":
        path.mkdir()
    elif kind == "binary":
        path.write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    elif kind == "ending":
        path = written(folder, "bad.xlsx", "text,y\n")
    elif kind == "pickle":
        path = folder / "bad.npy"
        np.save(path, np.array([[1, 2], [1]], dtype=object), allow_pickle=True)
    elif kind == "bare pickle":
        path = folder / "bad.npy"
        path.write_bytes(pickle.dumps([1, 2]))
    elif kind == "not numpy":
        path = written(folder, "bad.npz", "hello")
    elif kind == "rows differ":
        path = folder / "bad.npz"
        np.savez(path, x=np.zeros((3, 2), int), y=np.zeros(2))
    return path


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("missing", "does not exist: check the path"),
        ("empty", "is empty: give a file with at least one row"),
        ("blank", "is empty: give a file with at least one row"),
        ("header only", "has a header and no rows"),
        ("no such column", "Unknown column of .* 'label': did you mean 'lable'\\? Choose from: text, lable"),
        ("all missing", "Every label in column 'y' of .* is missing: choose another column"),
        ("one class", "Every label in column 'y' is 'yes', so there is nothing to learn"),
        ("constant", "Every label in column 'y' is 1.5, so there is nothing to learn"),
        ("ragged", r"No row of .* can be used \(line 2: 1 field, but the header has 2\)"),
        ("twice", "has two columns named 'text'"),
        ("no sequence", "There is no column beside 'y'"),
        ("identifiers", "labels in column 'y' have 200 different values, and there may be at most 100 classes"),
        ("folder", "is a folder: give the data file itself"),
        ("binary", "holds binary data, not text"),
        ("ending", "ends in '.xlsx', which is none of .csv"),
        ("pickle", r"holds Python objects \(a pickle\), which are never loaded"),
        ("bare pickle", r"holds Python objects \(a pickle\), which are never loaded"),
        ("not numpy", "is not a file of NumPy arrays|never loaded"),
        ("rows differ", r"different numbers of rows \(x 3, y 2\)"),
    ],
)
def test_bad_files_are_refused_with_a_sentence(tmp_path, kind, sentence):
    path = make_bad(tmp_path, kind)
    with pytest.raises(InputError, match=sentence) as refused:
        read_table(path, "label" if kind == "no such column" else "y")
    assert str(refused.value).count("\n") == 0


def test_bad_options_are_refused():
    for options in ({"vocab": 1}, {"max_length": 0}, {"tokens": "bytes"}, {"keep": "middle"}, {"duplicates": "some"}, {"task": "rank"}):
        with pytest.raises(InputError):
            TableOptions(**options)
