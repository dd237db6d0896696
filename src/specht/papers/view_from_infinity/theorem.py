"""The theorem on multilinear polynomials: which irreps they hold, and how fast these grow."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.lab.jobs import Job
from specht.papers import common
from specht.papers.claims import Claim, Experiment, Results, Scale, Verdict, holds_if
from specht.papers.view_from_infinity import sources
from specht.report.figures import Plot
from specht.report.html import Step, Table

_HERE = f"{sources.PACKAGE}.theorem"


def measure_polynomials(length: int) -> xarray.Dataset:
    """The irreps of homogeneous multilinear polynomials in L variables, for every degree, by numerical projection.

    `wrong` counts irreps whose projector has another rank than the theorem says: [L-m,m] once for m = 0 to min(d, L-d), and no others.
    """
    from specht.groups.irreps import isotypic_projectors
    from specht.groups.partitions import Partition

    wrong, occurring = [], []
    for degree in range(length + 1):
        found = {
            shape: int(np.linalg.matrix_rank(projector, tol=1e-6))
            for shape, projector in isotypic_projectors(length, _on_monomials(length, degree)).items()
        }
        expected = {
            Partition((length - m, m) if m else (length,)): math.comb(length, m) - (math.comb(length, m - 1) if m else 0)
            for m in range(min(degree, length - degree) + 1)
        }
        wrong.append(sum(found.get(shape, 0) != expected.get(shape, 0) for shape in {*found, *expected}))
        occurring.append(len(found))
    return common.record(
        "polynomials",
        {"wrong": ("degree", np.array(wrong, dtype=float)), "irreps": ("degree", np.array(occurring, dtype=float))},
        {"degree": np.arange(length + 1)},
    )


def measure_dimensions(lengths: list[int]) -> xarray.Dataset:
    """Dimensions of [L-m,m] against length."""
    from specht.groups.partitions import Partition

    values = [[float(Partition((length - m, m) if m else (length,)).dimension) for m in range(4)] for length in lengths]
    return common.record("dimensions", {"dimension": (("length", "level"), values)}, {"length": lengths, "level": np.arange(4)})


def measure_rows(vocab: int, length: int, seed: int) -> xarray.Dataset:
    """How large the top eigenvalue of an irrep with three rows is, over that of [L-2,2], for linear attention with an erf activation."""
    import specht

    arch: Any = specht.Architecture(vocab=vocab, length=length, activation="erf")
    spec = specht.spectrum(arch, specht.sources.default_mixture(vocab, seed=seed))
    two = max(row.eigenvalue for row in spec.rows if row.irrep.parts == (length - 2, 2))
    three = max((row.eigenvalue for row in spec.rows if len(row.irrep.parts) > 2 and not row.below_rounding), default=0.0)
    return common.record("rows", {"ratio": three / two})


def _on_monomials(length: int, degree: int) -> Any:
    """How a permutation moves products of `degree` different variables out of `length`."""
    subsets = np.array(list(itertools.combinations(range(length), degree)), dtype=int).reshape(math.comb(length, degree), degree)
    index = np.empty(2**length, dtype=int)
    index[(1 << subsets).sum(axis=1, dtype=int)] = np.arange(len(subsets))
    return lambda permutation: index[(1 << np.array(permutation, dtype=int)[subsets]).sum(axis=1, dtype=int)]


def jobs(scale: Scale) -> list[Job]:
    longest = common.at_scale(scale, smoke=5, quick=10, full=11)
    lengths = common.at_scale(scale, smoke=[64, 128], quick=[64, 256, 1024], full=[64, 256, 1024, 4096])
    rows = common.at_scale(scale, smoke=[(2, 4), (3, 4)], quick=[(2, 6), (3, 5)], full=[(2, 12), (3, 5), (3, 7), (4, 5)])
    return [
        *(Job.of(f"{_HERE}:measure_polynomials", length=length) for length in range(1, longest + 1)),
        Job.of(f"{_HERE}:measure_dimensions", lengths=lengths),
        *(Job.of(f"{_HERE}:measure_rows", vocab=vocab, length=length, seed=0) for vocab, length in rows),
    ]


def judge_theorem(results: Results) -> Verdict:
    found = common.chosen(results, "polynomials")
    wrong = sum(float(result.data["wrong"].sum()) for result in found)
    cases = sum(result.data.sizes["degree"] for result in found)
    lengths = common.span(common.arguments(found, "length"))
    return holds_if(wrong == 0, wrong, regime=f"All {cases} pairs of length and degree, L = {lengths}, by numerical projectors.")


def judge_growth(results: Results) -> Verdict:
    (result,) = common.chosen(results, "dimensions")
    lengths, values = result.data["length"].values, result.data["dimension"].values
    slopes = [common.power_law(lengths, values[:, m]) for m in range(4)]
    off = max(abs(slope.exponent - m) for m, slope in enumerate(slopes) if slope is not None)
    return holds_if(off <= 0.1, off, regime=f"m = 0 to 3, L = {common.span(lengths.tolist())}; the largest deviation is shown.")


def judge_rows(results: Results) -> Verdict:
    """With three tokens or more the theorem, which is about one variable a position, does not list all irreps."""
    found = common.chosen(results, "rows")
    two = [float(result.data["ratio"]) for result in found if result.arguments["vocab"] == 2]
    more = [float(result.data["ratio"]) for result in found if result.arguments["vocab"] > 2]
    where = ", ".join(f"V = {result.arguments['vocab']}, L = {result.arguments['length']}" for result in found)
    words = f"Linear attention + erf, {where}: none for V = 2; for V > 2 the smallest such ratio is shown."
    return holds_if(max(two) <= 1e-10 and min(more) >= 0.01, min(more), regime=words)


def plots(results: Results) -> list[Plot]:
    (result,) = common.chosen(results, "dimensions")
    figure = go.Figure()
    lengths = result.data["length"].values
    for m in range(4):
        common.add_points(figure, lengths, result.data["dimension"].values[:, m], f"[L-{m},{m}]" if m else "[L]", m, joined=True)
    common.finished(figure, x="length L", y="dimension", ticks=lengths.tolist())
    return [Plot(figure, "Dimensions of the irreps", "The dimension of [L-m,m] grows as the m-th power of the length.", wide=True)]


def tables(results: Results) -> list[Table]:
    rows = [
        [
            f"L = {result.arguments['length']}",
            f"{result.data.sizes['degree']}",
            f"{int(result.data['irreps'].max())}",
            f"{int(result.data['wrong'].sum())}",
        ]
        for result in common.chosen(results, "polynomials")
    ]
    return [Table(("length", "degrees", "irreps at most", "not as the theorem says"), rows, title="Multilinear polynomials")]


EXPERIMENT = Experiment(
    name="infinity.q5",
    title="Multilinear polynomials hold each irrep [L-m,m] once",
    shown=(
        "Poster: a theorem. Homogeneous multilinear polynomials of degree d in L variables are a direct sum of min(d+1, L-d+1) "
        "different irreps (L-m,m), each once, whose dimensions grow as the m-th power of L."
    ),
    claims=(
        Claim(
            "infinity.q5-multilinear",
            "Multilinear polynomials of degree d in L variables hold the irreps [L-m,m], m = 0 to min(d, L-d), once each and no others.",
            f"{sources.POSTER}, theorem",
            "no irrep with another multiplicity, for all d ≤ L ≤ 10, by numerical isotypic projection",
            judge_theorem,
        ),
        Claim(
            "infinity.q5-dimension",
            "The dimension of [L-m,m] grows as the m-th power of the length.",
            f"{sources.POSTER}, theorem",
            "log-log slope m ± 0.1 for m = 0 to 3 at long lengths",
            judge_growth,
        ),
        Claim(
            "infinity.q5-two-rows",
            "With two tokens all irreps have two rows, as in the theorem; with three or more a network sees others too.",
            f"{sources.OURS}: the theorem is about one variable a position",
            "top eigenvalue of irreps with three rows over that of [L-2,2]: at most 1e-10 for V = 2, at least 0.01 for V > 2",
            judge_rows,
        ),
    ),
    jobs=jobs,
    plots=plots,
    tables=tables,
    method=(
        Step(
            "Permutations move products of d variables; the rank of the projector on an irrep is its multiplicity times its dimension.",
            ("dim [L-m,m] = C(L,m) − C(L,m−1)",),
        ),
        Step(
            "With V tokens a position carries V − 1 functions, and products of different ones hold irreps with more rows, such as "
            "[L-2,1,1]."
        ),
    ),
)
