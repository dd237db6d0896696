"""Which stacks see order: the output at the last token under permutations of the tokens before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

import specht
from specht import nn, sequences
from specht.papers import Finding, Grid, above, below, both, common, grid, measure, points
from specht.report import Plot, Table, add_points, finished, points_of

VOCAB, LENGTH = 12, 8
"""Sequences of nine tokens, the last of which stays in place."""
WIDTH, HEADS = 32, 4
SAME, DIFFERENT, SEEN = 1e-10, 1e-2, 1e-6
"""Changes below and above which a stack ignores order or sees it, at all; the last two in units of the spread of its outputs."""
ROTARY = "rotary"
"""Positions that turn queries and keys, and are in no value: they act on scores alone."""


def _stacks(depths: Sequence[int], kinds: Sequence[str], sums: Sequence[tuple[bool, str]], *, permutations: int, networks: int) -> Grid:
    """Every kind of positions, with and without a mask, at some depths; `sums` say whether there are residual sums, and which norm."""
    deep = points({"depth": depth, "seed": depth} for depth in depths)
    joined = points({"residual": residual, "norm": norm} for residual, norm in sums)
    return grid(positions=["none", *kinds], causal=[False, True]) * deep * joined * grid(permutations=permutations, networks=networks)


_KINDS = ("learned", "sinusoidal", ROTARY)
_SUMS = ((True, "pre"), (False, "none"), (True, "post"), (False, "pre"))


@measure(
    smoke=_stacks((1, 2), ("learned", ROTARY), _SUMS[:1], permutations=8, networks=1),
    quick=_stacks((1, 2), _KINDS, _SUMS[:2], permutations=64, networks=2),
    full=_stacks((1, 2, 3, 4), _KINDS, _SUMS, permutations=64, networks=4),
)
def measure_invariance(
    positions: str, causal: bool, depth: int, residual: bool, norm: str, permutations: int, networks: int, seed: int
) -> xarray.Dataset:
    """The largest change of the output at the last token, in float64, over permutations of the tokens before it and random networks.

    `change` is the largest of any network and `scale` the spread of its outputs; `least` is the smallest over networks of the change of one
    as a share of its spread. `exchange` is that of exchanging the first two tokens, and `others` the largest change of the state of an
    earlier position under permutations of what stands before it.
    """
    import equinox as eqx
    import jax

    fields: Any = {"positions": positions, "norm": norm}
    arch = specht.Architecture(
        vocab=VOCAB, length=LENGTH, attention="softmax", activation="gelu", causal=causal, residual=residual, depth=depth, **fields
    )
    x = np.random.default_rng([seed, 1]).integers(VOCAB, size=(32, LENGTH + 1))
    group = sequences.random_permutations(LENGTH, permutations, seed)
    swap = ((1, 0, *range(2, LENGTH)),)
    middle = LENGTH // 2
    mixed = tuple((*order, *range(middle, LENGTH)) for order in sequences.random_permutations(middle, 8, seed))
    changes, scales, shares, swaps, earlier = [], [], [], [], []
    size = nn.Size(WIDTH, HEADS, WIDTH // HEADS)
    both = eqx.filter_jit(lambda net, x: (net(x), net.streams(x)[-1][:, middle]))  # one program: it costs more than its calls
    with jax.enable_x64(True):
        for number in range(networks):
            net = nn.Network.init(arch, size, key=jax.random.key(seed + number), outputs=4).in_double()
            output, state = (lambda x, net=net, part=part: both(net, x)[part] for part in (0, 1))
            residual_of_output = sequences.invariance_residual(output, x, LENGTH, permutations=group)
            changes.append(residual_of_output.change)
            scales.append(residual_of_output.scale)
            shares.append(residual_of_output.value)
            swaps.append(sequences.invariance_residual(output, x, LENGTH, permutations=swap).value)
            earlier.append(sequences.invariance_residual(state, x, LENGTH, permutations=mixed).value)
    worst = int(np.argmax(changes))
    numbers = {"change": changes[worst], "scale": scales[worst], "share": max(shares), "least": min(shares)}
    return xarray.Dataset(numbers | {"exchange": min(swaps), "others": max(earlier)})


def is_invariant(positions: Any, causal: Any, depth: Any) -> Any:
    """What the theorem says, for one stack or for arrays of them: without positions, and without a mask or with a single layer."""
    return (positions == "none") & (np.logical_not(causal) | (depth == 1))


def ignores_order(data: xarray.Dataset) -> xarray.DataArray:
    """The same along the dimensions of a dataset."""
    return is_invariant(data["positions"], data["causal"], data["depth"])


def _regime(data: xarray.Dataset) -> str:
    return (
        f"float64, softmax attention + GELU, V = {VOCAB}, {LENGTH + 1} tokens, width {WIDTH}, {HEADS} heads, depth "
        f"{common.span(data['depth'].values)}, positions {' or '.join(sorted(data['positions'].values))}, with and without residual sums "
        f"and norms; {data.permutations} permutations of each of {data.networks} random networks a cell."
    )


@measure_invariance.claim(
    "invariant", below(SAME, "largest change", where="in float64, at every depth; a single causal layer counts among these"), null=1.0
)
def largest_change(data: xarray.Dataset) -> Finding:
    return Finding(float(data["change"].where(ignores_order(data)).max()), regime=_regime(data))


@measure_invariance.claim(
    "single-layer",
    both(
        below(SAME, "largest change with one causal layer"),
        above(DIFFERENT, "that with more, as a share of the spread,", percent=True, where="without positions"),
    ),
    null=(1.0, 1.0),
)
def changes_of_causal_stacks(data: xarray.Dataset) -> tuple[Finding, float]:
    causal = data.sel(positions="none", causal=True)
    worst, least = float(causal["change"].sel(depth=1).max()), float(causal["least"].where(causal["depth"] > 1).min())
    words = f"{_regime(data)} One causal layer changes by {worst:.0e}; two or more by {least:.2g} of the spread or more."
    return Finding(worst, regime=words), least


SHARE = "largest change, as a share of the spread,"


@measure_invariance.claim("broken", above(DIFFERENT, SHARE, percent=True, where="in every such cell and network"), null=1e-15)
def smallest_share(data: xarray.Dataset) -> Finding:
    outside = data.drop_sel(positions=ROTARY)
    words = f"{_regime(outside)} The smallest share of the spread in any such cell."
    return Finding(float(outside["least"].where(~ignores_order(outside)).min()), regime=words)


@measure_invariance.claim("rotary", above(SEEN, SHARE, where="in every such cell and network"), null=1e-15)
def smallest_share_of_rotary_positions(data: xarray.Dataset) -> Finding:
    """How little rotary positions may show in random networks."""
    rotary = data.sel(positions=[ROTARY])
    least = rotary["least"].values[np.isfinite(rotary["least"].values)]
    words = (
        f"{_regime(rotary)} The smallest share of the spread of any network; {np.mean(least < DIFFERENT):.0%} of the cells lie below 1 %."
    )
    return Finding(float(least.min()), regime=words)


@measure_invariance.claim("first-two", above(SEEN, "change of the output on exchanging them, as a share of its spread,"), null=1e-15)
def smallest_exchange(data: xarray.Dataset) -> Finding:
    """Two causal layers see which of the first two tokens came first."""
    exchange = data["exchange"].sel(positions="none", causal=True)
    words = f"{_regime(data)} Exchanging the first two tokens, as a share of the spread."
    return Finding(float(exchange.where(exchange["depth"] > 1).min()), regime=words)


@measure_invariance.claim("prefixes", below(SAME, "change of the state of a middle position, as a share of its spread,"), null=1.0)
def largest_change_in_the_middle(data: xarray.Dataset) -> Finding:
    """With one causal layer every position ignores the order of what stands before it."""
    worst = float(data["others"].sel(positions="none", causal=True, depth=1).max())
    return Finding(worst, regime=f"{_regime(data)} The state at position {LENGTH // 2 + 1}, as a share of its spread.")


@measure_invariance.figure()
def changes(data: xarray.Dataset) -> Plot:
    depths = data["depth"].values
    figure = go.Figure()
    cases = {
        "no positions, no mask": ("none", False),
        "no positions, causal": ("none", True),
        "learned positions, no mask": ("learned", False),
        "learned positions, causal": ("learned", True),
    }
    for number, (name, (positions, causal)) in enumerate(cases.items()):
        worst = data["share"].sel(positions=positions, causal=causal).max(["residual", "norm"])
        add_points(figure, depths, worst.values, name, number, joined=True)
    finished(figure, x="layers", y="largest change / spread", ticks=depths)
    figure.update_xaxes(type="linear", range=[min(depths) - 0.2, max(depths) + 0.2])
    figure.update_yaxes(range=[-17, 1], dtick=4, exponentformat="e", automargin=True, title_standoff=14)
    caption = "The output at the last token under permutations of those before it. What lies at 1e-15 is rounding."
    return Plot(figure, "Who sees order", caption, wide=True)


@measure_invariance.table()
def invariance_table(data: xarray.Dataset) -> Table:
    rows = []
    for stacks in points_of(data, "positions", "causal"):
        cells = []
        for stack in points_of(stacks, "depth"):
            same = float(stack["change"].max()) < SAME
            cells.append(f"invariant ({float(stack['share'].max()):.0e})" if same else f"sees order ({float(stack['least'].min()):.2g})")
        rows.append([f"{stacks['positions'].item()}, {'causal' if stacks['causal'] else 'no mask'}", *cells])
    note = (
        "In brackets the largest change as a share of the spread, or where order is seen the smallest of any network. Residual sums and "
        "norms make no difference."
    )
    header = ("positions and mask", *(f"{depth} layer{'s' * (depth > 1)}" for depth in data["depth"].values.tolist()))
    return Table(header, rows, note, "Invariance table")
