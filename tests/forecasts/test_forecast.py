"""The learning curve of one's own data: against known spectra, exact inference, and outcomes that are known."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
import toy_results
from scipy import stats
from toy_results import assert_comes_back, assert_shows_itself

from specht.architecture import Architecture
from specht.errors import InputError
from specht.forecasts.contenders import CONTENDERS, choose_contenders
from specht.forecasts.extrapolate import EmpiricalSpectrum, Trust
from specht.forecasts.forecast import ForecastSettings, band, calibrate, forecast_table, measured_sizes
from specht.forecasts.power_law import extrapolate_power_law, fit_power_law, interval_score
from specht.forecasts.table import SequenceTable, TableFacts
from specht.learning.curves import renormalised
from specht.learning.gp.fit import Shape, fit_architecture, fit_ridge, normalised_gram
from specht.learning.gp.regression import regress

RIDGE, NOISE = 0.3, 0.2
LAMBDA = 2.0 * np.arange(1, 81) ** -1.3
TARGET = np.where(np.arange(80) < 20, 1.0, 0.3) * np.arange(1, 81) ** -0.6


def gaussian_rows(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose kernel has the eigenvalues LAMBDA exactly: features, and labels with noise."""
    modes = rng.standard_normal((n, len(LAMBDA)))
    return modes * np.sqrt(LAMBDA), (modes @ TARGET + math.sqrt(NOISE) * rng.standard_normal(n))[:, None]


def theory(n_train: float) -> float:
    """Error against noisy labels, by the known spectrum."""
    found = renormalised(LAMBDA, np.ones(len(LAMBDA)), np.array([n_train]), RIDGE)
    return float(found.overfitting[0] * (np.sum((1 - found.learnability[0]) ** 2 * TARGET**2) + NOISE))


def table_of(x: np.ndarray, y: np.ndarray, vocab: int, classes: tuple[str, ...] = ()) -> SequenceTable:
    facts = TableFacts(
        path="", unit="row", target="y", sequence="x", cut_into="items", rows_read=len(x), rows_used=len(x), shortest=x.shape[1],
        longest=x.shape[1], cut=0, kept_end="last", types=vocab, other_share=0.0, duplicates="keep",
    )  # fmt: skip
    task = "classification" if classes else "regression"
    return SequenceTable(
        x.astype(np.int32), np.ones(x.shape, bool), y, np.arange(len(x)), task, classes, tuple(map(str, range(vocab))), (), facts
    )


def test_at_the_rows_themselves_it_is_leave_one_out():
    x, y = gaussian_rows(np.random.default_rng(0), 60)
    spectrum = EmpiricalSpectrum(x @ x.T, y)
    left = y - regress(x @ x.T, y, RIDGE).leave_one_out()
    np.testing.assert_allclose(spectrum.residuals(RIDGE), left, rtol=1e-8)
    assert spectrum.at(60, RIDGE).error == pytest.approx(np.mean(left**2), rel=1e-8)


def test_the_reading_is_generalised_cross_validation():
    x, y = gaussian_rows(np.random.default_rng(1), 60)
    inverse = np.linalg.inv(x @ x.T + RIDGE * np.eye(60))
    reading = EmpiricalSpectrum(x @ x.T, y).read(RIDGE)
    gcv = np.mean((inverse @ y) ** 2) / (np.trace(inverse) / 60) ** 2
    assert 60 / (60 - reading.d2) * reading.noise == pytest.approx(gcv, rel=1e-10)
    assert reading.kappa == pytest.approx(1 / np.trace(inverse), rel=1e-10)


@pytest.mark.parametrize("factor", [0.4, 2.0, 4.0, 10.0])
def test_effective_ridge_is_that_of_the_known_spectrum(factor):
    """N' samples with the ridge and N rows with the ridge found for them have one effective ridge."""
    n, rng = 400, np.random.default_rng(2)
    known = renormalised(LAMBDA, np.ones(len(LAMBDA)), np.array([factor * n]), RIDGE)
    found = []
    for _ in range(8):
        x, y = gaussian_rows(rng, n)
        spectrum = EmpiricalSpectrum(x @ x.T, y)
        reading = spectrum.read(spectrum._equivalent(factor * n, RIDGE))
        found.append((reading.kappa, reading.d2))
    kappa, d2 = np.transpose(found)
    for values, truth in ((kappa, known.kappa[0]), (d2, np.sum(known.learnability[0] ** 2))):
        assert abs(values.mean() - truth) < 4 * values.std(ddof=1) / math.sqrt(len(values)) + 0.02 * truth


def test_forecasts_hold_as_often_as_they_say_and_are_not_biased():
    """From 100 rows with a known spectrum to 400: errors as stated, and the mean forecast that of the theory."""
    rng, repeats = np.random.default_rng(3), 60
    scores, steps = [], []
    truth = theory(400)
    for _ in range(repeats):
        x, y = gaussian_rows(rng, 100)
        found = EmpiricalSpectrum(x @ x.T, y).at(400, RIDGE)
        scores.append((math.log(truth) - math.log(found.error)) / math.hypot(found.now_stderr, found.step_stderr))
        steps.append(found.error)
    held = int(np.sum(np.abs(scores) < stats.norm.ppf(0.95)))
    low, high = stats.binom.ppf([0.005, 0.995], repeats, 0.9)
    assert low <= held <= high
    assert abs(np.mean(steps) - truth) < 4 * np.std(steps) / math.sqrt(repeats)


def test_beyond_reach_powers_go_on_and_say_so():
    rng = np.random.default_rng(4)
    modes = rng.standard_normal((60, 2000))
    eigenvalues = np.arange(1, 2001) ** -1.2
    spectrum = EmpiricalSpectrum((modes * eigenvalues) @ modes.T, (modes @ eigenvalues)[:, None])
    near, far = spectrum.at(66, 1e-6), spectrum.at(6000, 1e-6)
    assert far.continued > near.continued
    assert far.step_stderr > near.step_stderr
    assert 0 < far.error < near.error


def test_quantiles_never_rise_with_samples_and_contain_the_middle():
    x, y = gaussian_rows(np.random.default_rng(5), 80)
    spectrum = EmpiricalSpectrum(x @ x.T, y)
    found = band(spectrum, np.geomspace(10, 2000, 12), RIDGE, Trust(1.2, 20.0, 0.1, 0.1), 0.9)
    assert (found.low < found.value).all()
    assert (found.value < found.high).all()
    now = band(spectrum, np.array([80.0]), RIDGE, Trust(1.2, 20.0), 0.9)
    assert (found.value[found.n_train > 80] <= now.value[0] * (1 + 1e-9)).all()
    assert (found.value[found.n_train < 80] >= now.value[0] * (1 - 1e-9)).all()
    wider = band(spectrum, np.array([320.0]), RIDGE, Trust(1.2, 20.0, 0.1, 0.1), 0.99)
    narrower = band(spectrum, np.array([320.0]), RIDGE, Trust(1.2, 20.0, 0.1, 0.1), 0.5)
    assert wider.low < narrower.low < narrower.high < wider.high


def test_calibration_of_a_well_behaved_kernel_changes_little():
    x, y = gaussian_rows(np.random.default_rng(6), 240)
    spectrum = EmpiricalSpectrum(x @ x.T, y)
    found = calibrate(x @ x.T, y, spectrum, RIDGE, np.random.default_rng(0))
    assert 0.9 < found.trust.factor < 1.2
    assert abs(found.trust.drift * spectrum.at(960, RIDGE).learnt) < 0.05
    assert len(found.misses) == 20


def test_ridge_and_size_are_those_of_the_likelihood():
    x, y = gaussian_rows(np.random.default_rng(7), 80)
    gram = x @ x.T
    ridge, signal, likelihood = fit_ridge(gram, y)

    def exact(size: float, log_ridge: float) -> float:
        return regress(size * gram, y, size * math.exp(log_ridge)).log_marginal_likelihood / 80

    assert likelihood == pytest.approx(exact(signal, math.log(ridge)), abs=1e-8)
    for size, shift in ((1.1, 0.0), (0.9, 0.0), (1.0, 0.1), (1.0, -0.1)):
        assert exact(signal * size, math.log(ridge) + shift) < likelihood


def small_table(seed: int = 8) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.integers(3, size=(90, 5))
    y = ((x[:, 1] == 0) * 1.0 + (x[:, 2] == x[:, 3]) + 0.3 * rng.normal(size=90))[:, None]
    return x, np.arange(5)[None, :] >= rng.integers(0, 3, 90)[:, None], y - y.mean()


@pytest.mark.parametrize("name", ["positions", "mean", "erf", "softmax"])
def test_fit_is_at_least_as_likely_as_every_point_of_a_grid(name):
    x, mask, y = small_table()
    arch = choose_contenders([name], 3, 5)[name]
    shape = Shape.of(arch)
    fit = fit_architecture(arch, x, mask, y)
    unit = 0.3  # about the input variance of the activation
    values = itertools.product(*[{"ratio": (0.03, 0.3, 1.0, 3.0, 30.0), "gain": (0.3, 1.0, 3.0, 10.0)}[name] for name in shape.names])
    grid = [fit_ridge(normalised_gram(shape.apply(point, unit), x, mask), y)[2] for point in values]
    assert fit.log_likelihood >= max(grid) - 1e-6
    # What it states is what its architecture has.
    ridge, signal, likelihood = fit_ridge(normalised_gram(fit.arch, x, mask), y)
    assert likelihood == pytest.approx(fit.log_likelihood, abs=1e-6)
    if "ridge" not in fit.at_edge:
        assert (ridge, signal) == (pytest.approx(fit.ridge, rel=0.01), pytest.approx(fit.signal, rel=0.01))
    if fit.ratio is not None:
        assert fit.arch.s_p / fit.arch.token_variance == pytest.approx(fit.ratio, rel=1e-9)
    assert (fit.gain is None) == (name in ("positions", "mean"))


@pytest.mark.parametrize("rows", [2, 60])
def test_best_ridge_is_that_of_the_eigenvalues(rows):
    """By another factorisation of a Gram without full rank, on a fine grid of ridges."""
    x, y = gaussian_rows(np.random.default_rng(17), rows)
    gram = x[:, :20] @ x[:, :20].T
    values, vectors = np.linalg.eigh(gram)
    power, values = ((vectors.T @ y) ** 2)[:, 0], np.maximum(values, 0.0)
    shifted = values[:, None] + np.geomspace(1e-6, 1e4, 5000)
    sizes = (power[:, None] / shifted).mean(axis=0)
    likelihoods = -0.5 * (np.log(2 * math.pi * sizes) + 1.0 + np.log(shifted).mean(axis=0))
    best = int(np.argmax(likelihoods))
    ridge, size, likelihood = fit_ridge(gram, y)
    assert likelihood == pytest.approx(likelihoods[best], abs=2e-6)
    assert math.log(ridge) == pytest.approx(math.log(shifted[0, best] - values[0]), abs=0.01)
    assert size == pytest.approx(sizes[best], rel=0.01)


def test_fit_says_where_it_stopped():
    x = np.random.default_rng(3).integers(3, size=(80, 5))
    noise = np.random.default_rng(4).normal(size=(80, 1))
    fit = fit_architecture(choose_contenders(["bag"], 3, 5)["bag"], x, np.ones(x.shape, bool), noise - noise.mean())
    exact = fit_architecture(
        choose_contenders(["positions"], 3, 5)["positions"], x, np.ones(x.shape, bool), (x[:, :1] - x[:, :1].mean()) * 1.0
    )
    assert fit.at_edge == ("ridge",)
    assert fit.ratio is fit.gain is None
    assert "ridge" in exact.at_edge


def test_normalised_gram_has_unit_trace_and_an_offset():
    x = np.random.default_rng(9).integers(3, size=(20, 5))
    gram = normalised_gram(Architecture(vocab=3, length=4), x, np.ones(x.shape, bool))
    assert np.trace(gram) / 20 == pytest.approx(2.0)


def test_power_law_is_found_again_and_its_interval_covers_it():
    rng = np.random.default_rng(10)
    n = np.geomspace(20, 300, 6)
    truth = 0.3 + 4.0 * n**-0.8
    errors = truth[:, None] * (1 + 0.05 * rng.standard_normal((6, 30)))
    value, low, high = extrapolate_power_law(n, errors, np.array([1200.0]), log_stderr=0.02, confidence=0.95, rng=rng)
    assert low[0] < 0.3 + 4.0 * 1200**-0.8 < high[0]
    assert low[0] <= value[0] <= high[0]
    law = fit_power_law(n, np.array([truth, np.full(6, 0.5)]), np.ones(6))
    np.testing.assert_allclose(law(n), [truth, np.full(6, 0.5)], rtol=2e-3)
    with pytest.raises(InputError, match="two repeats"):
        extrapolate_power_law(n, errors[:, :1], n, log_stderr=0.0, confidence=0.9, rng=rng)


def test_interval_score_is_proper():
    """The interval between the quantiles has the best mean score (Gneiting & Raftery 2007)."""
    draws = np.random.default_rng(11).standard_normal(200_000)
    ends = [1.2, float(stats.norm.ppf(0.95)), 2.2]
    scores = [interval_score(np.array(-end), np.array(end), draws, 0.9).mean() for end in ends]
    assert scores[1] < min(scores[0], scores[2])


def test_order_is_told_from_its_absence():
    rng = np.random.default_rng(12)
    n = 128
    x = rng.integers(3, size=(n, 6))
    placed = (x[:, 1] == 0) * 1.0 + (x[:, 4] == 1) * 1.0
    counted = (x == 0).sum(axis=1) * 0.5
    settings = ForecastSettings(rows=n, fit_rows=n, repeats=2, horizons=(4.0,))
    architectures = choose_contenders(["bag", "mean"], 3, 6)
    found = {}
    for name, y in (("placed", placed), ("counted", counted)):
        y = y + 0.3 * rng.standard_normal(n)
        found[name] = forecast_table(table_of(x, y[:, None], 3), architectures, settings)
    order = found["placed"].order
    assert order is not None
    # The variance is 2 * 2/9 and 0.09 of noise; counts tell (N_0 + N_1) / 6 of it, whose variance is 1/27.
    truth = (4 / 9 - 1 / 27) / (4 / 9 + 0.09)
    assert order.value == pytest.approx(truth, abs=3 * (order.high - order.low) / (2 * stats.norm.ppf(0.95)))
    assert order.low > 0.3
    other = found["counted"].order
    assert other is not None
    assert abs(other.value) < 0.08
    assert found["placed"].best.name == "mean"


def test_forecast_of_classes_has_accuracy_and_repeats_to_the_bit():
    rng = np.random.default_rng(13)
    x = rng.integers(2, size=(100, 4))
    labels = np.eye(2)[np.where(rng.random(100) < 0.9, x[:, 0], 1 - x[:, 0])]
    table = table_of(x, labels, 2, ("0", "1"))
    settings = ForecastSettings(rows=90, fit_rows=64, repeats=3, sizes=(10, 20, 60), horizons=(1.0, 4.0))
    steps: list[tuple[int, int]] = []
    one = forecast_table(table, choose_contenders(["positions"], 2, 4), settings, lambda done, total: steps.append((done, total)))
    two = forecast_table(table, choose_contenders(["positions"], 2, 4), settings)
    found = one.best
    assert found.measured.accuracy is not None
    assert found.measured.accuracy[-1].mean() > 0.75
    assert one.majority == pytest.approx(max(table.labels.mean(axis=0)), abs=0.1)
    assert one.order is None
    assert one.rows == 90
    np.testing.assert_array_equal(found.forecast.high, two.best.forecast.high)
    np.testing.assert_array_equal(found.power_law.low, two.best.power_law.low)
    assert found.forecast.value[0] == pytest.approx(found.error, rel=0.02)  # one times the rows is leave-one-out
    assert steps[-1] == (100, 100)
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)


def test_measured_curve_is_exact_inference_on_its_subsets():
    rng = np.random.default_rng(14)
    x, y = gaussian_rows(rng, 400)
    n, spectrum = 200, EmpiricalSpectrum(x[:200] @ x[:200].T, y[:200])
    errors = [
        np.mean((y[200:] - regress(x[part] @ x[part].T, y[part], RIDGE).mean(x[200:] @ x[part].T)) ** 2)
        for part in (rng.permutation(n)[:50] for _ in range(20))
    ]
    # Backwards, from 200 rows to 50, the theory of the spectrum meets what subsets of 50 achieve on fresh rows.
    found = spectrum.at(50, RIDGE)
    assert math.log(np.mean(errors) / found.error) == pytest.approx(0, abs=4 * math.hypot(found.now_stderr, found.step_stderr))


def test_a_forecast_shows_itself_and_comes_back(tmp_path):
    forecast = toy_results.forecast()
    assert_shows_itself(forecast)
    assert_comes_back(forecast, tmp_path)
    names = {figure: [trace.get("name") for trace in forecast.plot(figure).to_dict()["data"]] for figure in ("architectures", "accuracy")}
    assert names == {"architectures": ["bag", "bag"], "accuracy": ["bag"]}
    table, best = forecast.to_dataframe(), forecast.best
    assert table["forecast"].tolist() == best.forecast.value.tolist()
    assert set(table["error"]) == {best.error}
    with pytest.raises(InputError, match="The labels of this table are numbers, so there is no accuracy: plot another figure"):
        dataclasses.replace(forecast, majority=None).plot("accuracy")


def test_bad_settings_are_refused():
    x = np.random.default_rng(0).integers(2, size=(80, 3))
    table = table_of(x, x[:, :1] * 1.0, 2)
    with pytest.raises(InputError, match="The table has 40 usable rows, and a forecast needs at least 64"):
        forecast_table(table.take(np.arange(40)), choose_contenders(["bag"], 2, 3))
    with pytest.raises(InputError, match="rows=20 leaves too few"):
        forecast_table(table, choose_contenders(["bag"], 2, 3), ForecastSettings(rows=20))
    with pytest.raises(InputError, match=r"between 4 and the 60 rows that are left for training, got \[10, 20, 70\]"):
        measured_sizes(80, ForecastSettings(sizes=(10, 20, 70)))
    with pytest.raises(InputError, match="at least three sizes"):
        measured_sizes(80, ForecastSettings(sizes=(10, 20)))
    with pytest.raises(InputError, match="did you mean 'positions'"):
        choose_contenders(["position"], 2, 3)
    with pytest.raises(InputError, match="No architecture is named"):
        choose_contenders([], 2, 3)


def test_every_contender_has_a_kernel():
    x = np.random.default_rng(15).integers(3, size=(12, 4))
    mask = np.arange(4)[None, :] >= np.arange(12)[:, None] % 4
    for name, arch in choose_contenders(list(CONTENDERS), 3, 4).items():
        gram = normalised_gram(arch, x, mask)
        assert np.linalg.eigvalsh(gram)[0] > -1e-9, name
