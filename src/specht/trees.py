"""Results as trees of named variables, and the same as JSON: plain values in, an `xarray.DataTree` out, and back, every number to the bit.

| plain value | in the tree |
|---|---|
| a number, a word, yes or no | a variable without dimension: `data["trace"]` |
| a dictionary | a group: `data["source/name"]` |
| a list of records | a table: a group whose variables share one dimension, which has the name of the group: `data["lengths"]["trace"]` |
| records in a record | a table below that table, `data["lengths/rows"]`; its first columns say to which record each row belongs |
| a dictionary in a record | variables with a dot: `data["exponents"]["raw.value"]` |
| None | NaN among numbers, an empty word among words |
| a field that some records of a list lack | that variable, whose attribute `lacking` has the numbers of these records |
| whole numbers beyond 64 bits, lists of numbers | JSON as text, which the variable's attribute `holds` says |
| a list with its dimensions, `Along(values, dims)` | that variable, which JSON shows as a list: `data["theory"]["test"]` |
| an array with its dimensions, `(dims, array)` | that variable, which JSON leaves out |

>>> irreps = [{"irrep": "[4]", "degeneracy": 1}, {"irrep": "[3,1]", "degeneracy": 3}]
>>> data = tree({"trace": 2.5, "lengths": [{"length": 4, "rows": irreps}]})
>>> data["lengths/rows"]["degeneracy"].values.tolist(), data["lengths/rows"]["length"].values.tolist()
([1, 3], [4, 4])
>>> plain(data)
{'trace': 2.5, 'lengths': [{'length': 4, 'rows': [{'irrep': '[4]', 'degeneracy': 1}, {'irrep': '[3,1]', 'degeneracy': 3}]}]}
>>> [row.irrep for row in rows(data["lengths/rows"])]
['[4]', '[3,1]']
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import xarray

HOLDS = "holds"
"""The attribute of a variable that is stored as something else: what its values are."""
_WHOLE, _MAYBE_WORDS, _JSON, _LIST = "whole numbers", "words, or nothing where they are empty", "JSON", "a list"
_LACKING = "lacking"
"""The attribute of a column with the numbers of the records that do not have it."""
_EMPTY = "rows"
"""The attribute of a table without rows, which has no variable to tell that it is a table."""


@dataclasses.dataclass(frozen=True)
class Along:
    """A list, or lists in it, along named dimensions. A list with the name of its dimension labels the others.

    >>> data = tree({"theory": {"n_train": Along([8, 16], "n_train"), "test": Along([0.5, 0.25], "n_train")}})
    >>> data["theory"]["test"].sel(n_train=16).item(), facts(data).theory.test
    (0.25, [0.5, 0.25])
    """

    values: Any
    dims: str | tuple[str, ...]


def along(dimension: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Plain values in which lists of numbers, those of dictionaries too, run along a dimension where they are as long as its own list."""
    labels = values[dimension]

    def placed(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: placed(item) for name, item in value.items()}
        numbers = (
            isinstance(value, list) and len(value) == len(labels) and all(item is None or isinstance(item, int | float) for item in value)
        )
        return Along(value, dimension) if numbers else value

    return placed(values)


def tree(values: Mapping[str, Any]) -> xarray.DataTree:
    """Plain values as a tree."""
    import xarray

    groups: dict[str, xarray.Dataset] = {}
    _put_group(groups, "/", values)
    return xarray.DataTree.from_dict(groups)


def plain(node: Any) -> Any:
    """The plain values of a tree or of a group of it, for JSON; what is not finite is None. A table gives a list of records."""
    own = node.to_dataset(inherit=False)
    if _is_table(own):
        return _records(node)
    shown = {
        str(name): _finite(variable.values.tolist()) if _is_list(variable) else _values(variable)[0]
        for name, variable in own.variables.items()
        if _is_list(variable) or variable.ndim == 0
    }
    return shown | {str(name): plain(child) for name, child in node.children.items()}


def facts(node: Any) -> SimpleNamespace:
    """The plain values of a group by name: `facts(data).source.name`."""
    return named(plain(node))


def rows(node: Any) -> list[SimpleNamespace]:
    """The rows of a table, with their values by name: `rows(data["lengths"])[-1].trace`."""
    return named(plain(node))


def columns(node: Any) -> dict[str, list[Any]]:
    """The plain values of a table by column, without the tables below it."""
    return {str(name): _values(variable) for name, variable in node.to_dataset(inherit=False).variables.items()}


def _put_group(groups: dict[str, xarray.Dataset], path: str, values: Mapping[str, Any]) -> None:
    import numpy as np  # here and below, so that the help of commands, which use this file, stays quick
    import xarray

    variables: dict[str, Any] = {}
    below: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping) or _is_records(value):
            below[name] = value
        elif isinstance(value, Along):
            array = np.asarray(value.values)
            variables[name] = (value.dims, array.astype(float) if array.dtype == object else array, {HOLDS: _LIST})
        elif isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], np.ndarray):
            variables[name] = value
        else:
            stored, attributes = _column([value])
            variables[name] = ((), stored[0], attributes)
    groups[path] = xarray.Dataset(variables)
    for name, value in below.items():
        put: Any = _put_group if isinstance(value, Mapping) else _put_table
        put(groups, f"{path.rstrip('/')}/{name}", value)


def _put_table(groups: dict[str, xarray.Dataset], path: str, records: Sequence[Mapping[str, Any]]) -> None:
    import xarray

    records = [_flat(record) for record in records]
    names = list(dict.fromkeys(name for record in records for name in record))
    own = {name: [record.get(name) for record in records] for name in names}
    nested: dict[str, Any] = {name: own.pop(name) for name in names if all(_is_records(value) for value in own[name])}
    dimension = path.rsplit("/", 1)[1]
    variables = {name: (dimension, *_column(values)) for name, values in own.items()}
    for name, (_, _, attributes) in variables.items():
        lacking = [number for number, record in enumerate(records) if name not in record]
        attributes |= {_LACKING: lacking} if lacking else {}
    groups[path] = xarray.Dataset(variables, attrs={} if records else {_EMPTY: 0})
    if nested:
        labels = _identifying(own)
        if not labels:
            raise ValueError(f"Records of {path} hold other records, so their fields must identify them, but two records are alike.")
        records = [{label: record.get(label) for label in labels} for record in records]
        for name, tables in nested.items():
            _put_table(groups, f"{path}/{name}", [record | row for record, rows in zip(records, tables, strict=True) for row in rows])


def _identifying(table: Mapping[str, Sequence[Any]]) -> list[str]:
    """The fewest first columns of a table that no two of its rows have in common; none where rows are alike."""
    names = list(table)
    for count in range(1, len(names) + 1):
        rows = [repr(row) for row in zip(*(_finite(list(table[name])) for name in names[:count]), strict=True)]
        if len(set(rows)) == len(rows):
            return names[:count]
    return []


def _is_records(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(item, Mapping) for item in value)


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record without dictionaries in it: their fields have a dot in their names."""
    flat: dict[str, Any] = {}
    for name, value in record.items():
        # An empty dictionary has no fields that could stand for it.
        fields = {f"{name}.{inner}": item for inner, item in _flat(value).items()} if isinstance(value, Mapping) else {}
        flat |= fields or {name: value}
    return flat


def _column(values: Sequence[Any]) -> tuple[np.ndarray, dict[str, Any]]:
    """Values as an array that netCDF can hold, and what the array does not tell by itself."""
    import numpy as np

    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    present = [value for value in values if value is not None]
    kinds, complete = {type(value) for value in present}, len(present) == len(values)
    if kinds == {bool} and complete:
        return np.array(values), {}
    if kinds == {int} and complete and all(-(2**63) <= value < 2**63 for value in present):
        return np.array(values, dtype=np.int64), {}
    if kinds == {int} and not complete and all(abs(value) <= 2**53 for value in present):
        return np.array(values, dtype=float), {HOLDS: _WHOLE}
    if kinds <= {int, float} and kinds != {int}:
        return np.array(values, dtype=float), {}
    if kinds == {str} and complete:
        return np.array(values), {}
    if kinds == {str} and "" not in present:
        return np.array([value or "" for value in values]), {HOLDS: _MAYBE_WORDS}
    return np.array([json.dumps(value, allow_nan=False) for value in values]), {HOLDS: _JSON}


def _values(variable: xarray.Variable) -> list[Any]:
    """The values that a variable stands for."""
    import numpy as np

    stored, holds = np.atleast_1d(variable.values).tolist(), variable.attrs.get(HOLDS)
    if holds == _JSON:
        return [json.loads(text) for text in stored]
    if holds == _MAYBE_WORDS:
        return [word or None for word in stored]
    convert = int if holds == _WHOLE else lambda value: value
    return [None if value is None else convert(value) for value in _finite(stored)]


def _finite(value: Any) -> Any:
    """A value, or a list of them, with None for what is not finite."""
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _is_list(variable: xarray.Variable) -> bool:
    return variable.attrs.get(HOLDS) == _LIST


def _is_table(own: xarray.Dataset) -> bool:
    variables = own.variables.values()
    dimensions = {variable.dims for variable in variables}
    one = len(dimensions) == 1 and len(next(iter(dimensions))) == 1
    return _EMPTY in own.attrs or (one and not any(_is_list(variable) for variable in variables))


def _records(node: xarray.DataTree) -> list[dict[str, Any]]:
    import numpy as np

    variables = node.to_dataset(inherit=False).variables
    own = {str(name): _values(variable) for name, variable in variables.items()}
    records = [dict(zip(own, row, strict=True)) for row in zip(*own.values(), strict=True)]
    labels = _identifying(own)
    keys = [tuple(record[label] for label in labels) for record in records]
    for name, variable in variables.items():
        for number in np.atleast_1d(variable.attrs.get(_LACKING, [])).tolist():
            del records[int(number)][str(name)]
    for name, child in node.children.items():
        tables: dict[Any, list[dict[str, Any]]] = {key: record.setdefault(str(name), []) for key, record in zip(keys, records, strict=True)}
        for row in plain(child):
            tables[tuple(row.pop(label) for label in labels)].append(row)
    return [_nested(record) for record in records]


def _nested(record: dict[str, Any]) -> dict[str, Any]:
    """A record with dictionaries where names have dots."""
    result: dict[str, Any] = {}
    for name, value in record.items():
        *outer, last = name.split(".")
        place = result
        for word in outer:
            place = place.setdefault(word, {})
        place[last] = value
    return result


def named(value: Any) -> Any:
    """Plain values whose fields are attributes.

    >>> named({"lengths": [{"length": 4}]}).lengths[0].length
    4
    """
    if isinstance(value, dict):
        return SimpleNamespace(**{name: named(item) for name, item in value.items()})
    return [named(item) for item in value] if isinstance(value, list) else value
