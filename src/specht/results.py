"""Results that show themselves: a short `repr`, a table and a figure in a notebook, named dimensions, data frames, and files.

A result is a frozen data class that inherits `Result` and says three things:

- `_summary()`, what it is, in a few lines;
- `_variables()`, its numbers as `Variable`s with named dimensions, the main table first;
- in `FIGURES`, the function that draws it, by name: the same one that reports use. Theory does not know reports, so the function is looked
  up when somebody asks for the figure.

Everything else follows. A file is netCDF: its root holds what `to_xarray` gives, for any reader of netCDF; the group `record` holds every
field to the bit, and is what `load` reads.
"""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from specht.errors import InputError, unknown_choice
from specht.files import made_with, write_atomically
from specht.records import Record, RecordError, decode, encode, find_class, home_of

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go
    import xarray

FORMAT = 1
"""Format of files; this version cannot read files with a higher number."""
_GROUP, _TEXT = "record", "__text__"
_HTML, _DRAWN = "specht.report.inline", "specht.report.result_figures"
"""Modules that show results; theory does not know reports, so they are loaded when somebody asks."""
FIGURES: dict[str, dict[str, str]] = {
    "Spectrum": {"eigenvalues": "eigenvalues"},
    "Curve": {"losses": "theory_losses", "levels": "levels"},
    "MeasuredCurve": {"losses": "measured_losses"},
    "NetworkCurve": {"losses": "network_losses"},
    "SampleComplexity": {"samples": "needs"},
    "Profile": {"shares": "shares", "correlation": "correlation"},
    "Probe": {"residuals": "residuals", "positions": "positions", "profiles": "profiles", "adjacency": "adjacency"},
    "Score": {"parts": "score_parts"},
    "MeasuredCorpus": {"lags": "lags", "parts": "score_parts", "lengths": "lengths", "cuts": "cuts"},
    "Posterior": {"labels": "labels"},
    "FittedGP": {"parameters": "parameters"},
    "AdaptiveCurve": {"losses": "adaptive_losses", "order": "order_against_samples"},
    "ComplexityByWidth": {"samples": "needs_by_width"},
    "AdaptiveResult": {"order": "order_parameters"},
    "SampledPosterior": {"outputs": "outputs"},
    "Forecast": {"curve": "forecast", "learners": "learners", "error": "forecast_error"},
}
"""Figures of each type of result, the main one first, and the functions of `_DRAWN` that make them, a `Plot` of a result each."""


class Variable(NamedTuple):
    """Numbers of a result along named dimensions; one with the name of its only dimension, and one of words, labels the others."""

    name: str
    dims: str | tuple[str, ...]
    values: Any
    meaning: str
    units: str = "1"

    @property
    def axes(self) -> tuple[str, ...]:
        return (self.dims,) if isinstance(self.dims, str) else self.dims


class Result:
    """What every result can do: see the module."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = Result.__repr__  # otherwise `dataclass` writes one that prints every array

    def _summary(self) -> str:
        raise NotImplementedError

    def _variables(self) -> Iterable[Variable]:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}: {self._summary()}"

    def _repr_html_(self) -> str:
        return importlib.import_module(_HTML).fragment(self)

    def plot(self, figure: str | None = None) -> go.Figure:
        """The figure that reports show of it.

        Arguments:
            figure: which one, where there are several; the main one unless given.
        """
        return self._plot(figure).figure

    def _plot(self, figure: str | None = None) -> Any:
        """The figure with its title and caption."""
        figures = next((FIGURES[cls.__name__] for cls in type(self).__mro__ if cls.__name__ in FIGURES), None)
        if figures is None:
            raise InputError(f"A {type(self).__name__} has no figure: look at .to_dataframe().")
        name = next(iter(figures)) if figure is None else figure
        if name not in figures:
            raise unknown_choice("figure", figure, figures)
        return getattr(importlib.import_module(_DRAWN), figures[name])(self)

    def to_xarray(self) -> xarray.Dataset:
        """Its numbers with named dimensions, and what each of them means in `attrs`."""
        import xarray

        parts: dict[bool, dict[str, Any]] = {True: {}, False: {}}
        for variable in self._variables():
            values = np.asarray(variable.values)
            attributes = {"long_name": variable.meaning, "units": variable.units}
            labels = variable.axes == (variable.name,) or values.dtype.kind == "U"
            parts[labels][variable.name] = (variable.axes, values, attributes)
        attributes = {"result": type(self).__name__, "summary": self._summary()}
        return xarray.Dataset(parts[False], coords=parts[True], attrs=attributes)

    def to_dataframe(self) -> pandas.DataFrame:
        """Its main table, one observation a row: what varies along the dimensions of the first variable that is no dimension itself."""
        variables = list(self._variables())
        main = next((variable.axes for variable in variables if variable.axes != (variable.name,)), variables[0].axes)
        dataset, order = self.to_xarray(), [variable.name for variable in variables]
        outside = [name for name, variable in dataset.variables.items() if not set(variable.dims) <= set(main)]
        if not main:
            table = dataset.drop_vars(outside).reset_coords().expand_dims("result").to_dataframe()
        else:
            constant = [name for name, variable in dataset.variables.items() if not variable.dims]
            table = dataset.drop_vars([*outside, *constant]).to_dataframe().reset_index()
        return table.loc[:, [name for name in order if name in table]].reset_index(drop=True)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a netCDF file, whole or not at all; `specht.load` reads it again, equal to the bit."""
        import xarray

        record = encode(self)
        arrays: dict[str, Any] = {name: (_sizes(array.shape), np.asarray(array)) for name, array in record.arrays.items()}
        arrays[_TEXT] = ("byte", np.frombuffer(record.text.encode(), dtype=np.int8))
        kept = xarray.Dataset(arrays, attrs={"kind": home_of(type(self)), "checksum": record.checksum()})
        shown = self.to_xarray()
        shown.attrs |= {"specht_format": FORMAT, **made_with()}
        tree = xarray.DataTree.from_dict({"/": shown, f"/{_GROUP}": kept})
        with write_atomically(path) as temporary:
            tree.to_netcdf(temporary, engine="h5netcdf")


def load(path: str | os.PathLike[str]) -> Any:
    """The result that was saved to a file, equal to the bit.

    >>> import tempfile, specht
    >>> spectrum = specht.spectrum(specht.Architecture(vocab=2, length=8))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     spectrum.save(f"{folder}/spectrum.nc")
    ...     again = load(f"{folder}/spectrum.nc")
    >>> again.rows == spectrum.rows
    True
    """
    name = os.fspath(path)
    if not os.path.isfile(name):
        raise InputError(f"{name} is no file: give the path of a result that was saved with .save(path).")
    version, kind, checksum, record = _read(name)
    if record.checksum() != checksum:
        raise _damaged(name)
    try:
        if not issubclass(find_class(kind), Result):
            raise RecordError(f"{kind} is no result")
        return decode(*record)
    except RecordError as error:
        raise InputError(
            f"{name} holds a {kind.split(':')[-1]} of Specht {version} that this version cannot read ({error}): "
            "load it with that version, or compute it again."
        ) from None


def _read(name: str) -> tuple[str, str, str, Record]:
    """What a file says: version, type, checksum, and the fields."""
    import xarray

    options: dict[str, Any] = {"engine": "h5netcdf", "decode_cf": False}
    try:
        with xarray.open_dataset(name, **options) as shown:
            attributes = dict(shown.attrs)
        if "specht_format" not in attributes:
            raise InputError(f"{name} holds no result of Specht: `xarray.open_dataset` may read it.")
        if int(attributes["specht_format"]) > FORMAT:
            version = attributes.get("version", "?")
            raise InputError(f"{name} was saved by Specht {version}, whose files this version cannot read yet: update Specht.")
        with xarray.open_dataset(name, group=_GROUP, **options) as kept:
            arrays = {str(key): _native(variable) for key, variable in kept.variables.items()}
            text = arrays.pop(_TEXT).astype(np.int8).tobytes().decode()
            return str(attributes["version"]), str(kept.attrs["kind"]), str(kept.attrs["checksum"]), Record(text, arrays)
    except InputError:
        raise
    except PermissionError:
        raise InputError(f"{name} cannot be read (permission denied): change its permissions, or copy it.") from None
    except Exception as error:  # a damaged file may make the library raise anything
        raise _damaged(name) from error


def _native(variable: Any) -> np.ndarray:
    """Numbers as they were: files of netCDF know no truth values."""
    values = np.asarray(variable.values)
    return values.astype(bool) if variable.attrs.get("dtype") == "bool" else values


def _damaged(name: str) -> InputError:
    return InputError(f"{name} is damaged or no netCDF file, so nothing of it can be trusted: save the result again.")


def _sizes(shape: tuple[int, ...]) -> tuple[str, ...]:
    """Names of the dimensions of an array in the record: axes of one size share one, distinguished within an array by number."""
    return tuple(f"size_{size}" + "_" * shape[:axis].count(size) for axis, size in enumerate(shape))


def plain(values: Any) -> Any:
    """Numbers as JSON has them: arrays as lists, and None for what is not finite.

    >>> plain(np.array([1.0, np.inf])), plain(None)
    ([1.0, None], None)
    """
    if values is None:
        return None
    if np.ndim(values):
        return [plain(value) for value in values]
    return float(values) if math.isfinite(values) else None
