"""The searches of `specht threshold`, one job for each learner and length, and what they say together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray

from specht.commands.threshold import ThresholdConfig
from specht.errors import InputError
from specht.lab import MEASURE, Job, describe_threshold
from specht.studies import sparse
from specht.trees import along

PROFILED = 24
"""Positions at which the symmetry profile of a function is measured, or T where that is fewer."""
_CURVE_POINTS = 60
"""Lengths at which the fitted laws are evaluated."""


def jobs_of(config: ThresholdConfig) -> list[Job]:
    """All searches, the longest sequences first: they take longest."""
    lengths = sorted(config.lengths, reverse=True)
    return [Job.of(MEASURE, **config.job_arguments(learner, length)) for learner in config.learners for length in lengths]


def summary_of(config: ThresholdConfig, searches: Mapping[tuple[str, int], xarray.Dataset]) -> dict[str, Any]:
    """What was asked, and what the searches say that were made for each learner and length, as JSON has it."""
    function = config.build_function()
    order = sorted(searches, key=lambda asked: (config.learners.index(asked[0]), asked[1]))
    points = [_point(config, *asked, searches[asked]) for asked in order]
    return {
        "function": function.name,
        "support": function.support,
        "table": config.table,
        "probability": function.probability,
        "learners": list(config.learners),
        "accuracy": config.accuracy,
        "validation": config.validation,
        "search": config.search(),
        "training": config.training(),
        "points": points,
        "fits": {learner: _fit(config, [point for point in points if point["learner"] == learner]) for learner in config.learners},
        "bounds": [_bound(function.support, length) for length in sorted(config.lengths)],
        "profile": _profile(config),
    }


def _point(config: ThresholdConfig, learner: str, length: int, search: xarray.Dataset) -> dict[str, Any]:
    """One threshold."""
    return {
        "learner": learner,
        "T": length,
        **{name: float(search[name]) for name in ("m", "low", "high", "log_stderr", "curve_width", "lapse")},
        "reached": bool(search["reached"]),
        "state": search["state"].item(),
        "words": describe_threshold(search, config.smallest, config.largest),
        "trials": config.batch * search.sizes["batch"],
        "runs": int(search["runs"].sum()),
        "identified": float(search["identified"].mean()),
        "tried": [_batch(config, search.isel(batch=place)) for place in range(search.sizes["batch"])],
    }


def _batch(config: ThresholdConfig, batch: xarray.Dataset) -> dict[str, Any]:
    """Some trials at one number of samples."""
    counts = {"m": int(batch["size"]), "successes": int(batch["successes"]), "trials": config.batch, "runs": int(batch["runs"])}
    return counts | {"accuracy": float(batch["accuracy"]), "identified": float(batch["identified"])}


def _fit(config: ThresholdConfig, points: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The laws of growth of one learner, or the reason why there are none."""
    reached = [point for point in points if point["state"] == "found"]
    try:
        growth = sparse.fit_growth(*([point[name] for point in reached] for name in ("T", "m", "log_stderr")))
    except InputError as error:
        return {"verdict": None, "reason": str(error)}
    lengths = np.geomspace(min(config.lengths), max(config.lengths), _CURVE_POINTS)
    laws = {
        name: {"parameters": list(law.parameters), "aic": law.aic, "r_squared": law.r_squared}
        | along("T", {"T": lengths.tolist(), "m": law(lengths).tolist()})
        for name, law in growth.laws.items()
    }
    numbers = {name: getattr(growth, name) for name in ("exponent", "exponent_stderr", "log_r_squared", "linear_r_squared", "points")}
    return {"verdict": growth.verdict, **numbers, "laws": laws}


def _bound(support: int, length: int) -> dict[str, Any]:
    """The samples from which corollary 4.5 says anything about a head of lemma B.3 that averages the s bits."""
    from specht.studies.sparse.bounds import HeadNorms, head_capacity, samples_until, trained_positions_head

    head = trained_positions_head(length, range(support), gamma=1.0 / support)
    norms = HeadNorms.of(head.value @ head.mix, head.query @ head.key.T)

    def capacity(samples: float) -> float:
        return head_capacity(norms, math.sqrt(2.0), samples=samples, length=length, width=4)  # pyright: ignore[reportArgumentType]

    return {"T": length, "samples": samples_until(capacity, 0.5), "query_key_21": norms.query_key_21}


def _profile(config: ThresholdConfig) -> dict[str, Any]:
    """The symmetry profile of the function on its own bits."""
    from specht.profiles import profile
    from specht.sequences import iid

    function = config.build_function()
    length, p = max(min(PROFILED, *config.lengths), function.support), function.probability
    measured = profile(function.target(length), iid([1.0 - p, p]), length, config.seed, samples=2000, readout="mean")
    levels = {"levels": list(measured.levels), "variance_shares": measured.variance_shares.tolist()}
    return {"length": length, **along("levels", levels), "shares": [share._asdict() for share in measured.shares]}
