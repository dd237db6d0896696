"""Many results of one function as one dataset, whose dimensions are the arguments that vary."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray

from specht.papers.claims import Result


class Axes(NamedTuple):
    """How arguments become axes of a dataset."""

    dimensions: tuple[str, ...]
    """Arguments that vary on their own."""
    followers: Mapping[str, str]
    """Arguments that vary, but whose value is known from that of one dimension: they become coordinates along it."""


def axes_of(scales: Sequence[Sequence[Mapping[str, Any]]]) -> Axes:
    """Which arguments are dimensions: those that take several values at some scale, unless another one that comes first decides them.

    >>> axes_of([[{"length": 8, "steps": 10, "seed": 0}, {"length": 16, "steps": 20, "seed": 0}, {"length": 16, "steps": 20, "seed": 1}]])
    Axes(dimensions=('length', 'seed'), followers={'steps': 'length'})
    """
    names = list(dict.fromkeys(name for points in scales for point in points for name in point))
    varying = [name for name in names if any(len({key(point.get(name)) for point in points}) > 1 for points in scales)]

    def decides(one: str, other: str) -> bool:
        return all(
            len({(key(point.get(one)), key(point.get(other))) for point in points}) == len({key(point.get(one)) for point in points})
            for points in scales
        )

    followers: dict[str, str] = {}
    for place, name in enumerate(varying):
        for rank, other in enumerate(varying):
            first = rank < place or not decides(name, other)
            if other != name and other not in followers and first and decides(other, name):
                followers[name] = other
                break
    return Axes(tuple(name for name in varying if name not in followers), followers)


def key(value: Any) -> Any:
    """An argument as something that can be compared and looked up: lists and dictionaries become their JSON."""
    return value if value is None or isinstance(value, str | int | float) else json.dumps(value, sort_keys=True)


def gather(results: Sequence[Result], axes: Axes) -> xarray.Dataset:
    """One dataset of all results.

    Combinations without a result are NaN, or an empty string for text. So are the ends of results that are shorter than others: a dimension
    without coordinates is filled up at its end, one with coordinates gets those of all results. Arguments that do not vary are attributes.
    """
    labels = {name: _sorted(key(result.arguments[name]) for result in results) for name in axes.dimensions}
    places = [tuple(labels[name].index(key(result.arguments[name])) for name in axes.dimensions) for result in results]
    if len(set(places)) < len(places):
        raise ValueError(f"Two results have the same {', '.join(axes.dimensions) or 'arguments'}: name what tells them apart in the grid.")
    datasets = [result.data for result in results]
    inner = _inner_labels(datasets)
    clash = set(inner) & set(axes.dimensions)
    if clash:
        raise ValueError(f"{sorted(clash)[0]!r} is an argument that varies and a dimension of the result: give one of them another name.")
    outer = tuple(len(labels[name]) for name in axes.dimensions)
    names = dict.fromkeys(str(name) for data in datasets for name in data.variables if name not in inner)
    variables = {name: _filled(name, datasets, places, axes.dimensions, outer, inner) for name in names}
    is_coordinate = {str(name) for data in datasets for name in data.coords}
    combined = xarray.Dataset(
        {name: variable for name, variable in variables.items() if name not in is_coordinate},
        coords=dict(labels)
        | {name: values for name, values in inner.items() if not isinstance(values, int)}
        | {name: variable for name, variable in variables.items() if name in is_coordinate}
        | {name: _along(name, other, results, labels[other]) for name, other in axes.followers.items() if name in results[0].arguments},
    )
    for name in results[0].arguments:
        if name not in axes.dimensions and name not in axes.followers:
            combined.attrs[name] = results[0].arguments[name]
    return combined


def _sorted(values: Any) -> list[Any]:
    """Numbers in increasing order, anything else as it comes."""
    different = list(dict.fromkeys(values))
    return sorted(different) if all(isinstance(value, int | float | np.number) for value in different) else different


def _inner_labels(datasets: Sequence[xarray.Dataset]) -> dict[str, Any]:
    """The coordinates of each dimension of the results, or its largest size if it has none."""
    labels: dict[str, Any] = {}
    for name in dict.fromkeys(str(name) for data in datasets for name in data.dims):
        holders = [data for data in datasets if name in data.dims]
        if all(name in data.coords for data in holders):
            rows = [data[name].values.tolist() for data in holders]
            labels[name] = rows[0] if all(row == rows[0] for row in rows) else _sorted(itertools.chain.from_iterable(rows))
        else:
            labels[name] = max(data.sizes[name] for data in holders)
    return labels


def _filled(
    name: str,
    datasets: Sequence[xarray.Dataset],
    places: Sequence[tuple[int, ...]],
    dimensions: tuple[str, ...],
    outer: tuple[int, ...],
    inner: Mapping[str, Any],
) -> tuple[tuple[str, ...], np.ndarray]:
    """One variable of all results."""
    arrays = [(place, data[name]) for place, data in zip(places, datasets, strict=True) if name in data.variables]
    own = tuple(str(dimension) for dimension in arrays[0][1].dims)
    sizes = [inner[dimension] if isinstance(inner[dimension], int) else len(inner[dimension]) for dimension in own]
    is_number = all(array.dtype.kind in "fiub" for _, array in arrays)
    values = np.full((*outer, *sizes), np.nan if is_number else "", dtype=np.float64 if is_number else object)
    for place, array in arrays:
        at = [
            np.arange(array.sizes[dimension])
            if isinstance(inner[dimension], int)
            else np.array([inner[dimension].index(label) for label in array[dimension].values.tolist()], dtype=int)
            for dimension in own
        ]
        part = values[(*place, Ellipsis)]  # a view, for results that are single numbers too
        part[np.ix_(*at) if at else Ellipsis] = array.values
    return (*dimensions, *own), values if is_number else values.astype(str)


def _along(name: str, other: str, results: Sequence[Result], labels: Sequence[Any]) -> tuple[str, np.ndarray]:
    """An argument as a coordinate along the dimension that decides it."""
    pairs = [(key(result.arguments[other]), result.arguments[name]) for result in results]
    values = dict(pairs)
    if any(key(values[label]) != key(value) for label, value in pairs):
        raise ValueError(f"{name!r} differs between results with the same {other!r}: it cannot be a coordinate along it.")
    column = np.empty(len(labels), dtype=object)
    for place, label in enumerate(labels):
        column[place] = values[label]
    is_plain = all(isinstance(value, str | int | float) for value in column)
    return other, np.array(column.tolist()) if is_plain else column
