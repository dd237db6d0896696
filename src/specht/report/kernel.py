"""The report of `specht kernel`: what a Gram matrix looks like and what it says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from specht.architecture import Architecture
from specht.report.figures import Plot, eigenvalue_plot, gram_heatmap
from specht.report.html import Report, Step, Table

NAMES = {"nngp": "NNGP kernel", "ntk": "NTK"}


def kernel_report(
    architecture: Architecture,
    summary: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    *,
    reproduce: str,
    made_with: Mapping[str, str],
) -> Report:
    """The report on the arrays and the summary of one run."""
    kinds = list(summary["kernels"])
    return Report(
        title="The kernel of a transformer",
        subtitle=str(architecture),
        question="Which sequences does this transformer, infinitely wide, treat alike, and how many directions can it tell apart?",
        answer=_answer(summary),
        plots=_plots(architecture, arrays, summary),
        table=Table(header=["", *(NAMES[kind] for kind in kinds)], rows=summary_rows(summary), note=_note(summary)),
        method=_method(architecture, kinds, summary),
        reproduce=reproduce,
        made_with=made_with,
    )


def summary_rows(summary: Mapping[str, Any]) -> list[list[str]]:
    """The summary as rows of text, one column a kernel; what belongs to the run as a whole stands in the first column alone."""
    kernels = summary["kernels"].values()
    forms, memory = {kernel["form"] for kernel in kernels}, summary["peak_memory_bytes"]

    def across(label: str, text: str) -> list[str]:
        return [label, text, *[""] * (len(kernels) - 1)]

    rows = [
        across("architecture", summary["architecture"]),
        ["form", *(kernel["form"] for kernel in kernels)] if len(forms) > 1 else across("form", *forms),
        across("shape", " x ".join(map(str, summary["shape"]))),
        across("CPU time", f"{summary['cpu_seconds']:.2f} s"),
        across("wall time", f"{summary['wall_seconds']:.2f} s"),
        across("peak memory", "unknown" if memory is None else f"{memory / 2**20:.0f} MiB"),
        ["standard error", *(_stderr(kernel) for kernel in kernels)],
        ["trace", *(f"{kernel['trace']:.6g}" for kernel in kernels)],
        ["largest eigenvalue", *(f"{kernel['largest_eigenvalue']:.6g}" for kernel in kernels)],
        ["smallest eigenvalue", *(f"{kernel['smallest_eigenvalue']:.3g}" for kernel in kernels)],
        ["rank", *(str(kernel["rank"]) for kernel in kernels)],
        ["effective rank", *(f"{kernel['effective_rank']:.4g}" for kernel in kernels)],
    ]
    if summary["ntk_over_nngp"] is not None:
        rows.append(across("NTK / NNGP", f"{summary['ntk_over_nngp']:.6g}"))
    return rows


def _stderr(kernel: Mapping[str, Any]) -> str:
    if kernel["relative_stderr"] is None:
        return "none"
    return f"{100 * kernel['relative_stderr']:.2g} %, {kernel['heads']} heads"


def _answer(summary: Mapping[str, Any]) -> str:
    kind, kernel = next(iter(summary["kernels"].items()))
    n, rows = summary["shape"][0], summary["eigenvalue_rows"]
    if kernel["trace"] == 0.0:
        return f"The {NAMES[kind]} is zero: with these variances the network does not depend on its input."
    share = kernel["largest_eigenvalue"] / (kernel["trace"] * rows / n)
    which = f"these {n} sequences" if rows == n else f"the first {rows} of {n} sequences"
    directions = f"{kernel['rank']} directions above rounding, and the strongest one carries {100 * share:.3g} % of the trace"
    first = f"The {NAMES[kind]} gives {which} {directions}."
    if kernel["relative_stderr"] is None:
        return f"{first} It is a closed form, exact to rounding."
    error = f"a relative standard error of {100 * kernel['relative_stderr']:.2g} %"
    return f"{first} It is an average over {kernel['heads']} sampled heads with {error}."


def _note(summary: Mapping[str, Any]) -> str:
    note = (
        f"Rank counts eigenvalues above {summary['rounding']:.0e} of the largest; effective rank is (Σλ)² / Σλ²; "
        "standard error is relative, in Frobenius norm; "
        "NTK / NNGP is the ratio of the traces; times are those of the Gram matrices alone, compilation included, "
        "and memory is that of the whole process."
    )
    if summary["eigenvalue_rows"] < summary["shape"][0]:
        note += f" Eigenvalues and rank are those of the first {summary['eigenvalue_rows']} sequences."
    return note


def _plots(architecture: Architecture, arrays: Mapping[str, np.ndarray], summary: Mapping[str, Any]) -> list[Plot]:
    kinds, rows = list(summary["kernels"]), summary["eigenvalue_rows"]
    order, sorting = _order(architecture, arrays["tokens"])
    plots = [
        gram_heatmap(arrays[kind], order=order, title=NAMES[kind], caption=f"Each pixel is a pair of sequences, sorted by {sorting}.")
        for kind in kinds
    ]
    spectrum = eigenvalue_plot(
        {NAMES[kind]: arrays[f"{kind}_eigenvalues"] for kind in kinds},
        title="Eigenvalues",
        caption=f"Of the {rows} × {rows} Gram matrix, largest first, both axes logarithmic.",
        floor=summary["rounding"],
    )
    return [*plots, spectrum]


def _order(architecture: Architecture, tokens: np.ndarray) -> tuple[np.ndarray, str]:
    """An order in which equal colours lie together, and its name."""
    zeros = np.count_nonzero(tokens == 0, axis=1)
    if architecture.readout == "last":
        return np.lexsort((zeros, tokens[:, -1])), "their last token, then by how often token 0 occurs"
    return np.argsort(zeros, kind="stable"), "how often token 0 occurs"


def _method(architecture: Architecture, kinds: list[str], summary: Mapping[str, Any]) -> list[Step]:
    definitions = {"nngp": "NNGP:  k(x, y) = E[ f(x) f(y) ]", "ntk": "NTK:  Θ(x, y) = E[ ∇_θ f(x) · ∇_θ f(y) ]"}
    steps = [
        Step(
            "For width, heads and head size going to infinity the network f becomes a Gaussian process, and training by gradient flow "
            "follows a fixed kernel. Both are expectations over random weights θ:",
            [definitions[kind] for kind in kinds],
        ),
        Step(
            "Tokens and positions enter as the covariance of the embeddings of position a of x and position b of y:",
            _embedding(architecture),
        ),
        _attention(architecture),
        _dense(architecture),
    ]
    if architecture.depth > 1 or architecture.residual or architecture.norm != "none":
        parts = [f"{architecture.depth} {'block' if architecture.depth == 1 else 'blocks'}"]
        parts += ["a residual connection around attention and dense layer"] * architecture.residual
        parts += [f"{architecture.norm}-layer norm"] * (architecture.norm != "none")
        steps.append(Step(f"This is carried through {', '.join(parts)}."))
    forms = {NAMES[kind]: kernel["form"] for kind, kernel in summary["kernels"].items()}
    words = next(iter(forms.values())) if len(set(forms.values())) == 1 else "; ".join(f"{name} {form}" for name, form in forms.items())
    steps.append(Step(f"Form used here: {words}. Results are in double precision."))
    return steps


def _embedding(architecture: Architecture) -> list[str]:
    tokens = "s_w [x_a = y_b]"
    position = {"learned": " + s_p [a = b]", "sinusoidal": " + s_p p(a) · p(b)"}.get(architecture.positions, "")
    if position and not architecture.values_see_positions:
        return [f"queries and keys:  K_{{ab}}(x, y) = {tokens}{position}", f"values:  V_{{ab}}(x, y) = {tokens}"]
    return [f"K_{{ab}}(x, y) = {tokens}{position}"]


def _attention(architecture: Architecture) -> Step:
    transform = "A = S" if architecture.attention == "linear" else "A_{ac} = exp S_{ac} / Σ_e exp S_{ae}"
    if architecture.normalised:
        transform = "A = S / (number of visible positions)"
    if architecture.causal:
        transform += ",  only c ≤ a"
    scores = "S_{ac}(x) = K_{ac}(x, x)" if architecture.scaling == "tied" else "E[ S_{ac}(x) S_{bd}(y) ] = K_{ab} K_{cd}"
    kind = "equal the covariance itself" if architecture.scaling == "tied" else "are Gaussian"
    values = "K" if architecture.values_see_positions or architecture.positions == "none" else "V"
    return Step(
        f"The scores S of a head {kind}, they weigh the values, and heads add up independently:",
        [scores, transform, f"K¹_{{ab}} = Σ_{{cd}} E[ A_{{ac}}(x) A_{{bd}}(y) ] {values}_{{cd}}"],
    )


def _dense(architecture: Architecture) -> Step:
    maps = {
        "linear": "F = Λ_{xy}",
        "erf": "F = (2/π) arcsin( 2Λ_{xy} / √((1 + 2Λ_{xx})(1 + 2Λ_{yy})) )",
        "relu": "F = √(Λ_{xx} Λ_{yy}) (sin ϑ + (π − ϑ) cos ϑ) / 2π,   cos ϑ = Λ_{xy} / √(Λ_{xx} Λ_{yy})",
        "gelu": "F = E[ φ(u) φ(v) ],   (u, v) ~ N(0, Λ),   φ(u) = u (1 + erf(u/√2)) / 2",
    }
    where = "averaged over all pairs of positions" if architecture.readout == "mean" else "at the last position"
    return Step(
        f"The dense layer maps this covariance through its activation, and the readout takes it {where}:",
        ["Λ = s_1 K¹", maps[architecture.activation], "k = s_2 F"],
    )
