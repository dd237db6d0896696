"""A Gram matrix that is a NumPy array and says how it was made."""

from __future__ import annotations

from typing import Any

import numpy as np


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
