"""The forecast for data of one's own in one call."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from specht.errors import InputError
from specht.forecasts.budget import seconds_of
from specht.forecasts.forecast import Forecast, ForecastSettings, forecast_table, used_rows
from specht.forecasts.learners.estimators import EstimatorLearner
from specht.forecasts.learners.learner import Learner
from specht.forecasts.learners.registry import choose_learners
from specht.forecasts.table import TableOptions, read_table
from specht.forecasts.verdicts import Goal
from specht.progress import Progress, progress_bar


def forecast(
    data: Any,
    target: Any = None,
    *,
    sequence: str | None = None,
    learners: Sequence[str] | Mapping[str, Any] | None = None,
    goal: str | Goal | None = None,
    budget: float | str = "2m",
    settings: ForecastSettings = ForecastSettings(),  # noqa: B008 -- frozen
    table: TableOptions = TableOptions(),  # noqa: B008 -- frozen
    progress: Progress | bool = True,
) -> Forecast:
    """How good will predictions become with more rows like these, is it worth it, and does the order of tokens matter?

    Arguments:
        data: a path, a DataFrame, a mapping of columns, a list of records, what a tokenizer returns, or texts or lists of tokens.
        target: the column of the labels, or as many labels as there are sequences.
        sequence: the column of the sequences, where there are several that it could be.
        learners: names, or a mapping of names to estimators of scikit-learn, to objects with `fit` and `predict`, or to True for a learner
            that comes with the package; what the budget has room for unless given.
        goal: a quality to reach, such as "accuracy=0.95", "R2=0.8" or "error=0.2".
        budget: CPU time for measuring, in seconds or such as "2m".
        settings: rows, horizons, confidence and seed.
        table: how rows are read.
        progress: called as progress(done, total); True for a bar in a terminal or a notebook, False for none.
    """
    rows = read_table(data, target, sequence, table)
    wanted = Goal.parse(goal) if isinstance(goal, str) else goal
    settings = dataclasses.replace(settings, budget=seconds_of(budget), **({} if wanted is None else {"goal": wanted}))
    used = used_rows(rows, settings)
    if isinstance(learners, Mapping):
        chosen = [_learner(name, given, used) for name, given in learners.items()]
        if not chosen:
            raise InputError("learners is empty: name at least one, or leave it out.")
    else:
        chosen = choose_learners(learners, used)
    if not isinstance(progress, bool):
        return forecast_table(rows, chosen, settings, progress=progress)
    with progress_bar("forecast") if progress else contextlib.nullcontext() as shown:
        return forecast_table(rows, chosen, settings, progress=shown)


def _learner(name: str, given: Any, used: Any) -> Learner:
    if given is True:
        return choose_learners([name], used)[0]
    return given if isinstance(given, Learner) else EstimatorLearner(name, given)
