"""Token selection: a configuration in, trainings of every kind of codes and seed out, with the exact dynamics beside them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray

from specht.errors import StorageError
from specht.lab.archive import Archive
from specht.lab.csv_text import csv_text
from specht.lab.executors import Places
from specht.lab.jobs import Job
from specht.lab.select_config import SelectConfig
from specht.lab.sweep import sweep
from specht.progress import Progress
from specht.stats import standard_error

RECORDS = 60
SHARE = 0.02
"""Of the trivial loss: what the width of fully connected networks is given for."""
_DRAWS, _GROUPS, _SEED = 600, 6, 11
"""Of the pool of codes that the exact dynamics go through."""
MEASURES = {"keys_cosine": "keys cosine", "values_cosine": "values cosine", "off_block": "off-block share"}


def train_one(setting: dict[str, Any], seed: int) -> xarray.Dataset:
    """One training: losses along set and step, cosines along step, and both matrices at the start and at the end."""
    from specht.studies.selection.task import Selection
    from specht.studies.selection.training import SelectionTraining, train_selection

    given = dict(setting)
    task = Selection(*(given.pop(name) for name in ("length", "support", "dimension")))
    lists: dict[str, Any] = {name: tuple(given.pop(name)) for name in ("lengths", "supports")}
    scale = 0.0 if given["optimiser"] == "sgd" else 0.02
    found = train_selection(SelectionTraining(task=task, **given, **lists, scale=scale, records=RECORDS), seed)
    names = [name for name in found.losses if name != "train"]
    variables: dict[str, Any] = {"loss": (("set", "step"), [found.losses[name] for name in names])}
    variables |= {name: ("step", found.measures[measure]) for name, measure in MEASURES.items()}
    for when, model in (("start", found.first_model), ("end", found.model)):
        variables |= {f"keys_{when}": (("row", "column"), np.asarray(model.keys, np.float64))}
        variables |= {f"values_{when}": (("output", "column"), np.asarray(model.values, np.float64))}
    return xarray.Dataset(variables, coords={"set": names, "step": found.steps})


@dataclasses.dataclass(frozen=True, eq=False)
class SelectRun:
    """What the trainings found."""

    config: SelectConfig
    code: int | None
    trainings: dict[str, list[xarray.Dataset]]
    """By kind of codes, seed by seed."""
    theory: dict[str, Any] | None
    """Steps and losses of the exact dynamics, where there are any for this training."""

    @property
    def steps(self) -> np.ndarray:
        return next(iter(self.trainings.values()))[0]["step"].values

    def losses(self, name: str) -> dict[str, np.ndarray]:
        """Losses (seeds, steps) on one set, by kind of codes."""
        known = {kind: found for kind, found in self.trainings.items() if name in found[0]["set"].values}
        return {kind: np.stack([each["loss"].sel(set=name).values for each in found]) for kind, found in known.items()}

    def summary(self) -> dict[str, Any]:
        from specht.studies.selection.theory import width_needed

        config = self.config
        task, sizes = config.task, (config.length, config.support, config.dimension)
        own = self.losses("validation")
        train = [
            {"step": int(step)} | _entry({kind: values[:, place] for kind, values in own.items()}) for place, step in enumerate(self.steps)
        ]
        ends = {
            kind: {name: float(np.mean([each[name].values[-1] for each in found])) for name in MEASURES}
            for kind, found in self.trainings.items()
        }
        return {
            "task": str(task),
            "code": self.code,
            "trivial": task.trivial_loss,
            "train": train,
            "lengths": [{"T_test": T} | _entry(self._ends(f"T={T}")) for T in config.lengths],
            "supports": [{"q_test": q, "trivial": task.dimension / (2 * q)} | _entry(self._ends(f"q={q}")) for q in config.supports],
            "matrices": ends,
            "theory": self.theory,
            "network_width": int(width_needed(SHARE, *sizes)),
            "network_share": SHARE,
            "attention_width": None if self.code is None else self.code + task.dimension,
            "seeds": config.seeds,
            "codes": list(config.codes),
            "optimiser": config.optimiser,
            "learning_rate": config.rate,
        }

    def _ends(self, name: str) -> dict[str, np.ndarray]:
        return {kind: values[:, -1] for kind, values in self.losses(name).items()}

    def csv(self) -> str:
        """One line a kind of codes, set and seed: the loss at the end."""
        lines = [
            {"codes": kind, "set": name, "seed": self.config.seed + seed, "loss": float(each["loss"].sel(set=name).values[-1])}
            for kind, found in self.trainings.items()
            for seed, each in enumerate(found)
            for name in each["set"].values
        ]
        return csv_text(("codes", "set", "seed", "loss"), lines)

    def dataset(self, attributes: dict[str, Any]) -> xarray.Dataset:
        """Losses along codes, seed, set and step; sets that a kind of codes is not tested on are NaN. Matrices are of the first seed."""
        kinds = [xarray.concat([each[["loss", *MEASURES]] for each in found], "seed") for found in self.trainings.values()]
        joined = xarray.concat(kinds, "codes", join="outer", fill_value=np.nan)
        joined = joined.assign_coords(codes=list(self.trainings), seed=[self.config.seed + seed for seed in range(self.config.seeds)])
        for kind, found in self.trainings.items():
            for name in ("keys_start", "keys_end", "values_start", "values_end"):
                values = found[0][name].values
                joined[f"{name}_{kind}"] = ((f"{name[:4]}_row_{kind}", f"{name[:4]}_column_{kind}"), values)
        return joined.assign_attrs(attributes)


def run_select(config: SelectConfig, archive: Archive, places: Places, progress: Progress | None = None) -> SelectRun:
    """Train what a configuration asks for; trainings that an earlier run has finished are taken over."""
    settings = config.settings()
    jobs = {
        setting["codes"]: [Job.of(f"{__name__}:train_one", setting=setting, seed=config.seed + place) for place in range(config.seeds)]
        for setting in settings
    }
    theory = _theory(config, settings)  # it refuses what cannot be trained, before hours of training
    done = sweep([job for each in jobs.values() for job in each], archive, places, attempts=1, progress=progress)
    done.raise_failure()
    trainings = {kind: [_loaded(archive, job) for job in each] for kind, each in jobs.items()}
    return SelectRun(config, config.code_dimension(), trainings, theory)


def _loaded(archive: Archive, job: Job) -> xarray.Dataset:
    found = archive.load(job)
    if found is None:
        raise StorageError(f"The result of {job} was damaged after it was computed: give the same command again.")
    return found


def _theory(config: SelectConfig, settings: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The exact dynamics of gradient descent at a constant rate, for the first kind of codes that has any."""
    from specht.studies.selection.codes_theory import draw_pool, stochastic_dynamics
    from specht.studies.selection.theory import one_hot_dynamics

    if config.optimiser != "sgd" or config.shape != "constant":
        return None
    given: dict[str, Any] = {"learning_rate": config.rate, "steps": config.steps, "records": RECORDS}
    for setting in settings:
        if setting["codes"] == "stochastic":
            pool = draw_pool(np.random.default_rng(_SEED), config.length, config.support, setting["code"], _DRAWS, config.query)
            found = stochastic_dynamics(pool, config.dimension, **given, groups=_GROUPS)
        elif setting["codes"] == "one-hot":
            found = one_hot_dynamics(config.length, config.support, config.dimension, **given)
        else:
            continue
        errors = None if found.loss_stderr is None else found.loss_stderr.tolist()
        return {"codes": setting["codes"], "steps": found.steps.tolist(), "loss": found.loss.tolist(), "stderr": errors}
    return None


def _entry(values: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Means over seeds by kind of codes, and their standard errors; None with a single seed."""
    errors = {kind: float(standard_error(each)) if len(each) > 1 else None for kind, each in values.items()}
    return {kind: float(each.mean()) for kind, each in values.items()} | {"stderr": errors}
