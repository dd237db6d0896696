"""Small results of every type, each made by the function that people call."""

from __future__ import annotations

import dataclasses
import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go

import specht
from specht.corpus.measuring import measure
from specht.corpus.survey import EXTRAS
from specht.forecasts.forecast import ForecastSettings, forecast_table
from specht.forecasts.learners.registry import choose_learners
from specht.forecasts.table import read_table
from specht.report.figures import Plot
from specht.sequences.tasks import shifted

SOURCE = specht.sources.default_mixture(vocab=3)
ARCH = specht.Architecture(vocab=3, length=4)
ERF = specht.Architecture(vocab=3, length=4, activation="erf", s_w=0.7)
TASK = specht.Task(SOURCE, specht.targets.level(1, length=4, source=SOURCE), shifted(SOURCE, "reweighted"))


def spectrum(arch: specht.Architecture = ARCH, **options: Any) -> specht.Spectrum:
    return specht.spectrum(arch, SOURCE, sequences=24, **options)


def two_tokens() -> specht.Spectrum:
    return specht.spectrum(specht.Architecture(vocab=2, length=8, activation="erf"))


def own_curve() -> Any:
    return specht.learning_curve(specht.Eigenvalues([0.5, 0.01], [1, 50], [0.2, 0.8], rest=0.1), n_train=[10, 100], ridge=0.1)


def probed() -> specht.Probe:
    return specht.probe(lambda x: {"sum": x.sum(axis=1), "order": x @ np.arange(x.shape[1])}, 3, 4, profile_samples=100, sequences=8)


@functools.cache
def corpus() -> Any:
    rng = np.random.default_rng(0)
    coins = rng.random((600, 16)) < rng.choice([0.2, 0.8], size=(600, 1))
    settings = specht.corpus.SurveySettings(length=8, lengths=(4,), extras=tuple(EXTRAS))
    return measure(specht.corpus.open_corpus(coins.astype(np.int64)), settings)[1]


def condition(kernel: Any = ARCH, *, n: int = 12, outputs: int = 1, **options: Any) -> Any:
    """The posterior given labels that depend on the first token and on the order of two others; further outputs are plain tokens."""
    x = SOURCE.sample(seed=0, n=n, length=4)
    y = np.column_stack([x[:, 0] - 0.5 * (x[:, 1] > x[:, 2]), *x.T[1:outputs]])
    return specht.GP(kernel, **({"ridge": 0.3} | options)).condition(x, y[:, 0] if outputs == 1 else y)


def fitted(kernel: Any = ARCH) -> Any:
    x = SOURCE.sample(seed=0, n=30, length=4)
    return specht.GP(kernel).fit(x, x[:, 0] - 1.0 + 0.3 * np.random.default_rng(0).standard_normal(30), starts=1)


def langevin() -> Any:
    x = SOURCE.sample(seed=0, n=6, length=4)
    sampling = specht.nn.Sampling(chains=3, samples=4, burn_in=1.0, duration=1.0)
    size = specht.nn.Size(8, 4, 2)
    return specht.nn.langevin(lambda key: specht.nn.Network.init(ARCH, size, key=key), x, x[:, 0], x, noise=1.0, sampling=sampling)


def forecast() -> Any:
    x = np.random.default_rng(0).integers(2, size=(70, 4))
    lines = [" ".join(map(str, row)) + f",{'yes' if row[0] else 'no'}" for row in x]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_text("\n".join(["text,label", *lines]) + "\n", encoding="utf-8")
        table = read_table(path, "label")
    return forecast_table(table, choose_learners(["bag"], table), ForecastSettings(budget=1.0))


RESULTS: dict[str, Callable[[], Any]] = {
    "spectrum, linear": spectrum,
    "spectrum, two tokens": two_tokens,
    "spectrum, young": lambda: spectrum(ERF, method="young"),
    "spectrum, rayleigh": lambda: spectrum(ERF, method="rayleigh", max_level=1),
    "spectrum, ritz": lambda: spectrum(ERF, method="ritz", max_level=1),
    "curve": lambda: specht.learning_curve(ARCH, TASK, [8, 64, 512], ridge=0.1),
    "curve, several ridges": lambda: specht.learning_curve(ARCH, TASK, np.array([[8], [64]]), ridge=np.array([[0.1, 1.0]])),
    "curve, own eigenvalues": own_curve,
    "measured curve": lambda: specht.learning_curve(ARCH, TASK, [4, 8], by="gp", datasets=2, n_test=10),
    "sample complexity": lambda: specht.sample_complexity(spectrum(), ridge=0.1),
    "complexity by width": lambda: specht.sample_complexity(ARCH, task=TASK, width=8, ridge=0.1),
    "profile": lambda: specht.profile(lambda x: x[:, 0] == x[:, 1], SOURCE, length=4, samples=100),
    "probe": probed,
    "posterior": lambda: condition(n=60),
    "posterior, several outputs": lambda: condition(ERF, outputs=2),
    "posterior, tangent kernel": lambda: condition(specht.Kernel(ERF, seed=3).ntk, unit="mean diagonal"),
    "posterior, iterative": lambda: condition(ERF, method="iterative", seed=5),
    "fitted process": fitted,
    "score": lambda: corpus().main,
    "corpus": corpus,
}
"""Every type but those that take long: networks, sampled posteriors and forecasts are tried beside their own tests."""


def draw(result: Any) -> Plot:
    """A figure outside the package, found by its name."""
    return Plot(go.Figure(go.Scatter(y=[1.0])), "A figure", "One point.")


def assert_same(one: Any, other: Any, where: str = "result") -> None:
    """Equal in type and to the bit, however deep."""
    assert type(one) is type(other), where
    if isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape), where
        assert np.ascontiguousarray(one).tobytes() == np.ascontiguousarray(other).tobytes(), where
    elif isinstance(one, float):
        assert one.hex() == other.hex(), where  # NaN is NaN here, and -0 is not 0
    elif dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            assert_same(getattr(one, field.name), getattr(other, field.name), f"{where}.{field.name}")
    elif isinstance(one, (tuple, list)):
        assert len(one) == len(other), where
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            assert_same(left, right, f"{where}[{number}]")
    elif isinstance(one, dict):
        assert_same(list(one.items()), list(other.items()), where)
    else:
        assert one == other, where


def assert_comes_back(result: Any, folder: Path) -> None:
    """Saved, loaded and saved again it is the same, and so is what it says."""
    for name in ("once.nc", "twice.nc"):
        result.save(folder / name)
        again = specht.load(folder / name)
        assert_same(again, result)
        assert repr(again) == repr(result)
        result = again


def assert_shows_itself(result: Any) -> None:
    """A few lines, named dimensions with meanings, a table, and figures."""
    text, dataset = repr(result), result.to_xarray()
    assert text.startswith(f"{type(result).__name__}: ")
    assert len(text.splitlines()) < 12
    assert len(text) < 600
    assert "array(" not in text
    assert not any(str(dim).startswith("dim_") for dim in dataset.dims)
    assert all(variable.attrs["long_name"] and variable.attrs["units"] for variable in dataset.variables.values())
    assert dataset.attrs["result"] == type(result).__name__
    assert len(result.to_dataframe()) >= 1
    assert len(result.plot().to_dict()["data"]) >= 1
    assert "<table" in result._repr_html_()


@functools.cache
def made() -> dict[str, Any]:
    """All of them, once a process."""
    return {name: make() for name, make in RESULTS.items()}
