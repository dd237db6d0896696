"""Everything that decides the forecast for one's own data."""

from __future__ import annotations

import hashlib
import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from cyclopts import Parameter
from pydantic import Field, model_validator

from specht.errors import InputError
from specht.forecasts import check_learner_names, seconds_of
from specht.lab import Config

if TYPE_CHECKING:
    from specht.forecasts import ForecastSettings, TableOptions

Many = Parameter(consume_multiple=True, negative="")


class ForecastConfig(Config):
    """A file of sequences and labels, and how its learning curve is forecast.

    >>> ForecastConfig(data=Path("mine.csv"), target="label", rows=500, horizons=(2.0, 4.0)).flags()
    ['mine.csv', '--target', 'label', '--rows', '500', '--horizons', '2.0', '4.0']
    """

    positional: ClassVar[str] = "data"
    data: Path
    """Your own sequences and labels: .csv with a header, .jsonl, .npy, .npz or .parquet."""
    target: str
    """Column of the labels; in a plain .npy array its number."""
    sequence: str | None = None
    """Column of the sequences; the only other one, or the only other one of text, unless given."""
    delimiter: str | None = None
    """Between the fields of a CSV file; guessed unless given."""
    encoding: str | None = None
    """Of a text file, for example cp1252; unless given, UTF-8 or what the file looks like."""
    columns: Annotated[tuple[str, ...], Many] | None = None
    """Names of the columns of a CSV file without a header, whose first line is a row."""
    tokens: Literal["auto", "words", "characters"] = "auto"
    """What a text is cut into; words if at least half of the texts have a space in them, unless given."""
    task: Literal["auto", "regression", "classification"] = "auto"
    """Labels as numbers or as classes. Classes, unless given, are texts, up to ten different whole numbers, and codes 0 to k-1 or 1 to k
    with at least 20 rows each on average."""
    max_vocab: Annotated[int, Field(ge=2)] = 4000
    """Most different tokens; the rarest beyond become one symbol."""
    max_length: Annotated[int, Field(ge=1)] = 256
    """Tokens of a sequence that are kept."""
    keep: Literal["last", "first"] = "last"
    """Which end of a longer sequence is kept."""
    duplicates: Literal["keep", "drop"] = "keep"
    """What to do with rows that repeat an earlier one, sequence and label; they are listed either way."""
    learners: Annotated[tuple[str, ...], Many] | None = None
    """Of bag, last, positions, mean, erf, softmax, local, ngrams, places, adapted, transformer; unless given, what the budget has room for
    of bag, mean, local, ngrams, places and transformer."""
    goal: str | None = None
    """A quality to reach, such as accuracy=0.95, R2=0.8 or error=0.2: how many rows does it take?"""
    budget: str = "2m"
    """CPU time that measuring may take, such as 20s, 2m or 1h; more of it measures more learners, rows and repeats."""
    rows: Annotated[int, Field(ge=64)] = 20000
    """Most rows that are used, drawn at random."""
    horizons: Annotated[tuple[Annotated[float, Field(gt=0)], ...], Many] = (1.0, 2.0, 4.0, 10.0)
    """How many times the rows used the forecast looks ahead."""
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.9
    """Probability that an interval is stated to hold with."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """Seed of subsets and resampling."""

    def table_options(self) -> TableOptions:
        """How the file is read."""
        from specht.forecasts import TableOptions  # loads NumPy, which help does not need

        names = ("delimiter", "encoding", "columns", "tokens", "task", "max_length", "keep", "duplicates")
        return TableOptions(vocab=self.max_vocab, **{name: getattr(self, name) for name in names})

    def settings(self) -> ForecastSettings:
        """How the forecast is made."""
        from specht.forecasts import ForecastSettings, Goal  # loads SciPy

        goal = None if self.goal is None else Goal.parse(self.goal)
        names = ("rows", "horizons", "confidence", "seed")
        return ForecastSettings(goal=goal, budget=seconds_of(self.budget), **{name: getattr(self, name) for name in names})

    def identity(self) -> dict[str, Any]:
        # The content of the file decides, wherever it lies.
        return self.model_dump(mode="json") | {"data": checksum(self.data)}

    @model_validator(mode="after")
    def _lists_are_lists(self) -> Self:
        for flag, values in (("learners", self.learners), ("horizons", self.horizons)):
            if values is not None and not values:
                raise InputError(f"--{flag} is empty: give at least one value, or leave it out.")
        if self.columns is not None and not self.columns:
            raise InputError("--columns is empty: give one name a column, or leave it out.")
        if self.learners is not None:
            check_learner_names(self.learners)
        if self.goal is not None:
            from specht.forecasts import Goal

            Goal.parse(self.goal)
        seconds_of(self.budget)
        if any(second <= first for first, second in itertools.pairwise(self.horizons)):
            raise InputError(f"--horizons must increase, got {' '.join(map(str, self.horizons))}: write each once, smallest first.")
        return self


def checksum(path: Path) -> str:
    """SHA-256 of a data file."""
    if path.is_dir():
        raise InputError(f"{path} is a folder: give the data file itself.")
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise InputError(f"{path} does not exist: check the path given to --data.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): check the path given to --data.") from None
