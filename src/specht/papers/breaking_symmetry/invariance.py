"""Which stacks see order: the output at the last token under permutations of the tokens before it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.lab.jobs import Job
from specht.papers import common
from specht.papers.breaking_symmetry import sources
from specht.papers.claims import Claim, Experiment, Results, Scale, Verdict, holds_if
from specht.report.figures import Plot
from specht.report.html import Step, Table

_HERE = f"{sources.PACKAGE}.invariance"
VOCAB, LENGTH = 12, 8
"""Sequences of nine tokens, the last of which stays in place."""
WIDTH, HEADS = 32, 4
SAME, DIFFERENT, SEEN = 1e-10, 1e-2, 1e-6
"""Changes below and above which a stack ignores order or sees it, at all; the last two in units of the spread of its outputs."""
ROTARY = "rotary"
"""Positions that turn queries and keys, and are in no value: they act on scores alone."""


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

    import specht
    from specht.nn.network import Network
    from specht.sequences.actions import invariance_residual, random_permutations

    fields: Any = {"positions": positions, "norm": norm}
    arch = specht.Architecture(
        vocab=VOCAB, length=LENGTH, attention="softmax", activation="gelu", causal=causal, residual=residual, depth=depth, **fields
    )
    x = np.random.default_rng([seed, 1]).integers(VOCAB, size=(32, LENGTH + 1))
    group = random_permutations(LENGTH, permutations, seed)
    swap = ((1, 0, *range(2, LENGTH)),)
    middle = LENGTH // 2
    mixed = tuple((*order, *range(middle, LENGTH)) for order in random_permutations(middle, 8, seed))
    changes, scales, shares, swaps, earlier = [], [], [], [], []
    size = specht.nn.Size(WIDTH, HEADS, WIDTH // HEADS)
    both = eqx.filter_jit(lambda net, x: (net(x), net.streams(x)[-1][:, middle]))  # one program: it costs more than its calls
    with jax.enable_x64(True):
        for number in range(networks):
            net = Network.init(arch, size, key=jax.random.key(seed + number), outputs=4).in_double()
            output, state = (partial(_part, both, net, part) for part in (0, 1))
            found = invariance_residual(output, x, LENGTH, permutations=group)
            changes.append(found.change)
            scales.append(found.scale)
            shares.append(found.value)
            swaps.append(invariance_residual(output, x, LENGTH, permutations=swap).value)
            earlier.append(invariance_residual(state, x, LENGTH, permutations=mixed).value)
    worst = int(np.argmax(changes))
    return common.record(
        "invariance",
        {
            "change": changes[worst],
            "scale": scales[worst],
            "share": max(shares),
            "least": min(shares),
            "exchange": min(swaps),
            "others": max(earlier),
        },
    )


def _part(both: Callable[..., Any], net: Any, part: int, x: np.ndarray) -> Any:
    return both(net, x)[part]


def jobs(scale: Scale) -> list[Job]:
    depths = common.at_scale(scale, smoke=(1, 2), quick=(1, 2), full=(1, 2, 3, 4))
    kinds = common.at_scale(
        scale, smoke=("learned", ROTARY), quick=("learned", "sinusoidal", ROTARY), full=("learned", "sinusoidal", ROTARY)
    )
    stacks = common.at_scale(
        scale,
        smoke=[(True, "pre")],
        quick=[(True, "pre"), (False, "none")],
        full=[(True, "pre"), (False, "none"), (True, "post"), (False, "pre")],
    )
    permutations, networks = common.at_scale(scale, smoke=(8, 1), quick=(64, 2), full=(64, 4))
    return [
        Job.of(
            f"{_HERE}:measure_invariance",
            positions=positions,
            causal=causal,
            depth=depth,
            residual=residual,
            norm=norm,
            permutations=permutations,
            networks=networks,
            seed=depth,
        )
        for depth in depths
        for positions in ("none", *kinds)
        for causal in (False, True)
        for residual, norm in stacks
    ]


def is_invariant(positions: str, causal: bool, depth: int) -> bool:
    """What the theorem says: without positions, and without a mask or with a single layer."""
    return positions == "none" and (not causal or depth == 1)


def _sorted_out(results: Results) -> tuple[list[Any], list[Any]]:
    """Cells that the theorem says to be invariant, and the others."""
    inside, outside = [], []
    for result in results:
        given = result.arguments
        (inside if is_invariant(given["positions"], given["causal"], given["depth"]) else outside).append(result)
    return inside, outside


def _regime(results: Results) -> str:
    given = results[0].arguments
    kinds = " or ".join(sorted({result.arguments["positions"] for result in results}))
    return (
        f"float64, softmax attention + GELU, V = {VOCAB}, {LENGTH + 1} tokens, width {WIDTH}, {HEADS} heads, depth "
        f"{common.span(common.arguments(results, 'depth'))}, positions {kinds}, with and without residual sums and norms; "
        f"{given['permutations']} permutations of each of {given['networks']} random networks a cell."
    )


def judge_invariant(results: Results) -> Verdict:
    inside, _ = _sorted_out(results)
    worst = common.column(inside, "change").max()
    return holds_if(worst < SAME, worst, regime=_regime(results))


def judge_single_layer(results: Results) -> Verdict:
    found = [result for result in results if result.arguments["positions"] == "none" and result.arguments["causal"]]
    single = [result for result in found if result.arguments["depth"] == 1]
    deeper = [result for result in found if result.arguments["depth"] > 1]
    worst, least = common.column(single, "change").max(), common.column(deeper, "least").min()
    words = f"{_regime(results)} One causal layer changes by {worst:.0e}; two or more by {least:.2g} of the spread or more."
    return holds_if(worst < SAME and least > DIFFERENT, worst, regime=words)


def judge_broken(results: Results) -> Verdict:
    outside = [result for result in _sorted_out(results)[1] if result.arguments["positions"] != ROTARY]
    least = common.column(outside, "least").min()
    return holds_if(least > DIFFERENT, least, regime=f"{_regime(outside)} The smallest share of the spread in any such cell.")


def judge_rotary(results: Results) -> Verdict:
    """How little rotary positions may show in random networks."""
    found = [result for result in results if result.arguments["positions"] == ROTARY]
    least = common.column(found, "least")
    words = (
        f"{_regime(found)} The smallest share of the spread of any network; {np.mean(least < DIFFERENT):.0%} of the cells lie below 1 %."
    )
    return holds_if(least.min() > SEEN, least.min(), regime=words)


def judge_exchange(results: Results) -> Verdict:
    """Two causal layers see which of the first two tokens came first."""
    found = [r for r in results if r.arguments["positions"] == "none" and r.arguments["causal"] and r.arguments["depth"] > 1]
    least = common.column(found, "exchange").min()
    return holds_if(least > SEEN, least, regime=f"{_regime(results)} Exchanging the first two tokens, as a share of the spread.")


def judge_earlier(results: Results) -> Verdict:
    """With one causal layer every position ignores the order of what stands before it."""
    found = [r for r in results if r.arguments["positions"] == "none" and r.arguments["causal"] and r.arguments["depth"] == 1]
    worst = common.column(found, "others").max()
    return holds_if(worst < SAME, worst, regime=f"{_regime(results)} The state at position {LENGTH // 2 + 1}, as a share of its spread.")


def plots(results: Results) -> list[Plot]:
    depths = sorted(set(common.arguments(results, "depth")))
    figure = go.Figure()
    cases = {
        "no positions, no mask": ("none", False),
        "no positions, causal": ("none", True),
        "learned positions, no mask": ("learned", False),
        "learned positions, causal": ("learned", True),
    }
    for number, (name, (positions, causal)) in enumerate(cases.items()):
        worst = [
            common.column(common.chosen(results, "invariance", positions=positions, causal=causal, depth=depth), "share").max()
            for depth in depths
        ]
        common.add_points(figure, depths, worst, name, number, joined=True)
    common.finished(figure, x="layers", y="largest change / spread", ticks=depths)
    figure.update_xaxes(type="linear", range=[min(depths) - 0.2, max(depths) + 0.2])
    figure.update_yaxes(range=[-17, 1], dtick=4, exponentformat="e", automargin=True, title_standoff=14)
    caption = "The output at the last token under permutations of those before it. What lies at 1e-15 is rounding."
    return [Plot(figure, "Who sees order", caption, wide=True)]


def tables(results: Results) -> list[Table]:
    depths = sorted(set(common.arguments(results, "depth")))
    rows = []
    for positions in dict.fromkeys(common.arguments(results, "positions")):
        for causal in (False, True):
            cells = []
            for depth in depths:
                found = common.chosen(results, "invariance", positions=positions, causal=causal, depth=depth)
                same = all(float(result.data["change"]) < SAME for result in found)
                share = common.column(found, "share" if same else "least")
                cells.append(f"invariant ({share.max():.0e})" if same else f"sees order ({share.min():.2g})")
            rows.append([f"{positions}, {'causal' if causal else 'no mask'}", *cells])
    note = (
        "In brackets the largest change as a share of the spread, or where order is seen the smallest of any network. Residual sums and "
        "norms make no difference."
    )
    return [Table(("positions and mask", *(f"{depth} layer{'s' * (depth > 1)}" for depth in depths)), rows, note, "Invariance table")]


EXPERIMENT = Experiment(
    name="breaking.invariance",
    title="What breaks the symmetry",
    shown=(
        "Abstract: without positional encodings and causal attention, the prediction for token n + 1 is invariant to permutations of the "
        "tokens before n, so one of the two must be what lets transformers see order."
    ),
    claims=(
        Claim(
            "breaking.invariant",
            "Without positions and without a causal mask the output at the last token ignores the order of the tokens before it.",
            sources.ABSTRACT,
            "largest change below 1e-10 in float64, at every depth; a single causal layer counts among these",
            judge_invariant,
        ),
        Claim(
            "breaking.single-layer",
            "A causal mask alone breaks the symmetry from two layers on; with one layer it does not.",
            sources.OURS,
            "largest change below 1e-10 with one causal layer, above 1 % of the spread with more, without positions",
            judge_single_layer,
        ),
        Claim(
            "breaking.broken",
            "Positions that are added to tokens, or a causal mask in two layers or more, let the output see order.",
            sources.ABSTRACT,
            "largest change above 1 % of the spread in every such cell and network",
            judge_broken,
        ),
        Claim(
            "breaking.rotary",
            "Rotary positions do so too, though by little before training: they act on scores alone.",
            sources.OURS,
            "largest change above 1e-6 of the spread in every such cell and network",
            judge_rotary,
        ),
        Claim(
            "breaking.first-two",
            "Two causal layers tell even the first two tokens apart.",
            sources.OURS,
            "exchanging them changes the output by more than 1e-6 of its spread",
            judge_exchange,
        ),
        Claim(
            "breaking.prefixes",
            "With one causal layer and no positions a position in the middle ignores the order of what stands before it.",
            sources.OURS,
            "change of the state of a middle position below 1e-10 of its spread",
            judge_earlier,
        ),
    ),
    jobs=jobs,
    plots=plots,
    tables=tables,
    method=(
        Step(
            "Random networks are taken to float64 and called with the tokens before the last one permuted.",
            ("change = max |f(gx) − f(x)|",),
        ),
        Step(
            "With one causal layer the last position reads all tokens, and nothing reads the other positions. With two, the states that it "
            "reads depend on which tokens stand before each."
        ),
    ),
)
