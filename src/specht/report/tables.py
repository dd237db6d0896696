"""Tables from datasets: a row for each combination of the dimensions at which there is something."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import xarray

from specht.report.page import Column, Table


def table(
    data: xarray.Dataset, columns: Mapping[str, Column], *, rows: Sequence[str] | None = None, note: str = "", title: str = "Numbers"
) -> Table:
    """A table with a row for each point of a dataset: each combination of all its dimensions, or of those in `rows`.

    >>> losses = xarray.Dataset({"loss": ("length", [0.123, 0.5])}, coords={"length": [8, 16]})
    >>> table(losses, {"T": "length", "loss": "loss:.2f"}).rows
    [['8', '0.12'], ['16', '0.50']]
    """
    points = points_of(data, *(map(str, data.dims) if rows is None else rows))
    return Table.of(points, columns, note=note, title=title)


def points_of(data: xarray.Dataset, *dimensions: str) -> Iterator[xarray.Dataset]:
    """The parts of a dataset at each combination of some dimensions, where there is something."""
    for place in itertools.product(*(range(data.sizes[name]) for name in dimensions)):
        part = data.isel(dict(zip(dimensions, place, strict=True)))
        if any(bool(variable.notnull().any()) for variable in part.data_vars.values()):
            yield part
