"""Many results of one function as one dataset, whose dimensions are the arguments that vary."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray

from specht.papers.claims import JobResult


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


def gather(results: Sequence[JobResult], axes: Axes) -> xarray.Dataset:
    """One dataset of all results.

    Combinations without a result are NaN, or an empty string for text. So are the ends of results that are shorter than others: a dimension
    without coordinates is filled up at its end, one with coordinates gets those of all results. Arguments that do not vary are attributes.
    """
    labels = {name: _sorted(key(result.arguments[name]) for result in results) for name in axes.dimensions}
    places = [tuple(labels[name].index(key(result.arguments[name])) for name in axes.dimensions) for result in results]
    if len(set(places)) < len(places):
        raise ValueError(f"Two results have the same {', '.join(axes.dimensions) or 'arguments'}: name what tells them apart in the grid.")
    datasets = [result.data for result in results]
    inner = _inner_places(datasets)
    clash = set(inner) & set(axes.dimensions)
    if clash:
        raise ValueError(f"{sorted(clash)[0]!r} is an argument that varies and a dimension of the result: give one of them another name.")
    outer = tuple(len(labels[name]) for name in axes.dimensions)
    coordinates = {str(name) for data in datasets for name in data.coords}
    filled: dict[str, Any] = {}
    for name in dict.fromkeys(str(name) for data in datasets for name in data.variables if name not in inner):
        arrays = [(place, data[name]) for place, data in zip(places, datasets, strict=True) if name in data.variables]
        own, values = _filled(arrays, outer, inner)
        filled[name] = (*axes.dimensions, *own), values
    arguments = results[0].arguments
    coords: dict[str, Any] = dict(labels)
    coords |= {name: list(places) for name, places in inner.items() if name in coordinates}
    coords |= {name: filled.pop(name) for name in list(filled) if name in coordinates}
    coords |= {name: _along(name, other, results, labels[other]) for name, other in axes.followers.items() if name in arguments}
    constant = [name for name in arguments if name not in axes.dimensions and name not in axes.followers]
    return xarray.Dataset(filled, coords, {name: arguments[name] for name in constant})


def _sorted(values: Any) -> list[Any]:
    """Numbers in increasing order, anything else as it comes."""
    different = list(dict.fromkeys(values))
    return sorted(different) if all(isinstance(value, int | float | np.number) for value in different) else different


def _inner_places(datasets: Sequence[xarray.Dataset]) -> dict[str, dict[Any, int]]:
    """The place of each label of the results' own dimensions; where one has no coordinates, numbers from zero on are its labels."""
    places: dict[str, dict[Any, int]] = {}
    for name in dict.fromkeys(str(name) for data in datasets for name in data.dims):
        rows = [data[name].values.tolist() for data in datasets if name in data.dims]
        labels = rows[0] if all(row == rows[0] for row in rows) else _sorted(itertools.chain.from_iterable(rows))
        places[name] = {label: place for place, label in enumerate(labels)}
    return places


def _filled(
    arrays: Sequence[tuple[tuple[int, ...], xarray.DataArray]], outer: tuple[int, ...], inner: Mapping[str, Mapping[Any, int]]
) -> tuple[tuple[str, ...], np.ndarray]:
    """One variable of all results, each at its place: the names of its own dimensions, and the values with these behind the arguments."""
    own = tuple(map(str, arrays[0][1].dims))
    is_number = all(array.dtype.kind in "fiub" for _, array in arrays)
    shape = (*outer, *(len(inner[name]) for name in own))
    values = np.full(shape, np.nan if is_number else "", dtype=np.float64 if is_number else object)
    for place, array in arrays:
        at = [np.array([inner[name][label] for label in array[name].values.tolist()], dtype=int) for name in own]
        part = values[(*place, Ellipsis)]  # a view, for results that are single numbers too
        part[np.ix_(*at) if at else Ellipsis] = array.values
    return own, values if is_number else values.astype(str)


def _along(name: str, other: str, results: Sequence[JobResult], labels: Sequence[Any]) -> tuple[str, np.ndarray]:
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
