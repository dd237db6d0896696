"""Figure on block diagonalisation, and the bound of an eigenvalue by the dimension of its irrep."""

from __future__ import annotations

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

_HERE = f"{sources.PACKAGE}.blocks"
EXACT = 1e-10
"""What counts as zero, relative to the largest eigenvalue: section 7 of the notes."""


def measure_blocks(vocab: int, length: int, activation: str, seed: int) -> xarray.Dataset:
    """The kernel operator over all V^(L+1) sequences of an exchangeable mixture, in a basis sorted by irrep.

    `off_block` is the Frobenius norm of what lies outside the blocks over that of the whole matrix, `spread` the largest difference
    between eigenvalues that one copy of an irrep should make equal, over the largest eigenvalue, and `difference` that between brute
    force and `specht.spectrum`.
    """
    import specht
    from specht.groups.irreps import isotypic_projectors
    from specht.sequences.actions import action_on
    from specht.spectra.dense import dense_operator

    fields: Any = {"activation": activation}
    arch = specht.Architecture(vocab=vocab, length=length, **fields)
    source = specht.sources.default_mixture(vocab, seed=seed)
    operator = dense_operator(specht.Kernel(arch), source)
    matrix, rest = operator.matrix, operator.matrix.copy()
    irreps, spreads, dimensions, copies = [], [], [], []
    for irrep, projector in isotypic_projectors(length, action_on(operator.states, length)).items():
        rest -= projector @ matrix @ projector
        rank = round(float(np.trace(projector)))
        basis = np.linalg.eigh(projector)[1][:, -rank:]
        multiplets = np.linalg.eigvalsh(basis.T @ matrix @ basis).reshape(-1, irrep.dimension)
        irreps.append(str(irrep))
        spreads.append(float(np.ptp(multiplets, axis=1).max()))
        dimensions.append(irrep.dimension)
        copies.append(len(multiplets))
    exact, spec = operator.eigenvalues(), specht.spectrum(arch, source)
    repeated = np.concatenate([np.repeat(block.eigenvalues, block.irrep.dimension) for block in spec.blocks])
    found = np.sort(np.pad(repeated, (0, len(exact) - len(repeated))))[::-1]
    return common.record(
        "blocks",
        {
            "off_block": np.linalg.norm(rest) / np.linalg.norm(matrix),
            "spread": ("irrep", np.array(spreads) / exact[0]),
            "dimension": ("irrep", np.array(dimensions, dtype=float)),
            "copies": ("irrep", np.array(copies, dtype=float)),
            "difference": np.abs(found - exact).max() / exact[0],
            "eigenvalue": ("index", exact),
        },
        {"irrep": irreps, "index": np.arange(1, len(exact) + 1)},
    )


def measure_bound(vocab: int, length: int, attention: str, activation: str, seed: int, heads: int = 1024) -> xarray.Dataset:
    """The largest eigenvalue of every irrep times its dimension over E[k], which the trace bounds by one."""
    import specht
    from specht.spectra.scaling import top_points

    fields: Any = {"attention": attention, "activation": activation}
    arch = specht.Architecture(vocab=vocab, length=length, **fields)
    spec = specht.spectrum(arch, specht.sources.default_mixture(vocab, seed=seed), heads=heads, seed=seed)
    points = top_points(spec)
    return common.record(
        "bound",
        {
            "ratio": ("irrep", [point.ratio for point in points]),
            "stderr": ("irrep", [(point.stderr or 0.0) * point.irrep.dimension / spec.trace for point in points]),
            "level": ("irrep", np.array([point.irrep.level for point in points], dtype=float)),
        },
        {"irrep": [str(point.irrep) for point in points]},
    )


def block_jobs(scale: Scale) -> list[Job]:
    sizes = common.at_scale(
        scale,
        smoke=[(2, 3, "erf"), (3, 2, "linear")],
        quick=[(2, 6, "linear"), (2, 7, "erf"), (3, 4, "erf"), (4, 3, "relu")],
        full=[(2, 8, "linear"), (2, 8, "erf"), (2, 9, "relu"), (3, 5, "linear"), (3, 5, "erf"), (4, 4, "relu")],
    )
    return [Job.of(f"{_HERE}:measure_blocks", vocab=v, length=n, activation=a, seed=0) for v, n, a in sizes]


def bound_jobs(scale: Scale) -> list[Job]:
    exact = [(3, 64, "linear", "linear"), (4, 1_000_000, "linear", "linear"), (2, 64, "linear", "erf"), (2, 64, "linear", "relu")]
    cases = common.at_scale(
        scale,
        smoke=[(3, 8, "linear", "linear"), (2, 6, "linear", "relu")],
        quick=[*exact, (3, 6, "linear", "erf"), (2, 8, "softmax", "linear")],
        full=[*exact, (3, 9, "linear", "erf"), (3, 9, "linear", "relu"), (2, 12, "softmax", "linear"), (2, 12, "softmax", "erf")],
    )
    return [Job.of(f"{_HERE}:measure_bound", vocab=v, length=n, attention=a, activation=f, seed=0) for v, n, a, f in cases]


def _where(results: Results) -> str:
    sizes = ", ".join(f"V = {r.arguments['vocab']}, L = {r.arguments['length']} {r.arguments['activation']}" for r in results)
    return f"Linear attention with these activations: {sizes}; exchangeable mixture of hidden Markov models, every sequence listed."


def judge_off_block(results: Results) -> Verdict:
    worst = common.column(results, "off_block").max()
    return holds_if(worst < EXACT, worst, regime=_where(results))


def judge_degeneracy(results: Results) -> Verdict:
    worst = max(float(result.data["spread"].max()) for result in results)
    return holds_if(worst < EXACT, worst, regime=_where(results))


def judge_brute_force(results: Results) -> Verdict:
    worst = common.column(results, "difference").max()
    return holds_if(worst < EXACT, worst, regime=_where(results))


def judge_bound(results: Results) -> Verdict:
    """The largest ratio of an eigenvalue to its bound; a sampled one may exceed one by three standard errors."""
    over = [(float(r.data["ratio"][i]), float(r.data["stderr"][i])) for r in results for i in range(r.data.sizes["irrep"])]
    ratio, stderr = max(over)
    cases = ", ".join(
        f"{r.arguments['attention']} + {r.arguments['activation']} V = {r.arguments['vocab']} L = {r.arguments['length']}" for r in results
    )
    return holds_if(all(value <= 1.0 + 1e-12 + 3.0 * error for value, error in over), ratio, stderr, f"{len(over)} irreps of {cases}.")


def block_plots(results: Results) -> list[Plot]:
    """All eigenvalues of the largest operator, whose steps are the multiplets."""
    last = max(results, key=lambda result: result.data.sizes["index"])
    values = last.data["eigenvalue"].values
    seen = values > 1e-14 * values[0]
    figure = go.Figure()
    common.add_points(figure, last.data["index"].values[seen], values[seen], "by brute force", 0)
    common.finished(figure, x="index of the eigenfunction", y="eigenvalue")
    caption = (
        f"All eigenvalues of V = {last.arguments['vocab']}, L = {last.arguments['length']}, {last.arguments['activation']} activation. "
        "They come in steps: every step is one copy of an irrep, as wide as its dimension."
    )
    return [Plot(figure, "Eigenvalues come in multiplets", caption, wide=True)]


def block_tables(results: Results) -> list[Table]:
    rows = [
        [f"V = {r.arguments['vocab']}, L = {r.arguments['length']}, {r.arguments['activation']}"]
        + [f"{int(r.data.sizes['irrep'])}", f"{int(r.data['copies'].sum())}"]
        + [f"{float(value):.1e}" for value in (r.data["off_block"], r.data["spread"].max(), r.data["difference"])]
        for r in results
    ]
    header = ("operator", "irreps", "multiplets", "off-block mass", "spread in a multiplet", "blocks against brute force")
    return [Table(header, rows, "Relative to the norm of the matrix, and to its largest eigenvalue.", "Block diagonalisation")]


def bound_plots(results: Results) -> list[Plot]:
    """How near the top eigenvalue of each irrep comes to its bound."""
    figure = go.Figure()
    for number, result in enumerate(results):
        levels, ratios = result.data["level"].values, result.data["ratio"].values
        tops = {level: ratios[levels == level].max() for level in sorted(set(levels.tolist()))}
        given = result.arguments
        name = f"{given['attention']} + {given['activation']}, V = {given['vocab']}, L = {given['length']}"
        common.add_points(figure, list(tops), list(tops.values()), name, number, joined=True)
    common.finished(figure, x="level m of the irrep", y="eigenvalue × dim / E[k]")
    figure.update_xaxes(type="linear", dtick=None)
    caption = "The largest multiplet of every level as a share of the trace: nothing lies above one, and higher levels are far below."
    return [Plot(figure, "The bound of the dimension", caption, wide=True)]


FIGURE = Experiment(
    name="infinity.f0",
    title="Block diagonalisation by symmetry",
    shown="Poster: a drawing of how a permutation symmetry shared by kernel and data makes the kernel block diagonal, one block an irrep.",
    claims=(
        Claim(
            "infinity.f0-blocks",
            "The kernel of a transformer on permutation-symmetric data has no entries between different irreps.",
            f"{sources.POSTER}, drawing and proposition",
            "Frobenius norm outside the blocks below 1e-10 of the whole, on all sequences of a small case",
            judge_off_block,
        ),
        Claim(
            "infinity.f0-degeneracy",
            "Eigenvalues come in multiplets as large as the dimension of their irrep.",
            f"{sources.POSTER}, proposition",
            "spread within a predicted multiplet below 1e-10 of the largest eigenvalue",
            judge_degeneracy,
        ),
        Claim(
            "infinity.f0-brute-force",
            "The blocks, computed without listing sequences, have the whole spectrum.",
            f"{sources.POSTER}, proposition",
            "largest difference from brute-force diagonalisation below 1e-10 of the largest eigenvalue",
            judge_brute_force,
        ),
    ),
    jobs=block_jobs,
    plots=block_plots,
    tables=block_tables,
    method=(
        Step(
            "The operator is a matrix over all sequences; projectors on the irreps of the symmetric group cut it into blocks.",
            ("M(x,y) = √p(x) k(x,y) √p(y)", "‖M − Σ_R P_R M P_R‖ / ‖M‖"),
        ),
    ),
)

BOUND = Experiment(
    name="infinity.q4",
    title="An eigenvalue is at most E[k] over the dimension of its irrep",
    shown="Poster: a proposition, that eigenvalues of an irrep R are of order one over its dimension.",
    claims=(
        Claim(
            "infinity.q4-bound",
            "No eigenvalue exceeds E[k] over the dimension of its irrep.",
            f"{sources.POSTER}, proposition",
            "eigenvalue × dimension / E[k] at most 1 for every irrep; within three standard errors where heads are sampled",
            judge_bound,
        ),
    ),
    jobs=bound_jobs,
    plots=bound_plots,
    method=(
        Step("The trace is the sum of all eigenvalues, each as often as its irrep has dimensions.", ("Σ_R dim_R Σ_i λ_{R,i} = E[k(x,x)]",)),
    ),
)
