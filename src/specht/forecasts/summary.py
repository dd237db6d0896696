"""A forecast as plain values and named variables: what files, tables and figures are made of."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from specht.forecasts.contenders import CONTENDERS
from specht.forecasts.extrapolate import CONTINUED, REACH
from specht.results import Variable
from specht.stats import standard_error

if TYPE_CHECKING:
    from specht.forecasts.forecast import ArchitectureForecast, Band, Forecast


def forecast_summary(forecast: Forecast) -> dict[str, Any]:
    """Curves as plain values, those of the best architecture first."""
    from specht.forecasts.forecast import DRIFT, PRIOR, QUARTERS  # which knows what a forecast is

    best = forecast.best
    return {
        "n_train": best.measured.n_train.tolist(),
        "theory": {"test": best.curve.value[np.isin(best.curve.n_train, best.measured.n_train)].tolist()},
        "gp": {"test": _means(best.measured.error), "test_stderr": best.measured.stderr.tolist()},
        "rows": forecast.rows,
        "rows_available": forecast.rows_available,
        "label_variance": forecast.variance,
        "majority": forecast.majority,
        "confidence": forecast.settings.confidence,
        "best": best.name,
        "order": None if forecast.order is None else dataclasses.asdict(forecast.order),
        "constants": {"reach": REACH, "continued": CONTINUED, "prior": PRIOR, "quarters": QUARTERS, "drift": DRIFT},
        "architectures": [_architecture(one) for one in forecast.architectures],
    }


def forecast_variables(forecast: Forecast) -> list[Variable]:
    """Forecasts along architecture and horizon first, then curves and what was measured."""
    every, unit = forecast.architectures, "label variance"
    words = {"forecast": "forecast error", "power_law": "error by a power law", "curve": "forecast error", "power_law_curve": "a power law"}
    dims = {"forecast": "horizon", "power_law": "horizon", "curve": "n_curve", "power_law_curve": "n_curve"}
    variables = []
    for name, meaning in words.items():
        for end, said in (("value", ""), ("low", "lower end of the interval of the "), ("high", "upper end of the interval of the ")):
            values = np.stack([getattr(getattr(one, name), end) for one in every])
            label = name if end == "value" else f"{name}_{end}"
            variables.append(Variable(label, ("architecture", dims[name]), values, f"{said}{meaning}", unit))
    repeats = ("architecture", "n_train", "repeat")
    variables += [
        Variable("architecture", "architecture", np.array([one.name for one in every]), "name of the architecture"),
        Variable("horizon", "horizon", every[0].forecast.n_train, "number of training rows that is forecast", "rows"),
        Variable("n_curve", "n_curve", every[0].curve.n_train, "number of training rows of the curves", "rows"),
        Variable("n_train", "n_train", every[0].measured.n_train, "number of training rows that was measured", "rows"),
        Variable("measured", repeats, np.stack([one.measured.error for one in every]), "error on held-out rows", unit),
        Variable("leave_one_out", ("architecture", "row"), np.stack([one.squares for one in every]), "squared residuals at all rows", unit),
        Variable("error", "architecture", [one.error for one in every], "leave-one-out error at all rows", unit),
        Variable("ridge", "architecture", [one.fit.ridge for one in every], "fitted ridge", "E[k]"),
        Variable("signal", "architecture", [one.fit.signal for one in every], "fitted prior variance of the output", unit),
        Variable("log_likelihood", "architecture", [one.fit.log_likelihood for one in every], "log likelihood of one row"),
    ]
    accuracies = [one.measured.accuracy for one in every if one.measured.accuracy is not None]
    if accuracies:
        variables.append(Variable("accuracy", repeats, np.stack(accuracies), "share of held-out rows whose class is named rightly"))
    return variables


def _architecture(one: ArchitectureForecast) -> dict[str, Any]:
    measured = one.measured
    accuracy = None
    if measured.accuracy is not None:
        accuracy = {"value": _means(measured.accuracy), "stderr": [float(standard_error(row)) for row in measured.accuracy]}
    return {
        "name": one.name,
        "description": CONTENDERS[one.name][0] if one.name in CONTENDERS else str(one.fit.arch),
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


def _band(band: Band) -> dict[str, list[float]]:
    return {name: getattr(band, name).tolist() for name in ("n_train", "value", "low", "high")}


def _means(values: np.ndarray) -> list[float]:
    return values.mean(axis=1).tolist()
