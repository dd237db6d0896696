"""What a kernel returns, and how kernels add and multiply: with each other, with numbers, and with any function of two batches."""

from __future__ import annotations

import numbers
from typing import Any, Literal

import numpy as np

from specht.errors import InputError


class Gram(np.ndarray):
    """A float64 array of kernel values with its standard error; what is computed from it is an ordinary array.

    >>> gram = Gram.of(np.eye(2), stderr=None, heads=None)
    >>> isinstance(gram, np.ndarray), gram.stderr, type(gram + 1).__name__, type(gram[0]).__name__
    (True, None, 'ndarray', 'ndarray')
    """

    stderr: np.ndarray | None
    """Standard error of every entry; None where the kernel is exact."""
    heads: int | None
    """Heads that were drawn; None where the kernel is exact."""

    @classmethod
    def of(cls, values: np.ndarray, stderr: np.ndarray | None, heads: int | None) -> Gram:
        """The array with its error."""
        gram = np.ascontiguousarray(values).view(cls)
        gram.stderr, gram.heads = stderr, heads
        return gram

    def __array_finalize__(self, source: Any) -> None:
        self.stderr, self.heads = None, None

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        plain = [part.view(np.ndarray) if isinstance(part, Gram) else part for part in inputs]
        if out is not None:  # in place: the numbers change, so the error no longer belongs to them
            for part in out:
                if isinstance(part, Gram):
                    part.stderr = None
            options["out"] = tuple(part.view(np.ndarray) if isinstance(part, Gram) else part for part in out)
        result = getattr(ufunc, method)(*plain, **options)
        return out[0] if out is not None and len(out) == 1 else result

    def __getitem__(self, key: Any) -> Any:
        return self.view(np.ndarray)[key]

    def __repr__(self) -> str:
        error = "exact" if self.stderr is None else f"standard error up to {np.max(self.stderr):.2g} from {self.heads} heads"
        return f"Gram {self.shape}, {error}:\n{np.array2string(self.view(np.ndarray), threshold=36, precision=4)}"


class Composable:
    """What can be added and multiplied: sums and products of kernels are kernels."""

    def __add__(self, other: Any) -> Combination:
        return _combined("+", self, other)

    def __radd__(self, other: Any) -> Combination:
        return _combined("+", other, self)

    def __mul__(self, other: Any) -> Combination:
        return _combined("*", self, other)

    def __rmul__(self, other: Any) -> Combination:
        return _combined("*", other, self)


class Combination(Composable):
    """The sum or the product of two kernels, functions or numbers.

    >>> from specht import Architecture, Kernel
    >>> twice = 2 * Kernel(Architecture(vocab=2, length=3)) + 1
    >>> twice([[0, 1, 1, 0], [1, 0, 0, 1]]).tolist()
    [[31.0, 13.0], [13.0, 31.0]]
    """

    def __init__(self, operation: Literal["+", "*"], left: Any, right: Any) -> None:
        self.operation, self.left, self.right = operation, left, right

    def __repr__(self) -> str:
        return f"({self.left!r} {self.operation} {self.right!r})"

    def __call__(self, x: Any, y: Any = None, **masks: Any) -> Gram:
        return self._join(*(_evaluate(part, x, y, masks) for part in (self.left, self.right)))

    def diagonal(self, x: Any, *, mask: Any = None) -> Gram:
        """k(x, x) of every sequence."""
        return self._join(*(_diagonal(part, x, mask) for part in (self.left, self.right)))

    def _join(self, left: Any, right: Any) -> Gram:
        """Errors add up at the worst: parts with one seed share their heads."""
        errors = [getattr(part, "stderr", None) for part in (left, right)]
        heads = max((getattr(part, "heads", None) or 0 for part in (left, right)), default=0) or None
        plain = [np.asarray(part) for part in (left, right)]
        if plain[0].ndim and plain[1].ndim and plain[0].shape != plain[1].shape:
            raise InputError(
                f"The parts of {self!r} returned shapes {plain[0].shape} and {plain[1].shape}: return one entry a pair of sequences."
            )
        value = plain[0] + plain[1] if self.operation == "+" else plain[0] * plain[1]
        if errors[0] is None and errors[1] is None:
            return Gram.of(value, None, None)
        first, second = (0.0 if error is None else error for error in errors)
        stderr = first + second if self.operation == "+" else np.abs(plain[1]) * first + np.abs(plain[0]) * second
        return Gram.of(value, np.broadcast_to(stderr, value.shape).copy(), heads)


def _combined(operation: Literal["+", "*"], left: Any, right: Any) -> Combination:
    for part in (left, right):
        if isinstance(part, numbers.Real):
            if not 0.0 <= float(part) < float("inf"):
                raise InputError(f"A kernel takes finite factors and offsets of at least 0, got {part!r}: others make no covariance.")
        elif not callable(part):
            raise InputError(f"A kernel is added to and multiplied by kernels, functions of two batches, or numbers, got {part!r}.")
    return Combination(operation, left, right)


def _evaluate(part: Any, x: Any, y: Any, masks: dict[str, Any]) -> Any:
    if isinstance(part, numbers.Real):
        return np.float64(part)
    known = {name: mask for name, mask in masks.items() if mask is not None}
    return _checked(part, part(x, **known) if y is None else part(x, y, **known))


def _diagonal(part: Any, x: Any, mask: Any) -> Any:
    if isinstance(part, numbers.Real):
        return np.float64(part)
    masks = {} if mask is None else {"mask": mask}
    if hasattr(part, "diagonal"):
        return part.diagonal(x, **masks)
    return np.diagonal(_checked(part, part(x, **masks)))


def _checked(part: Any, gram: Any) -> Any:
    """What somebody's function returned, if it is a covariance."""
    if isinstance(gram, Gram):
        return gram
    values = np.asarray(gram, dtype=np.float64)
    if not np.isfinite(values).all():
        name = getattr(part, "__name__", type(part).__name__)
        raise InputError(f"Gram function {name} returned numbers that are not finite: return finite covariances.")
    return values
