"""Time of exact spectra by length, against dense diagonalisation where that is feasible.

    python benchmarks/spectrum.py            # everything, a few minutes on two cores
    python benchmarks/spectrum.py --quick    # without the longest cases

Prints one JSON object a line. Seconds are CPU seconds, the minimum of several runs after compilation (`runs`), on one thread.
`dense` is the same spectrum from all V^(L+1) sequences: Gram and eigenvalues; `met` says which targets a line meets, and the exit code is 1
when one is missed.
"""

from common import measure, print_line, run  # isort: skip -- first, because it sets the number of threads

from functools import partial
from typing import Any

import numpy as np

import specht
from specht.spectra.dense import dense_operator

DENSE_STATES = 4100
"""Sequences that are diagonalised at most."""


def report(quick: bool) -> None:
    report_linear_model()
    report_two_tokens([8, 10, 16, 32, 64])
    report_three_tokens([4, 6, 8] if quick else [4, 6, 8, 10, 12, 14], patience=60.0)
    if not quick:
        report_long_two_tokens()


def report_linear_model() -> None:
    lengths = [10, 10**3, 10**6]
    seconds = [measure(partial(specht.spectrum, specht.Architecture(vocab=4, length=length)), runs=20)[0] for length in lengths]
    ratio = max(seconds) / min(seconds)
    print_line("linear model", vocab=4, lengths=lengths, seconds=seconds, largest_over_smallest=ratio, met={"flat within 2": ratio <= 2})


def report_two_tokens(lengths: list[int]) -> None:
    seconds = []
    for length in lengths:
        arch = specht.Architecture(vocab=2, length=length, activation="erf")
        took, _, spec = measure(partial(specht.spectrum, arch))
        seconds.append(took)
        met = {"below 5 s": took < 5.0} if length == 64 else {}
        print_line("two tokens, erf, full", length=length, seconds=took, rows=len(spec.rows), **against_dense(arch, spec), met=met)
    print_line("two tokens, growth", lengths=lengths[2:], exponent=growth(lengths[2:], seconds[2:]))


def report_long_two_tokens() -> None:
    lengths, seconds = [128, 256, 512], []
    for length in lengths:
        arch = specht.Architecture(vocab=2, length=length, activation="erf")
        took, _, spec = measure(partial(specht.spectrum, arch, max_level=3), runs=1)
        seconds.append(took)
        tops = {str(block.irrep): float(block.eigenvalues[0] / spec.trace) for block in spec.blocks}
        met = {"below 60 s": took < 60.0} if length == 512 else {}
        print_line("two tokens, erf, levels to 3", length=length, seconds=took, runs=1, top_over_mean=tops, met=met)
    print_line("two tokens, levels to 3, growth", lengths=lengths, exponent=growth(lengths, seconds))


def report_three_tokens(lengths: list[int], patience: float) -> None:
    reached, seconds = [], []
    for length in lengths:
        arch = specht.Architecture(vocab=3, length=length, activation="erf")
        took, _, spec = measure(partial(specht.spectrum, arch, method="young"), runs=5 if length <= 10 else 1)
        reached.append(length)
        seconds.append(took)
        met = {"below 10 s": took < 10.0} if length == 6 else {"below 60 s": took < 60.0} if length == 10 else {}
        print_line("three tokens, erf, full", length=length, seconds=took, rows=len(spec.rows), **against_dense(arch, spec), met=met)
        if took > patience:
            break
    print_line(
        "three tokens, growth",
        lengths=reached,
        exponent=growth(reached[1:], seconds[1:]),
        length_within_a_minute=max(length for length, took in zip(reached, seconds, strict=True) if took < 60.0),
    )


def against_dense(arch: specht.Architecture, spec: specht.Spectrum) -> dict[str, Any]:
    """Time and agreement of the dense spectrum, where its matrix is small enough."""
    if arch.vocab**arch.columns > DENSE_STATES:
        return {}
    seconds, _, exact = measure(lambda: dense_operator(specht.Kernel(arch), specht.sources.uniform(arch.vocab)).eigenvalues(), runs=1)
    found = np.sort(np.concatenate([np.repeat(block.eigenvalues, block.irrep.dimension) for block in spec.blocks]))[::-1]
    return {"dense": seconds, "difference": float(np.abs(found - exact).max() / exact[0])}


def growth(lengths: list[int], seconds: list[float]) -> float:
    """Exponent of time against length."""
    return float(np.polyfit(np.log(lengths), np.log(seconds), 1)[0])


if __name__ == "__main__":
    raise SystemExit(run(report, __doc__))
