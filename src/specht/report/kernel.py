"""The report of `specht kernel`: what a Gram matrix looks like and what it says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from specht.architecture import Architecture
from specht.report.architecture import KERNEL_NAMES, kernel_steps
from specht.report.figures import Plot, eigenvalue_plot, gram_heatmap
from specht.report.html import Report, Step, Table


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
        tables=[Table(header=["", *(KERNEL_NAMES[kind] for kind in kinds)], rows=summary_rows(summary), note=_note(summary))],
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
        return f"The {KERNEL_NAMES[kind]} is zero: with these variances the network does not depend on its input."
    share = kernel["largest_eigenvalue"] / (kernel["trace"] * rows / n)
    which = f"these {n} sequences" if rows == n else f"the first {rows} of {n} sequences"
    directions = f"{kernel['rank']} directions above rounding, and the strongest one carries {100 * share:.3g} % of the trace"
    first = f"The {KERNEL_NAMES[kind]} gives {which} {directions}."
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
        gram_heatmap(
            arrays[kind], order=order, title=KERNEL_NAMES[kind], caption=f"Each pixel is a pair of sequences, sorted by {sorting}."
        )
        for kind in kinds
    ]
    spectrum = eigenvalue_plot(
        {KERNEL_NAMES[kind]: arrays[f"{kind}_eigenvalues"] for kind in kinds},
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
    forms = {KERNEL_NAMES[kind]: kernel["form"] for kind, kernel in summary["kernels"].items()}
    words = next(iter(forms.values())) if len(set(forms.values())) == 1 else "; ".join(f"{name} {form}" for name, form in forms.items())
    return [*kernel_steps(architecture, kinds), Step(f"Form used here: {words}. Results are in double precision.")]
