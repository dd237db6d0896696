"""What a kernel of an architecture is made from, as plain data: how a Gaussian process goes into a file.

A function cannot go into a file without pickle. A kernel of an architecture can: its description makes the same kernel again, which
gives the same numbers to the bit.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from specht.architecture import Architecture, Variances
from specht.progress import Progress

if TYPE_CHECKING:
    from specht.kernel import Kernel

Method = Literal["nngp", "ntk"]
_METHODS: dict[str, Method] = {"nngp": "nngp", "__call__": "nngp", "ntk": "ntk"}


@dataclasses.dataclass(frozen=True, eq=False)
class KernelRecipe:
    """The arguments of a `Kernel`, and which of its methods is meant.

    >>> from specht import Kernel
    >>> recipe = recipe_of(Kernel(Architecture(vocab=2, length=3), seed=7).ntk)
    >>> str(recipe), recipe.seed
    ('V=2 L=3 | pos=learned(1.0) | linear/sqrt | linear | last (ntk)', 7)
    >>> recipe.build()([[0, 1, 1, 0]]).tolist()
    [[135.0]]
    """

    arch: Architecture
    variances: Variances
    heads: int | None
    """Heads of a sampled kernel; None where it is exact, or where they were not decided yet."""
    relative_error: float
    seed: int
    memory: int
    method: Method | None
    """Which method stands for the kernel; None for the kernel itself, whose values are those of `nngp` and which has features too."""

    def __str__(self) -> str:
        return f"{self.arch} (ntk)" if self.method == "ntk" else str(self.arch)

    def build(self, progress: Progress | None = None) -> Any:
        """The kernel, or its method, as a function of tokens."""
        from specht.kernel import Kernel  # loads JAX

        settings: dict[str, Any] = {"relative_error": self.relative_error, "heads": self.heads, "seed": self.seed, "memory": self.memory}
        kernel = Kernel(self.arch, variances=self.variances, progress=progress, **settings)
        return kernel if self.method is None else getattr(kernel, self.method)


def recipe_of(function: Any) -> KernelRecipe | None:
    """The recipe of a `Kernel` or of its method, with the heads that it has drawn; None for any other function."""
    kernel = kernel_of(function)
    if kernel is None:
        return None
    method = None if function is kernel else _METHODS[function.__name__]
    variances = Variances(*(np.asarray(value, dtype=np.float64) for value in kernel.variances))
    heads = kernel.heads_drawn(method or "nngp")
    return KernelRecipe(kernel.arch, variances, heads, float(kernel.relative_error), kernel.seed, kernel.memory, method)


def kernel_of(function: Any) -> Kernel | None:
    """The `Kernel` that a function is, or is a method of; None for any other function."""
    owner = getattr(function, "__self__", function)
    if not isinstance(getattr(owner, "arch", None), Architecture):
        return None  # before JAX is loaded for somebody's own function
    from specht.kernel import Kernel

    known = owner is function or getattr(function, "__name__", None) in _METHODS
    return owner if type(owner) is Kernel and known else None  # a subclass may compute anything
