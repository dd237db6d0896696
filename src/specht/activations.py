r"""The nonlinearity $\phi$ of the dense layer: one registration serves the kernel, the finite network, the notation and the command line.

>>> from specht.activations import activation
>>> activation("relu").name
'relu'

An activation of one's own needs a name and a function that JAX can trace:

    specht.register_activation(specht.Activation(name="swish", phi=jax.nn.swish))
    specht.Architecture(vocab=4, length=16, activation="swish")

Its kernel then comes from Gauss-Hermite quadrature (`specht.kernel.dual`), unless `dual` has a closed form. A name with a colon,
`module:function`, is imported where it is used; so the command line and worker processes find it, too.
"""

from __future__ import annotations

import dataclasses
import importlib
import math
import re
from collections.abc import Callable
from typing import Any

from specht.callables import load_callable
from specht.errors import InputError, unknown_choice

_NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Activation:
    """An elementwise nonlinearity and what is known about it."""

    name: str
    """Lower-case word that stands for it in notation and on the command line."""
    phi: Callable[[Any], Any]
    r"""$\phi$, applied to a JAX array entry by entry."""
    dual: Callable[[Any, Any, Any], tuple[Any, Any]] | None = None
    r"""Closed form of $(k, q_x, q_y) \mapsto (E[\phi(u)\phi(v)], E[\phi'(u)\phi'(v)])$ for a pair with covariance k and variances q;
    quadrature unless it is there."""
    mean: Callable[[Any], Any] | None = None
    r"""Closed form of $q \mapsto E[\phi(u)]$, $u \sim N(0, q)$; quadrature unless it is there."""
    steepest: float | None = None
    r"""Largest slope $\max |\phi'|$, which capacity bounds use; None where it is not known."""
    formula: str | None = None
    r"""The dual as a line of plain text, which reports show."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not (_NAME.fullmatch(self.name) or ":" in self.name):
            raise InputError(f"An activation's name must be a lower-case word such as 'swish', got {self.name!r}.")
        if not callable(self.phi):
            raise InputError(f"phi of activation {self.name!r} must be a function of a JAX array, got {self.phi!r}.")


def _of(module: str, name: str, **options: Any) -> Callable[[Any], Any]:
    """A function of JAX that is looked up when it is called: descriptions of architectures load without JAX."""
    return lambda u: getattr(importlib.import_module(module), name)(u, **options)


_QUADRATURE = "F = E[ φ(u) φ(v) ],   (u, v) ~ N(0, Λ),   φ(u) = "
_ROWS = (
    Activation(name="linear", phi=lambda u: u, steepest=1.0, formula="F = Λ_{xy}"),
    Activation(
        name="erf",
        phi=_of("jax.scipy.special", "erf"),
        steepest=2 / math.sqrt(math.pi),
        formula="F = (2/π) arcsin( 2Λ_{xy} / √((1 + 2Λ_{xx})(1 + 2Λ_{yy})) )",
    ),
    Activation(
        name="relu",
        phi=_of("jax.nn", "relu"),
        steepest=1.0,
        formula="F = √(Λ_{xx} Λ_{yy}) (sin ϑ + (π − ϑ) cos ϑ) / 2π,   cos ϑ = Λ_{xy} / √(Λ_{xx} Λ_{yy})",
    ),
    Activation(name="gelu", phi=_of("jax.nn", "gelu", approximate=False), steepest=1.13, formula=_QUADRATURE + "u (1 + erf(u/√2)) / 2"),
    Activation(name="tanh", phi=_of("jax.numpy", "tanh"), steepest=1.0, formula=_QUADRATURE + "tanh u"),
    Activation(name="sine", phi=_of("jax.numpy", "sin"), steepest=1.0, formula="F = exp(−(Λ_{xx} + Λ_{yy})/2) sinh Λ_{xy}"),
    Activation(name="softplus", phi=_of("jax.nn", "softplus"), steepest=1.0, formula=_QUADRATURE + "ln(1 + exp u)"),
)
_REGISTERED = {row.name: row for row in _ROWS}


def activation_names() -> tuple[str, ...]:
    """Names that an architecture accepts.

    >>> activation_names()[:4]
    ('linear', 'erf', 'relu', 'gelu')
    """
    return tuple(_REGISTERED)


def register_activation(new: Activation) -> Activation:
    """Make an activation known by its name, and return it; a name stands for one function as long as the program runs."""
    if not isinstance(new, Activation):
        raise InputError(f"register_activation takes a specht.Activation, got {new!r}: write specht.Activation(name=..., phi=...).")
    known = _REGISTERED.setdefault(new.name, new)
    if known != new:
        raise InputError(
            f"Activation {new.name!r} is registered already with another function: choose another name, because compiled kernels keep it."
        )
    return new


def activation(name: str) -> Activation:
    """The activation of a name, or of `module:function`."""
    if name not in _REGISTERED and ":" in name:
        _REGISTERED[name] = _imported(name)
    if name not in _REGISTERED:
        raise unknown_choice("activation", name, _REGISTERED)
    return _REGISTERED[name]


def _imported(name: str) -> Activation:
    imported = load_callable(name, allow=Activation)
    return dataclasses.replace(imported, name=name) if isinstance(imported, Activation) else Activation(name=name, phi=imported)
