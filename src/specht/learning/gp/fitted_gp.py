"""`GP.fit`: the variances of an architecture, or the size of any other kernel, from labels."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from specht.architecture import Architecture, Variances
from specht.errors import InputError, unknown_choice
from specht.learning.checks import labels
from specht.learning.gp.gram_source import GramSource, MaskedInputs
from specht.learning.gp.variance_fit import Fitted, Optimum, ParametricGram, fit_model
from specht.memory import available_memory
from specht.results import Result, Variable, plain

if TYPE_CHECKING:
    from specht.learning.gp.gaussian_process import GP

Per = Literal["token", "position"]

SCALE = "scale"
"""The one parameter of a kernel that is not an architecture's."""
HEADS = 1024
"""Heads of a sampled kernel that has not been evaluated before."""
_MATRICES = 8
"""Matrices of the size of the Gram that value and gradient need."""
_SMALL = 0.3
"""Standard error of a logarithm up to which an error bar is nearly as long upwards as downwards."""
_LISTED = 6
"""Parameters that a short description names."""
_SAME = 0.01
"""Difference of log likelihoods below which two starts have met."""


class FittedParameter(NamedTuple):
    """A fitted value and how well it is known."""

    value: float
    log_stderr: float
    """Standard error of its logarithm: 0.1 means 10 %. Not a number at a bound."""

    def __str__(self) -> str:
        if not np.isfinite(self.log_stderr):
            return f"{self.value:.4g}"
        if self.log_stderr < _SMALL:
            return f"{self.value:.4g} ± {self.value * self.log_stderr:.2g}"
        return f"{self.value:.4g}, up to a factor of {np.exp(min(self.log_stderr, 100.0)):.2g}"


@dataclasses.dataclass(frozen=True, eq=False)
class FittedGP(Result):
    """The most likely process; `gp` is ready to be conditioned."""

    gp: GP
    """The process with the fitted variances and ridge."""
    parameters: dict[str, FittedParameter]
    """What was fitted, by name: variances of the architecture (or the scale of another kernel) and the ridge."""
    held: tuple[str, ...]
    """Variances that kept their value, because the fitted ones already do to the kernel what they would."""
    log_marginal_likelihood: float
    start_likelihoods: np.ndarray
    """Log marginal likelihood that each start ended at."""
    at_bound: dict[str, str]
    """Parameters that stopped at a bound: "lower" or "upper"."""
    optimum: Optimum

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before trusting the fit, in sentences."""
        behind = int(np.sum(self.start_likelihoods < self.log_marginal_likelihood - _SAME))
        many = f"{behind} of {len(self.start_likelihoods)} starts ended at less likely values: there are several optima."
        return (*self.optimum.warnings(), *([many] if behind else []))

    def __str__(self) -> str:
        lines = [f"log marginal likelihood {self.log_marginal_likelihood:.4f}, best of {len(self.start_likelihoods)} starts"]
        lines += [f"  {name} {parameter}" for name, parameter in self.parameters.items()]
        lines += [f"  held: {', '.join(self.held)}"] * bool(self.held)
        return "\n".join([*lines, *self.warnings])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a netCDF file; `specht.load` reads it again, equal to the bit. Only kernels of architectures can be saved."""
        self.gp.refuse_to_save_functions("keep .to_dataframe(), or fit again")
        super().save(path)

    def summary(self) -> dict[str, Any]:
        """Fitted values as plain values, as files and figures have them; one without a standard error has None."""
        low, high = (dict(zip(self.optimum.names, ends.tolist(), strict=True)) for ends in (self.optimum.low, self.optimum.high))
        return {
            "kernel": self.gp.name,
            "log_marginal_likelihood": self.log_marginal_likelihood,
            "start_likelihoods": self.start_likelihoods.tolist(),
            "held": list(self.held),
            "warnings": list(self.warnings),
            "parameters": [
                {
                    "name": name,
                    "value": parameter.value,
                    "log_stderr": plain(parameter.log_stderr),
                    "low": low[name],
                    "high": high[name],
                    "at_bound": self.at_bound.get(name),
                }
                for name, parameter in self.parameters.items()
            ],
        }

    def _summary(self) -> str:
        names = list(self.parameters)
        more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
        fitted = ", ".join(f"{name} {self.parameters[name].value:.4g}" for name in names[:_LISTED]) + more
        starts = len(self.start_likelihoods)
        likelihood = f"log marginal likelihood {self.log_marginal_likelihood:.4f}, best of {starts} start{'s' * (starts != 1)}"
        warned = f"\n{len(self.warnings)} warnings: see .warnings" if self.warnings else ""
        return f"{self.gp.name}\n{likelihood}\n{fitted}{warned}"

    def _variables(self) -> list[Variable]:
        names, values = list(self.parameters), list(self.parameters.values())
        sides = np.array([self.at_bound.get(name, "") for name in names], dtype=str)
        return [
            Variable("parameter", "parameter", np.array(names, dtype=str), "what was fitted"),
            Variable("value", "parameter", [parameter.value for parameter in values], "most likely value"),
            Variable("log_stderr", "parameter", [parameter.log_stderr for parameter in values], "standard error of its logarithm"),
            Variable("low", "parameter", self.optimum.low, "lower bound of the search"),
            Variable("high", "parameter", self.optimum.high, "upper bound of the search"),
            Variable("at_bound", "parameter", sides, "bound at which it stopped; empty where it did not"),
            Variable("start", "start", np.arange(len(self.start_likelihoods)), "number of the start"),
            Variable("start_likelihood", "start", self.start_likelihoods, "log marginal likelihood where the start ended"),
            Variable("log_marginal_likelihood", (), self.log_marginal_likelihood, "log marginal likelihood of the most likely values"),
        ]


def fit_gp(gp: GP, x: Any, y: Any, mask: Any, per: str | Sequence[str] | None, **search: Any) -> FittedGP:
    """What `GP.fit` does; how to search is up to `fit_model`."""
    from specht.kernel import Combination

    inputs = gp.source.inputs(x, mask)
    y = labels(y, len(inputs))
    _check_memory(len(inputs))
    arch = gp.source.arch if hasattr(gp.source.kernel, "arch") else None
    if arch is None and per is not None:
        raise InputError(f"per={per!r} needs an architecture, and {gp.source!r} is none: leave it out, or give an Architecture.")
    if arch is None:
        model = ParametricGram(_times_scale, {SCALE: 1.0}, SCALE, (SCALE,), gp.source.gram(inputs))
    else:
        model = _of_architecture(gp.source, arch, inputs, _names(per))
    fitted = fit_model(model, y, **search)
    optimum = fitted.optimum
    parameters = {
        name: FittedParameter(float(value), float(error))
        for name, value, error in zip(optimum.names, optimum.values, optimum.log_stderr, strict=True)
    }
    own = gp.source.kernel
    kernel = Combination("*", float(fitted.values[SCALE]), own) if arch is None else _with_variances(gp.source, arch, fitted)
    return FittedGP(
        gp=gp.replace(kernel=kernel, ridge=fitted.ridge, unit="kernel"),
        parameters=parameters,
        held=fitted.held,
        log_marginal_likelihood=optimum.log_likelihood,
        start_likelihoods=optimum.start_likelihoods,
        at_bound=optimum.at_bound,
        optimum=optimum,
    )


def _names(per: str | Sequence[str] | None) -> tuple[str, ...]:
    names = () if per is None else (per,) if isinstance(per, str) else tuple(per)
    for name in names:
        if name not in get_args(Per):
            raise unknown_choice("choice of what has variances of its own (per)", name, get_args(Per))
    return names


def _times_scale(values: Mapping[str, Any], gram: Any) -> Any:
    return values[SCALE] * gram


@dataclasses.dataclass(frozen=True)
class _ArchitectureGram:
    """The Gram of an architecture as a function of its variances and a batch of sequences."""

    structure: Architecture
    heads: int
    seed: int

    def __call__(self, values: Mapping[str, Any], batch: Any) -> Any:
        from specht.kernel import kernel_of_batches

        return kernel_of_batches(self.structure, batch, variances=Variances(**values), heads=self.heads, seed=self.seed)


def _of_architecture(source: GramSource, arch: Architecture, inputs: MaskedInputs, per: tuple[str, ...]) -> ParametricGram:
    from specht.kernel import sequences

    own = {name: np.asarray(value, dtype=np.float64) for name, value in source.kernel.variances._asdict().items()}
    order = ("readout", "positions", "tokens", "dense")
    # Of the variances of single symbols none should be the unit of the others, so they come before the size of the kernel.
    if "token" in per:
        own["tokens"], order = np.broadcast_to(own["tokens"], (arch.symbols,)), ("tokens", "positions", "readout", "dense")
    if "position" in per:
        own["positions"], order = np.broadcast_to(own["positions"], (arch.columns,)), ("positions", "tokens", "readout", "dense")
    gram = _ArchitectureGram(arch.structure, source.kernel.heads_drawn() or HEADS, source.kernel.seed)
    return ParametricGram(gram, own, "readout", order, sequences(arch, inputs.x, inputs.mask, "x"))


def _with_variances(source: GramSource, arch: Architecture, fitted: Fitted) -> Any:
    """The kernel of the same structure with the fitted variances."""
    from specht.kernel import Kernel

    old, variances = source.kernel, Variances(**fitted.values)
    settings = {"heads": old.heads_drawn() or HEADS, "seed": old.seed, "memory": old.memory}
    if all(np.ndim(value) == 0 for value in variances):
        return Kernel(arch.with_variances(Variances(*(float(value) for value in variances))), **settings)
    return Kernel(arch, variances=variances, **settings)


def _check_memory(n: int) -> None:
    free, needed = available_memory(), _MATRICES * 8 * n**2
    if free is not None and needed > 0.9 * free:
        most = int((0.5 * free / (8 * _MATRICES)) ** 0.5)
        raise InputError(
            f"Fitting {n} samples needs {needed / 2**30:.1f} GiB for gradients of their Gram and {free / 2**30:.1f} GiB are free: "
            f"fit {most} of them, which says nearly as much about the variances."
        )
