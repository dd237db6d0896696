"""Time of learning curves, and of exact inference against the linear algebra and the kernel that it cannot do without.

    python benchmarks/predict.py            # everything, about two minutes on two cores
    python benchmarks/predict.py --quick    # with fewer samples

Prints one JSON object a line. Seconds are CPU seconds, the minimum of several runs after compilation (`runs`), on one thread. Ratios are of
times taken in the same run; `met` says which targets a line meets, and the exit code is 1 when one is missed.
"""

from common import measure, print_line, run  # isort: skip -- first, because it sets the number of threads

from functools import partial

import numpy as np
from scipy.linalg import get_lapack_funcs

import specht
from specht.learning.curves import renormalised, samples_at
from specht.learning.gp.iterative import nystrom_features, product_of_tiles, regress_iteratively
from specht.learning.gp.regression import regress, regress_features

CURVE_SECONDS = 0.1
SECONDS = 10.0
"""What "in seconds" means."""


def report(quick: bool) -> None:
    report_curves(1000, 10**4)
    report_exact([1000] if quick else [1000, 2000, 4000])
    report_features([10**4] if quick else [10**4, 10**5])
    report_iterative(1000 if quick else 4000)


def report_curves(points: int, modes: int) -> None:
    """The self-consistent equation at many numbers of samples, over many eigenvalues."""
    rng = np.random.default_rng(0)
    eigenvalues, degeneracies = np.exp(rng.uniform(-25.0, 2.0, modes)), rng.integers(1, 20, modes).astype(float)
    n_train = np.geomspace(1.0, 1e6, points)
    seconds, _, solved = measure(partial(renormalised, eigenvalues, degeneracies, n_train, 1.0))
    residual = np.abs(samples_at(eigenvalues, degeneracies, solved.kappa, 1.0) / n_train - 1.0).max()
    met = {f"below {CURVE_SECONDS:g} s": seconds < CURVE_SECONDS, "solved to 1e-12": bool(residual < 1e-12)}
    print_line("renormalised curve", points=points, modes=modes, seconds=seconds, residual=float(residual), met=met)


def report_exact(sizes: list[int]) -> None:
    """Gram, posterior mean and likelihood, against the Gram and one Cholesky factorisation by LAPACK."""
    arch = specht.Architecture(vocab=3, length=16, activation="erf")
    kernel, (potrf,) = specht.Kernel(arch), get_lapack_funcs(("potrf",), dtype=np.float64)
    for n in sizes:
        x, y = specht.sources.uniform(3).sample(0, n, arch.length), np.random.default_rng(0).normal(size=n)
        gram_seconds, _, gram = measure(partial(kernel, x), runs=3)
        shifted = np.asfortranarray(gram + np.eye(n))
        cholesky = measure(partial(potrf, shifted, lower=1), runs=3).seconds

        def infer(x: np.ndarray = x, y: np.ndarray = y) -> float:
            fit = regress(kernel(x), y, 1.0, overwrite=True)
            return float(fit.weights[0, 0]) + fit.log_marginal_likelihood

        seconds, memory, _ = measure(infer, runs=3)
        ratio = seconds / (gram_seconds + cholesky)
        largest = n == 4000
        met = {"within 2x of LAPACK and the Gram": ratio <= 2.0} if largest else {}
        room = {"memory_over_gram": memory / gram.nbytes} if largest else {}  # small arrays fit into what was freed before
        print_line("exact inference, erf", n=n, seconds=seconds, gram=gram_seconds, cholesky=cholesky, ratio=ratio, **room, met=met)


def report_features(sizes: list[int], features: int = 500) -> None:
    """Posterior mean, variance at a thousand new sequences, and likelihood, from explicit features."""
    rng = np.random.default_rng(0)
    for n in sizes:
        phi, new, y = rng.normal(size=(n, features)), rng.normal(size=(1000, features)), rng.normal(size=n)

        def infer(phi: np.ndarray = phi, new: np.ndarray = new, y: np.ndarray = y) -> float:
            fit = regress_features(phi, y, 1.0)
            return float(fit.mean(new).sum() + fit.variance(new).sum()) + fit.log_marginal_likelihood

        seconds = measure(infer, runs=3).seconds
        met = {f"below {SECONDS:g} s": seconds < SECONDS} if n == 10**5 else {}
        print_line("feature space", n=n, features=features, seconds=seconds, met=met)


def report_iterative(n: int) -> None:
    """Conjugate gradients over tiles that are computed anew in each iteration, without and with landmarks, against Cholesky."""
    arch = specht.Architecture(vocab=3, length=16, activation="erf")
    kernel, x, y = specht.Kernel(arch), specht.sources.uniform(3).sample(0, n, arch.length), np.random.default_rng(0).normal(size=n)
    exact = measure(lambda: regress(kernel(x), y, 0.1, overwrite=True).weights, runs=1)
    landmarks = x[:200]
    low_rank = nystrom_features(kernel(landmarks), kernel(x, landmarks))
    for name, features in (("plain", None), ("landmarks", low_rank)):
        product = product_of_tiles(lambda: kernel.tiles(x, rows=500), n)
        seconds, _, fit = measure(partial(regress_iteratively, product, y, 0.1, low_rank=features, tolerance=1e-6), runs=1)
        print_line(
            f"conjugate gradients, {name}",
            n=n,
            seconds=seconds,
            over_cholesky=seconds / exact.seconds,
            iterations=fit.convergence.iterations,
            difference=float(np.abs(fit.weights - exact.result).max() / np.abs(exact.result).max()),
        )


if __name__ == "__main__":
    raise SystemExit(run(report, __doc__))
