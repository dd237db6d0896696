"""Made-up results of the experiments of the view from infinity but those on text: claims hold for them, unless a fault is asked for."""

from __future__ import annotations

import itertools
import math

import numpy as np

from specht.papers.view_from_infinity import (
    blocks,
    complexity,
    half,
    losses,
    nonlinear,
    other,
    outputs,
    posterior,
    regime,
    scaling,
    symmetries,
    theorem,
    tightness,
    width,
)

LENGTHS = (4, 8, 16, 32, 64)


def made(measurement, variables, coords=None, **arguments):
    """A result with numbers of our own."""
    return measurement.result(variables, coords, **arguments)


def tops(setting, slopes, *, fall=0.0, lengths=LENGTHS, ratio=0.5):
    """Top eigenvalues that are power laws, with E[k] falling as the power `fall` of the length."""
    results = []
    for length in lengths:
        trace = length**-fall
        dimensions = np.array([1.0, length - 1.0, length * (length - 3) / 2.0])
        values = np.array([ratio, 0.1 * ratio, 0.01 * ratio]) * np.array([(length / 4.0) ** slope for slope in slopes])
        variables = {
            "eigenvalue": ("irrep", values),
            "stderr": ("irrep", 0.01 * values),
            "dimension": ("irrep", dimensions),
            "level": ("irrep", [0.0, 1.0, 2.0]),
            "trace": trace,
            "trace_stderr": 0.001 * trace,
        }
        coords = {"irrep": list(scaling.FAMILIES.values())[:3]}
        results.append(made(scaling.measure_tops, variables, coords, **setting, length=length, heads=8, sequences=8, seed=0))
    return results


def spectrum_figure(raw=(0.0, -1.0, -2.0), lecun=(-0.5, -1.5, -2.5), fall=0.5, power=-0.5, ratio=0.5, kink=0.0):
    clusters = [
        made(
            scaling.measure_clusters,
            {"spread": ("seed", (np.array([1.0, 1.02, 0.98])) * heads**power)},
            {"seed": [0, 1, 2]},
            heads=heads,
            length=6,
        )
        for heads in (64, 256, 1024)
    ]
    peaked = tops(scaling.PEAKED, raw, fall=0.1, ratio=ratio)
    other = tops(scaling.LECUN, lecun, fall=fall, ratio=ratio)
    for result in other:
        if result.arguments["length"] > 16:
            result.data["eigenvalue"][2] *= (result.arguments["length"] / 16) ** kink
    return peaked + other + clusters


def losses_grid(test=1.02, train=1.02, ood=1.02, equivalent=(0.85, 0.2)):
    """Theory over exact losses, and the equivalent kernel over exact ones at the large and the small ridge."""
    return [
        made(
            losses.measure_losses,
            {
                "theory": (("loss", "n_train"), np.outer([test, train, ood], [1.0, 0.5])),
                "exact": (("loss", "n_train"), np.outer([1.0, 1.0, 1.0], [1.0, 0.5])),
                "stderr": (("loss", "n_train"), np.full((3, 2), 0.01)),
                "equivalent": ("n_train", np.array([1.0, 0.5]) * at),
            },
            {"loss": list(losses.LOSSES), "n_train": [16, 64]},
            vocab=3, length=length, ridge=ridge, noise=0.01, n_train=[16, 64], datasets=10, seed=1,
        )
        for length in (8, 16)
        for ridge, at in zip((losses.LARGE, losses.SMALL), equivalent, strict=True)
    ]  # fmt: skip


def widths(error=(0.2, 0.01), bias=-1.0, fluctuation=-0.5, ratio=9.0, heads=-0.5):
    results = [made(width.measure_heads, {"fluctuation": float(n) ** heads}, heads=n, width=256, networks=400) for n in (1, 2, 4)]
    for attention, activation, kind in (("linear", "linear", "nngp"), ("softmax", "erf", "nngp"), ("softmax", "erf", "ntk")):
        for width_, far in zip((16, 128), error, strict=True):
            variables = {
                "error": math.hypot(far, 0.005),
                "noise": 0.005,
                "bias": 4.0 * width_**bias,
                "bias_stderr": 0.001,
                "fluctuation": 2.0 * width_**fluctuation,
            }
            given = {"attention": attention, "activation": activation, "kind": kind, "width": width_, "networks": 400}
            given |= {"heads": None if attention == "linear" else 256}
            results.append(made(width.measure_width, variables, **given))
    ratios = {"linear": ratio, "relu": 5.0}
    return results + [
        made(width.measure_ratio, {"ratio": (("x", "y"), np.full((2, 2), value))}, activation=name) for name, value in ratios.items()
    ]


def block_results(off_block=1e-15, spread=1e-16, difference=1e-15):
    variables = {
        "off_block": off_block,
        "spread": ("irrep", [0.0, spread]),
        "dimension": ("irrep", [1.0, 2.0]),
        "copies": ("irrep", [4.0, 2.0]),
        "difference": difference,
        "eigenvalue": ("index", [2.0, 1.0]),
    }
    return [
        made(blocks.measure_blocks, variables, {"irrep": ["[3]", "[2,1]"], "index": [1, 2]}, vocab=2, length=3, activation="erf", seed=0)
    ]


def bound_results(ratio):
    variables = {"ratio": ("irrep", [0.8, ratio]), "stderr": ("irrep", [0.0, 0.01]), "level": ("irrep", [0.0, 1.0])}
    return [
        made(blocks.measure_bound, variables, {"irrep": ["[3]", "[2,1]"]}, vocab=2, length=3, attention="softmax", activation="erf", seed=0)
    ]


def output_results(r2):
    variables = {"predicted": ("sequence", [0.0, 1.0]), "exact": ("sequence", [0.0, 1.0]), "r2": r2, "r2_stderr": 0.005, "learned": 0.5}
    given = {"vocab": 3, "length": 8, "ridge": 1.0, "n_train": 42, "datasets": 5, "repeats": 2, "sequences": 2, "seed": 0}
    return [made(outputs.measure_outputs, variables, **given)]


def theorem_results(wrong=0.0, growth=1.0, three=0.3):
    sizes = np.array([64, 128])
    dimension = np.array([[float(size) ** (growth * m) for m in range(4)] for size in sizes])
    return [
        made(
            theorem.measure_polynomials, {"wrong": ("degree", [0.0, wrong]), "irreps": ("degree", [1.0, 2.0])}, {"degree": [0, 1]}, length=1
        ),
        made(
            theorem.measure_dimensions,
            {"dimension": (("length", "level"), dimension)},
            {"length": sizes, "level": np.arange(4)},
            lengths=[64, 128],
        ),
        made(theorem.measure_rows, {"ratio": 0.0}, vocab=2, length=5, seed=0),
        made(theorem.measure_rows, {"ratio": three}, vocab=3, length=5, seed=0),
    ]


def needs(exponents=(0.0, 1.1, 2.2), per_dimension=2.0, bare=0.0, true=1.0, apart=10.0):
    results = []
    for s_w, length in itertools.product((complexity.WIDE, complexity.NARROW), (8, 16, 32)):
        samples = np.array([length**exponent * apart**m for m, exponent in enumerate(exponents)])
        variables = {"samples": ("level", samples), "dimension": ("level", samples / per_dimension)}
        results.append(made(complexity.measure_needs, variables, {"level": [0, 1, 2]}, length=length, s_w=s_w, ridge=1.0))
    pairs = [(length, {"bare": 2.0 * length**bare, "samples": 3.0 * length**true}) for length in (8, 64)]
    return results + [made(complexity.measure_bare, variables, length=length, ridge=1.0) for length, variables in pairs]


def half_results(error, predicted):
    variables = {"predicted": predicted, "measured": predicted / (1.0 + error), "measured_stderr": 0.01 * predicted}
    variables |= {name: ("place", [0.4, 0.6]) for name in ("learned", "theory", "n_train")} | {"learned_stderr": ("place", [0.01, 0.01])}
    return [made(half.measure_half, variables, {"place": [0, 1]}, level=1, ridge=0.2, length=8, datasets=4, seed=0)]


def known(largest=1e-15, power=1.0, rest=1e-17, moved=0.5, fixed=1e-16, generic=0.05, static=1e-17):
    degrees = [
        made(
            symmetries.measure_splitting,
            {"leading": epsilon**power, "largest": 1.0 if epsilon else largest},
            length=6,
            epsilon=epsilon,
            seed=0,
        )
        for epsilon in (0.0, 0.01, 0.1)
    ]
    gaps = np.array([[generic, generic + 0.002], [0.02, 0.02], [static, static], [0.0, 0.0]])
    coords = {"kind": ["generic", "stationary", "static", "memoryless"], "seed": [0, 1]}
    return [
        *degrees,
        made(symmetries.measure_without_positions, {"rest": rest}, length=6, seed=0),
        made(symmetries.measure_readout, {"moved": moved, "fixed": fixed}, length=6, seed=0),
        made(symmetries.measure_law, {"gap": (("kind", "seed"), gaps)}, coords, vocab=3, length=5, seeds=[0, 1]),
    ]


def activations(slopes, second=1.0, linear=0.0):
    results = []
    for activation, s_w in nonlinear.CASES:
        for length in (8, 32):
            values = [1.0, 0.1 * length ** slopes[0], second * 0.01 * length ** slopes[1] if activation != "linear" else linear]
            variables = {"normalised": ("level", values)}
            results.append(made(nonlinear.measure_levels, variables, {"level": [0, 1, 2]}, activation=activation, s_w=s_w, length=length))
    return results


def others(off_block=1e-16, spread=1e-16, unlike=0.0):
    variables = {"off_block": off_block, "spread": spread, "unlike": unlike, "multiplets": 4.0}
    return [
        made(other.measure_symmetry, variables, group=group, vocab=2, lengths=lengths)
        for group, lengths in (("rotations", [4]), ("segments", [2, 2]))
    ]


def tightness_map(shift=0.0, inside=-1.1, outside=-1.8):
    factors = [0.1, 1.0, 10.0]
    predicted = np.array([-1.09, -1.5, -1.91])
    variables = {"measured": ("factor", predicted + shift), "predicted": ("factor", predicted), "length": ("factor", [6.0, 64.0, 640.0])}
    line = made(tightness.measure_linear, variables | {"crossover": 64.0}, {"factor": factors}, vocab=4, s_w=0.25, s_p=1.0, factors=factors)
    spread_out = {"vocab": 2, "s_w": 0.5, "s_p": 0.5}
    peaked, flat = ((0.0, slope, -2.0) for slope in (inside, outside))
    return [line, *tops(scaling.PEAKED, peaked, lengths=(16, 64)), *tops(spread_out, flat, lengths=(16, 64))]


def sampled(excess=-1.0, deviation=-1.0, size=4.0, step=0.0):
    """Posteriors whose loss and mean output are off by powers of the width, and whose loss is off by `step` at a step of 0.1."""
    results = []
    for activation, width_, at in [
        *itertools.product(("linear", "erf"), (32, 64, 128), (0.05,)),
        *(("erf", 16, at) for at in posterior.STEPS),
    ]:
        wide = width_ != 16
        off = size * width_**excess if wide else step * (at == 0.1)
        variables = {
            "loss": 0.8 * (1.0 + off),
            "loss_stderr": 0.001,
            "gp_loss": 0.8,
            "distance": 0.2 * (size * width_**deviation) ** 2,
            "distance_stderr": 1e-6,
            "gp_norm": 0.2,
            "spread": 0.5,
        }
        given = {"activation": activation, "width": width_, "heads": width_ // 2, "dataset": 0, "chains": 4, "duration": 1.0, "step": at}
        results.append(made(posterior.measure_wide, variables, **given))
    return [r for r in results if (r.arguments["width"] == 16) == bool(step)]


def headed(few=0.3):
    variables = {"loss_stderr": 0.001, "gp_loss": 0.8, "distance": 0.01, "distance_stderr": 1e-4, "gp_norm": 0.2}
    given = {"activation": "linear", "width": 64, "dataset": 0}
    return [
        made(posterior.measure_wide, variables | {"loss": 0.8 * (1.0 + off)}, heads=n, **given)
        for n, off in ((1, few), (4, 0.2), (16, 0.1))
    ]


def regimes(kernel="kernel", features="features", excess=-0.5):
    numbers = dict.fromkeys(("excess_stderr", "moved", "moved_stderr", "kernel_change", "kernel_change_stderr"), 0.1)
    return [
        made(
            regime.measure_regime,
            numbers | {"verdict": verdict, "excess": excess},
            output_scale=scale,
            n=n,
            ridge=ridge,
            width=8,
            networks=3,
        )
        for scale, verdict, (n, ridge) in ((regime.SMALL, features, regime.HARD), (regime.LARGE, kernel, regime.EASY))
    ]


def learnt(losses=(0.1, 0.4, 0.9), off=0.05):
    return [
        made(
            regime.measure_level,
            {"net_loss": loss, "net_loss_stderr": 0.02, "net_learned": 0.5 + off, "net_learned_stderr": 0.01, "gp_learned": 0.5},
            activation=activation, level=m, width=8, datasets=2,
        )
        for activation in regime.ACTIVATIONS
        for m, loss in enumerate(losses)
    ]  # fmt: skip
