"""A result as plain text and arrays, and back, every bit of it: how results go into files without pickle.

The text is JSON and says how things are nested; every array is kept beside it under the path of its field. Only data classes and named
tuples of this package are made again, field by field and without running any code of theirs, so a file cannot do anything.

>>> text, arrays = encode((1.5, None, np.array([1.0, np.nan])))
>>> text, list(arrays)
('{"tuple": [1.5, null, {"array": "2"}]}', ['2'])
>>> decode(text, arrays)
(1.5, None, array([ 1., nan]))
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import json
import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

_HOME = re.compile(r"specht(\.[a-z][a-z0-9_]*)*:_*[A-Z]\w*")
"""What the home of a class looks like: a module of this package, which no file of ours that runs something is, and a name."""
_PLAIN = "biuf"
"""Kinds of arrays that a file holds as they are."""
MOVED: dict[str, str] = {}
"""Homes of classes that have moved since a release, old to new: files of that release are read as before."""


class RecordError(Exception):
    """A record that this version cannot make anything of."""


class Record(NamedTuple):
    """All there is to a value."""

    text: str
    arrays: dict[str, np.ndarray]

    def checksum(self) -> str:
        """A digest of the text and of every number."""
        digest = hashlib.sha256(self.text.encode())
        for name in sorted(self.arrays):
            array = self.arrays[name]
            digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()


def encode(value: Any) -> Record:
    """A value as text and arrays: numbers, words, None, arrays, and tuples, lists, dictionaries, data classes, named tuples of these."""
    encoder = _Encoder()
    node = encoder.node(value, "")
    return Record(json.dumps(node, allow_nan=False), encoder.arrays)


def decode(text: str, arrays: Mapping[str, np.ndarray]) -> Any:
    """The value that `encode` was given."""
    try:
        return _value(json.loads(text), arrays)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise RecordError(f"{type(error).__name__}: {error}") from error


def home_of(kind: type) -> str:
    """Where a class is found: `module:name`."""
    return f"{kind.__module__}:{kind.__qualname__}"


def find_class(home: str) -> type:
    """The data class or named tuple of this package with the given home."""
    home = MOVED.get(home, home)
    if not _HOME.fullmatch(home):
        raise RecordError(f"{home!r} is no class of this package")
    module, name = home.split(":")
    try:
        kind = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise RecordError(f"this version has no {home}") from error
    if not isinstance(kind, type) or not (dataclasses.is_dataclass(kind) or _is_named_tuple(kind)):
        raise RecordError(f"{home} is no record")
    return kind


class _Encoder:
    """Collects arrays while it writes down what surrounds them."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self.seen: dict[int, str] = {}
        """Names of arrays by identity: one that several fields share, such as the probabilities of a source, is kept once."""

    def node(self, value: Any, path: str) -> Any:
        if isinstance(value, np.ndarray):
            return self._array(value, path)
        if isinstance(value, np.generic):
            return {"number": value.dtype.str, "value": self.node(value.item(), path)}
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": str(value)}
        kind = type(value)
        if dataclasses.is_dataclass(value) or _is_named_tuple(kind):
            if not _HOME.fullmatch(home_of(kind)):
                raise TypeError(f"{home_of(kind)} cannot be saved: only classes at the top of a module of this package can.")
            fields = {name: self.node(getattr(value, name), _join(path, name)) for name in _field_names(kind)}
            return {"class": home_of(kind), "fields": fields}
        if kind in (tuple, list):
            return {kind.__name__: [self.node(item, _join(path, number)) for number, item in enumerate(value)]}
        if kind is dict:
            pairs = enumerate(value.items())
            return {"dict": [[self.node(key, path), self.node(item, _join(path, number))] for number, (key, item) in pairs]}
        raise TypeError(f"{path or 'the value'} is a {kind.__name__}, which cannot be saved: make it a data class of arrays and numbers.")

    def _array(self, array: np.ndarray, path: str) -> Any:
        if array.dtype.kind not in _PLAIN or array.size == 0:  # words, and what files of netCDF do not know
            words = [self.node(item, path) for item in array.ravel().tolist()]
            return {"words": words, "dtype": array.dtype.str, "shape": list(array.shape)}
        name = self.seen.setdefault(id(array), path or "value")
        self.arrays[name] = array
        return {"array": name}


def _value(node: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    if not isinstance(node, dict):
        return node
    if "array" in node:
        return arrays[node["array"]]
    if "words" in node:
        return np.array([_value(item, arrays) for item in node["words"]], dtype=node["dtype"]).reshape(node["shape"])
    if "number" in node:
        return np.dtype(node["number"]).type(_value(node["value"], arrays))
    if "float" in node:
        return float(node["float"])
    if "class" in node:
        return _rebuilt(find_class(node["class"]), {name: _value(item, arrays) for name, item in node["fields"].items()})
    if "dict" in node:
        return {_value(key, arrays): _value(item, arrays) for key, item in node["dict"]}
    ((kind, values),) = node.items()
    return {"tuple": tuple, "list": list}[kind](_value(item, arrays) for item in values)


def _rebuilt(kind: type, fields: dict[str, Any]) -> Any:
    """An instance with these fields; its constructor does not run, so that nothing is rounded or filled in anew."""
    if set(fields) != set(_field_names(kind)):
        raise RecordError(f"{home_of(kind)} has other fields in this version")
    if _is_named_tuple(kind):
        return kind(**fields)
    instance = object.__new__(kind)
    for name, value in fields.items():
        object.__setattr__(instance, name, value)
    return instance


def _field_names(kind: type) -> list[str]:
    return list(kind._fields) if _is_named_tuple(kind) else [field.name for field in dataclasses.fields(kind)]


def _is_named_tuple(kind: type) -> bool:
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def _join(path: str, name: object) -> str:
    return f"{path}.{name}" if path else str(name)
