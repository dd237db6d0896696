"""One Gram matrix: sequences in, kernels and their summary out."""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray

from specht.architecture import Architecture
from specht.kernel.forms import FORMS, SAMPLED_FORMS
from specht.kernel.memory import check_memory
from specht.lab.config import KernelConfig
from specht.lab.tokens import read_tokens, uniform_tokens

EIGENVALUE_ROWS = 3000
"""A full eigenvalue decomposition beyond this takes longer than most Gram matrices."""
ROUNDING = 1e-12
"""Eigenvalues below this fraction of the largest are rounding."""


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """One kernel on one set of sequences."""

    form: str
    """How it is computed, in words."""
    gram: np.ndarray
    stderr: np.ndarray | None  # None for a closed form
    heads: int | None
    eigenvalues: np.ndarray  # largest first, of the first EIGENVALUE_ROWS sequences

    @property
    def trace(self) -> float:
        return float(np.trace(self.gram))

    @property
    def rank(self) -> int:
        """Number of eigenvalues above rounding."""
        return int(np.count_nonzero(self.eigenvalues > ROUNDING * self.eigenvalues[0]))

    @property
    def effective_rank(self) -> float:
        """(sum of eigenvalues)^2 / (sum of squared eigenvalues): how many equal eigenvalues would spread as much."""
        squares = float(np.vdot(self.gram, self.gram))
        return self.trace**2 / squares if squares > 0.0 else 0.0

    @property
    def relative_stderr(self) -> float | None:
        """Standard error of the whole matrix over its size, both in Frobenius norm."""
        if self.stderr is None:
            return None
        size = float(np.linalg.norm(self.gram))
        return float(np.linalg.norm(self.stderr)) / size if size > 0.0 else 0.0

    def summary(self) -> dict[str, Any]:
        return {
            "form": self.form,
            "trace": self.trace,
            "smallest_eigenvalue": float(self.eigenvalues[-1]),
            "largest_eigenvalue": float(self.eigenvalues[0]),
            "rank": self.rank,
            "effective_rank": self.effective_rank,
            "relative_stderr": self.relative_stderr,
            "heads": self.heads,
        }


@dataclasses.dataclass(frozen=True)
class GramRun:
    """What a run computed, and what it cost."""

    architecture: Architecture
    tokens: np.ndarray
    kernels: dict[str, Evaluation]
    cpu_seconds: float
    wall_seconds: float
    peak_memory: int | None  # bytes, of the whole process; None where the system does not tell

    @property
    def ratio(self) -> float | None:
        """Trace of the NTK over trace of the NNGP kernel."""
        if len(self.kernels) < 2 or self.kernels["nngp"].trace == 0.0:
            return None
        return self.kernels["ntk"].trace / self.kernels["nngp"].trace

    def summary(self) -> dict[str, Any]:
        n = len(self.tokens)
        return {
            "architecture": str(self.architecture),
            "shape": [n, n],
            "cpu_seconds": self.cpu_seconds,
            "wall_seconds": self.wall_seconds,
            "peak_memory_bytes": self.peak_memory,
            "eigenvalue_rows": min(n, EIGENVALUE_ROWS),
            "rounding": ROUNDING,
            "ntk_over_nngp": self.ratio,
            "kernels": {kind: evaluation.summary() for kind, evaluation in self.kernels.items()},
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything computed, by name."""
        arrays = {"tokens": self.tokens}
        for kind, evaluation in self.kernels.items():
            arrays[kind] = evaluation.gram
            arrays[f"{kind}_eigenvalues"] = evaluation.eigenvalues
            if evaluation.stderr is not None:
                arrays[f"{kind}_stderr"] = evaluation.stderr
        return arrays

    def dataset(self, attributes: dict[str, Any]) -> xarray.Dataset:
        """The same with named dimensions; `other` is the second sequence of a pair."""

        def dimensions(name: str) -> tuple[str, ...]:
            if name == "tokens":
                return ("sequence", "column")
            return ("index",) if name.endswith("eigenvalues") else ("sequence", "other")

        costs = {"architecture": str(self.architecture), "cpu_seconds": self.cpu_seconds, "wall_seconds": self.wall_seconds}
        return xarray.Dataset({name: (dimensions(name), array) for name, array in self.arrays().items()}, attrs=attributes | costs)


def run_gram(config: KernelConfig, progress: Callable[[int, int], None] | None = None) -> GramRun:
    """Compute the Gram matrices that a configuration asks for."""
    architecture, forms = config.architecture.architecture(), config.forms()
    if config.tokens is None:
        matrices = sum(2 if form in SAMPLED_FORMS else 1 for form in forms.values())
        fewer = ", or compute one kernel at a time with --kind" if len(forms) > 1 else ""
        check_memory(config.sequences(), config.sequences(), matrices, f"ask for fewer sequences with --n{fewer}")
    tokens = read_tokens(config.tokens, architecture) if config.tokens else uniform_tokens(architecture, config.sequences(), config.seed)

    from specht.kernel.kernel import Kernel  # loads JAX, and bad flags were refused before

    kernel = Kernel(architecture, relative_error=config.relative_error, heads=config.heads, seed=config.seed, progress=progress)
    kernels: dict[str, Evaluation] = {}
    cpu, wall = 0.0, 0.0
    for kind in config.kinds:
        cpu_start, wall_start = time.process_time(), time.perf_counter()
        gram = getattr(kernel, kind)(tokens)
        cpu, wall = cpu + time.process_time() - cpu_start, wall + time.perf_counter() - wall_start
        block = gram[:EIGENVALUE_ROWS, :EIGENVALUE_ROWS]
        kernels[kind] = Evaluation(FORMS[forms[kind]], gram, gram.stderr, gram.heads, np.linalg.eigvalsh(block)[::-1])
    return GramRun(architecture, tokens, kernels, cpu, wall, peak_memory())


def peak_memory() -> int | None:
    """The most memory that this process has held, in bytes."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
