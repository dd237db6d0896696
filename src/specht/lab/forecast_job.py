"""A forecast from a file of one's own: sequences and labels in, learning curves with intervals out."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray

from specht.kernel.memory import check_memory
from specht.lab.csv_text import csv_text
from specht.lab.forecast_config import ForecastConfig
from specht.learning.contenders import CONTENDERS, contenders
from specht.learning.extrapolate import CONTINUED, REACH
from specht.learning.forecast import DRIFT, PRIOR, QUARTERS, ArchitectureForecast, Band, Forecast, Settings, forecast_table
from specht.sequences.table import Table, read_table

CSV_COLUMNS = ("architecture", "what", "n_train", "value", "low", "high", "stderr")


@dataclasses.dataclass(frozen=True)
class ForecastRun:
    """What a run read and computed, and what it cost."""

    table: Table
    forecast: Forecast
    cpu_seconds: float
    wall_seconds: float

    def summary(self) -> dict[str, Any]:
        found, best = self.forecast, self.forecast.best
        gp = {"test": _means(best.measured.error), "test_stderr": best.measured.stderr.tolist()}
        return {
            "n_train": best.measured.n_train.tolist(),
            "theory": {"test": best.curve.value[np.isin(best.curve.n_train, best.measured.n_train)].tolist()},
            "gp": gp,
            "task": self.table.task,
            "classes": list(self.table.classes),
            "rows": found.rows,
            "rows_available": found.rows_available,
            "label_variance": found.variance,
            "majority": found.majority,
            "confidence": found.settings.confidence,
            "best": best.name,
            "order": None if found.order is None else dataclasses.asdict(found.order),
            "constants": {"reach": REACH, "continued": CONTINUED, "prior": PRIOR, "quarters": QUARTERS, "drift": DRIFT},
            "architectures": [_architecture(one) for one in found.architectures],
            "table": dataclasses.asdict(self.table.facts) | {"vocabulary": len(self.table.vocabulary)},
            "problems": [dataclasses.asdict(problem) for problem in self.table.problems],
            "cpu_seconds": self.cpu_seconds,
            "wall_seconds": self.wall_seconds,
        }

    def lines(self) -> list[dict[str, Any]]:
        """Every number of every curve, one a line."""
        lines: list[dict[str, Any]] = []
        for one in self.forecast.architectures:
            bands = {"forecast": one.forecast, "curve": one.curve, "power law": one.power_law, "power law curve": one.power_law_curve}
            for what, found in bands.items():
                for n, value, low, high in zip(found.n_train, found.value, found.low, found.high, strict=True):
                    lines.append(_line(one.name, what, n, value, low=float(low), high=float(high)))
            measured = {"measured": one.measured.error} | ({} if one.measured.accuracy is None else {"accuracy": one.measured.accuracy})
            for what, values in measured.items():
                for n, row in zip(one.measured.n_train, values, strict=True):
                    lines.append(_line(one.name, what, n, row.mean(), stderr=_stderr(row)))
            lines.append(_line(one.name, "leave one out", self.forecast.rows, one.error, stderr=one.stderr))
        return lines

    def csv(self) -> str:
        return csv_text(CSV_COLUMNS, self.lines())

    def problems_csv(self) -> str:
        """Every row that was not as it should be."""
        return csv_text(("line", "kind", "detail", "kept"), [dataclasses.asdict(problem) for problem in self.table.problems])

    def dataset(self, attributes: dict[str, Any]) -> xarray.Dataset:
        """Curves along named dimensions; problems of the table along `problem`."""
        found = self.forecast
        every = found.architectures
        coordinates: dict[str, Any] = {
            "architecture": [one.name for one in every],
            "n_train": every[0].measured.n_train,
            "horizon": every[0].forecast.n_train,
            "n_curve": every[0].curve.n_train,
        }
        variables: dict[str, Any] = {"measured": (("architecture", "n_train", "repeat"), np.stack([one.measured.error for one in every]))}
        accuracies = [one.measured.accuracy for one in every if one.measured.accuracy is not None]
        if accuracies:
            variables["accuracy"] = (("architecture", "n_train", "repeat"), np.stack(accuracies))
        for name, dimension in (("forecast", "horizon"), ("power_law", "horizon"), ("curve", "n_curve"), ("power_law_curve", "n_curve")):
            for end in ("value", "low", "high"):
                values = np.stack([getattr(getattr(one, name), end) for one in every])
                variables[name if end == "value" else f"{name}_{end}"] = (("architecture", dimension), values)
        variables["leave_one_out"] = (("architecture", "row"), np.stack([one.squares for one in every]))
        for name in ("ridge", "signal", "log_likelihood"):
            variables[name] = (("architecture",), [getattr(one.fit, name) for one in every])
        problems = self.table.problems
        for name, kind in (("line", int), ("kind", str), ("detail", str), ("kept", bool)):
            variables[f"problem_{name}"] = (("problem",), np.array([getattr(problem, name) for problem in problems], dtype=kind))
        costs = {"cpu_seconds": self.cpu_seconds, "wall_seconds": self.wall_seconds, "label_variance": found.variance, "rows": found.rows}
        return xarray.Dataset(variables, coords=coordinates, attrs=attributes | costs)


def run_forecast(config: ForecastConfig, progress: Callable[[int, int], None] | None = None) -> ForecastRun:
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


def _architecture(one: ArchitectureForecast) -> dict[str, Any]:
    measured = one.measured
    accuracy = None
    if measured.accuracy is not None:
        accuracy = {"value": _means(measured.accuracy), "stderr": [_stderr(row) for row in measured.accuracy]}
    return {
        "name": one.name,
        "description": CONTENDERS[one.name][0],
        "architecture": str(one.fit.arch),
        "ratio": one.fit.ratio,
        "gain": one.fit.gain,
        "ridge": one.fit.ridge,
        "log_likelihood": one.fit.log_likelihood,
        "at_edge": list(one.fit.at_edge),
        "error": one.error,
        "stderr": one.stderr,
        "measured": {"n_train": measured.n_train.tolist(), "value": _means(measured.error), "stderr": measured.stderr.tolist()},
        "accuracy": accuracy,
        "forecast": _band(one.forecast) | {"continued": one.continued.tolist()},
        "power_law": _band(one.power_law),
        "curve": _band(one.curve),
        "power_law_curve": _band(one.power_law_curve),
        "calibration": dataclasses.asdict(one.calibration),
    }


def _band(found: Band) -> dict[str, list[float]]:
    return {name: getattr(found, name).tolist() for name in ("n_train", "value", "low", "high")}


def _means(values: np.ndarray) -> list[float]:
    return values.mean(axis=1).tolist()


def _stderr(row: np.ndarray) -> float:
    return float(row.std(ddof=1)) / math.sqrt(len(row))


def _line(architecture: str, what: str, n_train: float, value: float, **more: float) -> dict[str, Any]:
    return {"architecture": architecture, "what": what, "n_train": float(n_train), "value": float(value)} | more
