"""The infinite-width kernel of each row of the table: how much of it lies in each irrep of the symmetric group, and what lies between."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.lab.jobs import Job
from specht.papers import common
from specht.papers.breaking_symmetry import sources
from specht.papers.breaking_symmetry.invariance import is_invariant
from specht.papers.breaking_symmetry.levels import STEPS, VOCAB, all_sequences, architecture
from specht.papers.claims import Claim, Experiment, Result, Results, Scale, Verdict, holds_if
from specht.report.figures import Plot
from specht.report.html import Step, Table

_HERE, _LEVELS = f"{sources.PACKAGE}.kernels", f"{sources.PACKAGE}.levels"
EXACT, BROKEN = 1e-10, 1e-6
"""Off-block mass below which a kernel is invariant, rounding apart, and above which it is not."""
NEAR = 0.2
"""Part of the share that needs order by which networks of finite width may differ from their kernel."""
LEARNT = 0.01
"""Share of each level of a target that a trained network gives back if it learns from it at all."""
ROUNDING = 1e-6
"""Share of what a trained network computes, in float32, that counts as none."""
SAMPLED = 2
"""Depth up to which softmax attention is asked about: its kernel is sampled, at a cost that grows with every layer."""
ERRORS = 8.0
"""Standard errors within which the largest of thousands of differences of sampled entries is noise."""


def measure_kernel(attention: str, positions: str, causal: bool, depth: int, length: int, heads: int | None, seed: int) -> xarray.Dataset:
    """Shares of the trace by level, the off-block mass, and how much k(gx, gy) and k(gx, y) differ from k(x, y) as a share of its largest.

    `noise` is the largest standard error of a sampled entry, in the same unit, within which a kernel counts as `invariant`. `eigenvalues`
    are the largest of each level over E[k], where it is; zero elsewhere.
    """
    import specht
    from specht.sequences.actions import gram_residual
    from specht.spectra.isotypic import isotypic_shares

    x = all_sequences(length)
    kernel = specht.Kernel(architecture(attention, positions, causal, depth, length), heads=heads, seed=seed)
    gram = kernel.nngp(x)
    noise = 0.0 if gram.stderr is None else float(gram.stderr.max() / np.abs(gram).max())
    found = isotypic_shares(gram, x, length)
    rows = {row.tobytes(): number for number, row in enumerate(x)}

    def known(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Entries of the Gram, which holds every sequence."""
        return gram[np.ix_(*([rows[row.tobytes()] for row in side] for side in (left, right)))]

    joint, one = (gram_residual(known, x, length, joint=joint).value for joint in (True, False))
    invariant = not (causal and depth > 1) and joint < EXACT + ERRORS * noise  # noise may hide what a mask does
    return common.record(
        "kernel",
        {
            "shares": (("level",), found.levels),
            "off_block": found.off_block,
            "joint": joint,
            "one": one,
            "noise": noise,
            "invariant": float(invariant),
            "eigenvalues": (("level",), _eigenvalues(gram, x, length) if invariant else np.zeros(len(found.levels))),
        },
    )


def _eigenvalues(gram: np.ndarray, x: np.ndarray, length: int) -> np.ndarray:
    """The largest eigenvalue of each level over the mean of k(x, x)."""
    from specht.groups.irreps import isotypic_projectors
    from specht.sequences.actions import action_on

    levels: dict[int, float] = {}
    for irrep, projector in isotypic_projectors(length, action_on(x, length)).items():
        levels[irrep.level] = float(np.linalg.eigvalsh(projector @ gram @ projector)[-1] / np.trace(gram))
    return np.array([levels[level] for level in sorted(levels)])


def jobs(scale: Scale) -> list[Job]:
    length = common.at_scale(scale, smoke=3, quick=5, full=6)
    depths = common.at_scale(scale, smoke=(1, 2), quick=(1, 2), full=(1, 2, 3, 4))
    heads = common.at_scale(scale, smoke=64, quick=2048, full=4096)
    width, networks, trained = common.at_scale(scale, smoke=(16, 8, 2), quick=(64, 200, 4), full=(128, 1000, 4))
    cells = [
        {"attention": attention, "positions": positions, "causal": causal, "depth": depth, "length": length}
        for attention in ("linear", "softmax")
        for positions in ("none", "learned")
        for causal in (False, True)
        for depth in depths
        if attention == "linear" or (depth <= SAMPLED and (scale != "smoke" or causal))
    ]
    softmax = [cell for cell in cells if cell["attention"] == "softmax"]
    return [
        *(Job.of(f"{_HERE}:measure_kernel", **cell, heads=None if cell["attention"] == "linear" else heads, seed=0) for cell in cells),
        *(Job.of(f"{_LEVELS}:measure_networks", **cell, width=width, networks=networks, seed=1) for cell in softmax),
        *(Job.of(f"{_LEVELS}:measure_trained", **cell, width=width, networks=trained, seed=2) for cell in softmax),
    ]


def _cells(results: Results, what: str = "kernel", **arguments: Any) -> list[Result]:
    return common.chosen(results, what, **arguments)


def _is_symmetric(result: Result) -> bool:
    """Kernels that do not change when both arguments are permuted: a mask counts from two layers on."""
    return not result.arguments["causal"] or result.arguments["depth"] == 1


def _ignores_order(result: Result) -> bool:
    given = result.arguments
    return is_invariant(given["positions"], given["causal"], given["depth"])


def _regime(results: Results) -> str:
    given = results[0].arguments
    return (
        f"NNGP kernels of linear attention (exact), erf and residual sums, V = {VOCAB}, L = {given['length']}, all sequences, depth "
        f"{common.span(common.arguments(results, 'depth'))}."
    )


def judge_trivial(results: Results) -> Verdict:
    found = [result for result in _cells(results, attention="linear") if _ignores_order(result)]
    worst = max(1.0 - float(result.data["shares"].values[0]) for result in found)
    return holds_if(worst < EXACT, worst, regime=f"{_regime(found)} Share of the trace outside the trivial irrep.")


def judge_blocks(results: Results) -> Verdict:
    found = _cells(results, attention="linear")
    inside = max(float(result.data["off_block"]) for result in found if _is_symmetric(result))
    outside = min(float(result.data["off_block"]) for result in found if not _is_symmetric(result))
    words = f"{_regime(found)} Off-block mass at most {inside:.0e} without a mask or with one layer, at least {outside:.1e} elsewhere."
    return holds_if(inside < EXACT and outside > BROKEN, outside, regime=words)


def judge_order(results: Results) -> Verdict:
    found = [result for result in _cells(results, attention="linear") if not _ignores_order(result)]
    shares = {(r.arguments["positions"], r.arguments["causal"], r.arguments["depth"]): 1.0 - float(r.data["shares"][0]) for r in found}
    least = min(shares.values())
    words = "; ".join(
        f"{positions}, {'causal' if causal else 'no mask'}, {depth}: {share:.1%}" for (positions, causal, depth), share in shares.items()
    )
    return holds_if(least > EXACT, least, regime=f"{_regime(found)} Outside the trivial irrep: {words}.")


def judge_networks(results: Results) -> Verdict:
    """Shares that need order, of networks less that of the kernel, beside what the width and noise allow."""
    apart, agree = [], []
    for result in _cells(results, "networks"):
        (kernel,) = _cells(results, **{name: result.arguments[name] for name in ("attention", "positions", "causal", "depth")})
        own, theory, error = (1.0 - result.data["shares"].values[0], 1.0 - kernel.data["shares"].values[0], result.data["stderr"].values[0])
        apart.append((abs(own - theory), error))
        agree.append(abs(own - theory) <= NEAR * theory + 4.0 * error + EXACT and (theory < EXACT or own > 3.0 * error))
    worst = max(apart)
    given = _cells(results, "networks")[0].arguments
    words = (
        f"Softmax attention + erf, V = {VOCAB}, L = {given['length']}, {given['networks']} networks of width {given['width']} a cell; the "
        f"largest difference of the share that needs order; {sum(agree)} of {len(agree)} cells agree."
    )
    return holds_if(all(agree), *worst, regime=words)


def judge_trained(results: Results) -> Verdict:
    """What networks give back of a target with equal parts at every level, where their kernel is trivial and where it is not."""
    found = _cells(results, "trained")
    outside = max(1.0 - float(result.data["shares"].values[0]) for result in found if _ignores_order(result))
    seen = [result for result in found if not _ignores_order(result)]
    least, error = min(
        (float(value), float(off)) for r in seen for value, off in zip(r.data["learnt"], r.data["learnt_stderr"], strict=True)
    )
    given = found[0].arguments
    words = (
        f"Softmax attention + erf, V = {VOCAB}, L = {given['length']}, depth {common.span(common.arguments(found, 'depth'))}, "
        f"{given['networks']} networks of width {given['width']} a row, {STEPS} steps on all sequences. The least share of any level "
        f"of the target that is learnt where order is seen; where it is not, at most {max(outside, 0.0):.0e} of what is computed lies "
        "outside level 0."
    )
    return holds_if(outside < ROUNDING and least - 2.0 * error > LEARNT, least, error, regime=words)


def plots(results: Results) -> list[Plot]:
    found = _cells(results, attention="linear")
    names = [_name(result) for result in found]
    shares = np.array([result.data["shares"].values for result in found])
    figure = go.Figure()
    for level in range(shares.shape[1]):
        figure.add_bar(
            y=names,
            x=shares[:, level].tolist(),
            name=f"level {level}",
            orientation="h",
            marker={"color": common.colour(level)},
            hovertemplate=f"level {level}: %{{x:.2%}}<extra></extra>",
        )
    common.finished_bars(figure, x="share of the trace", rows=len(names), row_height=26, stacked=True)
    caption = "Linear attention. Level 0 ignores order; level m singles out m positions."
    return [Plot(figure, "Where the kernel lies", caption, wide=True)]


def _name(result: Result) -> str:
    given = result.arguments
    return f"{given['positions']}, {'causal' if given['causal'] else 'no mask'}, {given['depth']}"


def tables(results: Results) -> list[Table]:
    rows = []
    for result in _cells(results):
        data = result.data
        eigenvalues = data["eigenvalues"].values
        rows.append(
            [
                f"{result.arguments['attention']}: {_name(result)}",
                " ".join(f"{abs(share):.4f}" for share in data["shares"].values.round(12)),
                f"{float(data['off_block']):.1e}",
                f"{float(data['joint']):.1e}",
                f"{float(data['noise']):.1e}",
                " ".join(f"{max(value, 0.0):.3g}" for value in eigenvalues.round(12)) if data["invariant"] else "none: not invariant",
            ]
        )
    header = ("positions, mask, layers", "shares by level", "off-block mass", "k(gx,gy) − k(x,y)", "sampling noise", "largest eigenvalues")
    note = (
        "Shares Tr(P K)/Tr K add up to one. Eigenvalues over E[k], by level, exist where permutations of both arguments leave the kernel "
        "as it is. Softmax kernels are averages over sampled heads, whose noise shows as off-block mass."
    )
    return [Table(header, rows, note, "Kernels by irrep"), _beside(results)]


def _beside(results: Results) -> Table:
    """Levels of the kernel, of random and of trained networks, row by row."""
    rows = []
    for trained in _cells(results, "trained"):
        cell = {name: trained.arguments[name] for name in ("attention", "positions", "causal", "depth")}
        (kernel,), random = _cells(results, **cell), _cells(results, "networks", **cell)
        shares = [kernel.data["shares"], random[0].data["shares"] if random else None, trained.data["shares"], trained.data["learnt"]]
        rows.append([_name(trained), *("" if each is None else _levels(each.values) for each in shares)])
    header = ("positions, mask, layers", "kernel", "random networks", "trained networks", "of the target learnt")
    note = (
        f"Softmax attention; shares by level, in %. Networks were trained for {STEPS} steps on a target with an equal part at every level, "
        "and the last column is how much of each part they give back."
    )
    return Table(header, rows, note, "Kernels beside random and trained networks")


def _levels(values: np.ndarray) -> str:
    return " · ".join(f"{100 * abs(value):.1f}" for value in values.round(9))


EXPERIMENT = Experiment(
    name="breaking.kernels",
    title="The same in the limit of infinite width",
    shown="Not in the paper: its table in the language of the first one, where kernels split by irreps of the symmetric group.",
    claims=(
        Claim(
            "breaking.kernel-trivial",
            "Where networks ignore order, the whole kernel lies in the trivial irrep.",
            sources.OURS,
            "share of the trace elsewhere below 1e-10",
            judge_trivial,
        ),
        Claim(
            "breaking.kernel-order",
            "Where they see it, part of the kernel lies in other irreps, before any training.",
            sources.OURS,
            "share of the trace outside the trivial irrep above 1e-10 in every such row",
            judge_order,
        ),
        Claim(
            "breaking.kernel-blocks",
            "Positions keep the kernel block-diagonal; a causal mask in two layers or more mixes irreps.",
            sources.OURS,
            "off-block mass below 1e-10 without a mask or with one layer, above 1e-6 elsewhere",
            judge_blocks,
        ),
        Claim(
            "breaking.kernel-networks",
            "Random networks have the shares of the kernel.",
            sources.OURS,
            "share that needs order within 20 % of the kernel's and four standard errors, and above zero by three where the kernel's is, "
            "softmax attention, up to two layers",
            judge_networks,
        ),
        Claim(
            "breaking.kernel-trained",
            "Trained networks keep to the irreps of their kernel: where it is trivial they learn what ignores order and nothing else, "
            "elsewhere they learn from every level.",
            sources.OURS,
            "outside level 0 less than 1e-6 of what is computed where order is ignored; more than 1 % of every level of a target "
            "elsewhere, by two standard errors",
            judge_trained,
        ),
    ),
    jobs=jobs,
    plots=plots,
    tables=tables,
    method=(
        Step("The Gram of all sequences is projected on the irreps of the permutations of the context.", ("share_λ = Tr(P_λ K) / Tr K",)),
        Step("What lies between irreps is zero for a kernel that permutations leave as it is.", ("Σ_(λ≠μ) ‖P_λ K P_μ‖² / ‖K‖²",)),
        Step("The functions of random and of trained networks are projected alike."),
    ),
)
