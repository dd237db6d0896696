"""Data in memory: every form gives the same table, and what is no table is refused with a sentence."""

from __future__ import annotations

import numpy as np
import pandas
import pyarrow
import pytest

from specht.errors import InputError
from specht.forecasts.table import SequenceTable, TableOptions, read_table

TEXTS, LABELS = ["a b a", "c b", "a a c"], ["yes", "no", "yes"]
IDS, MASK = [[5, 6, 5, 0], [7, 6, 0, 0], [5, 5, 7, 0]], [[1, 1, 1, 0], [1, 1, 0, 0], [1, 1, 1, 0]]
ENCODED = {"input_ids": IDS, "token_type_ids": [[0] * 4] * 3, "attention_mask": MASK, "labels": [0, 1, 0]}
PADDED = np.array([[-1, 5, 6, 5], [-1, -1, 7, 6], [-1, 5, 5, 7]])


def words(table: SequenceTable) -> list[list[str]]:
    return [[table.vocabulary[token] for token in row[real]] for row, real in zip(table.tokens, table.mask, strict=True)]


@pytest.mark.parametrize(
    ("data", "path"),
    [
        (pandas.DataFrame({"text": TEXTS, "y": LABELS}, index=[4, 4, 9]), "DataFrame"),
        (pandas.DataFrame({"text": TEXTS, "y": pandas.Categorical(LABELS)}), "DataFrame"),
        (pyarrow.table({"text": TEXTS, "y": LABELS}), "Table"),
        ({"text": TEXTS, "y": LABELS}, "the mapping given"),
        ({"text": np.array(TEXTS), "y": np.array(LABELS, dtype=object)}, "the mapping given"),
        ({"text": pandas.Series(TEXTS), "y": tuple(LABELS)}, "the mapping given"),
        ([{"text": text, "y": label} for text, label in zip(TEXTS, LABELS, strict=True)], "the records given"),
    ],
)
def test_tables_of_every_kind(data, path):
    table = read_table(data, "y")
    assert words(table) == [text.split() for text in TEXTS]
    assert table.classes == ("yes", "no")
    assert (table.facts.path, table.facts.unit, table.facts.sequence, table.facts.target) == (path, "row", "text", "y")
    assert table.facts.encoding is None
    assert table.lines.tolist() == [1, 2, 3]


@pytest.mark.parametrize("labels", [LABELS, tuple(LABELS), np.array(LABELS), pandas.Series(LABELS, index=[3, 1, 2])])
@pytest.mark.parametrize(
    "data",
    [
        TEXTS,
        tuple(TEXTS),
        np.array(TEXTS),
        pandas.Series(TEXTS),
        [text.split() for text in TEXTS],
        [np.array(text.split()) for text in TEXTS],
    ],
)
def test_sequences_and_labels(data, labels):
    table = read_table(data, labels)
    assert words(table) == [text.split() for text in TEXTS]
    assert (table.classes, table.facts.path, table.facts.unit) == (("yes", "no"), "the sequences given", "row")


@pytest.mark.parametrize(
    "data", [PADDED, PADDED.astype(float), list(PADDED), [row[row >= 0].tolist() for row in PADDED], pandas.Series(list(PADDED))]
)
def test_arrays_of_whole_numbers_are_filled_up_with_negative_ones(data):
    table = read_table(data, [0.5, 1.5, 2.5])
    assert words(table) == [["5", "6", "5"], ["7", "6"], ["5", "5", "7"]]
    assert table.task == "regression"


def test_arrays_of_other_libraries():
    import jax.numpy as jnp

    table = read_table(jnp.asarray(PADDED), jnp.asarray([[0.5], [1.5], [2.5]]))
    assert words(table) == [["5", "6", "5"], ["7", "6"], ["5", "5", "7"]]


@pytest.mark.parametrize(
    "data",
    [
        ENCODED,
        {name: np.array(rows) for name, rows in ENCODED.items()},
        [{name: rows[place] for name, rows in ENCODED.items()} for place in range(3)],
        pandas.DataFrame(ENCODED),
        ENCODED | {"input_ids": [ids[: sum(mask)] for ids, mask in zip(IDS, MASK, strict=True)], "attention_mask": None},
        ENCODED | {"input_ids": PADDED, "attention_mask": None},
        ENCODED | {"attention_mask": np.array(MASK, dtype=bool), "text": TEXTS, "offset_mapping": np.zeros((3, 4, 2), int)},
    ],
)
def test_what_a_tokenizer_returns(data):
    table = read_table(data)
    assert words(table) == [["5", "6", "5"], ["7", "6"], ["5", "5", "7"]]
    assert (table.facts.target, table.facts.sequence, table.classes) == ("labels", "input_ids", ("0", "1"))


def test_columns_of_a_plain_array_have_numbers():
    table = read_table(np.column_stack([PADDED, [0.5, 1.5, 2.5]]), -1)
    assert words(table) == [["5", "6", "5"], ["7", "6"], ["5", "5", "7"]]
    assert (table.facts.sequence, table.facts.target) == ("0 to 3", "4")


def test_cells_that_are_not_there_are_problems_with_their_row():
    frame = pandas.DataFrame({"text": ["a b", None, "b", "b a"], "y": pandas.array([1, 0, None, 0], dtype="Int64")})
    table = read_table(frame, "y")
    assert [(problem.line, problem.kind) for problem in table.problems] == [(2, "missing"), (3, "missing")]
    assert table.lines.tolist() == [1, 4]
    assert [problem.line for problem in read_table([{"s": "a", "y": 1}, {"s": "b"}, {"s": "c", "y": 0}], "y").problems] == [2]
    assert [problem.detail for problem in read_table(["a", None, "b"], [1, 0, 0]).problems] == ["no sequence"]
    encoded = ENCODED | {"input_ids": [None, *IDS[1:]], "attention_mask": [None, *MASK[1:]]}
    assert [problem.line for problem in read_table(encoded).problems] == [1]


def test_another_column_than_the_labels_of_a_tokenizer_can_be_the_target():
    assert read_table(ENCODED | {"score": [0.5, 1.5, 2.5]}, "score").task == "regression"


def test_pandas_is_not_asked_for(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    assert len(read_table(TEXTS, LABELS)) == 3


FRAME = pandas.DataFrame({"text": TEXTS, "y": LABELS})


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((FRAME, "z"), "Unknown column of DataFrame 'z'. Choose from: text, y"),
        ((FRAME,), r"target is missing: name the column of DataFrame that holds the labels \(text, y\)"),
        ((FRAME, LABELS), "The DataFrame given has columns, so target is the name of one, got a list"),
        ((FRAME, "y", "z"), "Unknown column of DataFrame 'z'"),
        ((FRAME, "y", "y"), "name another one with sequence='COLUMN'"),
        ((pandas.DataFrame([[1, 2]], columns=["a", "a"]), "a"), "two columns named 'a'"),
        (({"text": TEXTS, "y": [1]}, "y"), r"different numbers of rows \(text 3, y 1\)"),
        (({"text": "a b", "y": [1]}, "y"), "Column 'text' of the mapping given is 'a b': give one value a row"),
        (
            ({"text": TEXTS, "note": ["a b", "b c", "c"], "y": LABELS}, "y"),
            r"2 columns of text beside 'y' \(text, note\): say .* with sequence=",
        ),
        (({}, "y"), "There is no row"),
        (([{"s": "a"}, "b"], "s"), "Row 2 of the records given is 'b': give one dictionary a row"),
        (([{"s": "a"}], [1]), "has columns, so target is the name of one"),
        ((TEXTS,), r"The list given has no labels: give the labels themselves, as read_table\(sequences, labels\)"),
        ((TEXTS, "y"), "The list given has no column 'y'"),
        ((TEXTS, LABELS[:1]), "3 sequences and 1 label were given: give one label a sequence"),
        ((TEXTS, LABELS, "text"), "sequence='text' names a column"),
        ((TEXTS, np.eye(3)), r"have shape \(3, 3\): give one a row, for example by argmax"),
        ((TEXTS, [None] * 3), "Every label given is missing: give other labels"),
        ((TEXTS, [1, 1, 1]), "Every label given is '1', so there is nothing to learn: give other labels"),
        (([1, 2, 3], LABELS), "are numbers and no sequences"),
        (([], []), "There is no row in the sequences given"),
        ((np.array([[0.5, 1.0]]), [1]), r"No row of the sequences given can be used \(row 1: a sequence holds 0.5"),
        ((42, "y"), "data is 42, which is no table: give a path, a DataFrame"),
        (((text for text in TEXTS), LABELS), "The data given is a generator: give one value a row"),
        (("a.csv",), "a.csv is a file, and its labels are in a column"),
        (("a.csv", LABELS), "a.csv is a file, and its labels are in a column"),
        ((ENCODED | {"attention_mask": [[1, 1]] * 3},), r"attention_mask has shape \(2,\) in row 1, and input_ids \(4,\)"),
        ((ENCODED | {"attention_mask": MASK[:2]},), "input_ids has 3 rows, and attention_mask 2"),
        ((ENCODED | {"attention_mask": [[2, 1, 1, 1]] * 3},), "attention_mask holds 2"),
        (({"input_ids": IDS, "attention_mask": MASK},), "There is 'input_ids' and no 'labels'"),
        (({"input_ids": 5, "attention_mask": MASK, "labels": [0, 1, 0]},), "input_ids of the mapping given has no sequences as rows"),
        ((ENCODED | {"attention_mask": 3},), "attention_mask of the mapping given has no sequences as rows"),
        (({"input_ids": [1, 2], "attention_mask": [1, 1], "labels": [0, 1]},), "has no sequences as rows"),
    ],
)
def test_what_is_no_table_is_refused_with_a_sentence(arguments, sentence):
    with pytest.raises(InputError, match=sentence) as refused:
        read_table(*arguments)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("options", [{"delimiter": ";"}, {"encoding": "utf-8"}, {"columns": ("a", "b")}])
def test_options_of_files_are_refused(options):
    with pytest.raises(InputError, match=r"is for files, and the data are in memory: leave it out\."):
        read_table(TEXTS, LABELS, options=TableOptions(**options))
