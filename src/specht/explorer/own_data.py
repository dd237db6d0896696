"""The page *Your own data*: drop a table, and see what more of it will bring. It is what `specht forecast` reports.

A file lies in a private temporary folder while it is read, and in memory as long as the page is open. So do measurements, and refining an
answer goes on where it stopped.
"""

from __future__ import annotations

import csv
import dataclasses
import functools
import hashlib
import io
import itertools
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pydantic

from specht.commands import PROBLEM_COLUMNS, ForecastCommand, ForecastConfig, forecast_tree
from specht.errors import InputError
from specht.explorer.state import BUDGETS, SAMPLE, DataPage
from specht.explorer.work import Listener, sentence
from specht.files import csv_text
from specht.forecasts import GuessedColumns, RawTable, guess_columns, read_raw, read_table
from specht.progress import Progress
from specht.report import Report

if TYPE_CHECKING:
    from specht.forecasts import Forecast, PlannedRun, SequenceTable, SplitErrors

LARGEST = 20_000_000
"""Bytes of a file that can be dropped."""
LONGEST_NAME = 80
SAMPLE_ROWS = 400
EMPTY = (
    "Drop a table of sequences and labels above. It stays on this machine, and nothing of it is kept on disk. "
    "Without a table at hand, choose the sample to see how the page works."
)
SAID_BY_PAGE = {
    "table": "A file of your own, or a table made up here: reviews whose stars depend on words and on what stands last.",
    "file": f".csv, .tsv, .jsonl, .npy, .npz or .parquet, up to {LARGEST // 10**6} MB; the command specht forecast takes larger ones.",
}
"""What the controls are for that the command does not have."""


class Upload(NamedTuple):
    """A file that somebody dropped."""

    name: str
    contents: bytes


@functools.cache
def sample() -> Upload:
    """Reviews whose stars depend on words and on what stands last, as in docs/howto/own_data.md."""
    rng = np.random.default_rng(0)
    words = np.array(["good", "bad", "slow", "quick", "warm", "cold"])
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(["text", "stars"])
    for _ in range(SAMPLE_ROWS):
        chosen = rng.choice(words, size=8)
        stars = np.sum(chosen == "good") - np.sum(chosen == "bad") + 2.0 * (chosen[-1] == "good")
        table.writerow([" ".join(chosen), stars + rng.normal() / 4])
    return Upload("reviews.csv", text.getvalue().encode())


@dataclasses.dataclass(frozen=True)
class Opened:
    """A table that was opened, or the sentence that says why it was not."""

    name: str
    digest: str
    """Of what the file holds."""
    raw: RawTable | None = None
    guess: GuessedColumns | None = None
    complaint: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        return () if self.raw is None else self.raw.columns


def opened(table: str, uploads: Sequence[Any]) -> Opened | None:
    """The sample, or the file that was dropped; None as long as there is none.

    Arguments:
        uploads: files with `name` and `contents`, of which the first counts.
    """
    if table == SAMPLE:
        return _open(sample())
    return _open(Upload(uploads[0].name, uploads[0].contents)) if uploads else None


def _open(upload: Upload) -> Opened:
    # A name may be a whole path, of whatever system.
    name = PurePosixPath(PureWindowsPath(upload.name).name).name[-LONGEST_NAME:] or "table"
    digest = hashlib.sha256(upload.contents).hexdigest()
    try:
        raw = _read(name, upload.contents)
        return Opened(name, digest, raw, guess_columns(raw))
    except Exception as error:  # whatever it is, the page has to say it
        return Opened(name, digest, complaint=spoken(sentence(error)))


def _read(name: str, contents: bytes) -> RawTable:
    if len(contents) > LARGEST:
        size, most = len(contents) / 1e6, LARGEST // 10**6
        raise InputError(f"{name} has {size:.0f} MB, more than the {most} MB that fit here: give the file to `specht forecast`.")
    with tempfile.TemporaryDirectory(prefix="specht-") as folder:
        ending = "".join(re.findall(r"\.[A-Za-z0-9]{1,16}$", name))
        path = Path(folder) / f"table{ending}"
        path.write_bytes(contents)
        try:
            return dataclasses.replace(read_raw(path), path=name)
        except InputError as error:
            raise InputError(str(error).replace(str(path), name)) from None


def spoken(words: str) -> str:
    """A sentence of the command line for the page, which has lists in place of flags.

    >>> spoken("say which holds the sequences with --sequence COLUMN, or give --task regression.")
    'say which holds the sequences with the list sequence, or give task = regression.'
    """
    words = re.sub(r"--(\w+) COLUMN", r"the list \1", words)
    words = re.sub(r"--(tokens|task) (\w+)", r"\1 = \2", words)
    return re.sub(r"--(\w+)", r"\1", words)


def explanation(name: str) -> str:
    """What a control is for, in one sentence: what the command's help says of the flag.

    >>> explanation("learners").partition(";")[0].startswith("Of bag, last, ")
    True
    """
    if name in SAID_BY_PAGE:
        return SAID_BY_PAGE[name]
    described = " ".join((ForecastConfig.model_fields[name].description or "").split())
    return described.partition(". ")[0].rstrip(".") + "."


@dataclasses.dataclass(frozen=True)
class Wish:
    """What is asked of a table."""

    digest: str
    target: str
    sequence: str | None
    goal: str
    learners: tuple[str, ...]
    page: DataPage


class BudgetWanted:
    """The budget for a wish, which the button raises step by step; with another wish it is the one on the page."""

    def __init__(self) -> None:
        self._wish: Wish | None = None
        self._budget, self.before = BUDGETS[0], ""
        """The latter is the budget of the answer that is being refined, if one is."""

    def on(self, wish: Wish, pressed: bool, stopped: bool = False) -> str:
        """The budget for a wish, with the button that was pressed just now; a refinement that is stopped leaves the answer before it."""
        longer = next_budget(self._budget)
        if wish != self._wish:
            self._wish, self._budget, self.before = wish, wish.page.budget, ""
        elif stopped and self.before:
            self._budget, self.before = self.before, ""
        elif pressed and longer is not None:
            self._budget, self.before = longer, self._budget
        return self._budget


def in_words(budget: str) -> str:
    """A budget as people say it.

    >>> [in_words(budget) for budget in BUDGETS]
    ['10 seconds', '2 minutes', '10 minutes', '1 hour']
    """
    number, unit = budget[:-1], {"s": "second", "m": "minute", "h": "hour"}[budget[-1]]
    return f"{number} {unit}" if number == "1" else f"{number} {unit}s"


def next_budget(budget: str) -> str | None:
    """The budget after one, or None after the largest."""
    return dict(itertools.pairwise(BUDGETS)).get(budget)


@dataclasses.dataclass(frozen=True)
class DataAnswer:
    """What the page shows: the report, and all rows that were not as they should be as a CSV file."""

    report: Report
    problems: str
    """Empty where there are none."""


class Measurements:
    """What was measured on the table that was asked about last, by how it was read."""

    def __init__(self) -> None:
        self._table: Any = None
        self._done: dict[PlannedRun, SplitErrors] = {}

    def of(self, table: Any) -> dict[PlannedRun, SplitErrors]:
        if table != self._table:
            self._table, self._done = table, {}
        return self._done


def data_answer(opened: Opened, wish: Wish, budget: str, measurements: Measurements, listener: Listener) -> DataAnswer:
    """What `specht forecast` reports of a table."""
    try:
        return _answer(opened, wish, budget, measurements, listener)
    except (InputError, pydantic.ValidationError) as error:
        raise InputError(spoken(sentence(error))) from None


def _answer(opened: Opened, wish: Wish, budget: str, measurements: Measurements, listener: Listener) -> DataAnswer:
    if opened.raw is None:
        raise InputError(opened.complaint)
    # Loads JAX, which pages that nobody has asked anything yet do not need.
    from specht.forecasts import choose_learners, forecast_table, measured, used_rows

    config = forecast_config(opened.name, wish, budget)
    table = read_table(opened.raw, config.target, config.sequence, config.table_options())
    done = measurements.of(dataclasses.replace(wish, goal="", learners=(), page=dataclasses.replace(wish.page, budget=BUDGETS[0])))
    used, settings = used_rows(table, config.settings()), config.settings()
    learners = choose_learners(config.learners, used)
    by_name = {learner.name: learner for learner in learners}

    def run(some: Sequence[PlannedRun], progress: Progress | None) -> list[SplitErrors]:
        for index, one in enumerate(some):
            if progress is not None:
                progress(index, len(some))
            if one not in done:
                done[one] = measured(by_name[one.learner], used, one, config.seed)
        return [done[one] for one in some]

    def shown(forecast: Forecast) -> DataAnswer:
        return _shown(config, table, forecast)

    return shown(forecast_table(table, learners, settings, run=run, progress=listener, first=lambda first: listener.first(shown(first))))


def forecast_config(name: str, wish: Wish, budget: str) -> ForecastConfig:
    """The configuration of `specht forecast` that the page stands for."""
    return ForecastConfig(
        data=Path(name),
        target=wish.target,
        sequence=wish.sequence,
        goal=wish.goal.strip() or None,
        learners=wish.learners or None,
        budget=budget,
        tokens=wish.page.tokens,  # type: ignore[arg-type]
        task=wish.page.task,  # type: ignore[arg-type]
    )


def _shown(config: ForecastConfig, table: SequenceTable, forecast: Forecast) -> DataAnswer:
    report = ForecastCommand().report(config, forecast_tree(table, forecast, {}))
    tables = [dataclasses.replace(one, note=spoken(one.note)) for one in report.tables]
    problems = [dataclasses.asdict(problem) for problem in table.problems]
    return DataAnswer(dataclasses.replace(report, tables=tables), csv_text(list(PROBLEM_COLUMNS), problems) if problems else "")
