"""Made-up results of the experiments of “From kernels to features”: those for which its claims hold, unless a fault is asked for."""

from __future__ import annotations

import itertools

import numpy as np

from specht.papers.kernels_to_features import cells, descent, embedding, exponents, heads, phases, reach, symmetry, trained

RIGHT = {"infinite": 2.0, "saddle": 0.9, "fast": 1.1, "layers": 1.05, "heads": 1.02, "readout": 1.03}
"""Losses over those of networks for which every claim on cells holds."""
NULL = dict.fromkeys(RIGHT, 2.0)
"""Every method says what infinite width says."""
LENGTHS = (25, 35, 50, 71, 100)
NOISE = (0.03, -0.02, 0.01, -0.02)
"""Of the exponents of four seeds."""


def cell_results(stderr=0.001, rng=None, **ratios):
    """Losses of a cell of every target and activation, with networks at 0.5, and with the noise of their error if there is any."""
    ratios = RIGHT | {"networks": 1.0} | ratios
    found = []
    for activation in cells.ACTIVATIONS:
        for seed, target in enumerate(("copy", "counts")):
            for method in cells.METHODS[activation]:
                # counting is the same at any width
                ratio = ratios[method] if target == "copy" or method in ("heads", "readout") else 1.0
                loss = 0.5 * ratio + (0.0 if rng is None else stderr * rng.normal())
                cell = [activation, target, 8, 16, 16]
                found.append(cells.all_cells.result({"loss": loss, "stderr": stderr}, cell=cell, seed=seed, method=method))
    return found


def heads_results(off, stderr=0.001):
    theory = heads.measure_theory.result({"loss": 0.3, "stderr": stderr}, seed=0)
    losses = {8: 0.3 / 1.4, 64: 0.3 / (1.0 + off)}
    networks = (heads.measure_networks.result({"loss": loss, "stderr": stderr}, heads=many, seed=0) for many, loss in losses.items())
    return [theory, *networks]


def embedding_results(ratio=1.02, stderr=0.001):
    numbers = {"loss": 0.3 * ratio, "stderr": stderr, "networks": 0.3, "networks_stderr": stderr}
    return [embedding.measure_embedding.result(numbers, embedding=width, later=512, seed=0) for width in (16, 32)]


def symmetry_results(wrong=(), alike=False, rng=None):
    """Ten data sets of each case; `wrong` are cases in which position 5 is singled out, `alike` singles out nothing anywhere, and random
    numbers some position that has nothing to do with the target."""
    found = []
    for target, seed in itertools.product(symmetry.CASES, range(10)):
        reads = {"copy": (0,), "and": (0, 1)}.get(target, ())
        singled = {int(rng.integers(symmetry.LENGTH))} if rng else set() if alike else {5} if target in wrong else set(reads)
        flags = [float(position in singled) for position in range(symmetry.LENGTH)]
        ratios = [1.0 + 2.0 * flag for flag in flags]
        numbers = {"singled_out": ("position", flags), "ratio": ("position", ratios)}
        found.append(symmetry.measure_positions.result(numbers, target=target, n=96, seed=seed))
    return found


def average_results(ratio=1.05, stderr=0.001):
    numbers = {"theory": 0.4 * ratio, "infinite": 0.8, "average": 0.4, "stderr": stderr}
    arguments = {"width": 16, "n": 24, "datasets": 20, "seed": 1}
    return [phases.measure_average.result(numbers, target=target, **arguments) for target in phases.AVERAGED]


def growth_results(narrow=0.6, jumps=(4096,)):
    """Powers of the length, and jumps at some lengths."""
    found = []
    for length in (8, 32, 128, 1024, 4096):
        needed = [3.0 * length**power for power in (1.3, *(narrow for _ in phases.WIDTHS))]
        fields = {
            "needed": ("curve", needed),
            "breaks": ("width", [10.0] * len(phases.WIDTHS)),
            "first_order": ("width", [float(length in jumps)] * len(phases.WIDTHS)),
        }
        coords = {"curve": [str(curve) for curve in phases.CURVES], "width": list(phases.WIDTHS)}
        found.append(phases.measure_growth.result(fields, coords, length=length))
    return found


def exponent_results(theory=0.75, fast=0.85, infinite=1.35, noise=(0.01, -0.01, 0.0)):
    found = []
    for seed, more in enumerate(noise):
        for width in exponents.WIDTHS:
            for length in (8, 16, 32):
                powers = {"theory": theory, "fast": fast, "infinite": infinite}
                numbers = {name: 2.0 * length**power for name, power in powers.items()}
                numbers |= {"networks": 2.0 * length ** (0.8 + more)}
                found.append(exponents.measure_exponent.result(numbers, width=width, length=length, seed=seed))
    return found


def descent_results(trained=1.1, noise=0.01, infinite=3.0):
    """Losses over those of sampled networks, 0.2, of eight trained networks a cell."""
    found = []
    for cell in descent.CELLS:
        arguments = {"cell": list(cell[:5]), "seed": cell.seed}
        losses = 0.2 * trained * (1.0 + noise * np.linspace(-1.0, 1.0, 8))
        numbers = {"loss": ("start", losses), "of_mean": 0.2, "train": 1e-3}
        found.append(descent.measure_descent.result(numbers, **arguments, starts=8, steps=2000))
        for method, ratio in (("networks", 1.0), ("infinite", infinite)):
            found.append(descent.sampled.result({"loss": 0.2 * ratio, "stderr": 0.001}, **arguments, method=method))
    return found


def reach_results(off=0.02, rough=0.2, stderr=0.001, infinite=0.6):
    found = []
    for variant in reach.VARIANTS:
        loss = 0.3 * (1.0 + (off if variant in reach.EXACT else rough))
        numbers = {"loss": loss, "stderr": stderr, "networks": 0.3, "networks_stderr": stderr, "infinite": infinite}
        found.append(reach.measure_variant.result(numbers, {"level": "heads"}, variant=variant, seed=0))
    return found


def first_order_results(corrected=0.02, infinite=0.07):
    numbers = {"infinite": infinite, "corrected": corrected, "spread": 1.0}
    return [reach.measure_first_order.result(numbers, width=width, seed=0) for width in (32, 128)]


def searches(own=0.4, theory=0.45, kernel=1.0, start=80.0, noise=NOISE, states="found", lengths=LENGTHS, rng=None):
    """Power laws of trained networks, of theory and of the kernel, from 30, `start` and 150 samples at T = 25 on; with random numbers
    every search has its own error."""
    found = []
    for learner in trained.LEARNERS:
        exponent = {trained.TRAINED: own, trained.KERNEL: kernel}.get(learner, theory)
        first = {trained.TRAINED: 30.0, trained.KERNEL: 150.0}.get(learner, start)
        for seed, more in enumerate(noise):
            for T in lengths:
                steep = exponent + (more if learner == trained.TRAINED else -more)
                m = first * (T / 25.0) ** steep * (1.0 if rng is None else np.exp(0.1 * rng.normal()))
                numbers = {"m": m, "low": 0.9 * m, "high": 1.1 * m, "log_stderr": 0.1, "curve_width": 0.2, "lapse": 0.01, "reached": 1.0}
                batches = {name: ("batch", [1.0, 2.0]) for name in ("size", "successes", "runs", "accuracy", "identified")}
                where = {"learner": learner, "length": T, "search": {"batch": 4, "smallest": 8, "largest": 1024}, "seed": seed}
                found.append(trained.searches.result(numbers | batches, {"state": states}, **where))
    return found
