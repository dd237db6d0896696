"""specht forecast: the learning curve of one's own data, measured and forecast."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from specht.commands.command import Command, Writer, command_line
from specht.commands.forecast.config import ForecastConfig
from specht.files import csv_text
from specht.trees import along, facts, plain, tree

if TYPE_CHECKING:
    import xarray

    from specht.report import Page

PROBLEM_COLUMNS = ("line", "kind", "detail", "kept")


class ForecastCommand(Command):
    """The learning curve of your own data, measured on part of it and forecast beyond, and how much of the labels needs order.

    For example:

        specht forecast reviews.csv --target stars
        specht forecast reviews.csv --target stars --sequence text --compare bag positions softmax
        specht forecast reads.jsonl --target class --tokens characters --max-length 128 --horizons 4 16
    """

    name = "forecast"
    config = ForecastConfig

    def compute(self, config: ForecastConfig, progress: Callable[[int, int], None] | None = None) -> xarray.DataTree:
        """Read the file and forecast its learning curve; numbers that JSON has by architecture stand along named dimensions as well."""
        # Loaded now and not above, so that --help stays quick.
        from specht.forecasts import choose_contenders, forecast_table, read_table
        from specht.kernel import check_memory

        cpu, wall = time.process_time(), time.perf_counter()
        table = read_table(config.data, config.target, config.sequence, config.table_options())
        rows = min(len(table), config.rows)
        check_memory(rows, rows, 4, "use fewer rows with --rows")
        architectures = choose_contenders(config.compare, len(table.vocabulary), table.tokens.shape[1])
        result = forecast_table(table, architectures, config.settings(), progress)
        costs = {"cpu_seconds": time.process_time() - cpu, "wall_seconds": time.perf_counter() - wall}
        read = {
            "task": table.task,
            "classes": list(table.classes),
            "table": dataclasses.asdict(table.facts) | {"vocabulary": len(table.vocabulary)},
            "problems": [dataclasses.asdict(problem) for problem in table.problems],
            "fit_rows": min(rows, config.fit_rows),
        }
        data = tree(along("n_train", result.summary()) | read | costs)
        data.dataset = data.to_dataset().assign(result.to_xarray().drop_vars("n_train").variables)
        return data

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


forecast = command_line(ForecastCommand)
