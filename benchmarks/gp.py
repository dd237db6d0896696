"""The Gaussian process: cost of the gradient of its likelihood, the matrix-free way against Cholesky, a forecast's fit against a grid.

    python benchmarks/gp.py            # with 20000 samples, about twenty minutes on one core
    python benchmarks/gp.py --quick    # without them

Prints one JSON object a line. Seconds are CPU seconds on one thread, the minimum of several runs after compilation.
* gradient: value and gradient of the log marginal likelihood, in units of one Gram plus one Cholesky of the same run;
* matrix free: how many standard errors its log-determinant, and how many error bounds its variances, are away from Cholesky;
* many samples: peak of the resident set while 20000 samples are conditioned on, predicted from and judged;
* fit: log likelihood of one row that the fit of a forecast reaches beyond the grid search that it replaced, on ten tables of
  `benchmarks/synthetic_tables.py`, of which two are left out where the folder of corpora (SPECHT_DATA) is not there.
`met` says which targets a line meets; the exit code is 1 when one is missed.
"""

from common import measure, print_line, resident, run  # isort: skip -- first, because it sets the number of threads

import math
import time
from functools import partial

import jax
import numpy as np
import scipy.linalg
import synthetic_tables

import specht
from specht.forecasts.contenders import choose_contenders
from specht.learning.gp.evidence import log_evidence
from specht.learning.gp.fit import fit_architecture, fit_ridge, normalised_gram
from specht.learning.gp.gram_source import GramSource
from specht.learning.gp.matrix_free import Preconditioner, TiledGram, log_determinant, posterior_variance
from specht.learning.gp.regression import regress

RATIOS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
GAINS = (0.3, 1.0, 3.0, 10.0)
"""The grid that the search of today replaced."""


def report(quick: bool) -> None:
    for activation in ("linear", "erf", "relu"):
        report_gradient(activation)
    for activation in ("linear", "erf", "relu"):
        report_matrix_free(activation)
    report_fit()
    if not quick:
        report_many_samples()


def report_gradient(activation: str, n: int = 1000, length: int = 64, vocab: int = 32) -> None:
    arch = specht.Architecture(vocab=vocab, length=length, activation=activation)
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, vocab, (n, length + 1)), rng.normal(size=(n, 1))
    kernel = specht.Kernel(arch)
    gram = measure(partial(kernel, x))
    matrix = np.asarray(gram.result) + np.eye(n)
    cholesky = measure(partial(scipy.linalg.cholesky, matrix, lower=True, check_finite=False))

    def likelihood(variances: specht.Variances, ridge: jax.Array) -> jax.Array:
        return log_evidence(specht.nngp(arch, x, variances=variances), y, ridge)

    with jax.enable_x64(True):
        compiled = jax.jit(jax.value_and_grad(likelihood, argnums=(0, 1)))
        variances = jax.tree.map(jax.numpy.asarray, arch.variances)
        gradient = measure(lambda: jax.block_until_ready(compiled(variances, 1.0)))
    exact = regress(matrix - np.eye(n), y, 1.0).log_marginal_likelihood
    ratio = gradient.seconds / (gram.seconds + cholesky.seconds)
    print_line(
        "gradient", n=n, length=length, vocab=vocab, activation=activation, gram=gram.seconds, cholesky=cholesky.seconds,
        value_and_gradient=gradient.seconds, times_gram_and_cholesky=ratio,
        met={"at most 6 times Gram and Cholesky": ratio <= 6.0, "right": abs(float(gradient.result[0]) - exact) < 1e-6 * abs(exact)},
    )  # fmt: skip


def report_matrix_free(activation: str, n: int = 2000, length: int = 12, vocab: int = 4) -> None:
    source, rng = GramSource(specht.Architecture(vocab=vocab, length=length, activation=activation)), np.random.default_rng(0)
    inputs, new = (source.inputs(rng.integers(0, vocab, (rows, length + 1))) for rows in (n, 200))
    gram = source.gram(inputs)
    for relative in (0.1, 0.001):
        ridge = relative * float(gram.diagonal().mean())
        exact = regress(gram, np.zeros(n), ridge)
        tiles, preconditioner = TiledGram(source, inputs, 2**30), Preconditioner.from_landmarks(source, inputs, ridge, seed=0)
        begin = time.process_time()
        determinant = log_determinant(tiles.product, preconditioner)
        seconds = time.process_time() - begin
        missed = determinant.value - 2.0 * float(np.log(exact.factor.diagonal()).sum())
        cross, prior = source.between(new, inputs), source.diagonal(new)
        variance = posterior_variance(tiles.product, preconditioner, cross, prior, tolerance=1e-6)
        gap = np.abs(variance.value - exact.variance(cross, prior))
        rounding = 1e-9 * prior
        print_line(
            "matrix free", n=n, activation=activation, ridge=relative, log_determinant=determinant.value, stderr=determinant.stderr,
            missed=missed, seconds=seconds, variance_gap=float(gap.max()), variance_error=float(variance.error.max()),
            met={
                "log-determinant within 4 standard errors": abs(missed) <= 4 * determinant.stderr + 1e-6,
                "variances within their bounds": bool((gap <= variance.error + rounding).all()),
            },
        )  # fmt: skip


def report_many_samples(n: int = 20000, length: int = 16, vocab: int = 8) -> None:
    rng = np.random.default_rng(0)
    x, new = (rng.integers(0, vocab, (rows, length + 1)) for rows in (n, 64))
    y = (x[:, 0] == 0) + 0.3 * rng.normal(size=n)
    begin = time.process_time()
    gp = specht.GP(specht.Architecture(vocab=vocab, length=length, activation="erf"), ridge=0.05, method="iterative", memory=2 * 2**30)
    posterior = gp.condition(x, y - y.mean())
    conditioned = time.process_time() - begin
    mean, variance = posterior.predict(new)
    predicted = time.process_time() - begin - conditioned
    likelihood, stderr = posterior.log_marginal_likelihood, posterior.log_marginal_likelihood_stderr
    error = float(np.mean((mean - ((new[:, 0] == 0) - y.mean())) ** 2) / np.var(y))
    peak = resident("VmHWM")
    print_line(
        "many samples", n=n, length=length, vocab=vocab, condition_seconds=conditioned, predict_seconds=predicted, rows_predicted=len(new),
        seconds=time.process_time() - begin, likelihood=likelihood, likelihood_stderr=stderr, relative_test_error=error,
        mean_variance=float(variance.mean()), peak_gb=peak / 2**30, met={"peak at most 4 GB": peak <= 4 * 2**30},
    )  # fmt: skip


def report_fit(rows: int = 300) -> None:
    tables = dict(synthetic_tables.TABLES)
    real = synthetic_tables.wikitext()
    if real is not None:
        tables["wikitext comma"] = (real, "positions", 200)
    for name, (draw, architecture, vocab) in tables.items():
        for seed in range(2):
            x, mask, y = draw(np.random.default_rng([seed, 5]), rows)
            centred = y - y.mean(axis=0)
            labels = centred / np.sqrt(np.mean(np.sum(centred**2, axis=1)))
            arch = choose_contenders([architecture], vocab, x.shape[1])[architecture]
            seconds, _, fit = measure(partial(fit_architecture, arch, x, mask, labels), runs=2)
            grid_seconds, _, on_the_grid = measure(partial(grid_search, arch, x, mask, labels), runs=2)
            gained = fit.log_likelihood - on_the_grid
            print_line(
                "fit", table=name, seed=seed, architecture=architecture, rows=rows, gained=gained, seconds=seconds,
                grid_seconds=grid_seconds, ratio=fit.ratio, gain=fit.gain, ridge=fit.ridge, at_edge=list(fit.at_edge),
                met={"never less likely than the grid": gained >= -1e-6},
            )  # fmt: skip


def grid_search(arch: specht.Architecture, x: np.ndarray, mask: np.ndarray, labels: np.ndarray) -> float:
    """Log likelihood of one row at the best point of the grid, one coordinate after the other, as the forecast searched before."""
    wanted = {"ratio": RATIOS} if arch.position_variance > 0.0 else {}
    wanted |= {"gain": GAINS} if arch.activation != "linear" or arch.attention == "softmax" else {}
    point = {"ratio": 1.0, "gain": GAINS[2] if "gain" in wanted else 1.0}

    def score(point: dict[str, float]) -> float:
        return fit_ridge(normalised_gram(on_grid(arch, point["ratio"], point["gain"], x, mask), x, mask), labels)[2]

    for name, values in wanted.items():
        point[name] = max(values, key=lambda value: score(point | {name: value}))
    return score(point)


def on_grid(arch: specht.Architecture, ratio: float, gain: float, x: np.ndarray, mask: np.ndarray) -> specht.Architecture:
    """The architecture with s_p / s_w = ratio, and with s_1 or the sum s_w + s_p set by the gain."""
    size = gain if arch.attention == "softmax" else 1.0
    changes = {"s_w": size}
    if arch.position_variance > 0.0:
        changes = {"s_w": size / (1.0 + ratio), "s_p": size * ratio / (1.0 + ratio)}
    if arch.activation == "linear":
        return arch.replace(**changes)
    linear = arch.replace(**changes, activation="linear", s_1=1.0, s_2=1.0)
    variance = float(specht.Kernel(linear).diagonal(x[:64], mask=mask[:64]).mean())
    return arch.replace(**changes, s_1=(1.0 if arch.attention == "softmax" else gain) * 2.0 ** -round(math.log2(variance)))


if __name__ == "__main__":
    raise SystemExit(run(report, __doc__))
