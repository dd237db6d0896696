"""`GP.fit` on labels drawn from the model, for architectures and for kernels of one's own."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import specht
from specht import GP, Variances
from specht.errors import InputError
from specht.learning.gp import fitted_gp

RNG = np.random.default_rng(0)
X = RNG.integers(0, 3, (100, 7))
LINEAR = specht.Architecture(vocab=3, length=6)
FORMS = {
    "linear": LINEAR,
    "erf": LINEAR.replace(activation="erf"),
    "mean": LINEAR.replace(readout="mean", length=7),
    "tied": LINEAR.replace(attention="softmax", scaling="tied"),
    "heads": LINEAR.replace(attention="softmax"),
    "no positions": LINEAR.replace(positions="none"),
}


def drawn(kernel, x, ridge, seed, outputs=12, **masks):
    """Labels from the model, whose noise is `ridge` times the mean of k(x, x); and that noise."""
    gram = np.asarray(kernel(x, **masks))
    noise = ridge * float(gram.diagonal().mean())
    return np.linalg.cholesky(gram + noise * np.eye(len(x))) @ np.random.default_rng(seed).normal(size=(len(x), outputs)), noise


class TestGradient:
    @pytest.mark.parametrize("arch", FORMS.values(), ids=FORMS)
    def test_of_the_likelihood_in_every_variance_against_finite_differences(self, arch):
        x, y = X[:20], RNG.normal(size=(20, 2))

        def likelihood(logarithms):
            variances = Variances(*jnp.exp(logarithms[:4]))
            return specht.log_evidence(specht.nngp(arch, x, variances=variances, heads=256), jnp.asarray(y), jnp.exp(logarithms[4]))

        with jax.enable_x64(True):
            point = jnp.log(jnp.asarray([*arch.variances, 0.5]))
            compiled = jax.jit(jax.value_and_grad(likelihood))
            slope = np.asarray(compiled(point)[1])
            steps = 1e-5 * np.eye(5)
            differences = [float(compiled(point + step)[0] - compiled(point - step)[0]) / 2e-5 for step in steps]
        np.testing.assert_allclose(slope, differences, rtol=1e-6, atol=1e-6 * np.abs(slope).max())


class TestRecovery:
    @pytest.mark.parametrize("seed", range(3))
    def test_positions_against_tokens_size_and_ridge(self, seed):
        truth = LINEAR.replace(s_p=2.0, s_2=0.3)
        y, noise = drawn(specht.Kernel(truth), X, 0.1, seed)
        fitted = GP(LINEAR).fit(X, y, starts=2)
        assert list(fitted.parameters) == ["positions", "readout", "ridge"]
        assert fitted.held == ("tokens", "dense")
        for name, value in {"positions": 2.0, "readout": 0.3, "ridge": noise}.items():
            parameter = fitted.parameters[name]
            assert abs(np.log(parameter.value / value)) < 4 * parameter.log_stderr
            assert parameter.log_stderr < 1.0

    def test_gain_of_a_nonlinearity(self):
        truth = FORMS["erf"].replace(s_w=0.6, s_p=0.6, s_2=2.0)
        y, noise = drawn(specht.Kernel(truth), X, 0.05, 0, outputs=30)
        fitted = GP(FORMS["erf"]).fit(X, y, starts=2)
        for name, value in {"tokens": 0.6, "positions": 0.6, "readout": 2.0, "ridge": noise}.items():
            parameter = fitted.parameters[name]
            assert abs(np.log(parameter.value / value)) < 4 * parameter.log_stderr

    def test_a_relevant_position_is_found(self):
        positions = np.full(7, 0.05)
        positions[2] = 3.0
        truth = specht.Kernel(LINEAR, variances=Variances(1 / 3, positions, 1.0, 1.0))
        y, _ = drawn(truth, X, 0.1, 0)
        fitted = GP(LINEAR).fit(X, y, per="position", starts=1)
        values = [fitted.parameters[f"positions[{place}]"].value for place in range(7)]
        assert int(np.argmax(values)) == 2
        assert fitted.gp.source.kernel.variances.positions.shape == (7,)
        assert fitted.gp.condition(X, y).log_marginal_likelihood == pytest.approx(fitted.log_marginal_likelihood, rel=1e-9)

    def test_tokens_that_never_occur_are_held(self):
        arch = LINEAR.replace(vocab=4)
        y, _ = drawn(specht.Kernel(arch), X, 0.1, 0)
        fitted = GP(arch).fit(X, y, per="token", starts=1)
        assert "tokens[3]" in fitted.held
        assert {"tokens[0]", "tokens[1]", "tokens[2]"} <= set(fitted.parameters)

    def test_padding(self):
        mask = np.arange(7)[None, :] >= RNG.integers(0, 5, 100)[:, None]
        y, _ = drawn(specht.Kernel(LINEAR), X, 0.1, 0, mask=mask)
        fitted, other = (GP(LINEAR).fit(x, y, mask, starts=1) for x in (X, np.where(mask, X, 0)))
        assert fitted.log_marginal_likelihood == pytest.approx(other.log_marginal_likelihood, rel=1e-10)
        assert fitted.gp.condition(X, y, mask).log_marginal_likelihood == pytest.approx(fitted.log_marginal_likelihood, rel=1e-9)


class TestResult:
    def test_the_fitted_process_has_the_heads_of_the_fit(self):
        x = X[:30]
        kernel = specht.Kernel(FORMS["heads"], heads=256)
        y, noise = drawn(kernel, x, 0.1, 0)
        fitted = GP(kernel).fit(x, y, starts=1)
        assert fitted.gp.condition(x, y).log_marginal_likelihood == pytest.approx(fitted.log_marginal_likelihood, rel=1e-8)
        assert fitted.log_marginal_likelihood > GP(kernel, ridge=noise).condition(x, y).log_marginal_likelihood

    def test_a_function_has_its_size_fitted(self):
        def agreement(x, y=None):
            return np.exp((x[:, None, :] == (x if y is None else y)[None, :, :]).mean(axis=-1))

        x = X[:60]
        y, noise = drawn(agreement, x, 0.2, 0, outputs=20)
        fitted = GP(agreement).fit(x, 3.0 * y, starts=2)
        for name, value in {"scale": 9.0, "ridge": 9.0 * noise}.items():
            assert abs(np.log(fitted.parameters[name].value / value)) < 4 * fitted.parameters[name].log_stderr
        assert fitted.gp.condition(x, 3.0 * y).log_marginal_likelihood == pytest.approx(fitted.log_marginal_likelihood, rel=1e-9)

    def test_two_halves_of_the_starts_agree(self):
        y, _ = drawn(specht.Kernel(FORMS["erf"]), X, 0.1, 1, outputs=30)
        optimum = GP(FORMS["erf"]).fit(X, y, starts=6).optimum
        first, second = (optimum.start_values[half][np.argmax(optimum.start_likelihoods[half])] for half in (slice(3), slice(3, 6)))
        np.testing.assert_allclose(first, second, rtol=0.01)

    def test_words(self):
        y, _ = drawn(specht.Kernel(LINEAR), X, 0.1, 0)
        text = str(GP(LINEAR).fit(X, y, starts=1, bounds={"positions": (5.0, 9.0)}))
        assert text.startswith("log marginal likelihood -")
        assert "held: tokens, dense" in text
        assert "positions stopped at its lower bound 5: the labels ask for a smaller value, so do not trust it." in text
        assert re.search(r"ridge \d\.?\d* ± ", text)


Y = RNG.normal(size=100)
BAD = {
    "All 100 labels are equal": lambda: GP(LINEAR).fit(X, np.ones(100)),
    "y must hold one row of labels for each of the 100 samples, got an array of shape (99,).": lambda: GP(LINEAR).fit(X, Y[1:]),
    "y holds nan at index (0, 0)": lambda: GP(LINEAR).fit(X, np.append(np.nan, Y[1:])),
    "Unknown choice of what has variances of its own (per) 'tokens': did you mean 'token'?": lambda: GP(LINEAR).fit(X, Y, per="tokens"),
    "per='token' needs an architecture": lambda: GP(lambda x, y=None: np.eye(100)).fit(X, Y, per="token"),
    "Unknown parameter with bounds 'position'": lambda: GP(LINEAR).fit(X, Y, bounds={"position": (1, 2)}),
}


@pytest.mark.parametrize(("sentence", "call"), BAD.items())
def test_bad_input_is_refused_with_a_sentence(sentence, call):
    with pytest.raises(InputError, match=re.escape(sentence)):
        call()


def test_too_many_samples_are_told_before_they_are_tried(monkeypatch):
    monkeypatch.setattr(fitted_gp, "available_memory", lambda: 10**6)
    sentence = "fit 88 of them, which says nearly as much about the variances."
    with pytest.raises(InputError, match=re.escape(sentence)):
        GP(LINEAR).fit(np.zeros((200, 7), int), np.arange(200.0))
