"""Results show themselves, and come back from files as they were, to the bit."""

from __future__ import annotations

import dataclasses
import math
import os
import re
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import plotly.graph_objects as go
import pytest
import toy_results
import xarray
from toy_results import assert_comes_back, assert_same, assert_shows_itself

import specht
from specht import records, results
from specht.errors import StorageError
from specht.report.inline import fragment
from specht.report.profile_figures import share_plot
from specht.report.spectrum_figures import spectrum_plot
from specht.results import FIGURES, Result, Variable


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    return {name: make() for name, make in toy_results.RESULTS.items()}


NAMES = list(toy_results.RESULTS)


@pytest.mark.parametrize("name", NAMES)
def test_comes_back_to_the_bit(name, made, tmp_path):
    assert_comes_back(made[name], tmp_path)


def test_every_type_of_result_is_tried(made):
    elsewhere = {
        "NetworkCurve",
        "Forecast",
        "SampledPosterior",
    }  # tests/learning/test_networks.py, test_forecast.py, tests/nn/test_langevin.py
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


POSTERIORS = [name for name in NAMES if name.startswith("posterior")]
NEW = toy_results.SOURCE.sample(seed=9, n=5, length=4)


def saved_and_loaded(result: Any, path: Path) -> Any:
    result.save(path)
    return specht.load(path)


@pytest.mark.parametrize("name", POSTERIORS)
def test_a_loaded_posterior_predicts_the_same(name, made, tmp_path):
    posterior = made[name]
    again = saved_and_loaded(posterior, tmp_path / "posterior.nc")
    assert_same(again.predict(NEW), posterior.predict(NEW))
    assert_same(again.sample(NEW, 2, seed=1, noise=True), posterior.sample(NEW, 2, seed=1, noise=True))
    if posterior.method != "iterative":  # Lanczos steps would be compiled twice
        assert_same(again.log_marginal_likelihood, posterior.log_marginal_likelihood)


def test_posteriors_are_tried_by_every_way_of_solving(made):
    assert {made[name].method for name in POSTERIORS} == {"cholesky", "cholesky of features", "iterative"}


def test_a_loaded_fit_is_ready_to_be_conditioned(made, tmp_path):
    fitted = made["fitted process"]
    again = saved_and_loaded(fitted, tmp_path / "fitted.nc")
    x, y = toy_results.SOURCE.sample(seed=0, n=30, length=4), np.arange(30.0)
    assert_same(again.gp.condition(x, y).predict(NEW), fitted.gp.condition(x, y).predict(NEW))
    assert str(again) == str(fitted)


def test_a_posterior_is_solved_once_and_after_loading_when_it_is_needed(tmp_path, monkeypatch):
    solved = []
    solve = specht.GP.solve
    monkeypatch.setattr(specht.GP, "solve", lambda *arguments: solved.append(1) or solve(*arguments))
    posterior = toy_results.condition(toy_results.ERF)
    posterior.predict(NEW)
    posterior.plot()
    posterior.save(tmp_path / "posterior.nc")
    assert len(solved) == 1
    again = specht.load(tmp_path / "posterior.nc")
    assert repr(again) == repr(posterior)
    assert len(solved) == 1
    again.predict(NEW)
    again.to_dataframe()
    again.predict(NEW)
    assert len(solved) == 2


def test_a_posterior_keeps_its_samples(tmp_path):
    x, y = toy_results.SOURCE.sample(seed=0, n=12, length=4), np.arange(24.0).reshape(2, 12).T  # columns after each other in memory
    posterior = specht.GP(toy_results.ERF, ridge=0.3).condition(x, y)
    before = posterior.predict(NEW)
    x[:], y[:] = 0, 0.0
    assert_same(saved_and_loaded(posterior, tmp_path / "posterior.nc").predict(NEW), before)


def agreement(x, y=None):
    return np.exp((x[:, None, :] == (x if y is None else y)[None, :, :]).mean(axis=-1))


class OwnKernel(specht.Kernel):
    """A subclass may compute anything, and no file knows what."""


@pytest.mark.parametrize(
    ("kernel", "name"),
    [(agreement, "agreement"), (2.0 * specht.Kernel(toy_results.ARCH), "(2.0 * Kernel("), (OwnKernel(toy_results.ARCH), "V=3 L=4")],
    ids=["function", "product", "subclass"],
)
def test_posteriors_of_functions_show_themselves_and_refuse_to_be_saved(kernel, name, tmp_path):
    posterior = toy_results.condition(kernel)
    assert_shows_itself(posterior)
    sentence = "is a function or a sum or product of kernels, which no file can hold: keep x, y and the ridge, and condition on them again."
    with pytest.raises(specht.InputError, match=re.escape(sentence)) as told:
        posterior.save(tmp_path / "posterior.nc")
    assert str(told.value).startswith(f"The kernel {name}")
    assert os.listdir(tmp_path) == []


def test_a_fitted_function_refuses_to_be_saved(tmp_path):
    fitted = toy_results.fitted(agreement)
    assert_shows_itself(fitted)
    with pytest.raises(specht.InputError, match=r"which no file can hold: keep \.to_dataframe\(\), or fit again\."):
        fitted.save(tmp_path / "fitted.nc")


def test_a_damaged_posterior_gets_the_sentence(made, tmp_path):
    made["posterior"].save(tmp_path / "posterior.nc")
    damaged(tmp_path / "posterior.nc", lambda content: content[: len(content) // 2])
    with pytest.raises(specht.InputError, match="is damaged or no netCDF file, so nothing of it can be trusted: save the result again"):
        specht.load(tmp_path / "posterior.nc")


def test_many_samples_are_thinned_out(monkeypatch):
    monkeypatch.setattr("specht.learning.posterior.SHOWN", 4)
    posterior = toy_results.condition(toy_results.ERF)
    table = posterior.to_dataframe()
    assert table["sample"].tolist() == [0, 4, 7, 11]
    assert table["mean"].tolist() == pytest.approx(posterior.predict(posterior.inputs).mean[[0, 4, 7, 11]])
    assert "Of 12 samples, 4 evenly spaced ones are shown." in posterior._plot().caption


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
    assert profile.plot() == share_plot(profile.summary(), title="", caption="").figure
    assert spectrum.plot() == spectrum_plot([spectrum.summary()], title="", caption="").figure


TRACES = {
    "curve": ("losses", ["test", "train", "out of distribution", "equivalent kernel, test"]),
    "measured curve": ("losses", ["test", "train", "out of distribution"]),
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


def damaged(path, change) -> str:
    content = bytearray(path.read_bytes())
    path.write_bytes(change(content))
    return str(path)


@pytest.fixture
def saved(made, tmp_path):
    made["profile"].save(tmp_path / "profile.nc")
    return tmp_path / "profile.nc"


def flip(content: bytearray, value: float) -> bytearray:
    place = content.rindex(np.float64(value).tobytes())
    content[place] ^= 1
    return content


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content[: len(content) // 2],
        lambda content: content[:-100],
        lambda content: b"",
        lambda content: b"level,weight\n0,1\n",
        lambda content: content.replace(b'"total"', b'"totla"'),
    ],
    ids=["half", "end missing", "empty", "text", "other words"],
)
def test_a_damaged_file_gets_one_sentence(saved, change):
    path = damaged(saved, change)
    with pytest.raises(
        specht.InputError, match="is damaged or no netCDF file, so nothing of it can be trusted: save the result again"
    ) as told:
        specht.load(path)
    assert str(told.value).startswith(path)
    assert "\n" not in str(told.value)


def test_a_single_bit_is_noticed(saved, made):
    damaged(saved, lambda content: flip(content, float(made["profile"].correlation.stderr[1])))
    with pytest.raises(specht.InputError, match="is damaged"):
        specht.load(saved)


def test_a_file_that_may_not_be_read_is_told(saved, monkeypatch):
    def refused(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(xarray, "open_dataset", refused)
    with pytest.raises(specht.InputError, match=r"cannot be read \(permission denied\): change its permissions, or copy it"):
        specht.load(saved)


def test_other_files_are_told_apart(saved, tmp_path):
    xarray.Dataset({"a": ("x", [1.0])}).to_netcdf(tmp_path / "foreign.nc", engine="h5netcdf")
    with pytest.raises(specht.InputError, match=r"foreign\.nc holds no result of Specht: `xarray\.open_dataset` may read it"):
        specht.load(tmp_path / "foreign.nc")
    with pytest.raises(specht.InputError, match="is no file: give the path of a result"):
        specht.load(tmp_path / "nowhere.nc")
    with pytest.raises(specht.InputError, match="is no file: give the path of a result"):
        specht.load(tmp_path)
    with h5py.File(saved, "r+") as file:
        file.attrs["specht_format"], file.attrs["version"] = results.FORMAT + 1, "9.0"
    with pytest.raises(specht.InputError, match=r"was saved by Specht 9\.0, whose files this version cannot read yet: update Specht"):
        specht.load(saved)


@pytest.mark.parametrize(
    ("home", "reason"),
    [
        ("specht.symmetry.profile_result:Profil", "this version has no specht.symmetry.profile_result:Profil"),
        ("os:PathLike", "'os:PathLike' is no class of this package"),
        ("specht.__main__:Main", "'specht.__main__:Main' is no class of this package"),
        ("specht.architecture:Architecture", "specht.architecture:Architecture is no result"),
        ("specht.errors:InputError", "specht.errors:InputError is no record"),
    ],
)
def test_a_type_that_is_not_known_gets_one_sentence(saved, home, reason):
    with h5py.File(saved, "r+") as file:
        file["record"].attrs["kind"] = home
    with pytest.raises(specht.InputError) as told:
        specht.load(saved)
    assert f"that this version cannot read ({reason}): load it with that version, or compute it again." in str(told.value)


def test_fields_of_another_version_are_told(made):
    text, arrays = records.encode(made["profile"].above)
    with pytest.raises(records.RecordError, match="Estimate has other fields in this version"):
        records.decode(text.replace('"low"', '"lower"'), arrays)


def test_classes_that_moved_are_found(made, monkeypatch):
    text, arrays = records.encode(made["profile"].above)
    monkeypatch.setitem(records.MOVED, "specht.old_room:Estimate", "specht.symmetry.profile_result:Estimate")
    again = records.decode(text.replace("specht.symmetry.profile_result:", "specht.old_room:"), arrays)
    assert_same(again, made["profile"].above)


def test_saving_is_whole_or_not_at_all(made, saved, monkeypatch):
    before = saved.read_bytes()

    def no_room(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(xarray.DataTree, "to_netcdf", no_room)
    with pytest.raises(StorageError, match="No space left on device"):
        made["score"].save(saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


@pytest.mark.parametrize(
    "value",
    [
        (1, 2.5, None, True, "word", -0.0, math.nan, -math.inf, 10**400),
        {"a": [1, (2, 3)], 2: np.float32(0.1), (1, 2): np.bool_(True)},
        [np.array([1.5, np.nan]), np.zeros((0, 3), dtype=np.int32), np.array(["a", "béta"]), np.array(7), np.array([[True], [False]])],
    ],
)
def test_records_keep_values_as_they_are(value):
    assert_same(records.decode(*records.encode(value)), value)


def test_records_refuse_what_they_cannot_keep():
    with pytest.raises(TypeError, match=r"0\.function is a type, which cannot be saved: make it a data class of arrays and numbers"):
        records.encode([specht.Target("f", float)])
    with pytest.raises(TypeError, match="cannot be saved: only classes at the top of a module of this package can"):
        records.encode(dataclasses.make_dataclass("Foreign", ["a"])(1))


def test_a_new_type_of_result_needs_three_things(tmp_path, monkeypatch):
    @dataclasses.dataclass(frozen=True)
    class Toy(Result):
        x: np.ndarray

        def _summary(self) -> str:
            return "three numbers"

        def _variables(self) -> list[Variable]:
            return [Variable("x", "x", self.x, "positions", "m")]

    toy = Toy(np.arange(3.0))
    with pytest.raises(specht.InputError, match=r"A Toy has no figure: look at \.to_dataframe\(\)"):
        toy.plot()
    monkeypatch.setitem(FIGURES, "Toy", {"x": "toy_results:draw"})
    assert repr(toy) == "Toy: three numbers"
    assert toy.to_dataframe()["x"].tolist() == [0.0, 1.0, 2.0]
    assert toy.plot().to_dict()["data"][0]["y"] == [1.0]
    assert "three numbers" in toy._repr_html_()
