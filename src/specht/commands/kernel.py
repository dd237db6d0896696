"""specht kernel: a Gram matrix, its summary, its picture, its file."""

from __future__ import annotations

import dataclasses
import hashlib
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from cyclopts import Group, Parameter
from pydantic import Field, model_validator

from specht.architecture import Architecture, Kind
from specht.commands.command import Command, OutputFlags, Switch, Writer, command_line, print_summaries
from specht.commands.kernel_method import KERNEL_NAMES, kernel_steps
from specht.errors import InputError
from specht.kernel import FORMS, SAMPLED_FORMS, Form, choose_form
from specht.lab import ArchitectureFlags, Config
from specht.report import Page, Step, Table
from specht.trees import facts, tree

if TYPE_CHECKING:
    import numpy as np
    import xarray

    from specht.report import Plot

DEFAULT_SEQUENCES, DEFAULT_SEQUENCES_JOINT = 200, 24
EIGENVALUE_ROWS = 3000
"""A full eigenvalue decomposition beyond this takes longer than most Gram matrices."""
ROUNDING = 1e-12
"""Eigenvalues below this fraction of the largest are rounding."""


class KernelConfig(Config):
    """Everything that decides a Gram matrix."""

    architecture: Annotated[ArchitectureFlags, Parameter(name="*", group=Group("Architecture", sort_key=1))] = ArchitectureFlags()
    n: Annotated[int, Field(gt=0)] | None = None
    """Number of sequences, drawn uniformly; 200 unless given, or 24 where softmax heads are drawn position by position."""
    tokens: Path | None = None
    """Your own sequences instead: a .npy file of whole numbers, one sequence a row."""
    kind: Literal["nngp", "ntk", "both"] = "both"
    """Which kernel: nngp for Bayesian inference, ntk for gradient flow."""
    relative_error: Annotated[float, Field(gt=0, lt=1)] = 0.01
    """How exact a sampled kernel has to be; it sets the number of heads."""
    heads: Annotated[int, Field(gt=0)] | None = None
    """Number of sampled heads, instead of a relative error."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """Seed of the sampled sequences and heads."""

    def sequences(self) -> int:
        """How many sequences are drawn."""
        if self.n is not None:
            return self.n
        return DEFAULT_SEQUENCES_JOINT if "joint" in self.forms().values() else DEFAULT_SEQUENCES

    def forms(self) -> dict[Kind, Form]:
        """How each kernel is computed; an architecture without a limit is refused."""
        arch = self.architecture.architecture()
        return {kind: choose_form(arch, kind) for kind in self.kinds}

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return ("nngp", "ntk") if self.kind == "both" else (self.kind,)

    def identity(self) -> dict[str, Any]:
        fields = self.architecture.identity() | {"kind": self.kind}
        sampled = any(form in SAMPLED_FORMS for form in self.forms().values())
        if sampled:
            fields |= {"relative_error": self.relative_error} if self.heads is None else {"heads": self.heads}
        if sampled or self.tokens is None:
            fields |= {"seed": self.seed}
        # The content of a file decides, wherever it lies.
        return fields | ({"n": self.sequences()} if self.tokens is None else {"tokens": _digest_of(self.tokens)})

    @model_validator(mode="after")
    def _sequences_come_from_one_place(self) -> Self:
        if self.n is not None and self.tokens is not None:
            raise InputError(f"--n {self.n} draws sequences and --tokens {self.tokens} reads them: give one of the two.")
        return self


@dataclasses.dataclass(frozen=True, kw_only=True)
class KernelOptions:
    """What else there is to write or to show."""

    npz: Annotated[Switch, Parameter(group="Output")] = False
    """Write kernel.npz as well, for programs that do not read netCDF."""
    list_presets: Switch = False
    """Show the named architectures and stop."""


class KernelCommand(Command):
    """The infinite-width kernel of a transformer: a summary, a report and the Gram matrix as a file.

    For example:

        specht kernel
        specht kernel --preset softmax --length 64 --n 500 --relative-error 0.02
        specht kernel --arch "V=8 L=32 | relu depth=2 residual norm=pre" --kind nngp
        specht kernel --tokens mine.npy --vocab 50 --length 31 --json
    """

    name = "kernel"
    config = KernelConfig
    options = KernelOptions

    def run(self, config: KernelConfig, output: OutputFlags) -> None:
        if self.chosen.list_presets:
            from specht.presets import PRESETS

            return print_summaries("kernel", "presets", PRESETS, output.json)
        return super().run(config, output)

    def compute(self, config: KernelConfig, progress: Callable[[int, int], None] | None = None) -> xarray.DataTree:
        """The Gram matrices and what they say in few numbers; `other` is the second sequence of a pair."""
        # Loaded now and not above, so that --help stays quick.
        import numpy as np

        from specht.kernel import check_memory

        architecture, forms = config.architecture.architecture(), config.forms()
        if config.tokens is None:
            matrices = sum(2 if form in SAMPLED_FORMS else 1 for form in forms.values())
            fewer = ", or compute one kernel at a time with --kind" if len(forms) > 1 else ""
            check_memory(config.sequences(), config.sequences(), matrices, f"ask for fewer sequences with --n{fewer}")
            tokens = uniform_tokens(architecture, config.sequences(), config.seed)
        else:
            tokens = read_tokens(config.tokens, architecture)

        from specht.kernel import Kernel  # loads JAX, and bad flags were refused before

        kernel = Kernel(architecture, relative_error=config.relative_error, heads=config.heads, seed=config.seed, progress=progress)
        arrays: dict[str, tuple[tuple[str, ...], np.ndarray]] = {"tokens": (("sequence", "column"), tokens)}
        kernels: dict[str, dict[str, Any]] = {}
        cpu, wall = 0.0, 0.0
        for kind in config.kinds:
            cpu_start, wall_start = time.process_time(), time.perf_counter()
            gram = getattr(kernel, kind)(tokens)
            cpu, wall = cpu + time.process_time() - cpu_start, wall + time.perf_counter() - wall_start
            eigenvalues = np.linalg.eigvalsh(gram[:EIGENVALUE_ROWS, :EIGENVALUE_ROWS])[::-1]
            arrays |= {kind: (("sequence", "other"), np.asarray(gram)), f"{kind}_eigenvalues": (("index",), eigenvalues)}
            if gram.stderr is not None:
                arrays[f"{kind}_stderr"] = (("sequence", "other"), gram.stderr)
            kernels[kind] = {"form": FORMS[forms[kind]], **_summary(gram, eigenvalues), "heads": gram.heads}
        traces = [summary["trace"] for summary in kernels.values()]
        summary = {
            "architecture": str(architecture),
            "shape": [len(tokens), len(tokens)],
            "cpu_seconds": cpu,
            "wall_seconds": wall,
            "peak_memory_bytes": peak_memory(),
            "eigenvalue_rows": min(len(tokens), EIGENVALUE_ROWS),
            "rounding": ROUNDING,
            "ntk_over_nngp": traces[1] / traces[0] if len(traces) == 2 and traces[0] else None,
            "kernels": kernels,
        }
        return tree(summary | arrays)

    def page(self, data: xarray.DataTree) -> Page:
        result = facts(data)
        architecture, kernels = Architecture.parse(result.architecture), vars(result.kernels)
        return Page(
            title="The kernel of a transformer",
            subtitle=str(architecture),
            question="Which sequences does this transformer, infinitely wide, treat alike, and how many directions can it tell apart?",
            answer=_answer(result),
            plots=_plots(architecture, data, result),
            tables=[Table(header=["", *(KERNEL_NAMES[kind] for kind in kernels)], rows=summary_rows(result), note=_note(result))],
            method=_method(architecture, kernels),
        )

    def more_files(self, data: xarray.DataTree) -> Mapping[str, tuple[str, Writer]]:
        from specht.lab import save_npz

        arrays = {str(name): variable.values for name, variable in data.data_vars.items() if variable.ndim}
        return {"npz": ("kernel.npz", partial(save_npz, arrays))} if self.chosen.npz else {}


def uniform_tokens(architecture: Architecture, n: int, seed: int) -> np.ndarray:
    """`n` sequences of independent, uniform tokens.

    >>> uniform_tokens(Architecture(vocab=2, length=3), n=2, seed=0)
    array([[1, 1, 1, 0],
           [0, 0, 0, 0]])
    """
    import numpy as np

    return np.random.default_rng(seed).integers(architecture.vocab, size=(n, architecture.columns))


def read_tokens(path: Path, architecture: Architecture) -> np.ndarray:
    """The sequences in a .npy file, one a row, checked against the architecture."""
    import numpy as np

    from specht.sequences import check_tokens

    try:
        tokens = np.load(path, allow_pickle=False)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error}): check the path given to --tokens.") from None
    except (ValueError, EOFError):
        raise InputError(f"{path} is not a .npy file of numbers: save the sequences with numpy.save as an integer array.") from None
    if not isinstance(tokens, np.ndarray):
        raise InputError(f"{path} is an archive of arrays: save one integer array with numpy.save.")
    return check_tokens(architecture, tokens, str(path))


def _digest_of(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): check the path given to --tokens.") from None


def _summary(gram: Any, eigenvalues: np.ndarray) -> dict[str, Any]:
    """A Gram matrix in few numbers."""
    import numpy as np

    trace, squares, size = float(np.trace(gram)), float(np.vdot(gram, gram)), float(np.linalg.norm(gram))
    error = None if gram.stderr is None else float(np.linalg.norm(gram.stderr))
    return {
        "trace": trace,
        "smallest_eigenvalue": float(eigenvalues[-1]),
        "largest_eigenvalue": float(eigenvalues[0]),
        "rank": int(np.count_nonzero(eigenvalues > ROUNDING * eigenvalues[0])),
        # How many equal eigenvalues would spread as much.
        "effective_rank": trace**2 / squares if squares > 0.0 else 0.0,
        "relative_stderr": error if error is None else error / size if size > 0.0 else 0.0,
    }


def peak_memory() -> int | None:
    """The most memory that this process has held, in bytes; None where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def summary_rows(result: SimpleNamespace) -> list[list[str]]:
    """The summary as rows of text, one column a kernel; what belongs to the run as a whole stands in the first column alone."""
    kernels = list(vars(result.kernels).values())
    forms, memory = {kernel.form for kernel in kernels}, result.peak_memory_bytes

    def across(label: str, text: str) -> list[str]:
        return [label, text, *[""] * (len(kernels) - 1)]

    rows = [
        across("architecture", result.architecture),
        ["form", *(kernel.form for kernel in kernels)] if len(forms) > 1 else across("form", *forms),
        across("shape", " x ".join(map(str, result.shape))),
        across("CPU time", f"{result.cpu_seconds:.2f} s"),
        across("wall time", f"{result.wall_seconds:.2f} s"),
        across("peak memory", "unknown" if memory is None else f"{memory / 2**20:.0f} MiB"),
        ["standard error", *(_stderr(kernel) for kernel in kernels)],
        ["trace", *(f"{kernel.trace:.6g}" for kernel in kernels)],
        ["largest eigenvalue", *(f"{kernel.largest_eigenvalue:.6g}" for kernel in kernels)],
        ["smallest eigenvalue", *(f"{kernel.smallest_eigenvalue:.3g}" for kernel in kernels)],
        ["rank", *(str(kernel.rank) for kernel in kernels)],
        ["effective rank", *(f"{kernel.effective_rank:.4g}" for kernel in kernels)],
    ]
    if result.ntk_over_nngp is not None:
        rows.append(across("NTK / NNGP", f"{result.ntk_over_nngp:.6g}"))
    return rows


def _stderr(kernel: SimpleNamespace) -> str:
    if kernel.relative_stderr is None:
        return "none"
    return f"{100 * kernel.relative_stderr:.2g} %, {kernel.heads} heads"


def _answer(result: SimpleNamespace) -> str:
    kind, kernel = next(iter(vars(result.kernels).items()))
    n, rows = result.shape[0], result.eigenvalue_rows
    if kernel.trace == 0.0:
        return f"The {KERNEL_NAMES[kind]} is zero: with these variances the network does not depend on its input."
    share = kernel.largest_eigenvalue / (kernel.trace * rows / n)
    which = f"these {n} sequences" if rows == n else f"the first {rows} of {n} sequences"
    directions = f"{kernel.rank} directions above rounding, and the strongest one carries {100 * share:.3g} % of the trace"
    first = f"The {KERNEL_NAMES[kind]} gives {which} {directions}."
    if kernel.relative_stderr is None:
        return f"{first} It is a closed form, exact to rounding."
    error = f"a relative standard error of {100 * kernel.relative_stderr:.2g} %"
    return f"{first} It is an average over {kernel.heads} sampled heads with {error}."


def _note(result: SimpleNamespace) -> str:
    note = (
        f"Rank counts eigenvalues above {result.rounding:.0e} of the largest; effective rank is (Σλ)² / Σλ²; "
        "standard error is relative, in Frobenius norm; "
        "NTK / NNGP is the ratio of the traces; times are those of the Gram matrices alone, compilation included, "
        "and memory is that of the whole process."
    )
    if result.eigenvalue_rows < result.shape[0]:
        note += f" Eigenvalues and rank are those of the first {result.eigenvalue_rows} sequences."
    return note


def _plots(architecture: Architecture, data: xarray.DataTree, result: SimpleNamespace) -> list[Plot]:
    from specht.report import eigenvalue_plot, gram_heatmap

    kinds, rows, arrays = list(vars(result.kernels)), result.eigenvalue_rows, data.to_dataset()
    order, sorting = _order(architecture, arrays["tokens"].values)
    plots = [
        gram_heatmap(
            arrays[kind].values, order=order, title=KERNEL_NAMES[kind], caption=f"Each pixel is a pair of sequences, sorted by {sorting}."
        )
        for kind in kinds
    ]
    spectrum = eigenvalue_plot(
        {KERNEL_NAMES[kind]: arrays[f"{kind}_eigenvalues"].values for kind in kinds},
        title="Eigenvalues",
        caption=f"Of the {rows} × {rows} Gram matrix, largest first, both axes logarithmic.",
        floor=result.rounding,
    )
    return [*plots, spectrum]


def _order(architecture: Architecture, tokens: np.ndarray) -> tuple[np.ndarray, str]:
    """An order in which equal colours lie together, and its name."""
    import numpy as np

    zeros = np.count_nonzero(tokens == 0, axis=1)
    if architecture.readout == "last":
        return np.lexsort((zeros, tokens[:, -1])), "their last token, then by how often token 0 occurs"
    return np.argsort(zeros, kind="stable"), "how often token 0 occurs"


def _method(architecture: Architecture, kernels: Mapping[str, SimpleNamespace]) -> list[Step]:
    forms = {KERNEL_NAMES[kind]: kernel.form for kind, kernel in kernels.items()}
    words = next(iter(forms.values())) if len(set(forms.values())) == 1 else "; ".join(f"{name} {form}" for name, form in forms.items())
    return [*kernel_steps(architecture, kernels), Step(f"Form used here: {words}. Results are in double precision.")]


kernel = command_line(KernelCommand)
