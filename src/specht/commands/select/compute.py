"""The trainings of `specht select`, one job for each kind of codes and seed, and what they say beside the exact dynamics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray

from specht.commands.select import SelectConfig
from specht.lab import Archive, Job, Places, datasets_of
from specht.progress import Progress
from specht.stats import standard_error
from specht.studies import selection
from specht.trees import Along, along

RECORDS = 60
SHARE = 0.02
"""Of the trivial loss: what the width of fully connected networks is given for."""
_DRAWS, _GROUPS, _SEED = 600, 6, 11
"""Of the pool of codes that the exact dynamics go through."""
MATRICES = ("keys_start", "keys_end", "values_start", "values_end")
Trainings = Mapping[str, list[xarray.Dataset]]
"""By kind of codes, seed by seed."""


def train_one(setting: dict[str, Any], seed: int) -> xarray.Dataset:
    """One training: losses along set and step, cosines along step, and both matrices at the start and at the end."""
    options = dict(setting)
    task = selection.Selection(*(options.pop(name) for name in ("length", "support", "dimension")))
    options |= {name: tuple(options[name]) for name in ("lengths", "supports")}
    scale = 0.0 if options["optimiser"] == "sgd" else 0.02
    run = selection.train_selection(selection.SelectionTraining(task=task, **options, scale=scale, records=RECORDS), seed)
    return xarray.Dataset(run.variables(), run.coordinates())


def trainings_of(config: SelectConfig, archive: Archive, places: Places, progress: Progress | None = None) -> Trainings:
    """Train what a configuration asks for; trainings that an earlier run has finished are taken over."""
    seeds = range(config.seed, config.seed + config.seeds)
    jobs = [Job.of(f"{__name__}:train_one", setting=setting, seed=seed) for setting in config.settings() for seed in seeds]
    datasets = datasets_of(jobs, archive, places, progress)
    return {kind: datasets[place * config.seeds : (place + 1) * config.seeds] for place, kind in enumerate(config.codes)}


def theory_of(config: SelectConfig) -> dict[str, Any] | None:
    """The exact dynamics of gradient descent at a constant rate, for the first kind of codes that has any."""
    kind = next((kind for kind in config.codes if kind != "fixed"), None)
    if kind is None or config.optimiser != "sgd" or config.shape != "constant":
        return None
    course: dict[str, Any] = {"learning_rate": config.rate, "steps": config.steps, "records": RECORDS}
    if kind == "stochastic":
        code: Any = config.code_dimension()
        pool = selection.draw_pool(np.random.default_rng(_SEED), config.length, config.support, code, _DRAWS, config.query)
        dynamics = selection.stochastic_dynamics(pool, config.dimension, **course, groups=_GROUPS)
    else:
        dynamics = selection.one_hot_dynamics(config.length, config.support, config.dimension, **course)
    errors = None if dynamics.loss_stderr is None else dynamics.loss_stderr.tolist()
    return {"codes": kind, "steps": dynamics.steps.tolist(), "loss": dynamics.loss.tolist(), "stderr": errors}


def values_of(config: SelectConfig, trainings: Trainings, theory: Mapping[str, Any] | None) -> dict[str, Any]:
    """What the trainings say, as JSON has it, and their curves and matrices."""
    task, code = config.task, config.code_dimension()
    own = _losses(trainings, "validation")
    steps = next(iter(trainings.values()))[0]["step"].values
    return {
        "task": str(task),
        "length": config.length,
        "code": code,
        "trivial": task.trivial_loss,
        "train": [
            {"step": int(step)} | _entry({kind: values[:, place] for kind, values in own.items()}) for place, step in enumerate(steps)
        ],
        "lengths": [{"T_test": T} | _entry(_ends(trainings, f"T={T}")) for T in config.lengths],
        "supports": [{"q_test": q, "trivial": task.dimension / (2 * q)} | _entry(_ends(trainings, f"q={q}")) for q in config.supports],
        "losses": [
            {"codes": kind, "set": name, "seed": config.seed + place, "loss": float(training["loss"].sel(set=name).values[-1])}
            for kind, seeds in trainings.items()
            for place, training in enumerate(seeds)
            for name in training["set"].values.tolist()
        ],
        "matrices": {
            kind: {name: float(np.mean([training[name].values[-1] for training in seeds])) for name in selection.MEASURES}
            for kind, seeds in trainings.items()
        },
        "theory": None if theory is None else along("steps", theory),
        "network_width": int(selection.width_needed(SHARE, config.length, config.support, config.dimension)),
        "network_share": SHARE,
        "attention_width": None if code is None else code + task.dimension,
        "seeds": config.seeds,
        "codes": list(config.codes),
        "optimiser": config.optimiser,
        "learning_rate": config.rate,
        "trainings": _curves(config, trainings),
    }


def _losses(trainings: Trainings, name: str) -> dict[str, np.ndarray]:
    """Losses (seeds, steps) on one set, by kind of codes."""
    tested = {kind: seeds for kind, seeds in trainings.items() if name in seeds[0]["set"].values}
    return {kind: np.stack([training["loss"].sel(set=name).values for training in seeds]) for kind, seeds in tested.items()}


def _ends(trainings: Trainings, name: str) -> dict[str, np.ndarray]:
    return {kind: values[:, -1] for kind, values in _losses(trainings, name).items()}


def _entry(values: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Means over seeds by kind of codes, and their standard errors; None with a single seed."""
    errors = {kind: float(standard_error(losses)) if len(losses) > 1 else None for kind, losses in values.items()}
    return {kind: float(losses.mean()) for kind, losses in values.items()} | {"stderr": errors}


def _curves(config: SelectConfig, trainings: Trainings) -> dict[str, Any]:
    """Losses along codes, seed, set and step; sets that a kind of codes is not tested on are NaN. Matrices are of the first seed."""
    kinds = [xarray.concat([training[["loss", *selection.MEASURES]] for training in seeds], "seed") for seeds in trainings.values()]
    joined = xarray.concat(kinds, "codes", join="outer", fill_value=np.nan)
    labels = {"codes": list(trainings), "seed": [config.seed + place for place in range(config.seeds)]}
    labels |= {name: joined[name].values.tolist() for name in ("set", "step")}
    curves: dict[str, Any] = {name: Along(values, name) for name, values in labels.items()}
    curves |= {str(name): (variable.dims, variable.values) for name, variable in joined.data_vars.items()}
    for kind, seeds in trainings.items():
        for name in MATRICES:
            rows, columns = (f"{name.split('_')[0]}_{side}_{kind}" for side in ("row", "column"))
            curves[f"{name}_{kind}"] = ((rows, columns), seeds[0][name].values)
    return curves
