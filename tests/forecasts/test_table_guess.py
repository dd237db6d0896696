"""Which columns are guessed to hold labels and sequences."""

from __future__ import annotations

import numpy as np
import pytest

from specht.errors import InputError
from specht.forecasts import GuessedColumns, RawTable, guess_columns, read_raw, read_table

ROWS = 60
TEXTS = [f"soup number {row} is {'good' if row % 2 else 'bad'} again" for row in range(ROWS)]
STARS = [str(row % 5) for row in range(ROWS)]
HEIGHTS = [f"{row / 7:.3f}" for row in range(ROWS)]
NUMBERS = [str(row) for row in range(ROWS)]


def table(**cells) -> RawTable:
    return RawTable("mine.csv", "line", cells, range(2, ROWS + 2))


@pytest.mark.parametrize(
    ("raw", "target", "sequence"),
    [
        (table(text=TEXTS, stars=STARS), "stars", None),
        (table(stars=STARS, text=TEXTS), "stars", None),
        (table(id=NUMBERS, text=TEXTS, height=HEIGHTS), "height", None),
        (table(text=TEXTS, height=HEIGHTS, id=NUMBERS), "height", None),
        (table(height=HEIGHTS, Label=STARS, text=TEXTS), "Label", None),
        (table(kind=["a", "b"] * (ROWS // 2), text=TEXTS), "kind", None),
        (table(text=TEXTS, note=[text.replace("soup", "dish") for text in TEXTS], long=[2 * text for text in TEXTS], y=STARS), "y", "long"),
        (table(tokens=[[1, 2, 3]] * ROWS, score=[1.5 * row for row in range(ROWS)]), "score", None),
        (table(tokens=np.ones((ROWS, 3), int).tolist(), y=np.arange(ROWS) % 2), "y", None),
        (table(**{str(column): np.arange(ROWS) % (column + 2) for column in range(4)}), "3", None),
        (table(a=TEXTS, b=TEXTS), "b", None),
    ],
)
def test_labels_are_told_from_sequences_names_and_numbers(raw, target, sequence):
    assert guess_columns(raw) == GuessedColumns(target, sequence)


def test_what_is_guessed_can_be_read(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("\n".join(["id,text,stars", *map(",".join, zip(NUMBERS, TEXTS, STARS, strict=True))]))
    raw = read_raw(path)
    read = read_table(raw, guess_columns(raw).target)
    assert (read.facts.target, read.facts.sequence, len(read)) == ("stars", "text", ROWS)
    np.testing.assert_array_equal(read.tokens, read_table(path, "stars").tokens)


def test_a_table_without_columns_is_refused():
    with pytest.raises(InputError, match=r"mine\.csv has no columns"):
        guess_columns(table())
