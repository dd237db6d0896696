"""The learning curve of one's own table: rows read from files, measured on subsets, and continued beyond them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.forecasts.budget import seconds_of as seconds_of
    from specht.forecasts.forecast import (
        Forecast as Forecast,
        ForecastSettings as ForecastSettings,
        forecast_table as forecast_table,
        used_rows as used_rows,
    )
    from specht.forecasts.learners.learner import Learner as Learner
    from specht.forecasts.learners.names import LEARNER_NAMES, check_learner_names as check_learner_names
    from specht.forecasts.learners.registry import choose_learners as choose_learners
    from specht.forecasts.measuring import measured as measured
    from specht.forecasts.plan import ExpectedUse as ExpectedUse, PlannedRun as PlannedRun
    from specht.forecasts.subsets import SplitErrors as SplitErrors
    from specht.forecasts.table import SequenceTable as SequenceTable, TableOptions as TableOptions, read_table as read_table
    from specht.forecasts.table_files import RawTable, read_raw
    from specht.forecasts.table_guess import GuessedColumns, guess_columns
    from specht.forecasts.verdicts import Goal as Goal

__all__, __getattr__, __dir__ = lazy_names(__name__)
