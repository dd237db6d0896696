"""Thresholds: one job a learner and length, which can be stopped, resumed and spread; then fits over the lengths."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray

from specht.errors import InputError
from specht.lab.csv_text import csv_text
from specht.lab.jobs import Job
from specht.lab.threshold_config import ThresholdConfig

MEASURE = "specht.lab.threshold_job:measure_threshold"
COLUMNS = ("learner", "T", "m", "low", "high", "state", "trials", "runs")
PROFILED = 24
"""Positions at which the symmetry profile of a function is measured, or T where that is fewer."""
_CURVE = 60


def measure_threshold(
    table: str, length: int, learner: str, search: dict[str, Any], training: dict[str, Any], accuracy: float, validation: int, seed: int
) -> xarray.Dataset:
    """One threshold: where it lies, and every batch of trials that says so."""
    from specht.studies.sparse import learners
    from specht.studies.sparse.task import sparse_function
    from specht.studies.sparse.threshold import Search, find_threshold

    task = learners.Task(sparse_function(table), length, accuracy, validation, seed)
    who = learners.learner(learner, task, **_settings(learner, **training))
    kept: list[list[Any]] = []

    def successes(m: int, trials: range) -> int:
        kept.append([who.try_once(m, trial) for trial in trials])
        return sum(trial.success for trial in kept[-1])

    found = find_threshold(successes, Search(**search))
    numbers = {name: float(getattr(found, name)) for name in ("m", "low", "high", "log_stderr", "curve_width", "lapse", "reached")}
    batches = {
        "size": [float(each.m) for each in found.batches],
        "successes": [float(each.successes) for each in found.batches],
        "runs": [float(sum(trial.runs for trial in trials)) for trials in kept],
        "accuracy": [float(np.mean([trial.accuracy for trial in trials])) for trials in kept],
        "identified": [float(np.mean([trial.identified for trial in trials])) for trials in kept],
    }
    return xarray.Dataset(
        {name: ((), value) for name, value in numbers.items()} | {name: ("batch", values) for name, values in batches.items()},
        coords={"what": "threshold", "state": found.state},
    )


def _settings(learner: str, steps: int = 125, restarts: int = 3, learning_rate: float = 1e-3) -> dict[str, Any]:
    from specht.studies.sparse.learners import NETWORKS

    if learner not in NETWORKS:
        return {}
    from specht.studies.sparse.trials import Schooling  # loads JAX

    return {"schooling": Schooling(steps=steps, every=min(25, steps), learning_rate=learning_rate), "restarts": restarts}


def jobs_of(config: ThresholdConfig) -> list[Job]:
    """All searches, the longest sequences first: they take longest."""
    lengths = sorted(config.lengths, reverse=True)
    return [Job.of(MEASURE, **config.job_arguments(learner, length)) for learner in config.learners for length in lengths]


def describe_threshold(data: xarray.Dataset, smallest: int, largest: int) -> str:
    """A threshold in a few words."""
    state = data["state"].item()
    if state == "not reached":
        return f"not reached by m = {largest}"
    if state == "below":
        return f"reached by m = {smallest} already"
    middle, low, high = (count(float(data[name])) for name in ("m", "low", "high"))
    return f"{middle} ({low} to {high})"


def count(samples: float) -> str:
    """A number of samples, in three digits or more.

    >>> count(31.26), count(1221.3)
    ('31.3', '1221')
    """
    return f"{samples:.3g}" if samples < 1000 else f"{samples:.0f}"


@dataclasses.dataclass(frozen=True)
class ThresholdRun:
    """All thresholds of a configuration."""

    config: ThresholdConfig
    results: Sequence[tuple[str, int, xarray.Dataset]]
    """Learner, T and what was found, by learner and T."""

    def points(self) -> list[dict[str, Any]]:
        """One a threshold, as the command prints it."""
        return [
            {
                "learner": learner,
                "T": length,
                **{name: float(data[name]) for name in ("m", "low", "high", "log_stderr", "curve_width", "lapse")},
                "reached": bool(data["reached"]),
                "state": data["state"].item(),
                "words": describe_threshold(data, self.config.smallest, self.config.largest),
                "trials": self.config.batch * data.sizes["batch"],
                "runs": int(data["runs"].sum()),
                "identified": float(data["identified"].mean()),
                "tried": [
                    {"m": int(m), "successes": int(successes), "trials": self.config.batch}
                    for m, successes in zip(data["size"].values, data["successes"].values, strict=True)
                ],
            }
            for learner, length, data in self.results
        ]

    def fits(self) -> dict[str, Any]:
        """Laws of growth of each learner with enough thresholds."""
        return {learner: self._fit([p for p in self.points() if p["learner"] == learner]) for learner in self.config.learners}

    def _fit(self, points: Sequence[dict[str, Any]]) -> dict[str, Any]:
        from specht.studies.sparse.growth import fit_growth

        found = [point for point in points if point["state"] == "found"]
        try:
            growth = fit_growth(*([point[name] for point in found] for name in ("T", "m", "log_stderr")))
        except InputError as error:
            return {"verdict": None, "reason": str(error)}
        lengths = np.geomspace(min(self.config.lengths), max(self.config.lengths), _CURVE)
        laws = {
            name: {
                "parameters": list(law.parameters),
                "aic": law.aic,
                "r_squared": law.r_squared,
                "T": lengths.tolist(),
                "m": law(lengths).tolist(),
            }
            for name, law in growth.laws.items()
        }
        numbers = {name: getattr(growth, name) for name in ("exponent", "exponent_stderr", "log_r_squared", "linear_r_squared", "points")}
        return {"verdict": growth.verdict, **numbers, "laws": laws}

    def bounds(self) -> list[dict[str, Any]]:
        """For each T the samples from which corollary 4.5 says anything about a head of lemma B.3 that averages the s bits."""
        from specht.studies.sparse.bounds.covering import head_capacity
        from specht.studies.sparse.bounds.generalisation import samples_until
        from specht.studies.sparse.bounds.norms import HeadNorms
        from specht.studies.sparse.bounds.representation import trained_positions_head

        support = self.config.build_function().support
        found = []
        for length in sorted(self.config.lengths):
            head = trained_positions_head(length, range(support), gamma=1.0 / support)
            norms = HeadNorms.of(head.value @ head.mix, head.query @ head.key.T)

            def capacity(m: float, norms: HeadNorms = norms, length: int = length) -> float:
                return head_capacity(norms, math.sqrt(2.0), samples=m, length=length, width=4)  # pyright: ignore[reportArgumentType]

            found.append({"T": length, "samples": samples_until(capacity, 0.5), "query_key_21": norms.query_key_21})
        return found

    def profile(self) -> dict[str, Any]:
        """The symmetry profile of the function on its own bits."""
        from specht.profiles.profile import profile
        from specht.sequences.sources import iid

        function = self.config.build_function()
        length = max(min(PROFILED, *self.config.lengths), function.support)
        p = function.probability
        found = profile(function.target(length), iid([1.0 - p, p]), length, self.config.seed, samples=2000, readout="mean")
        return {"length": length, "levels": list(found.levels), "shares": [share._asdict() for share in found.shares]} | {
            "variance_shares": found.variance_shares.tolist()
        }

    def summary(self) -> dict[str, Any]:
        function = self.config.build_function()
        return {
            "function": function.name,
            "support": function.support,
            "table": "".join("01"[value] for value in function.table),
            "probability": function.probability,
            "points": self.points(),
            "fits": self.fits(),
            "bounds": self.bounds(),
            "profile": self.profile(),
        }

    def csv(self) -> str:
        return csv_text(COLUMNS, [{name: point[name] for name in COLUMNS} for point in self.points()])

    def dataset(self, attributes: dict[str, Any]) -> xarray.Dataset:
        """Thresholds along `point`; batches of trials along `point` and `batch`, NaN after the end of a search."""
        points = self.points()
        most = max(data.sizes["batch"] for _, _, data in self.results)
        variables: dict[str, Any] = {name: ("point", [point[name] for point in points]) for name in ("m", "low", "high", "log_stderr")}
        variables |= {name: ("point", [point[name] for point in points]) for name in ("trials", "runs", "curve_width", "lapse")}
        for name in ("size", "successes", "runs", "accuracy", "identified"):
            rows = [np.pad(data[name].values, (0, most - data.sizes["batch"]), constant_values=np.nan) for _, _, data in self.results]
            variables[f"batch_{name}"] = (("point", "batch"), np.stack(rows))
        coordinates = {"learner": ("point", [p["learner"] for p in points]), "T": ("point", [p["T"] for p in points])}
        return xarray.Dataset(variables, coords=coordinates | {"state": ("point", [p["state"] for p in points])}, attrs=attributes)
