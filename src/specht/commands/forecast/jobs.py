"""The measurements of a forecast as jobs of a sweep: one repeat of one learner each."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray

from specht.commands.forecast.config import ForecastConfig, checksum
from specht.commands.workers import cores
from specht.forecasts import (
    ExpectedUse,
    Forecast,
    Learner,
    PlannedRun,
    SequenceTable,
    SplitErrors,
    choose_learners,
    forecast_table,
    measured,
    read_table,
    used_rows,
)
from specht.lab import Archive, Job, datasets_of, this_process
from specht.progress import Progress

if TYPE_CHECKING:
    from specht.commands.workers import WorkFlags

_TABLE = (
    "data",
    "target",
    "sequence",
    "delimiter",
    "encoding",
    "columns",
    "tokens",
    "task",
    "max_vocab",
    "max_length",
    "keep",
    "duplicates",
)
"""What decides the table."""
_OPENED: dict[str, tuple[SequenceTable, dict[str, Learner]]] = {}
"""The table that was opened last, with its learners."""
CURVES, LAST = ("n_train", "error", "accuracy", "row_variance"), ("last_errors", "last_right")


def read(config: ForecastConfig) -> SequenceTable:
    """The table that a configuration names."""
    return read_table(config.data, config.target, config.sequence, config.table_options())


def forecast_of(config: ForecastConfig, table: SequenceTable, folder: Path, work: WorkFlags, progress: Progress | None) -> Forecast:
    """The forecast, from jobs that are found again when the same command is given once more."""
    archive, places = Archive(folder), work.places(folder) if work.is_asked else this_process
    asked = config.model_dump(mode="json", include={*_TABLE, "rows", "learners", "seed"})
    asked |= {"data": str(config.data.resolve()), "checksum": checksum(config.data)}

    def run(measurements: Sequence[PlannedRun], report: Progress | None) -> list[SplitErrors]:
        jobs = [Job.of(f"{__name__}:measure", asked=asked, **vars(one)) for one in measurements]
        return [_split_errors(dataset) for dataset in datasets_of(jobs, archive, places, report)]

    def first(forecast: Forecast) -> None:
        answer = [sentence for sentence in forecast.summary()["answer"] if not sentence.startswith("Does order")]  # which comes last
        print("First answer, refined now:", *answer, "", sep="\n", file=sys.stderr)

    def planned(expected: ExpectedUse) -> None:
        repeats = ", ".join(f"{name} {count} times" for name, count in expected.repeats.items())
        without = f", no room for {', '.join(expected.left_out)}" if expected.left_out else ""
        print(f"About {expected.seconds:.0f} seconds of CPU time: {repeats}{without}.\n", file=sys.stderr)

    used = used_rows(table, config.settings())
    learners = choose_learners(config.learners, used)
    if not work.is_asked:  # jobs run in this process, which has read the table
        _OPENED.clear()
        _OPENED[_name(asked)] = used, {learner.name: learner for learner in learners}
    ahead = max(1, cores() if work.workers is None else work.workers) if work.is_asked else 1
    return forecast_table(table, learners, config.settings(), run=run, ahead=ahead, progress=progress, planned=planned, first=first)


def measure(asked: dict[str, Any], learner: str, repeat: int, octaves: float, most: int | None, shuffled: bool) -> xarray.Dataset:
    """One repeat of one learner."""
    table, learners = _opened(asked)
    result = measured(learners[learner], table, PlannedRun(learner, repeat, octaves, most, shuffled), asked["seed"])
    curves = {name: ("n_train", getattr(result, name)) for name in CURVES[1:]}
    rows = {name: ("test_row", getattr(result, name)) for name in LAST}
    return xarray.Dataset(curves | rows | {"seconds": result.seconds}, {"n_train": result.n_train})


def _opened(asked: dict[str, Any]) -> tuple[SequenceTable, dict[str, Learner]]:
    """The rows used and the learners, which jobs in one process share."""
    name = _name(asked)
    if name not in _OPENED:
        config = ForecastConfig(**{name: value for name, value in asked.items() if name != "checksum"})
        table = used_rows(read(config), config.settings())
        _OPENED.clear()
        _OPENED[name] = table, {learner.name: learner for learner in choose_learners(config.learners, table)}
    return _OPENED[name]


def _name(asked: dict[str, Any]) -> str:
    return json.dumps(asked, sort_keys=True)


def _split_errors(dataset: xarray.Dataset) -> SplitErrors:
    return SplitErrors(seconds=float(dataset["seconds"]), **{name: np.asarray(dataset[name]) for name in CURVES + LAST})
