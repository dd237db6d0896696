"""Agreement of the theory of finite width with whole networks: the table of docs/finite_width.md.

    python benchmarks/adaptive.py            # about five minutes on one core
    python benchmarks/adaptive.py --quick    # the first cell

Copying the first of L flips from N samples, one data set a cell. Prints one JSON object a line: the test loss at infinite width, at the
saddle, and sampled at each level with its standard error. `prototype` is what an independent prototype found for the same cell and level,
and `networks` the posterior mean of whole networks there, by Langevin dynamics; both have errors of about 0.01. `met` says whether a line
is within three standard errors of the prototype, the saddle within 2 %; the exit code is 1 when one is not.
"""

from common import print_line, run  # isort: skip -- first, because it sets the number of threads

import math
import time
from typing import Any

import numpy as np

import specht
from specht.learning.adaptive import Chains, Widths

CELLS: list[tuple[int, int, int, int, str, float, dict[str, float]]] = [
    # length, samples, width, seed, attention, whole networks, prototypes by level
    (16, 24, 16, 0, "linear", 0.204, {"saddle": 0.1474, "embedding": 0.250, "layers": 0.218, "heads": 0.206}),
    (16, 48, 16, 1, "linear", 0.032, {"saddle": 0.0331, "embedding": 0.048, "heads": 0.034}),
    (32, 32, 16, 2, "linear", 0.497, {"saddle": 0.2682, "heads": 0.503}),
    (16, 48, 16, 1, "softmax", 0.0051, {"heads": 0.0040}),
]
RIDGE, HEAD_SIZE = 0.1, 8
PROTOTYPE_STDERR = 0.01


def report(quick: bool) -> None:
    for length, n, width, seed, attention, networks, prototypes in CELLS[:1] if quick else CELLS:
        arch = specht.Architecture(vocab=2, length=length, attention=attention)
        x, new, law = (np.random.default_rng(s).integers(0, 2, (rows, length + 1)) for s, rows in ((100 + seed, n), (7, 400), (1, 4000)))
        y, target = (2.0 * tokens[:, 0] - 1.0 for tokens in (x, new))
        scale = float(np.mean(specht.Kernel(arch, heads=4096 if attention == "softmax" else None).diagonal(law)))
        kernel = specht.GP(arch, ridge=RIDGE * scale).condition(x, y).predict(new).mean
        infinite = float(np.mean((kernel - target) ** 2))
        for level, prototype in prototypes.items():
            begin = time.process_time()
            found = adapted(arch, x, y, width, level, scale)
            loss, stderr = found.mean_square_error(new, target)
            near = (
                abs(loss / prototype - 1) <= 0.02
                if level == "saddle"
                else abs(loss - prototype) <= 3 * math.hypot(stderr, PROTOTYPE_STDERR)
            )
            print_line(
                "finite width", length=length, n=n, width=width, attention=attention, level=level, loss=loss, stderr=stderr,
                prototype=prototype, networks=networks, infinite=infinite, first_position=float(found.order.positions[0]),
                seconds=time.process_time() - begin, met={"the prototype's number": bool(near)},
            )  # fmt: skip


def adapted(arch: specht.Architecture, x: np.ndarray, y: np.ndarray, width: int, level: str, scale: float) -> Any:
    """What a network of the given width learns, by the saddle of its embedding alone or sampled at a level."""
    if level == "saddle":
        return specht.adapt(arch, x, y, width=Widths(width), ridge=RIDGE, scale=scale, method="saddle")
    widths = Widths(width, width if level != "embedding" else None, *((width, HEAD_SIZE) if level == "heads" else ()))
    chains = Chains(chains=8, burn_in=150, samples=200, kept=100, level=level)
    return specht.adapt(arch, x, y, width=widths, ridge=RIDGE, scale=scale, chains=chains)


if __name__ == "__main__":
    raise SystemExit(run(report, __doc__))
