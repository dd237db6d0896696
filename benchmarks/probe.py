"""What the invariance probe costs beside the forward passes it makes, and how these grow with the length.

    python benchmarks/probe.py            # about two minutes
    python benchmarks/probe.py --quick    # without the longest sequences

Prints one JSON object a line: CPU seconds of a probe of a network (two blocks, width 64, without positions and causal, so that every kind
of class occurs), over those of calling the same network with as many sequences; then the exchanges that are tried for a function that
ignores order, L - 1, and for one that tells all positions apart, L (L - 1)/2. `met` says which targets a line meets, and the exit code is 1
when one is missed.
"""

from common import Measurement, measure, print_line, run  # isort: skip -- first, because it sets the number of threads

import jax
import numpy as np

import specht
from specht.probes.models import open_model

VOCAB = 4
MOST = 2.0
"""CPU seconds of a probe over those of its forward passes."""


def report(quick: bool) -> None:
    for length in (8, 16) if quick else (8, 16, 32):
        report_network(length)
    report_exchanges((8, 16, 32) if quick else (8, 16, 32, 64, 128))


def report_network(length: int) -> None:
    arch = specht.Architecture(
        vocab=VOCAB,
        length=length,
        positions="none",
        causal=True,
        depth=2,
        residual=True,
        norm="pre",
        attention="softmax",
        activation="gelu",
    )
    network = specht.nn.Network.init(arch, specht.nn.Size(64, 4, 16), key=jax.random.key(0))
    runs = 3 if length < 32 else 1
    plain = measure(lambda: specht.probe(network, profile_samples=0), runs)
    found = plain.result
    x = np.random.default_rng(0).integers(VOCAB, size=(found.evaluations, length + 1))

    def forward() -> None:
        for _ in open_model(network).blocks(x):
            pass

    passes = measure(forward, runs)
    ratio = plain.seconds / passes.seconds
    print_line(
        "probe of a network",
        length=length,
        evaluations=found.evaluations,
        exchanges=found.exchanges,
        cpu_seconds=plain.seconds,
        forward_seconds=passes.seconds,
        over_the_forward_passes=ratio,
        memory_megabytes=plain.memory / 2**20,
        met={"within twice the forward passes": ratio <= MOST},
    )
    if length <= 16:
        whole = measure(lambda: specht.probe(network), 1)
        more = whole.result.evaluations / found.evaluations
        print_line(
            "probe with profiles", length=length, evaluations=whole.result.evaluations, times_as_many=more, cpu_seconds=whole.seconds
        )


def report_exchanges(lengths: tuple[int, ...]) -> None:
    for length in lengths:
        few, many = (tried(weights) for weights in (np.ones(length), np.random.default_rng(0).normal(size=length)))
        print_line(
            "exchanges",
            length=length,
            ignoring=few.result.exchanges,
            telling_apart=many.result.exchanges,
            ignoring_seconds=few.seconds,
            telling_apart_seconds=many.seconds,
            met={
                "L - 1 if all are alike": few.result.exchanges == length - 1,
                "L (L - 1)/2 if none are": many.result.exchanges == length * (length - 1) // 2,
            },
        )


def tried(weights: np.ndarray) -> Measurement:
    return measure(lambda: specht.probe(lambda x: x @ weights, 2, len(weights), readout="mean", profile_samples=0), 1)


if __name__ == "__main__":
    raise SystemExit(run(report, __doc__))
