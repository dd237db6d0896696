"""Sections 3 and 4: capacity bounds, heads that compute sparse functions, and what heads of any norm can shatter."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.lab.jobs import Job
from specht.papers import common
from specht.papers.claims import Claim, Experiment, Results, Scale, Verdict, holds_if
from specht.papers.sparse_variables import sources
from specht.report.figures import Plot
from specht.report.html import Step, Table

_HERE = f"{sources.PACKAGE}.theory"
SUPPORT, GAMMA = 3, 1 / 3
LENGTHS = (25, 50, 100, 200, 400, 800, 1600)
WIDTH, SAMPLES = 64, 100
EVEN = 0.005
"""By how much increments of capacity per doubling of T may differ, where resolution is shared out anew at every T."""


def measure_capacity() -> xarray.Dataset:
    """Capacities at unit norms against T: one head, four heads, a stack of two layers, and a fully connected network."""
    from specht.learning.bounds.covering import dense_capacity, explicit_head_cover, head_capacity, stack_capacity
    from specht.learning.bounds.norms import DenseNorms, HeadNorms, LayerNorms

    head, layer, dense = HeadNorms(1, 1, 1), LayerNorms(1, 1, 1, 1, 1, 1), DenseNorms(1, 1)
    size: Any = {"samples": SAMPLES, "width": WIDTH}
    kinds = {
        "corollary 4.5": [head_capacity(head, 1.0, length=T, **size) for T in LENGTHS],
        "theorem 4.2, all constants": [0.01 * explicit_head_cover(head, 1.0, 0.1, length=T, **size) for T in LENGTHS],
        "lemma A.12, four heads": [head_capacity([head] * 4, 1.0, length=T, **size) for T in LENGTHS],
        "theorem A.17, two layers": [stack_capacity([layer] * 2, 1.0, length=T, head_size=WIDTH, **size) for T in LENGTHS],
        "fully connected": [dense_capacity([dense] * 2, math.sqrt(T), **size) for T in LENGTHS],
    }
    return common.record(
        "capacity", {"capacity": (("kind", "length"), list(kinds.values()))}, {"kind": list(kinds), "length": list(LENGTHS)}
    )


def measure_head(length: int, dimension: int, key: str, samples: int, seed: int) -> xarray.Dataset:
    """The largest error of a head that takes the mean over three positions, over random bits, by the kind of its key."""
    from specht.learning.bounds import representation
    from specht.sequences.codes import random_codes

    rng = np.random.default_rng(seed)
    chosen = rng.choice(length, SUPPORT, replace=False)
    x = rng.integers(2, size=(samples, length))
    wanted = (2.0 * x[:, chosen] - 1.0).mean(axis=1)
    if key == "trained":
        head = representation.trained_positions_head(length, chosen.tolist(), GAMMA)
    else:
        codes = np.eye(length) if dimension == length else random_codes(rng, dimension, length)
        head = representation.fixed_positions_head(codes, chosen.tolist(), GAMMA, dual=key == "dual")
    error = float(np.abs(head(x) - wanted).max())
    return common.record("head", {"error": error} | {f"norm_{name}": value for name, value in head.norms.items()})


def measure_shattering(length: int) -> xarray.Dataset:
    """How many of the sign patterns of ⌊log₂ T⌋ sequences heads realise, and the smallest distance of their outputs from 1/2."""
    from specht.learning.bounds import representation

    x = representation.shattered_inputs(length)
    outputs = np.array([representation.head_output(x, *representation.shattering_head(place, length)) for place in range(length)])
    patterns = {tuple(row) for row in outputs > 0.5}
    numbers = {"sequences": float(len(x)), "share": len(patterns) / 2.0 ** len(x), "margin": float(np.abs(outputs - 0.5).min())}
    return common.record("shattering", numbers)


def jobs(scale: Scale) -> list[Job]:
    length, samples = common.at_scale(scale, smoke=50, quick=200, full=200), common.at_scale(scale, smoke=50, quick=500, full=500)
    dimensions = common.at_scale(scale, smoke=(50, 200), quick=(200, 1000, 4000), full=(200, 1000, 4000))
    seeds = range(common.at_scale(scale, smoke=1, quick=5, full=10))
    found = [Job.of(f"{_HERE}:measure_capacity")]
    for seed in seeds:
        for key in ("dual", "sum"):
            found += [
                Job.of(f"{_HERE}:measure_head", length=length, dimension=d + 1, key=key, samples=samples, seed=seed) for d in dimensions
            ]
        for T in (length // 4, length, 2 * length):
            found.append(Job.of(f"{_HERE}:measure_head", length=T, dimension=T, key="sum", samples=samples, seed=seed))
            found.append(Job.of(f"{_HERE}:measure_head", length=T, dimension=0, key="trained", samples=samples, seed=seed))
    return [*found, *(Job.of(f"{_HERE}:measure_shattering", length=T) for T in (2, 5, 16, 64, 300, 1024))]


def judge_log(results: Results) -> Verdict:
    """How far attention's bounds are from linear in log T: the largest relative residual of a line; and with all constants, by how much
    increments per doubling of T differ."""
    (found,) = common.chosen(results, "capacity")
    x, worst, uneven = np.log(LENGTHS), 0.0, 0.0
    for kind, row in zip(found.data["kind"].values, found.data["capacity"].values, strict=True):
        if "constants" in str(kind):
            uneven = float(np.ptp(np.diff(row)) / np.abs(np.diff(row).mean()))
        elif kind != "fully connected":
            worst = max(worst, float(np.abs(np.polyval(np.polyfit(x, row, 1), x) / row - 1.0).max()))
    words = (
        f"Unit norms, T = {common.span(LENGTHS)}, m = {SAMPLES}, d = {WIDTH}; the largest relative residual is shown. With all constants "
        f"increments per doubling of T differ by {100 * uneven:.2g} %."
    )
    return holds_if(worst < 1e-9 and uneven <= EVEN, worst, regime=words)


def judge_dense(results: Results) -> Verdict:
    (found,) = common.chosen(results, "capacity")
    fit = common.power_law(LENGTHS, found.data["capacity"].sel(kind="fully connected").values)
    assert fit is not None
    return holds_if(
        abs(fit.exponent - 1.0) < 1e-6,
        fit.exponent,
        regime=f"Unit norms of all matrices, T = {common.span(LENGTHS)}; the exponent of T is shown.",
    )


def _errors(results: Results, key: str, exact: bool = False) -> tuple[float, str]:
    found = [
        result
        for result in common.chosen(results, "head", key=key)
        if key == "trained" or (result.arguments["dimension"] == result.arguments["length"]) == exact
    ]
    given = found[0].arguments
    sizes = "" if key == "trained" else f", codes of {common.listed(common.arguments(found, 'dimension'))} dimensions"
    lengths = common.listed(common.arguments(found, "length"))
    words = f"T = {lengths}, s = {SUPPORT}, γ = 1/3{sizes}, {given['samples']} sequences, {len(found)} heads"
    return float(common.column(found, "error").max()), f"{words}; the largest error is shown, γ/4 = {GAMMA / 4:.3f}."


def judge_orthogonal(results: Results) -> Verdict:
    """Errors and norms against those of the lemmas, at every T."""
    worst, words = max(_errors(results, "sum", exact=True), _errors(results, "trained"))
    largest = largest_norm(results)
    words = f"{words} The largest norm is {largest:.2f} times what the lemmas state."
    return holds_if(worst <= GAMMA / 4 and largest <= 1.0 + 1e-9, worst, regime=words)


def largest_norm(results: Results) -> float:
    """The largest norm of a matrix of heads with orthogonal or trained positions, over that of lemmas B.2 and B.3, which grow as log T."""
    from specht.learning.bounds.representation import norm_bounds

    ratios = []
    for found in common.chosen(results, "head"):
        length, dimension, key = (found.arguments[name] for name in ("length", "dimension", "key"))
        if key == "trained" or (key == "sum" and dimension == length):
            stated = norm_bounds("B.3" if key == "trained" else "B.2", SUPPORT, length, GAMMA)
            ratios += [float(found.data[f"norm_{name}"]) / bound for name, bound in stated.items()]
    return max(ratios)


def judge_sum(results: Results) -> Verdict:
    worst, words = _errors(results, "sum")
    return holds_if(worst <= GAMMA / 4, worst, regime=words)


def judge_dual(results: Results) -> Verdict:
    worst, words = _errors(results, "dual")
    return holds_if(worst <= GAMMA / 4, worst, regime=words)


def judge_shattering(results: Results) -> Verdict:
    found = common.chosen(results, "shattering")
    shares, margins = common.column(found, "share"), common.column(found, "margin")
    lengths = common.listed(common.arguments(found, "length"))
    words = f"T = {lengths}; outputs stay {margins.min():.2f} from 1/2. The smallest share of patterns is shown."
    return holds_if(bool((shares == 1.0).all() and (margins > 0.0).all()), shares.min(), regime=words)


def plots(results: Results) -> list[Plot]:
    (found,) = common.chosen(results, "capacity")
    figure = go.Figure()
    for number, kind in enumerate(found.data["kind"].values):
        common.add_line(figure, LENGTHS, found.data["capacity"].sel(kind=kind).values, str(kind), number)
    common.finished(figure, x="length T", y="capacity ε² log N", ticks=LENGTHS)
    caption = f"Bounds at unit norms, m = {SAMPLES} samples, d = {WIDTH}. Attention grows with log T, a fully connected network with T."
    return [Plot(figure, "Capacity against length", caption, wide=True)]


def tables(results: Results) -> list[Table]:
    rows = []
    heads = common.chosen(results, "head")
    for length, dimension, key in sorted({tuple(r.arguments[name] for name in ("length", "dimension", "key")) for r in heads}):
        found = common.chosen(results, "head", length=length, dimension=dimension, key=key)
        norms = [f"{common.column(found, f'norm_{name}').max():.2f}" for name in ("query", "key", "value")]
        names = {"sum": "sum of codes (lemma B.2)", "dual": "dual code", "trained": "trained positions (lemma B.3)"}
        codes = "orthogonal" if dimension == length else str(dimension or "none")
        rows.append([str(length), names[key], codes, f"{common.column(found, 'error').max():.4f}", *norms])
    header = ("T", "key", "dimensions of codes", "largest error", "‖W_Q‖", "‖W_K‖", "‖W_V‖")
    note = f"A head that takes the mean over {SUPPORT} positions; lemmas promise errors of at most γ/4 = {GAMMA / 4:.3f}."
    return [Table(header, rows, note, "Heads that compute sparse functions")]


EXPERIMENT = Experiment(
    name="sparse.theory",
    title="Capacity, representation and shattering",
    shown="Theorem 4.2, corollary 4.5, theorem A.17: covering numbers with log T; lemmas B.2 to B.4: heads of norm log T; proposition 4.4.",
    claims=(
        Claim(
            "sparse.theory-log",
            "At fixed norms the capacity of attention depends on T by its logarithm alone.",
            f"{sources.PAPER}, corollary 4.5, theorem A.17",
            f"linear in ln T to rounding; with all constants increments per doubling of T equal within {100 * EVEN:g} %",
            judge_log,
        ),
        Claim(
            "sparse.theory-dense",
            "The same bound of a fully connected network of the same norms grows in proportion to T.",
            sources.OURS,
            "exponent one",
            judge_dense,
        ),
        Claim(
            "sparse.theory-heads",
            "Heads with orthogonal or trained positions compute the mean of s bits with norms that grow as log T.",
            f"{sources.PAPER}, lemmas B.2 and B.3",
            "error at most γ/4, and norms at most those of the lemmas, at every T",
            judge_orthogonal,
        ),
        Claim(
            "sparse.theory-sum",
            "They do so with positions that overlap a little, the key being the sum of their codes.",
            f"{sources.PAPER}, lemma B.2 with Δ > 0",
            "error at most γ/4",
            judge_sum,
        ),
        Claim("sparse.theory-dual", "With the dual code as key they do.", sources.OURS, "error at most γ/4", judge_dual),
        Claim(
            "sparse.theory-shatter",
            "Heads of unbounded norm in three dimensions shatter log₂ T sequences.",
            f"{sources.PAPER}, proposition 4.4",
            "all sign patterns at the level 1/2",
            judge_shattering,
        ),
    ),
    jobs=jobs,
    plots=plots,
    tables=tables,
    method=(
        Step(
            "Bounds are evaluated as functions of norms, samples, positions and width (`specht.learning.bounds`):",
            ["C = (L_σ B_X)² ( Σ_h [ ‖W_V‖_{2,1}^{2/3} + (2 ‖W_{QK}‖_{2,1} ‖W_V‖ B_X)^{2/3} ] )³ log(d m T)"],
        ),
        Step("Keys of heads, for codes V_I of the positions that are read:", ["sum: V_I 1", "dual: V_I (V_I^T V_I)^{−1} 1"]),
    ),
)
