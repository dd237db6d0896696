"""Kernel values for a Gaussian process, from an architecture, a `Kernel`, or any function that returns a Gram.

A function `gram(x, y=None)` gets arrays with one input a row and returns the table of kernel values between them. The inputs are then
whatever the function understands; only architectures check them as tokens.

A function cannot go into a file without pickle. A kernel of an architecture can: its recipe makes the same kernel again, which gives the
same numbers to the bit.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from specht.architecture import Architecture, Variances
from specht.checks import whole_number
from specht.errors import InputError
from specht.learning.checks import table, vector
from specht.progress import Progress
from specht.sequences import check_batch

if TYPE_CHECKING:
    from specht.kernel import Kernel

_FEW = 8
"""Inputs whose features are counted."""
_DIAGONAL_ROWS = 256
"""Inputs of a function whose Gram is computed for the sake of its diagonal."""
Method = Literal["nngp", "ntk"]


@dataclasses.dataclass(frozen=True, eq=False)
class MaskedInputs:
    """Inputs with one a row, and which of their tokens are real; None where all are."""

    x: np.ndarray
    mask: np.ndarray | None

    def __getitem__(self, rows: Any) -> MaskedInputs:
        return MaskedInputs(self.x[rows], None if self.mask is None else self.mask[rows])

    def __len__(self) -> int:
        return len(self.x)

    def copy(self) -> MaskedInputs:
        """Arrays of its own, row after row in memory: what is done to the originals later does not change them."""
        return MaskedInputs(np.array(self.x, order="C"), None if self.mask is None else np.array(self.mask, order="C"))


class GramSource:
    """Blocks of the Gram of one kernel, checked for their shape.

    >>> source = GramSource(lambda x, y=None: x @ (x if y is None else y).T)
    >>> source.gram(source.inputs([[1.0, 2.0], [0.0, 1.0]])).tolist()
    [[5.0, 2.0], [2.0, 1.0]]
    """

    def __init__(self, kernel: Any) -> None:
        if isinstance(kernel, Architecture):
            from specht.kernel import Kernel  # loads JAX

            kernel = Kernel(kernel)
        if not callable(kernel):
            raise InputError(
                f"kernel must be an Architecture, a Kernel or a function gram(x, y=None), got {kernel!r}: write for example "
                "specht.GP(specht.Architecture(vocab=4, length=16), ridge=0.1)."
            )
        self.kernel = kernel
        owner = getattr(kernel, "__self__", kernel)  # kernel.ntk belongs to a kernel as well
        self.arch: Architecture | None = getattr(owner, "arch", None)

    def __repr__(self) -> str:
        return str(self.arch) if self.arch is not None else getattr(self.kernel, "__name__", repr(self.kernel))

    @property
    def jointly(self) -> bool:
        """Whether all inputs that meet each other must be evaluated in one call, because their heads are drawn together."""
        from specht.kernel import choose_form

        return any(choose_form(arch, "nngp") == "joint" for arch in _architectures(self.kernel))

    def pinned(self) -> GramSource:
        """Fix the number of heads at what the kernel has drawn by now, however many later calls would ask for."""
        recipe, kernel = recipe_of(self.kernel), kernel_of(self.kernel)
        if recipe is None or recipe.heads is None or kernel is None:
            return self
        return GramSource(recipe.build(kernel.progress))

    def inputs(self, x: Any, mask: Any = None, name: str = "x") -> MaskedInputs:
        """Inputs as arrays: tokens where the kernel has an architecture, anything with rows otherwise."""
        if isinstance(x, MaskedInputs):
            return x
        if self.arch is not None:
            tokens, visible = check_batch(self.arch, x, mask, name)
            return MaskedInputs(tokens, None if visible.all() else visible)
        array = np.asarray(x)
        if array.ndim == 0 or len(array) == 0:
            raise InputError(f"{name} has shape {array.shape}: give one input a row, and at least one.")
        if mask is not None and not _takes_masks(self.kernel):
            raise InputError(f"{self!r} is a function of x and y, so it cannot use a mask: give it arguments mask and mask_y.")
        return MaskedInputs(array, None if mask is None else np.asarray(mask))

    def gram(self, inputs: MaskedInputs) -> np.ndarray:
        """Kernel (N, N) of the inputs with themselves."""
        values = self.kernel(inputs.x, **({} if inputs.mask is None else {"mask": inputs.mask}))
        return table("the kernel", values, rows=len(inputs), columns=len(inputs))

    def between(self, left: MaskedInputs, right: MaskedInputs) -> np.ndarray:
        """Kernel (M, N) between two batches of inputs."""
        masks = {} if left.mask is None and right.mask is None else {"mask": left.mask, "mask_y": right.mask}
        values = self.kernel(left.x, right.x, **masks)
        return table("the kernel", values, rows=len(left), columns=len(right))

    def diagonal(self, inputs: MaskedInputs) -> np.ndarray:
        """k(x, x) of every input (N,)."""
        if hasattr(self.kernel, "diagonal"):
            masks = {} if inputs.mask is None else {"mask": inputs.mask}
            return vector("the diagonal of the kernel", self.kernel.diagonal(inputs.x, **masks), len(inputs))
        starts = range(0, len(inputs), _DIAGONAL_ROWS)
        return np.concatenate([self.gram(inputs[start : start + _DIAGONAL_ROWS]).diagonal() for start in starts])

    def features(self, inputs: MaskedInputs) -> np.ndarray:
        """Explicit features (N, P) whose inner products are the kernel; ask only where `count_features` has a number."""
        masks = {} if inputs.mask is None else {"mask": inputs.mask}
        return table("the features", self.kernel.features(inputs.x, **masks), rows=len(inputs))

    def count_features(self, inputs: MaskedInputs) -> int | None:
        """How many explicit features the kernel has; None where it has none that are known."""
        if self.arch is None or not hasattr(self.kernel, "features"):
            return None
        from specht.kernel import SAMPLED_FORMS, choose_form, why_no_features

        if why_no_features(self.arch) is not None or choose_form(self.arch, "nngp") in SAMPLED_FORMS:
            return None  # random features are many
        return self.features(inputs[:_FEW]).shape[1]


@dataclasses.dataclass(frozen=True, eq=False)
class OwnGram:
    """What exact inference asks of a kernel, from a function `gram(x, y=None)` of tokens (n, columns), (m, columns) to numbers (n, m)."""

    source: GramSource
    columns: int
    seed: int = 0

    def nngp(self, x: np.ndarray) -> np.ndarray:
        """The Gram of sequences with themselves."""
        return self.source.gram(self.source.inputs(x)).copy()

    def tiles(self, x: np.ndarray, y: np.ndarray, *, rows: int, kind: str = "nngp") -> Iterator[tuple[slice, np.ndarray]]:
        """The Gram of sequences x with y, some rows at a time."""
        for start in range(0, len(x), rows):
            at = slice(start, min(start + rows, len(x)))
            yield at, self.source.between(self.source.inputs(x[at]), self.source.inputs(y))

    def diagonal(self, x: np.ndarray, kind: str = "nngp") -> np.ndarray:
        """The kernel of every sequence with itself."""
        return self.source.diagonal(self.source.inputs(x))

    def heads_drawn(self, kind: str = "nngp") -> int | None:
        """None: whether heads are drawn is up to the function."""
        return None


def own_gram(function: Callable[..., Any], columns: Any, seed: int) -> OwnGram:
    """A Gram function with the number of columns of its sequences, which it may know itself."""
    if columns is None:
        columns = getattr(function, "columns", getattr(getattr(function, "arch", None), "columns", None))
    if columns is None:
        raise InputError("A Gram function does not say how long its sequences are: give columns, the number of tokens of a sequence.")
    return OwnGram(GramSource(function), whole_number("columns", columns, 1), whole_number("seed", seed))


def _architectures(kernel: Any) -> Iterator[Architecture]:
    """The architecture of a kernel, or those of the parts of a sum or product of kernels."""
    owner = getattr(kernel, "__self__", kernel)
    if isinstance(getattr(owner, "arch", None), Architecture):
        yield owner.arch
    for part in ("left", "right"):
        if hasattr(owner, part):
            yield from _architectures(getattr(owner, part))


def _takes_masks(function: Any) -> bool:
    try:
        arguments = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    return {"mask", "mask_y"} <= set(arguments) or any(one.kind is inspect.Parameter.VAR_KEYWORD for one in arguments.values())


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
