"""Posteriors and fits as results: they come back from files ready to predict, and say where they cannot."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import toy_results
from toy_results import assert_same, assert_shows_itself

import specht


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    return toy_results.made()


NAMES = list(toy_results.RESULTS)

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


def test_many_samples_are_thinned_out(monkeypatch):
    monkeypatch.setattr("specht.learning.gp.gaussian_process.SHOWN", 4)
    posterior = toy_results.condition(toy_results.ERF)
    table = posterior.to_dataframe()
    assert table["sample"].tolist() == [0, 4, 7, 11]
    assert table["mean"].tolist() == pytest.approx(posterior.predict(posterior.inputs).mean[[0, 4, 7, 11]])
    assert "Of 12 samples, 4 evenly spaced ones are shown." in posterior._plot().caption
