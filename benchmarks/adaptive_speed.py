"""What the theory of finite width costs: sampling beside Langevin dynamics, the saddle beside a Gram, and curves without data.

    python benchmarks/adaptive_speed.py            # about ten minutes on one core
    python benchmarks/adaptive_speed.py --quick    # without the samplers

Prints one JSON object a line. Seconds are CPU seconds on one thread, after compilation.
* sampling: CPU seconds to a relative error of 3 % of the test loss, copying the first of 16 flips from 48 samples at width 16: embedding
  and heads sampled, whole networks by Hamiltonian Monte Carlo, and whole networks by Langevin dynamics. Errors come from the scatter of 24
  chains; burn-in counts once, and the rest as one over the squared error;
* saddle: all minima of the free energy, in units of one Gram plus one Cholesky of the same size;
* without data: learning curves at 50 numbers of samples and 5 widths, and how their cost depends on the length.
`met` says which targets a line meets; the exit code is 1 when one is missed.
"""

from common import measure, print_line, run  # isort: skip -- first, because it sets the number of threads

import math
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import scipy.linalg

import specht
from specht.learning.adaptive import Chains, Widths
from specht.nn import Network, Sampling, Size, Trajectories, hamiltonian, langevin

RIDGE, ERROR, CHAINS = 0.1, 0.03, 24
COPY = specht.Target("copy the first flip", lambda x: 2.0 * x[:, 0] - 1.0, reads=(0,))
COIN = specht.sources.uniform(2)


def report(quick: bool) -> None:
    report_without_data()
    report_saddle()
    if not quick:
        report_sampling()


def report_sampling(length: int = 16, n: int = 48, width: int = 16, heads: int = 8, head_size: int = 4) -> None:
    arch = specht.Architecture(vocab=2, length=length)
    x, new, law = (np.random.default_rng(seed).integers(0, 2, (rows, length + 1)) for seed, rows in ((101, n), (7, 400), (1, 4000)))
    y, target = COPY(x)[:, 0], COPY(new)[:, 0]
    scale = float(np.mean(specht.Kernel(arch).diagonal(law)))
    unit, noise = math.sqrt(scale), RIDGE * scale

    def start(key: object) -> Network:
        return Network.init(arch, Size(width, heads, head_size), key=key)

    def collapsed(burn_in: int, samples: int) -> tuple[float, float]:
        chains = Chains(chains=CHAINS, burn_in=burn_in, samples=samples, kept=samples, level="heads")
        widths = Widths(width, width, heads, head_size)
        return specht.adapt(arch, x, y, width=widths, ridge=RIDGE, scale=scale, chains=chains).mean_square_error(new, target)

    def whole(burn_in: int, samples: int) -> tuple[float, float]:
        length = Trajectories(chains=CHAINS, burn_in=burn_in, samples=samples, kept=samples)
        loss, stderr = hamiltonian(start, x, unit * y, new, noise=noise, trajectories=length).mean_square_error(unit * target)
        return loss / scale, stderr / scale

    def by_langevin(burn_in: int, duration: int) -> tuple[float, float]:
        length = Sampling(chains=CHAINS, burn_in=burn_in, duration=duration, samples=2 * duration)
        loss, stderr = langevin(start, x, unit * y, new, noise=noise, sampling=length).mean_square_error(unit * target)
        return loss / scale, stderr / scale

    samplers = (("collapsed", collapsed, 100, 40), ("whole networks", whole, 100, 40), ("langevin", by_langevin, 20, 20))
    seconds = {}
    for name, sampler, burn_in, samples in samplers:
        seconds[name], loss, stderr = seconds_to_error(sampler, burn_in, samples)
        print_line("sampling", length=length, n=n, width=width, sampler=name, loss=loss, stderr=stderr, seconds_to_error=seconds[name])
    ratio = seconds["langevin"] / seconds["collapsed"]
    print_line("sampling", langevin_over_collapsed=ratio, met={"ten times faster than Langevin": ratio >= 10.0})


def seconds_to_error(sampler: Callable[[int, int], tuple[float, float]], burn_in: int, samples: int) -> tuple[float, float, float]:
    """CPU seconds to the relative error, with the loss and its standard error that they follow from."""
    sampler(burn_in, samples)  # compiles

    def timed(samples: int) -> tuple[float, float, float]:
        begin = time.process_time()
        loss, stderr = sampler(burn_in, samples)
        return time.process_time() - begin, loss, stderr

    short, *_ = timed(samples)
    long, loss, stderr = timed(2 * samples)
    of_samples = 2.0 * max(long - short, 0.01 * long)
    return long - of_samples + of_samples * (stderr / loss / ERROR) ** 2, loss, stderr


def report_saddle(n: int = 1000, length: int = 64, vocab: int = 32) -> None:
    arch = specht.Architecture(vocab=vocab, length=length)
    x = np.random.default_rng(0).integers(0, vocab, (n, length + 1))
    y = np.where(x[:, 0] < vocab // 2, 1.0, -1.0)
    gram = measure(partial(specht.Kernel(arch), x))
    matrix = np.asarray(gram.result) + np.eye(n)
    cholesky = measure(partial(scipy.linalg.cholesky, matrix, lower=True, check_finite=False))
    search = measure(partial(specht.adapt, arch, x, y, width=64, ridge=RIDGE, method="saddle"), runs=1)
    ratio = search.seconds / (gram.seconds + cholesky.seconds)
    print_line(
        "saddle", n=n, length=length, vocab=vocab, gram=gram.seconds, cholesky=cholesky.seconds, seconds=search.seconds,
        times_gram_and_cholesky=ratio, minima=len(search.result.minima), first_position=float(search.result.order.positions[0]),
        met={"at most 100 times Gram and Cholesky": ratio <= 100.0},
    )  # fmt: skip


def report_without_data() -> None:
    seconds = {}
    for length in (100, 100_000):
        arch, task = specht.Architecture(vocab=2, length=length), specht.Task(COIN, COPY)
        numbers = np.geomspace(4.0, 100.0 * length, 50)
        curve = partial(specht.learning_curve, arch, task, numbers, width=[4, 16, 64, 256, 1024], ridge=RIDGE)
        seconds[length] = measure(curve, runs=2).seconds
        met = {"under ten seconds": seconds[length] < 10.0}
        print_line("without data", length=length, numbers=50, widths=5, seconds=seconds[length], met=met)
    ratio = seconds[100_000] / seconds[100]
    print_line("without data", long_over_short=ratio, met={"cost flat in the length, within twice": ratio <= 2.0})


if __name__ == "__main__":
    raise SystemExit(run(report, __doc__))
