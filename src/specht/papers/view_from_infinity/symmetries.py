"""Spectra under known symmetries: exact, broken by degrees, larger than expected, and not there at all."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import xarray

import specht
from specht import spectra
from specht.papers import Finding, above, below, both, common, exponent, fixed, grid, measure
from specht.papers.view_from_infinity.sources import EXACT
from specht.report import Plot, Table, add_guide, add_points, table

VOCAB = 2


def _architecture(length: int, **fields: Any) -> Any:
    return specht.Architecture(vocab=VOCAB, length=length, activation="erf", s_w=0.5, **fields)


@measure(
    smoke=grid(length=3, epsilon=[0.0, 0.01, 0.04], seed=0),
    quick=grid(length=6, epsilon=[0.0, 0.005, 0.01, 0.02, 0.05, 0.1], seed=0),
    full=grid(length=8, epsilon=[0.0, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1], seed=0),
)
def measure_splitting(length: int, epsilon: float, seed: int) -> xarray.Dataset:
    """How far multiplets come apart when the order of the tokens matters by a degree epsilon.

    `leading` is the splitting of the leading multiplet of [L-1,1] over its eigenvalue, `largest` that of any multiplet above one part in
    ten thousand of the top eigenvalue.
    """
    source = specht.sources.graded_mixture(epsilon, VOCAB, seed=seed)
    rows = spectra.multiplet_splittings(specht.Kernel(_architecture(length)), source)
    several = [row for row in rows if row.irrep.dimension > 1 and row.eigenvalue > 1e-4 * rows[0].eigenvalue]
    leading = next(row for row in several if row.irrep.level == 1)
    largest = max(row.splitting / row.eigenvalue for row in several)
    return xarray.Dataset({"leading": leading.splitting / leading.eigenvalue, "largest": largest})


@measure(smoke=grid(length=6, seed=0), quick=grid(length=32, seed=0), full=grid(length=64, seed=0))
def measure_without_positions(length: int, seed: int) -> xarray.Dataset:
    """The largest eigenvalue of any irrep but the trivial one, over E[k], without positions."""
    spec = specht.spectrum(_architecture(length, s_p=0.0), specht.sources.default_mixture(VOCAB, seed=seed))
    return xarray.Dataset({"rest": max(abs(row.eigenvalue) for row in spec.rows if row.irrep.level > 0) / spec.trace})


@measure(smoke=grid(length=3, seed=0), quick=grid(length=6, seed=0), full=grid(length=8, seed=0))
def measure_readout(length: int, seed: int) -> xarray.Dataset:
    """The splitting of multiplets of S_(L+1), which moves the readout token too, and of S_L, which does not."""
    kernel, source = specht.Kernel(_architecture(length)), specht.sources.default_mixture(VOCAB, seed=seed)
    splittings = []
    for columns, readout in ((length + 1, "mean"), (length, "last")):
        rows = spectra.multiplet_splittings(lambda x, y: kernel(x, y), source, length=columns, readout=readout)
        leading = next(row for row in rows if row.irrep.level == 1)
        splittings.append(leading.splitting / leading.eigenvalue)
    return xarray.Dataset({"moved": splittings[0], "fixed": splittings[1]})


@measure(
    smoke=grid(vocab=2, length=3, seeds=fixed(range(2))),
    quick=grid(vocab=3, length=5, seeds=fixed(range(8))),
    full=grid(vocab=3, length=7, seeds=fixed(range(32))),
)
def measure_law(vocab: int, length: int, seeds: list[int]) -> xarray.Dataset:
    """Total variation between a mixture of hidden Markov models and its average over orders, by kind of mixture, for several draws."""
    s = specht.sources
    kinds = {
        "generic": lambda seed: s.generic_mixture(vocab, seed=seed),
        "stationary": lambda seed: s.generic_mixture(vocab, seed=seed, stationary=True),
        "static": lambda seed: s.default_mixture(vocab, seed=seed, chain="static"),
        "memoryless": lambda seed: s.default_mixture(vocab, seed=seed, chain="memoryless"),
    }
    gaps = [[s.exchangeability_gap(make(seed), length).value for seed in seeds] for make in kinds.values()]
    return xarray.Dataset({"gap": (("kind", "seed"), gaps)}, {"kind": list(kinds), "seed": seeds})


def _regime(data: xarray.Dataset) -> str:
    return f"Linear attention + erf, V = {VOCAB}, L = {data.length}, s_w = 0.5, s_p = 1, every sequence listed."


@measure_splitting.claim("e2-exact", below(EXACT, "splitting of every multiplet over its eigenvalue"), null=0.1)
def largest_splitting(data: xarray.Dataset) -> Finding:
    return Finding(float(data["largest"].sel(epsilon=0.0)), regime=_regime(data))


@measure_splitting.claim("e2-graded", exponent(1, within=0.1, of="the splitting against ε"), null=2.0)
def exponent_of_splitting(data: xarray.Dataset) -> Finding:
    broken = data.sel(epsilon=data.epsilon > 0)
    words = f"{_regime(data)} Leading [L-1,1], order broken by ε = {common.span(broken.epsilon.values)}."
    return common.exponent_of(broken.epsilon.values, broken["leading"].values, regime=words)


@measure_without_positions.claim("e2-no-positions", below(EXACT, "largest other eigenvalue over E[k]"), null=0.1)
def largest_other_eigenvalue(data: xarray.Dataset) -> Finding:
    return Finding(float(data["rest"]), regime=f"Linear attention + erf, V = {VOCAB}, L = {data.length}, s_p = 0.")


@measure_readout.claim(
    "e2-readout",
    both(above(0.01, "splitting if the readout token is permuted", percent=True), below(EXACT, "splitting if it is not")),
    null=(0.0, 0.0),
)
def splittings(data: xarray.Dataset) -> tuple[Finding, float]:
    moved, fixed_readout = float(data["moved"]), float(data["fixed"])
    words = (
        f"{_regime(data)} Splitting of the leading [L,1] over its eigenvalue; {fixed_readout:.0e} for [L-1,1] with the readout in place."
    )
    return Finding(moved, regime=words), fixed_readout


def _setting(data: xarray.Dataset) -> str:
    return f"V = {data.vocab}, L = {data.length}, 2 hidden states, 4 components, {data.sizes['seed']} draws"


@measure_law.claim("e2-generic-hmm", below(0.01, "total variation from its average over orders"), null=0.1)
def mean_gap(data: xarray.Dataset) -> Finding:
    generic, stationary = (data["gap"].sel(kind=kind) for kind in ("generic", "stationary"))
    words = (
        f"{_setting(data)}: {float(generic.mean()):.3f} on average for generic chains, {float(stationary.mean()):.3f} for stationary ones. "
        "It holds for static or memoryless chains."
    )
    mean, stderr = common.mean_and_error(generic)
    return Finding(float(mean), float(stderr), words)


@measure_law.claim("e2-static-hmm", below(EXACT, "total variation from its average over orders"), null=0.1)
def largest_gap(data: xarray.Dataset) -> Finding:
    gaps = data["gap"].sel(kind=["static", "memoryless"])
    return Finding(float(gaps.max()), regime=f"{_setting(data)}; the largest is shown.")


@measure_splitting.figure()
def against_degree(data: xarray.Dataset) -> Plot:
    broken = data.sel(epsilon=data.epsilon > 0)
    degrees, figure = broken.epsilon.values, go.Figure()
    for number, (name, label) in enumerate({"leading": "leading [L-1,1]", "largest": "any multiplet"}.items()):
        add_points(figure, degrees, broken[name].values, label, number, joined=True)
    add_guide(figure, degrees, float(broken["leading"][0]) * degrees / degrees[0], "in proportion to ε")
    title, x = "A broken symmetry splits multiplets", "degree ε to which order matters"
    caption = "How far multiplets come apart when the hidden chain remembers its state to a degree ε: at first in proportion to it."
    return common.plotted(figure, title, caption, x=x, y="splitting / eigenvalue", ticks=degrees)


@measure_law.table()
def gaps_of_kinds(data: xarray.Dataset) -> Table:
    columns = {
        "hidden chains": "kind",
        "mean over draws": lambda chains: f"{float(chains['gap'].mean()):.2g}",
        "largest": lambda chains: f"{float(chains['gap'].max()):.2g}",
    }
    note = "Total variation between the law and its average over orders of the context."
    return table(data, columns, rows=["kind"], note=note, title="Is a mixture of hidden Markov models symmetric?")
