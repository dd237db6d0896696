"""Figure on block diagonalisation, and the bound of an eigenvalue by the dimension of its irrep."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

import specht
from specht import groups, sequences, spectra
from specht.papers import Finding, at_most, below, common, every, measure, present, rows
from specht.papers.view_from_infinity.sources import EXACT
from specht.report import Plot, Table, add_points, points_of, table

_BLOCKS = ("vocab", "length", "activation", "seed")
_BOUND = ("vocab", "length", "attention", "activation", "seed")
_OPERATOR = ("length", "activation")
"""What an operator is known by: the size of the vocabulary follows from the length."""
_EXACT_CASES = (
    (3, 64, "linear", "linear", 0),
    (4, 1_000_000, "linear", "linear", 0),
    (2, 64, "linear", "erf", 0),
    (2, 64, "linear", "relu", 0),
)


@measure(
    smoke=rows(_BLOCKS, (2, 3, "erf", 0), (3, 2, "linear", 0)),
    quick=rows(_BLOCKS, (2, 6, "linear", 0), (2, 7, "erf", 0), (3, 4, "erf", 0), (4, 3, "relu", 0)),
    full=rows(_BLOCKS, (2, 8, "linear", 0), (2, 8, "erf", 0), (2, 9, "relu", 0), (3, 5, "linear", 0), (3, 5, "erf", 0), (4, 4, "relu", 0)),
)
def measure_blocks(vocab: int, length: int, activation: str, seed: int) -> xarray.Dataset:
    """The kernel operator over all V^(L+1) sequences of an exchangeable mixture, in a basis sorted by irrep.

    `off_block` is the Frobenius norm of what lies outside the blocks over that of the whole matrix, `spread` the largest difference
    between eigenvalues that one copy of an irrep should make equal, over the largest eigenvalue, and `difference` that between brute
    force and `specht.spectrum`.
    """
    arch = specht.Architecture(vocab=vocab, length=length, activation=activation)
    source = specht.sources.default_mixture(vocab, seed=seed)
    operator = spectra.dense_operator(specht.Kernel(arch), source)
    matrix, rest = operator.matrix, operator.matrix.copy()
    multiplets = {}
    for irrep, projector in groups.isotypic_projectors(length, sequences.action_on(operator.states, length)).items():
        rest -= projector @ matrix @ projector
        multiplets[irrep] = multiplets_in(matrix, projector, irrep.dimension)
    exact, spec = operator.eigenvalues(), specht.spectrum(arch, source)
    repeated = np.concatenate([np.repeat(block.eigenvalues, block.irrep.dimension) for block in spec.blocks])
    from_blocks = np.sort(np.pad(repeated, (0, len(exact) - len(repeated))))[::-1]
    return xarray.Dataset(
        {
            "off_block": np.linalg.norm(rest) / np.linalg.norm(matrix),
            "spread": ("irrep", np.array([spread(rows) for rows in multiplets.values()]) / exact[0]),
            "dimension": ("irrep", [float(irrep.dimension) for irrep in multiplets]),
            "copies": ("irrep", [float(len(rows)) for rows in multiplets.values()]),
            "difference": np.abs(from_blocks - exact).max() / exact[0],
            "eigenvalue": ("index", exact),
        },
        {"irrep": [str(irrep) for irrep in multiplets], "index": np.arange(1, len(exact) + 1)},
    )


def multiplets_in(matrix: np.ndarray, projector: np.ndarray, dimension: int) -> np.ndarray:
    """Eigenvalues of a matrix in the block of an irrep, a row for each copy of the irrep."""
    rank = round(float(np.trace(projector)))
    basis = np.linalg.eigh(projector)[1][:, -rank:]
    return np.linalg.eigvalsh(basis.T @ matrix @ basis).reshape(-1, dimension)


def spread(multiplets: np.ndarray) -> float:
    """The largest difference between eigenvalues of one multiplet."""
    return float(np.ptp(multiplets, axis=1).max())


@measure(
    smoke=rows(_BOUND, (3, 8, "linear", "linear", 0), (2, 6, "linear", "relu", 0)),
    quick=rows(_BOUND, *_EXACT_CASES, (3, 6, "linear", "erf", 0), (2, 8, "softmax", "linear", 0)),
    full=rows(
        _BOUND,
        *_EXACT_CASES,
        (3, 9, "linear", "erf", 0),
        (3, 9, "linear", "relu", 0),
        (2, 12, "softmax", "linear", 0),
        (2, 12, "softmax", "erf", 0),
    ),
)
def measure_bound(vocab: int, length: int, attention: str, activation: str, seed: int, heads: int = 1024) -> xarray.Dataset:
    """The largest eigenvalue of every irrep times its dimension over E[k], which the trace bounds by one."""
    fields: Any = {"attention": attention, "activation": activation}
    arch = specht.Architecture(vocab=vocab, length=length, **fields)
    spec = specht.spectrum(arch, specht.sources.default_mixture(vocab, seed=seed), heads=heads, seed=seed)
    points = spectra.top_points(spec)
    return xarray.Dataset(
        {
            "ratio": ("irrep", [point.ratio for point in points]),
            "stderr": ("irrep", [(point.stderr or 0.0) * point.irrep.dimension / spec.trace for point in points]),
            "level": ("irrep", [float(point.irrep.level) for point in points]),
        },
        {"irrep": [str(point.irrep) for point in points]},
    )


def _operators(data: xarray.Dataset) -> list[xarray.Dataset]:
    return [present(operator) for operator in points_of(data, *_OPERATOR)]


def _name(operator: xarray.Dataset) -> str:
    return f"V = {operator.vocab.item()}, L = {operator.length.item()}, {operator.activation.item()}"


@measure_blocks.claim(
    "f0-blocks",
    below(EXACT, "Frobenius norm outside the blocks over that of the whole", where="on all sequences of a small case"),
    null=0.1,
    name="off_block",
)
@measure_blocks.claim(
    "f0-degeneracy", below(EXACT, "spread within a predicted multiplet over the largest eigenvalue"), null=0.1, name="spread"
)
@measure_blocks.claim(
    "f0-brute-force", below(EXACT, "difference from brute-force diagonalisation over the largest eigenvalue"), null=0.1, name="difference"
)
def largest(data: xarray.Dataset, name: str) -> Finding:
    sizes = ", ".join(f"V = {o.vocab.item()}, L = {o.length.item()} {o.activation.item()}" for o in _operators(data))
    words = f"Linear attention with these activations: {sizes}; exchangeable mixture of hidden Markov models, every sequence listed."
    return Finding(float(data[name].max()), regime=words)


@measure_blocks.figure()
def multiplets(data: xarray.Dataset) -> Plot:
    """All eigenvalues of the largest operator, whose steps are the multiplets."""
    whole = max(_operators(data), key=lambda operator: operator.sizes["index"])
    values = whole["eigenvalue"].values
    seen = values > 1e-14 * values[0]
    figure = go.Figure()
    add_points(figure, whole["index"].values[seen], values[seen], "by brute force", 0)
    caption = (
        f"All eigenvalues of {_name(whole)} activation. They come in steps: every step is one copy of an irrep, as wide as its dimension."
    )
    return common.plotted(figure, "Eigenvalues come in multiplets", caption, x="index of the eigenfunction", y="eigenvalue")


@measure_blocks.table()
def block_diagonalisation(data: xarray.Dataset) -> Table:
    columns = {
        "operator": _name,
        "irreps": lambda operator: f"{int(operator['copies'].count())}",
        "multiplets": lambda operator: f"{int(operator['copies'].sum())}",
        "off-block mass": "off_block:.1e",
        "spread in a multiplet": lambda operator: f"{float(operator['spread'].max()):.1e}",
        "blocks against brute force": "difference:.1e",
    }
    note = "Relative to the norm of the matrix, and to its largest eigenvalue."
    return table(data, columns, rows=_OPERATOR, note=note, title="Block diagonalisation")


def _kernels(data: xarray.Dataset) -> dict[str, xarray.Dataset]:
    """The measurement of each kernel, by what it is called."""
    return {
        f"{kernel.attention.item()} + {kernel.activation.item()}, V = {kernel.vocab.item()}, L = {kernel.length.item()}": kernel
        for kernel in points_of(data, "vocab", "length", "activation")
    }


@measure_bound.claim(
    "q4-bound",
    every(at_most(1 + 1e-12, "eigenvalue × dimension / E[k]"), "for every irrep; only sampled heads have an error"),
    null=2.0,
)
def ratios_to_the_bound(data: xarray.Dataset) -> list[Finding]:
    kernels = ", ".join(name.replace(",", "") for name in _kernels(data))
    return findings(data["ratio"], data["stderr"], f"{int(data['ratio'].count())} irreps of {kernels}.")


def findings(ratios: xarray.DataArray, errors: xarray.DataArray, words: str) -> list[Finding]:
    """Every ratio of an eigenvalue to its bound that was measured, of which the largest is shown."""
    measured = ratios.notnull().values
    pairs = list(zip(ratios.values[measured].tolist(), errors.values[measured].tolist(), strict=True))
    return [Finding(ratio, stderr, words, shown=max(pairs)) for ratio, stderr in pairs]


@measure_bound.figure()
def tops_of_levels(data: xarray.Dataset) -> Plot:
    """How near the top eigenvalue of each irrep comes to its bound."""
    figure = go.Figure()
    for number, (name, kernel) in enumerate(_kernels(data).items()):
        tops = kernel["ratio"].groupby(kernel["level"]).max()
        add_points(figure, tops.level.values, tops.values, name, number, joined=True)
    caption = "The largest multiplet of every level as a share of the trace: nothing lies above one, and higher levels are far below."
    return common.plotted(figure, "The bound of the dimension", caption, x="level m of the irrep", y="eigenvalue × dim / E[k]", linear="x")
