"""A forecast as plain values and named variables: what files, tables and figures are made of."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from specht.forecasts.sentences import answer_sentences
from specht.forecasts.verdicts import WITHIN_REACH, WORTH_CUT, WORTH_TIMES
from specht.results import Variable

if TYPE_CHECKING:
    from specht.forecasts.curves import Band, CurveForecast
    from specht.forecasts.forecast import Forecast, LearnerForecast


def forecast_summary(forecast: Forecast) -> dict[str, Any]:
    """Curves as plain values, those of the best learner first."""
    return {
        "answer": answer_sentences(forecast),
        "rows": forecast.rows,
        "rows_available": forecast.rows_available,
        "label_variance": forecast.variance,
        "majority": forecast.majority,
        "confidence": forecast.settings.confidence,
        "best": forecast.best.name,
        "worth": dataclasses.asdict(forecast.worth) | {"times": WORTH_TIMES, "least": WORTH_CUT},
        "order": None if forecast.order is None else dataclasses.asdict(forecast.order),
        "where": None if forecast.where is None else dataclasses.asdict(forecast.where),
        "goal": None if forecast.goal is None else _goal(forecast),
        "left_out": list(forecast.left_out),
        "budget": {"seconds": forecast.settings.budget} | dataclasses.asdict(forecast.cost),
        "learners": [_learner(one) for one in forecast.learners],
    }


def forecast_variables(forecast: Forecast) -> list[Variable]:
    """Forecasts along learner and horizon first."""
    learners = forecast.learners
    horizon = learners[0].error.horizons.n_train
    variables = [
        Variable("learner", "learner", np.array([one.name for one in learners]), "name of the learner"),
        Variable("horizon", "horizon", horizon, "number of rows that is forecast", "rows"),
    ]
    kinds = {"error": ("mean squared error", "label variance"), "error_rate": ("share of rows named wrongly", "1")}
    for kind, (meaning, unit) in kinds.items():
        if getattr(learners[0], kind) is None:
            continue
        for end, said in (
            ("value", "median of the "),
            ("low", "lower end of the interval of the "),
            ("high", "upper end of the interval of the "),
        ):
            values = np.stack([getattr(getattr(one, kind).horizons, end) for one in learners])
            name = kind if end == "value" else f"{kind}_{end}"
            variables.append(Variable(name, ("learner", "horizon"), values, said + meaning, unit))
        law = np.stack([getattr(one, kind).law.value for one in learners])
        variables.append(Variable(f"{kind}_power_law", ("learner", "horizon"), law, f"{meaning} by a power law with an offset", unit))
    return variables


def _goal(forecast: Forecast) -> dict[str, Any]:
    goal = forecast.goal
    assert goal is not None
    rows = {name: None if math.isinf(value) else value for name, value in (("rows", goal.value), ("low", goal.low), ("high", goal.high))}
    return {
        "measure": goal.goal.measure,
        "value": goal.goal.value,
        **rows,
        "within_reach": not math.isinf(goal.value),
        "times": WITHIN_REACH,
    }


def _learner(one: LearnerForecast) -> dict[str, Any]:
    return {
        "name": one.name,
        "description": one.description,
        "seconds": one.seconds,
        "error": _curve(one.error),
        "error_rate": None if one.error_rate is None else _curve(one.error_rate),
    }


def _curve(curve: CurveForecast) -> dict[str, Any]:
    measured = curve.measured
    return {
        "measured": {
            "n_train": measured.n_train.tolist(),
            "value": measured.mean.tolist(),
            "stderr": measured.stderr.tolist(),
            "repeats": measured.error.shape[1],
            "shared": measured.shared,
        },
        "forecast": band_values(curve.horizons),
        "curve": band_values(curve.curve),
        "power_law": band_values(curve.law),
    }


def band_values(band: Band) -> dict[str, list[float]]:
    return {name: getattr(band, name).tolist() for name in ("n_train", "value", "low", "high")}
