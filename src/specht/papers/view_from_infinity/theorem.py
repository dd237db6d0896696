"""The theorem on multilinear polynomials: which irreps they hold, and how fast these grow."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

import specht
from specht import groups
from specht.papers import Finding, at_least, at_most, both, common, fixed, grid, measure, rows
from specht.report import Plot, Table, add_points, points_of, table

_ROWS = ("vocab", "length", "seed")


@measure(smoke=grid(length=range(1, 6)), quick=grid(length=range(1, 11)), full=grid(length=range(1, 12)))
def measure_polynomials(length: int) -> xarray.Dataset:
    """The irreps of homogeneous multilinear polynomials in L variables, for every degree, by numerical projection.

    `wrong` counts irreps whose projector has another rank than the theorem says: [L-m,m] once for m = 0 to min(d, L-d), and no others.
    """
    wrong, occurring = [], []
    for degree in range(length + 1):
        measured = {
            shape: int(np.linalg.matrix_rank(projector, tol=1e-6))
            for shape, projector in groups.isotypic_projectors(length, _on_monomials(length, degree)).items()
        }
        expected = {
            groups.Partition((length - m, m) if m else (length,)): math.comb(length, m) - (math.comb(length, m - 1) if m else 0)
            for m in range(min(degree, length - degree) + 1)
        }
        wrong.append(sum(measured.get(shape, 0) != expected.get(shape, 0) for shape in {*measured, *expected}))
        occurring.append(len(measured))
    return xarray.Dataset(
        {"wrong": ("degree", np.array(wrong, dtype=float)), "irreps": ("degree", np.array(occurring, dtype=float))},
        {"degree": np.arange(length + 1)},
    )


@measure(smoke=grid(lengths=fixed([64, 128])), quick=grid(lengths=fixed([64, 256, 1024])), full=grid(lengths=fixed([64, 256, 1024, 4096])))
def measure_dimensions(lengths: list[int]) -> xarray.Dataset:
    """Dimensions of [L-m,m] against length."""
    values = [[float(groups.Partition((length - m, m) if m else (length,)).dimension) for m in range(4)] for length in lengths]
    return xarray.Dataset({"dimension": (("length", "level"), values)}, {"length": lengths, "level": np.arange(4)})


@measure(
    smoke=rows(_ROWS, (2, 4, 0), (3, 4, 0)),
    quick=rows(_ROWS, (2, 6, 0), (3, 5, 0)),
    full=rows(_ROWS, (2, 12, 0), (3, 5, 0), (3, 7, 0), (4, 5, 0)),
)
def measure_rows(vocab: int, length: int, seed: int) -> xarray.Dataset:
    """How large the top eigenvalue of an irrep with three rows is, over that of [L-2,2], for linear attention with an erf activation."""
    arch: Any = specht.Architecture(vocab=vocab, length=length, activation="erf")
    spec = specht.spectrum(arch, specht.sources.default_mixture(vocab, seed=seed))
    two = max(row.eigenvalue for row in spec.rows if row.irrep.parts == (length - 2, 2))
    three = max((row.eigenvalue for row in spec.rows if len(row.irrep.parts) > 2 and not row.below_rounding), default=0.0)
    return xarray.Dataset({"ratio": three / two})


def _on_monomials(length: int, degree: int) -> Any:
    """How a permutation moves products of `degree` different variables out of `length`."""
    subsets = np.array(list(itertools.combinations(range(length), degree)), dtype=int).reshape(math.comb(length, degree), degree)
    index = np.empty(2**length, dtype=int)
    index[(1 << subsets).sum(axis=1, dtype=int)] = np.arange(len(subsets))
    return lambda permutation: index[(1 << np.array(permutation, dtype=int)[subsets]).sum(axis=1, dtype=int)]


@measure_polynomials.claim(
    "q5-multilinear",
    at_most(0, "irreps with another multiplicity", where="for all d ≤ L, by numerical isotypic projection"),
    null=1.0,
)
def wrong_multiplicities(data: xarray.Dataset) -> Finding:
    words = f"All {int(data['wrong'].count())} pairs of length and degree, L = {common.span(data.length.values)}, by numerical projectors."
    return Finding(float(data["wrong"].sum()), regime=words)


@measure_dimensions.claim(
    "q5-dimension", at_most(0.1, "distance of the log-log slope from m", where="for m = 0 to 3 at long lengths"), null=1.0
)
def distance_from_level(data: xarray.Dataset) -> Finding:
    lengths = data.length.values
    off = max(abs(common.exponent_of(lengths, data["dimension"].sel(level=m).values).value - m) for m in range(4))
    return Finding(off, regime=f"m = 0 to 3, L = {common.span(lengths)}; the largest deviation is shown.")


@measure_rows.claim(
    "q5-two-rows",
    both(
        at_least(0.01, "top eigenvalue of irreps with three rows over that of [L-2,2]", where="for V > 2"),
        at_most(1e-10, "the same", where="for V = 2"),
    ),
    null=(0.0, 0.0),
)
def irreps_with_three_rows(data: xarray.Dataset) -> tuple[Finding, float]:
    """With three tokens or more the theorem, which is about one variable a position, does not list all irreps."""
    networks = list(points_of(data, "vocab", "length"))
    where = ", ".join(f"V = {network.vocab.item()}, L = {network.length.item()}" for network in networks)
    words = f"Linear attention + erf, {where}: none for V = 2; for V > 2 the smallest such ratio is shown."
    return Finding(float(data["ratio"].where(data.vocab > 2).min()), regime=words), float(data["ratio"].sel(vocab=2).max())


@measure_dimensions.figure()
def against_length(data: xarray.Dataset) -> Plot:
    figure, lengths = go.Figure(), data.length.values
    for m in range(4):
        add_points(figure, lengths, data["dimension"].sel(level=m).values, f"[L-{m},{m}]" if m else "[L]", m, joined=True)
    caption = "The dimension of [L-m,m] grows as the m-th power of the length."
    return common.plotted(figure, "Dimensions of the irreps", caption, x="length L", y="dimension", ticks=lengths)


@measure_polynomials.table()
def multilinear_polynomials(data: xarray.Dataset) -> Table:
    columns = {
        "length": lambda at: f"L = {at.length.item()}",
        "degrees": lambda at: f"{int(at['wrong'].count())}",
        "irreps at most": lambda at: f"{int(at['irreps'].max())}",
        "not as the theorem says": lambda at: f"{int(at['wrong'].sum())}",
    }
    return table(data, columns, rows=["length"], title="Multilinear polynomials")
