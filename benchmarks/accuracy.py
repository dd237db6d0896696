"""How near predicted learning curves are to exact Bayesian inference.

    python benchmarks/accuracy.py            # everything, about a quarter of an hour on two cores
    python benchmarks/accuracy.py --quick    # one line of each kind

Prints one JSON object a line. Errors are relative, over the numbers of samples; `noise_floor` is the mean standard error of exact inference
over data sets, below which no error means anything. `met` says which targets a line meets, and the exit code is 1 when one is missed.
"""

from common import print_line, run  # isort: skip -- first, because it sets the number of threads

import itertools

import numpy as np

import specht
from specht.learning import exact as gp
from specht.learning.complexity import samples_to_learn
from specht.learning.curves import theory_curve
from specht.learning.target_content import content, leading_modes
from specht.sequences import targets
from specht.sequences.sources import default_mixture, uniform
from specht.sequences.tasks import Task, shifted

N_TRAIN = [16, 32, 64, 128, 256, 512, 1024]
DATASETS = 40
MANY = 8
"""Samples below which half learning is shown and not judged: the theory is one of many samples."""
HEADS = 1024
"""Of the kernel that exact inference samples."""


def report(quick: bool) -> None:
    grid = itertools.product([3, 4], [8, 16, 32], [1.0, 0.2, 0.05], [0.0, 0.01])
    for vocab, length, ridge, noise in [(3, 8, 0.2, 0.01)] if quick else grid:
        report_linear(vocab, length, ridge, noise)
    nonlinear = {"erf": {"activation": "erf", "s_w": 0.5}, "softmax": {"attention": "softmax", "s_w": 1.0, "s_p": 3.0}}
    for (name, fields), ridge in itertools.product(nonlinear.items(), [1.0] if quick else [1.0, 0.2]):
        report_two_tokens(name, fields, ridge)
    report_mean_outputs()
    for level, ridge in [(1, 0.2)] if quick else [(0, 0.2), (0, 1.0), (0, 5.0), (1, 0.2), (2, 0.2)]:
        report_half_learning(level, ridge)
    for length in (16,) if quick else (16, 64):
        report_truncated(length, [1.0] if quick else [1.0, 0.1])


def report_linear(vocab: int, length: int, ridge: float, noise: float) -> None:
    """The solvable model, with a target of level 0 and level 1, in and out of distribution."""
    source, arch = default_mixture(vocab), specht.Architecture(vocab=vocab, length=length)
    spec = specht.spectrum(arch, source)
    task = Task(source, leading_modes(spec), shifted(source, "reweighted"))
    _compare("linear", arch, spec, task, ridge, noise, limits={"test": 0.05, "train": 0.1, "ood": 0.1}, worst=0.15)


def report_two_tokens(name: str, fields: dict, ridge: float) -> None:
    """Nonlinear models with the whole spectrum."""
    source, arch = default_mixture(2), specht.Architecture(vocab=2, length=8, **fields)
    spec = specht.spectrum(arch, source, heads=1024)
    task = Task(source, leading_modes(spec, (0, 1, 2)), shifted(source, "reweighted"))
    _compare(f"two tokens, {name}", arch, spec, task, ridge, 0.01, limits={"test": 0.1}, heads=None if name == "erf" else HEADS)


def report_truncated(length: int, ridges: list[float]) -> None:
    """Softmax attention with four tokens, of whose spectrum only low levels are known: the rest is a ridge."""
    source, arch = default_mixture(4), specht.preset("softmax", vocab=4, length=length)
    spec = specht.spectrum(arch, source, method="ritz", heads=256, sequences=768)
    chosen = {"modes": leading_modes(spec), "level": targets.level(1, length, source=source), "counts": targets.counts(length)}
    for (name, target), ridge in itertools.product(chosen.items(), ridges):
        _compare(f"truncated softmax, {name}", arch, spec, Task(source, target), ridge, 0.0, limits={"test": 0.15}, heads=HEADS)


def report_mean_outputs() -> None:
    """Predicted mean outputs, where learnabilities lie between 0.2 and 0.8."""
    source, arch = default_mixture(3), specht.Architecture(vocab=3, length=8)
    spec = specht.spectrum(arch, source)
    task, n_train = Task(source, leading_modes(spec)), [36, 42, 48]
    theory = theory_curve(spec, task, n_train, ridge=1.0)
    x = source.sample(5, 500, arch.length)
    exact = gp.mean_outputs(arch, task, x, n_train=n_train, ridge=1.0, datasets=200, scale=spec.trace)
    shares = []
    for index in range(len(n_train)):
        predicted = theory.content.mean_output(x, theory.learnability.learnability[index])
        shares.append(1.0 - ((exact.mean[index] - predicted) ** 2).sum() / ((exact.mean[index] - exact.mean[index].mean()) ** 2).sum())
    learnt = theory.learnability.learnability[:, theory.content.weights > 0]
    met = {"R2 >= 0.95": bool(min(shares) >= 0.95), "learnabilities between 0.2 and 0.8": bool(0.2 < learnt.min() < learnt.max() < 0.8)}
    print_line("mean outputs", n_train=n_train, r2=shares, met=met)


def report_half_learning(level: int, ridge: float) -> None:
    """Where half of a function of one level is learnt, by theory, which is one of many samples, and by exact inference."""
    source, length = uniform(2), 8
    arch = specht.Architecture(vocab=2, length=length, activation="erf", s_w=0.5, s_p=1.0)
    spec = specht.spectrum(arch, source)
    task = Task(source, targets.level(level, length, source=source))
    predicted = samples_to_learn(content(spec, task), ridge)
    n_train = sorted({max(1, round(predicted * factor)) for factor in np.geomspace(0.5, 2.0, 9)})
    exact = gp.learning_curve(
        arch, task, n_train=n_train, ridge=ridge, datasets=5 * DATASETS if predicted < 50 else DATASETS, scale=spec.trace
    )
    measured = float(np.exp(np.interp(0.5, exact.learned, np.log(n_train))))
    error = predicted / measured - 1.0
    met = {"within 15 %": bool(abs(error) <= 0.15)} if predicted >= MANY else {}
    print_line("half learnt", level=level, ridge=ridge, predicted=predicted, measured=measured, error=error, met=met)


def _compare(
    name: str,
    arch: specht.Architecture,
    spec: specht.Spectrum,
    task: Task,
    ridge: float,
    noise: float,
    *,
    limits: dict[str, float],
    worst: float | None = None,
    heads: int | None = None,
) -> None:
    theory = theory_curve(spec, task, N_TRAIN, ridge, noise)
    sampled = {} if heads is None else {"heads": heads, "n_test": 500, "datasets": 20}  # kernels of softmax are dear
    exact = gp.learning_curve(
        arch, task, **({"n_train": N_TRAIN, "ridge": ridge, "noise": noise, "datasets": DATASETS, "scale": spec.trace, "seed": 1} | sampled)
    )
    fields, met = {}, {}
    for loss in ("test", "train", "ood"):
        if getattr(exact, loss) is None:
            continue
        error = np.abs(getattr(theory, loss) / getattr(exact, loss) - 1.0)
        fields |= {f"{loss}_mean": float(error.mean()), f"{loss}_worst": float(error.max())}
        if loss in limits:
            met[f"{loss} within {100 * limits[loss]:g} % on average"] = bool(error.mean() <= limits[loss])
        if loss == "test":
            floor = exact.test_stderr / exact.test
            fields |= {"noise_floor": float(floor.mean())}
            met |= {} if worst is None else {f"test within {100 * worst:g} % and 3 errors": bool((error <= worst + 3 * floor).all())}
    simple = float(np.abs(theory.equivalent.test / exact.test - 1.0).mean())
    print_line(name, vocab=arch.vocab, length=arch.length, ridge=ridge, noise=noise, **fields, equivalent_kernel_mean=simple, met=met)


if __name__ == "__main__":
    raise SystemExit(run(report, __doc__))
