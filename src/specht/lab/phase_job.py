"""Phase diagrams: what a network has learnt over samples and width, and over samples and length; one job a row of cells."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray

from specht.callables import digest_of_code
from specht.errors import InputError
from specht.lab.finite_width import followed
from specht.lab.jobs import Job
from specht.lab.predict_config import PredictConfig
from specht.lab.predict_task import task_of
from specht.lab.target_config import MODES
from specht.learning.adaptive.population import adaptive_curve, most_samples
from specht.results import plain

if TYPE_CHECKING:
    from collections.abc import Callable

MEASURE = "specht.lab.phase_job:measure_row"
WIDTHS = (8, 16, 32, 64, 128, 256, 512)
"""Of a diagram, besides those that are asked for."""
FACTORS = (0.25, 0.5, 1, 2, 4)
"""Lengths of a diagram, over that of the architecture."""
AN_OCTAVE = 2
"""Numbers of samples in a factor of two."""
_FIELDS = ("architecture", "task", "source", "target", "ridge", "noise", "max_level", "heads", "sequences", "seed")
"""What of a configuration decides a cell, besides width and samples."""


def measure_row(config: dict[str, Any], width: int, n_train: list[int], code: str | None = None) -> xarray.Dataset:
    """What a network of one width, at one length, has learnt from each number of samples, and from where on its symmetry is broken.

    Arguments:
        code: of a target of one's own, so that an edited function is computed again.
    """
    wanted = PredictConfig(**config, n_train=tuple(n_train))
    arch = wanted.architecture.architecture()
    curve = adaptive_curve(arch, task_of(wanted, arch), n_train, width=width, ridge=wanted.ridge, noise=wanted.noise, seed=wanted.seed)
    change = curve.transition()
    along = {"test": curve.test, "learned": curve.learned, "strength": curve.strengths[..., 0]}
    return xarray.Dataset(
        {name: ("n_train", values) for name, values in along.items()} | {"transition": ((), change.samples)},
        coords={"n_train": n_train, "kind": change.kind},
    )


@dataclasses.dataclass(frozen=True)
class Row:
    """A row of cells: one width and length."""

    axis: str
    """"width" or "length": what the diagram that it belongs to varies."""
    value: int
    job: Job


def rows_of(config: PredictConfig) -> list[Row]:
    """The rows of both diagrams, smallest width or length first."""
    arch = config.architecture.architecture()
    numbers = _numbers(config)
    widths = sorted({*WIDTHS, *config.widths})
    rows = [Row("width", width, _job(config, arch.length, width, numbers)) for width in widths]
    return rows + [Row("length", length, _job(config, length, config.widths[0], numbers)) for length in _lengths(config)]


def _numbers(config: PredictConfig) -> list[int]:
    """Numbers of samples between the ends of those that are asked for, as far as the theory follows at every length."""
    arch = config.architecture.architecture()
    task = task_of(config, arch)
    start, end = followed(config, arch, task)[0], min(config.n_train[-1], most_samples(arch, task))
    steps = max(5, round(AN_OCTAVE * np.log2(end / start)) + 1)
    return [int(n) for n in np.unique(np.geomspace(start, end, steps).round())]


def _lengths(config: PredictConfig) -> list[int]:
    """Lengths at which the same task exists, if there are any others."""
    arch = config.architecture.architecture()
    if config.target.is_callable:
        return []  # what a function of one's own means at another length, only its owner knows
    lengths = sorted({int(arch.length * factor) for factor in FACTORS if arch.length * factor >= 2})
    found = [length for length in lengths if config.target.target == MODES or _exists(lambda at=length: _task_at(config, at))]
    return found if len(found) > 1 else []


def _task_at(config: PredictConfig, length: int) -> None:
    other = _at_length(config, length)
    task_of(other, other.architecture.architecture())


def _exists(build: Callable[[], object]) -> bool:
    try:
        build()
    except InputError:
        return False
    return True


def _at_length(config: PredictConfig, length: int) -> PredictConfig:
    return config.model_copy(update={"architecture": config.architecture.model_copy(update={"length": length})})


def _job(config: PredictConfig, length: int, width: int, numbers: list[int]) -> Job:
    fields = _at_length(config, length).model_dump(mode="json", include=set(_FIELDS), exclude_unset=True)
    code = {"code": digest_of_code(config.target.target)} if config.target.is_callable else {}
    return Job.of(MEASURE, config=fields, width=width, n_train=numbers, **code)


@dataclasses.dataclass(frozen=True)
class Phases:
    """Both diagrams."""

    width: int
    """At which lengths are compared."""
    rows: tuple[tuple[Row, xarray.Dataset], ...]

    def summary(self) -> dict[str, Any]:
        """As plain values: by_width, and by_length where the task exists at other lengths."""
        first = self.rows[0][1]
        found: dict[str, Any] = {"n_train": [int(n) for n in first["n_train"].values], "at_width": self.width}
        for axis in ("width", "length"):
            rows = self._of(axis)
            found[f"by_{axis}"] = {
                axis: [row.value for row, _ in rows],
                **{name: [plain(data[name].values) for _, data in rows] for name in ("test", "learned", "strength")},
                "transition": [{"samples": plain(float(data["transition"])), "kind": data["kind"].item()} for _, data in rows],
            } if rows else None  # fmt: skip
        return found

    def _of(self, axis: str) -> list[tuple[Row, xarray.Dataset]]:
        return [(row, data) for row, data in self.rows if row.axis == axis]

    def variables(self) -> dict[str, Any]:
        """As variables of a dataset, along `phase_width` or `phase_length`, and `phase_n_train`."""
        found: dict[str, Any] = {}
        for axis in ("width", "length"):
            rows = self._of(axis)
            for name in ("test", "learned", "strength") if rows else ():
                found[f"phase_{axis}_{name}"] = ((f"phase_{axis}", "phase_n_train"), np.stack([data[name].values for _, data in rows]))
            if rows:
                found[f"phase_{axis}_transition"] = (f"phase_{axis}", [float(data["transition"]) for _, data in rows])
        return found

    def coordinates(self) -> dict[str, Any]:
        values = {f"phase_{axis}": [row.value for row, _ in rows] for axis in ("width", "length") if (rows := self._of(axis))}
        return values | {"phase_n_train": self.rows[0][1]["n_train"].values}
