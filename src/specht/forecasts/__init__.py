"""The learning curve of one's own table: rows read from files, measured on subsets, and continued beyond them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.forecasts.contenders import (
        CONTENDERS as CONTENDERS,
        DEFAULT_CONTENDERS as DEFAULT_CONTENDERS,
        choose_contenders as choose_contenders,
    )
    from specht.forecasts.forecast import ForecastSettings as ForecastSettings, forecast_table as forecast_table
    from specht.forecasts.table import SequenceTable as SequenceTable, TableOptions as TableOptions, read_table as read_table

__all__, __getattr__, __dir__ = lazy_names(__name__)
