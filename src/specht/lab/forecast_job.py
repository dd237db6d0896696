"""A forecast from a file of one's own: sequences and labels in, learning curves with intervals out."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from specht.forecasts.contenders import contenders
from specht.forecasts.forecast import Forecast, Settings, forecast_table
from specht.forecasts.summary import CSV_COLUMNS, forecast_lines
from specht.forecasts.table import Table, read_table
from specht.kernel.memory import check_memory
from specht.lab.csv_text import csv_text
from specht.lab.forecast_config import ForecastConfig
from specht.progress import Progress

if TYPE_CHECKING:
    import xarray  # takes longer to load than a small table to read


@dataclasses.dataclass(frozen=True)
class ForecastRun:
    """What a run read and computed, and what it cost."""

    table: Table
    forecast: Forecast
    cpu_seconds: float
    wall_seconds: float

    def summary(self) -> dict[str, Any]:
        return self.forecast.summary() | {
            "task": self.table.task,
            "classes": list(self.table.classes),
            "table": dataclasses.asdict(self.table.facts) | {"vocabulary": len(self.table.vocabulary)},
            "problems": [dataclasses.asdict(problem) for problem in self.table.problems],
            "cpu_seconds": self.cpu_seconds,
            "wall_seconds": self.wall_seconds,
        }

    def csv(self) -> str:
        return csv_text(CSV_COLUMNS, forecast_lines(self.forecast))

    def problems_csv(self) -> str:
        """Every row that was not as it should be."""
        return csv_text(("line", "kind", "detail", "kept"), [dataclasses.asdict(problem) for problem in self.table.problems])

    def dataset(self, attributes: dict[str, Any]) -> xarray.Dataset:
        """Curves along named dimensions; problems of the table along `problem`."""
        found, variables = self.forecast, {}
        problems = self.table.problems
        for name, kind in (("line", int), ("kind", str), ("detail", str), ("kept", bool)):
            variables[f"problem_{name}"] = (("problem",), np.array([getattr(problem, name) for problem in problems], dtype=kind))
        costs = {"cpu_seconds": self.cpu_seconds, "wall_seconds": self.wall_seconds, "label_variance": found.variance, "rows": found.rows}
        return found.to_xarray().assign(variables).assign_attrs(attributes | costs)


def run_forecast(config: ForecastConfig, progress: Progress | None = None) -> ForecastRun:
    """Read the file and forecast its learning curve."""
    cpu, wall = time.process_time(), time.perf_counter()
    table = read_table(config.data, config.target, config.sequence, config.table_options())
    rows = min(len(table), config.rows)
    check_memory(rows, rows, 4, "use fewer rows with --rows")
    names = ("rows", "fit_rows", "test_share", "sizes", "repeats", "horizons", "confidence", "seed")
    settings = Settings(**{name: getattr(config, name) for name in names})
    architectures = contenders(config.compare, len(table.vocabulary), table.tokens.shape[1])
    found = forecast_table(table, architectures, settings, progress)
    return ForecastRun(table, found, time.process_time() - cpu, time.perf_counter() - wall)
