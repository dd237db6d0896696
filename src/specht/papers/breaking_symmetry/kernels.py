"""The infinite-width kernel of each row of the table: how much of it lies in each irrep of the symmetric group, and what lies between."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import xarray

import specht
from specht import groups, sequences, spectra
from specht.papers import Finding, Grid, Scale, above, at_most, below, both, common, every, grid, measure, positive, present
from specht.papers.breaking_symmetry import levels
from specht.papers.breaking_symmetry.invariance import ignores_order
from specht.papers.breaking_symmetry.levels import STEPS, VOCAB, all_sequences, architecture
from specht.report import Plot, Table, colour, finished_bars, points_of, table

EXACT, BROKEN = 1e-10, 1e-6
"""Off-block mass below which a kernel is invariant, rounding apart, and above which it is not."""
NEAR = 0.2
"""Part of the share that needs order by which networks of finite width may differ from their kernel."""
LEARNT = 0.01
"""Share of each level of a target that a trained network gives back if it learns from it at all."""
ROUNDING = 1e-6
"""Share of what a trained network computes, in float32, that counts as none."""
ERRORS = 8.0
"""Standard errors within which the largest of thousands of differences of sampled entries is noise."""
_CELL = ("positions", "causal", "depth")


def _cells(scale: Scale, attention: str) -> Grid:
    """Stacks of one kind of attention. A kernel of softmax attention is sampled, at a cost that grows with every layer."""
    is_softmax = attention == "softmax"
    causal = [True] if is_softmax and scale == "smoke" else [False, True]
    depth = [1, 2, 3, 4] if scale == "full" and not is_softmax else [1, 2]
    length = common.at_scale(scale, smoke=3, quick=5, full=6)
    return grid(attention=attention, positions=["none", "learned"], causal=causal, depth=depth, length=length)


def _kernels(scale: Scale) -> Grid:
    heads = common.at_scale(scale, smoke=64, quick=2048, full=4096)
    return _cells(scale, "linear") * grid(heads=None, seed=0) + _cells(scale, "softmax") * grid(heads=heads, seed=0)


def _networks(scale: Scale) -> Grid:
    width, networks = common.at_scale(scale, smoke=(16, 8), quick=(64, 200), full=(128, 1000))
    return _cells(scale, "softmax") * grid(width=width, networks=networks, seed=1)


def _trainings(scale: Scale) -> Grid:
    width, networks = common.at_scale(scale, smoke=(16, 2), quick=(64, 4), full=(128, 4))
    return _cells(scale, "softmax") * grid(width=width, networks=networks, seed=2)


@measure(_kernels)
def measure_kernel(attention: str, positions: str, causal: bool, depth: int, length: int, heads: int | None, seed: int) -> xarray.Dataset:
    """Shares of the trace by level, the off-block mass, and how much k(gx, gy) and k(gx, y) differ from k(x, y) as a share of its largest.

    `noise` is the largest standard error of a sampled entry, in the same unit, within which a kernel counts as `invariant`. `eigenvalues`
    are the largest of each level over E[k], where it is; zero elsewhere.
    """
    x = all_sequences(length)
    kernel = specht.Kernel(architecture(attention, positions, causal, depth, length), heads=heads, seed=seed)
    gram = kernel.nngp(x)
    noise = 0.0 if gram.stderr is None else float(gram.stderr.max() / np.abs(gram).max())
    shares = spectra.isotypic_shares(gram, x, length)
    rows = {row.tobytes(): number for number, row in enumerate(x)}

    def known(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Entries of the Gram, which holds every sequence."""
        return gram[np.ix_(*([rows[row.tobytes()] for row in side] for side in (left, right)))]

    joint, one = (sequences.gram_residual(known, x, length, joint=joint).value for joint in (True, False))
    invariant = not (causal and depth > 1) and joint < EXACT + ERRORS * noise  # noise may hide what a mask does
    eigenvalues = _eigenvalues(gram, x, length) if invariant else np.zeros(len(shares.levels))
    numbers = {"off_block": shares.off_block, "joint": joint, "one": one, "noise": noise, "invariant": float(invariant)}
    return xarray.Dataset(numbers | {"shares": ("level", shares.levels), "eigenvalues": ("level", eigenvalues)})


def _eigenvalues(gram: np.ndarray, x: np.ndarray, length: int) -> np.ndarray:
    """The largest eigenvalue of each level over the mean of k(x, x)."""
    levels: dict[int, float] = {}
    for irrep, projector in groups.isotypic_projectors(length, sequences.action_on(x, length)).items():
        levels[irrep.level] = float(np.linalg.eigvalsh(projector @ gram @ projector)[-1] / np.trace(gram))
    return np.array([levels[level] for level in sorted(levels)])


random_networks = measure(_networks)(levels.measure_networks)
trained_networks = measure(_trainings)(levels.measure_trained)


def _order(data: xarray.Dataset) -> xarray.DataArray:
    """The share that needs order: what lies outside the trivial irrep."""
    return 1.0 - data["shares"].isel(level=0)


def _linear(data: xarray.Dataset) -> xarray.Dataset:
    """The kernels that are exact."""
    return present(data.sel(attention="linear"))


def _regime(data: xarray.Dataset) -> str:
    return (
        f"NNGP kernels of linear attention (exact), erf and residual sums, V = {VOCAB}, L = {data.length}, all sequences, depth "
        f"{common.span(data['depth'].values)}."
    )


def _regime_of_networks(data: xarray.Dataset) -> str:
    return f"Softmax attention + erf, V = {VOCAB}, L = {data.length}"


@measure_kernel.claim("kernel-trivial", below(EXACT, "share of the trace elsewhere"), null=0.5)
def largest_share_elsewhere(data: xarray.Dataset) -> Finding:
    kernels = _linear(data)
    worst = float(_order(kernels).where(ignores_order(kernels)).max())
    return Finding(worst, regime=f"{_regime(kernels)} Share of the trace outside the trivial irrep.")


@measure_kernel.claim("kernel-order", above(EXACT, "share of the trace outside the trivial irrep", where="in every such row"), null=1e-15)
def smallest_share_that_needs_order(data: xarray.Dataset) -> Finding:
    kernels = _linear(data)
    shares = _order(kernels).where(~ignores_order(kernels))
    words = "; ".join(f"{_name(cell)}: {float(cell['shares']):.1%}" for cell in points_of(shares.to_dataset(name="shares"), *_CELL))
    return Finding(float(shares.min()), regime=f"{_regime(kernels)} Outside the trivial irrep: {words}.")


@measure_kernel.claim(
    "kernel-blocks",
    both(above(BROKEN, "off-block mass with a mask and two layers or more"), below(EXACT, "that without a mask or with one layer")),
    null=(1e-15, 1e-15),
)
def off_block_masses(data: xarray.Dataset) -> tuple[Finding, float]:
    """Kernels do not change when both arguments are permuted unless there is a mask, which counts from two layers on."""
    kernels = _linear(data)
    is_symmetric = ~kernels["causal"] | (kernels["depth"] == 1)
    masses = kernels["off_block"]
    inside, outside = float(masses.where(is_symmetric).max()), float(masses.where(~is_symmetric).min())
    words = f"{_regime(kernels)} Off-block mass at most {inside:.0e} without a mask or with one layer, at least {outside:.1e} elsewhere."
    return Finding(outside, regime=words), inside


CLOSE = at_most(EXACT, "difference of the share that needs order", called=f"{100 * NEAR:g} % of the kernel's")
SEEN = positive("that share")


@random_networks.claim(
    "kernel-networks",
    both(every(CLOSE, "in every cell"), every(SEEN, "where the kernel's is, softmax attention, up to two layers")),
    null=([1.0], [0.0]),
    beside=[measure_kernel],
)
def differences_from_kernels(data: xarray.Dataset, kernels: xarray.Dataset) -> tuple[list[Finding], list[Finding]]:
    """By how much the shares of networks that need order differ from those of the kernel beyond a part of these; and these shares."""
    own, theory, errors = xarray.align(_order(data), _order(kernels.sel(attention="softmax")), data["stderr"].isel(level=0), join="left")
    rows = list(zip(own.values.ravel(), theory.values.ravel(), errors.values.ravel(), strict=True))
    worst = max((abs(share - known), error) for share, known, error in rows)
    beyond = [Finding(abs(share - known) - NEAR * known, error) for share, known, error in rows]
    shares = [Finding(share, error) if known >= EXACT else None for share, known, error in rows]
    agree = sum(CLOSE.room(one) >= 0.0 and (other is None or SEEN.room(other) > 0.0) for one, other in zip(beyond, shares, strict=True))
    words = (
        f"{_regime_of_networks(data)}, {data.networks} networks of width {data.width} a cell; the largest difference of the share that "
        f"needs order; {agree} of {len(rows)} cells agree."
    )
    findings = [Finding(finding.value, finding.stderr, words, shown=worst) for finding in beyond]
    return findings, [finding for finding in shares if finding is not None]


@trained_networks.claim(
    "kernel-trained",
    both(
        above(LEARNT, "share of any level of a target that is learnt where order is seen", percent=True),
        below(ROUNDING, "share of what is computed outside level 0 where order is ignored"),
    ),
    null=(0.0, 0.5),
)
def least_share_learnt(data: xarray.Dataset) -> tuple[Finding, float]:
    """What networks give back of a target with equal parts at every level, where their kernel is trivial and where it is not."""
    ignored = ignores_order(data)
    outside = float(_order(data).where(ignored).max())
    learnt, errors = (data[name].where(~ignored).values.ravel() for name in ("learnt", "learnt_stderr"))
    least = int(np.nanargmin(learnt))
    words = (
        f"{_regime_of_networks(data)}, depth {common.span(data['depth'].values)}, {data.networks} networks of width {data.width} a row, "
        f"{STEPS} steps on all sequences. The least share of any level of the target that is learnt where order is seen; where it is not, "
        f"at most {max(outside, 0.0):.0e} of what is computed lies outside level 0."
    )
    return Finding(float(learnt[least]), float(errors[least]), words), outside


@measure_kernel.figure()
def where_the_kernel_lies(data: xarray.Dataset) -> Plot:
    cells = list(points_of(_linear(data), *_CELL))
    shares = np.array([cell["shares"].values for cell in cells])
    figure = go.Figure()
    for level in range(shares.shape[1]):
        figure.add_bar(
            y=[_name(cell) for cell in cells],
            x=shares[:, level].tolist(),
            name=f"level {level}",
            orientation="h",
            marker={"color": colour(level)},
            hovertemplate=f"level {level}: %{{x:.2%}}<extra></extra>",
        )
    finished_bars(figure, x="share of the trace", rows=len(cells), row_height=26, stacked=True)
    caption = "Linear attention. Level 0 ignores order; level m singles out m positions."
    return Plot(figure, "Where the kernel lies", caption, wide=True)


def _name(cell: xarray.Dataset) -> str:
    return f"{cell['positions'].item()}, {'causal' if cell['causal'] else 'no mask'}, {cell['depth'].item()}"


def _largest(cell: xarray.Dataset) -> str:
    """The largest eigenvalues in words."""
    if not cell["invariant"]:
        return "none: not invariant"
    return " ".join(f"{max(value, 0.0):.3g}" for value in cell["eigenvalues"].values.round(12))


@measure_kernel.table()
def kernels_by_irrep(data: xarray.Dataset) -> Table:
    columns = {
        "positions, mask, layers": lambda cell: f"{cell['attention'].item()}: {_name(cell)}",
        "shares by level": lambda cell: " ".join(f"{abs(share):.4f}" for share in cell["shares"].values.round(12)),
        "off-block mass": "off_block:.1e",
        "k(gx,gy) − k(x,y)": "joint:.1e",
        "sampling noise": "noise:.1e",
        "largest eigenvalues": _largest,
    }
    note = (
        "Shares Tr(P K)/Tr K add up to one. Eigenvalues over E[k], by level, exist where permutations of both arguments leave the kernel "
        "as it is. Softmax kernels are averages over sampled heads, whose noise shows as off-block mass."
    )
    return table(data, columns, rows=("attention", *_CELL), note=note, title="Kernels by irrep")


@trained_networks.table(random_networks, measure_kernel)
def beside_networks(trained: xarray.Dataset, networks: xarray.Dataset, kernels: xarray.Dataset) -> Table:
    """Levels of the kernel, of random and of trained networks, row by row."""
    rows = []
    for cell in points_of(trained, *_CELL):
        place = {name: cell[name].item() for name in _CELL}
        shares = [kernels["shares"].sel(attention="softmax", **place), networks["shares"].sel(place), cell["shares"], cell["learnt"]]
        rows.append([_name(cell), *(_percent(values.values) for values in shares)])
    header = ("positions, mask, layers", "kernel", "random networks", "trained networks", "of the target learnt")
    note = (
        f"Softmax attention; shares by level, in %. Networks were trained for {STEPS} steps on a target with an equal part at every level, "
        "and the last column is how much of each part they give back."
    )
    return Table(header, rows, note, "Kernels beside random and trained networks")


def _percent(values: np.ndarray) -> str:
    return " · ".join(f"{100 * abs(value):.1f}" for value in values.round(9))
