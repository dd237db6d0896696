"""Results show themselves, and come back from files as they were, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
import toy_results
import xarray
from toy_results import assert_comes_back, assert_same, assert_shows_itself

import specht
from specht.report.function_figures import share_plot
from specht.report.inline import fragment
from specht.report.theory_figures import spectrum_plot
from specht.results import FIGURES
from specht.trees import named


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    return toy_results.made()


NAMES = list(toy_results.RESULTS)


@pytest.mark.parametrize("name", NAMES)
def test_comes_back_to_the_bit(name, made, tmp_path):
    assert_comes_back(made[name], tmp_path)


def test_every_type_of_result_is_tried(made):
    elsewhere = {
        "NetworkCurve",  # tests/learning/test_networks.py
        "Forecast",  # tests/learning/test_forecast.py
        "SampledPosterior",  # tests/nn/test_langevin.py
        "AdaptiveCurve",  # tests/learning/adaptive
        "AdaptiveResult",
    }
    assert {type(result).__name__ for result in made.values()} == set(FIGURES) - elsewhere


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("spectrum")])
def test_eigenfunctions_come_back(name, made, tmp_path):
    spectrum = made[name]
    spectrum.save(tmp_path / "spectrum.nc")
    again = specht.load(tmp_path / "spectrum.nc")
    x = specht.sources.uniform(spectrum.arch.vocab).sample(seed=1, n=40, length=spectrum.arch.length)
    assert again.rows == spectrum.rows
    for row in spectrum.truncated(6):
        values = spectrum.eigenfunction(row, permutation=range(spectrum.arch.length)[::-1])(x)
        assert np.abs(values).max() > 0.0
        assert again.eigenfunction(row, permutation=range(spectrum.arch.length)[::-1])(x).tobytes() == values.tobytes()


def test_a_loaded_spectrum_predicts_the_same(made, tmp_path):
    made["spectrum, young"].save(tmp_path / "spectrum.nc")
    again = specht.load(tmp_path / "spectrum.nc")
    curves = [specht.learning_curve(spectrum, toy_results.TASK, [8, 64]) for spectrum in (made["spectrum, young"], again)]
    assert_same(curves[0], curves[1])
    x = toy_results.SOURCE.sample(seed=0, n=5, length=4)
    learnt = curves[0].learnability.learnability[0]
    assert (curves[0].content.mean_output(x, learnt) == curves[1].content.mean_output(x, learnt)).all()


@pytest.mark.parametrize("name", [name for name in NAMES if name != "curve, several ridges"])
def test_shows_itself(name, made):
    assert_shows_itself(made[name])


COLUMNS = {
    "spectrum, linear": "irrep level copy degeneracy eigenvalue bound stderr below_rounding lower_bound",
    "curve": "n_train ridge test train ood learned equivalent_test kappa overfitting",
    "curve, several ridges": "n_train ridge test train ood learned equivalent_test kappa overfitting",
    "measured curve": "n_train test test_stderr train train_stderr ood ood_stderr learned learned_stderr",
    "sample complexity": "irrep level degeneracy eigenvalue samples bound lower_bound",
    "profile": "level weight low high share share_low share_high variance_share",
    "probe": "layer invariant residual change spread tolerance adjacency adjacency_stderr order order_low order_high",
    "posterior": "sample output label mean deviation",
    "posterior, several outputs": "sample output label mean deviation",
    "fitted process": "parameter value log_stderr low high at_bound",
    "score": "score low high distance direction rms defined plug_in length",
    "corpus": "length score low high distance direction rms defined plug_in",
}


@pytest.mark.parametrize("name", COLUMNS)
def test_data_frame_has_an_observation_a_row(name, made):
    assert list(made[name].to_dataframe().columns) == COLUMNS[name].split()


def test_data_frames_hold_the_numbers(made):
    spectrum, curve = made["spectrum, linear"], made["curve, several ridges"]
    assert spectrum.to_dataframe()["eigenvalue"].tolist() == [row.eigenvalue for row in spectrum.rows]
    assert spectrum.to_dataframe()["irrep"].tolist() == [str(row.irrep) for row in spectrum.rows]
    assert sorted(curve.to_dataframe()["test"]) == sorted(curve.test.ravel())
    assert len(made["score"].to_dataframe()) == 1
    posterior, fitted = made["posterior, several outputs"], made["fitted process"]
    table = posterior.to_dataframe()
    assert table["label"].tolist() == posterior.y.ravel().tolist()
    mean, variance = posterior.predict(posterior.inputs)
    assert table["mean"].tolist() == mean.ravel().tolist()
    assert table["deviation"].tolist() == np.repeat(np.sqrt(variance), 2).tolist()
    assert fitted.to_dataframe()["value"].tolist() == [parameter.value for parameter in fitted.parameters.values()]


def test_levels_of_a_curve_are_a_dimension(made):
    curve = made["curve"]
    shares = curve.to_xarray()["learned_by_level"]
    assert shares.dims == ("level", "n_train")
    assert shares.sel(level=1, n_train=64.0).item() == curve.learned_by_level()[1][1]


def test_files_are_netcdf_for_other_readers(made, tmp_path):
    made["curve"].save(tmp_path / "curve.nc")
    with xarray.open_dataset(tmp_path / "curve.nc", engine="h5netcdf") as shown:
        xarray.testing.assert_identical(shown.drop_attrs(), made["curve"].to_xarray().drop_attrs())
        assert shown.attrs["version"] == specht.__version__
        assert {"python", "numpy", "jax", "platform", "time", "result"} <= set(shown.attrs)


def test_figures_are_those_of_the_reports(made):
    profile, spectrum = made["profile"], made["spectrum, two tokens"]
    assert profile.plot() == share_plot(named(profile.summary()), title="", caption="").figure
    assert spectrum.plot() == spectrum_plot([named(spectrum.summary())], title="", caption="").figure


TRACES = {
    "curve": ("losses", ["equivalent kernel, test", "out of distribution", "train", "test"]),
    "measured curve": ("losses", ["out of distribution", "train", "test"]),
    "sample complexity": ("samples", ["samples N*", "at least"]),
    "probe": ("residuals", ["up to here rounding", "sees order", "ignores order"]),
    "posterior": ("labels", ["mean = label", "posterior mean"]),
    "posterior, several outputs": ("labels", ["mean = label", "output 0", "output 1"]),
    "fitted process": ("parameters", ["fitted value"]),
    "score": ("parts", ["ignores order", "depends on distance", "depends on direction"]),
}


@pytest.mark.parametrize("name", TRACES)
def test_figure_has_the_traces_of_the_report(name, made):
    figure, names = TRACES[name]
    drawn = made[name].plot(figure)
    assert isinstance(drawn, go.Figure)
    assert [trace.name for trace in drawn.data] == names  # pyright: ignore[reportAttributeAccessIssue]


def test_error_bars_of_posteriors(made):
    posterior, fitted = made["posterior"], made["fitted process"]
    bars = posterior.plot().to_dict()["data"][1]
    np.testing.assert_array_equal(bars["error_y"]["array"], 2.0 * np.sqrt(posterior.predict(posterior.inputs).variance))
    np.testing.assert_array_equal(bars["x"], posterior.y[:, 0])
    points = fitted.plot().to_dict()
    assert points["layout"]["yaxis"]["type"] == "log"
    bars, (value, log_stderr) = points["data"][0], fitted.parameters["ridge"]
    upper = bars["error_y"]["array"][bars["x"].index("ridge")]
    assert upper == pytest.approx(value * (np.exp(log_stderr) - 1.0))


@pytest.mark.parametrize("name", ["spectrum, linear", "curve", "profile", "corpus"])
def test_every_figure_draws_something(name, made):
    for figure in FIGURES[type(made[name]).__name__]:
        assert len(made[name].plot(figure).to_dict()["data"]) >= 1


def test_unknown_and_empty_figures_are_told(made):
    with pytest.raises(specht.InputError, match=r"Unknown figure 'share': did you mean 'shares'\?"):
        made["profile"].plot("share")
    with pytest.raises(specht.InputError, match="No layer of this probe has adjacency numbers, so there is nothing to draw"):
        made["probe"].plot("adjacency")
    with pytest.raises(specht.InputError, match="This curve has 2 axes, and one is wanted here"):
        made["curve, several ridges"].plot()
    with pytest.raises(specht.InputError, match="This curve comes from eigenvalues without irreps, so it has no levels: plot its losses"):
        made["curve, own eigenvalues"].plot("levels")


def test_html_holds_words_table_and_figure(made):
    html = made["profile"]._repr_html_()
    assert "E[f^2]" in html
    assert html.count("<table") == 1
    assert html.count("<tr>") == 1 + len(made["profile"].levels)
    assert "src=" not in html  # nothing from outside
    assert "and 38 more rows" in fragment(made["spectrum, two tokens"])


def test_html_without_a_figure_has_the_table(made):
    html = made["curve, several ridges"]._repr_html_()
    assert "<table" in html
    assert "This curve has 2 axes" in html
    assert "<script" not in html
