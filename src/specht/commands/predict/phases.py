"""Phase diagrams: what a network has learnt over samples and width, and over samples and length; one job a row of cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray

from specht.callables import digest_of_code
from specht.commands.predict import PredictConfig
from specht.commands.predict.compute import followed, task_of
from specht.commands.task_flags import MODES
from specht.errors import InputError
from specht.lab import Job, sweep
from specht.learning.adaptive import adaptive_curve, most_samples
from specht.trees import Along

if TYPE_CHECKING:
    from specht.lab import Archive, Places
    from specht.progress import Progress

MEASURE = f"{__name__}:measure_row"
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


def diagrams(config: PredictConfig, archive: Archive, places: Places, progress: Progress | None = None) -> dict[str, Any]:
    """Both diagrams, by_width and by_length, as `specht.trees.tree` takes them; None where the task exists at no other length."""
    jobs = jobs_of(config)
    every = [job for row in jobs.values() for job in row.values()]
    sweep(every, archive, places, attempts=1, progress=progress).raise_failure()
    values: dict[str, Any] = {"n_train": Along(every[0].arguments["n_train"], "n_train"), "at_width": config.widths[0]}
    for axis, row in jobs.items():
        values[f"by_{axis}"] = diagram(axis, {value: data for value, job in row.items() if (data := archive.load(job)) is not None})
    return values


def diagram(axis: str, rows: dict[int, xarray.Dataset]) -> dict[str, Any] | None:
    """A diagram from what was measured at each of its widths or lengths; None if there are none."""
    if not rows:
        return None
    names = ("test", "learned", "strength")
    return {
        axis: Along(list(rows), axis),
        **{name: Along(np.stack([row[name].values for row in rows.values()]), (axis, "n_train")) for name in names},
        "transition": [{"samples": float(row["transition"]), "kind": row["kind"].item()} for row in rows.values()],
    }


def jobs_of(config: PredictConfig) -> dict[str, dict[int, Job]]:
    """The rows of both diagrams as jobs, by "width" and "length" and by their values, smallest first."""
    arch, numbers = config.architecture.architecture(), _numbers(config)
    return {
        "width": {width: _job(config, arch.length, width, numbers) for width in sorted({*WIDTHS, *config.widths})},
        "length": {length: _job(config, length, config.widths[0], numbers) for length in _lengths(config)},
    }


def _numbers(config: PredictConfig) -> list[int]:
    """Numbers of samples between the ends of those that are asked for, as far as the theory follows at every length."""
    arch = config.architecture.architecture()
    task = task_of(config, arch)
    start, end = followed(config, arch, task)[0], min(config.n_train[-1], most_samples(arch, task))
    steps = max(5, round(AN_OCTAVE * np.log2(end / start)) + 1)
    return [int(n) for n in np.unique(np.geomspace(start, end, steps).round())]


def _lengths(config: PredictConfig) -> list[int]:
    """Lengths at which the same task exists, if there are any others."""
    length = config.architecture.architecture().length
    if config.target.is_callable:
        return []  # what a function of one's own means at another length, only its owner knows
    lengths = sorted({int(length * factor) for factor in FACTORS if length * factor >= 2})
    lengths = [other for other in lengths if config.target.target == MODES or _exists_at(config, other)]
    return lengths if len(lengths) > 1 else []


def _exists_at(config: PredictConfig, length: int) -> bool:
    """Whether the task exists at a length."""
    other = _at_length(config, length)
    try:
        task_of(other, other.architecture.architecture())
    except InputError:
        return False
    return True


def _at_length(config: PredictConfig, length: int) -> PredictConfig:
    return config.model_copy(update={"architecture": config.architecture.model_copy(update={"length": length})})


def _job(config: PredictConfig, length: int, width: int, numbers: list[int]) -> Job:
    fields = _at_length(config, length).model_dump(mode="json", include=set(_FIELDS), exclude_unset=True)
    code = {"code": digest_of_code(config.target.target)} if config.target.is_callable else {}
    return Job.of(MEASURE, config=fields, width=width, n_train=numbers, **code)
