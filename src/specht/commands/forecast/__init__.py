"""specht forecast: the learning curve of one's own data, measured and forecast."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from specht.commands.command import Command, Writer, command_line
from specht.commands.forecast.config import ForecastConfig
from specht.commands.workers import STORE, WorkFlags, removed_if_bad
from specht.files import csv_text
from specht.trees import facts, plain, tree

if TYPE_CHECKING:
    import xarray

    from specht.forecasts import Forecast, SequenceTable
    from specht.report import Page

PROBLEM_COLUMNS = ("line", "kind", "detail", "kept")


class ForecastCommand(Command):
    """How good will predictions become with more rows like yours, is it worth it, and does the order of tokens matter?

    Several learners are measured on part of your data, and the curves are continued. For example:

        specht forecast reviews.csv --target stars
        specht forecast reviews.csv --target stars --goal accuracy=0.95 --budget 5m
        specht forecast reviews.csv --target stars --sequence text --learners ngrams transformer
        specht forecast reads.jsonl --target class --tokens characters --workers 4
    """

    name = "forecast"
    config = ForecastConfig
    options = WorkFlags
    resumes = True

    def compute(self, config: ForecastConfig, progress: Callable[[int, int], None] | None = None) -> xarray.DataTree:
        """Read the file, measure the learners and continue their curves; what JSON has by learner stands along dimensions as well."""
        # Loaded now and not above, so that --help stays quick.
        from specht.commands.forecast.jobs import forecast_of, read

        cpu, wall = time.process_time(), time.perf_counter()
        work: WorkFlags = self.chosen
        folder = work.store or (STORE if self.folder is None else self.folder / "jobs")
        with removed_if_bad(lambda: {folder} if folder.exists() and not any(folder.glob("*.json")) else set()):
            table = read(config)
            result = forecast_of(config, table, folder, work, progress)
        costs = {"cpu_seconds": time.process_time() - cpu, "wall_seconds": time.perf_counter() - wall}
        return forecast_tree(table, result, costs)

    def page(self, data: xarray.DataTree) -> Page:
        from specht.commands.forecast.page import forecast_page

        return forecast_page(facts(data))

    def more_files(self, data: xarray.DataTree) -> Mapping[str, tuple[str, Writer]]:
        from specht.commands.forecast.page import CURVE_COLUMNS, curve_lines
        from specht.lab import save_text

        return {
            "csv": ("forecast.csv", lambda path: save_text(csv_text(CURVE_COLUMNS, curve_lines(facts(data))), path)),
            "rows": ("problems.csv", lambda path: save_text(csv_text(PROBLEM_COLUMNS, plain(data["problems"])), path)),
        }


def forecast_tree(table: SequenceTable, result: Forecast, costs: dict[str, float]) -> xarray.DataTree:
    """What a forecast found, what its table was, and what it cost, as the tree that is stored and shown."""
    about = {
        "task": table.task,
        "classes": list(table.classes),
        "table": dataclasses.asdict(table.facts) | {"vocabulary": len(table.vocabulary)},
        "problems": [dataclasses.asdict(problem) for problem in table.problems],
    }
    data = tree(result.summary() | about | costs)
    data.dataset = data.to_dataset().assign(result.to_xarray().variables)
    return data


forecast = command_line(ForecastCommand)
