"""How wide each part of a transformer is: what is finite is sampled or adapts, what is infinite is integrated out."""

from __future__ import annotations

from typing import Any, NamedTuple

from specht.checks import whole_number
from specht.errors import InputError, explains_calls


@explains_calls
class Widths(NamedTuple):
    """Sizes of the parts of a network; None where a part is infinitely wide."""

    embedding: int
    """Entries of the vectors of tokens and positions."""
    hidden: int | None = None
    """Width of the layers behind attention."""
    heads: int | None = None
    """Attention heads."""
    head_size: int | None = None
    """Size of queries, keys and values in a head."""

    def checked(self) -> Widths:
        """Return these widths, or raise an `InputError` that says which size is wrong."""
        embedding = whole_number("width (entries of the embedding)", self.embedding, at_least=1)
        others = [
            None if size is None else whole_number(name, size, at_least=1) for name, size in zip(self._fields[1:], self[1:], strict=True)
        ]
        if others[1] is not None and others[2] is None:
            raise InputError(f"{others[1]} heads need a head_size: finitely many heads are of finite size.")
        return Widths(embedding, *others)

    def describe(self) -> str:
        """In words, such as "embedding 16, hidden 16, 16 heads of size 8"."""
        words = [f"embedding {self.embedding}", "hidden layers infinite" if self.hidden is None else f"hidden {self.hidden}"]
        words.append("infinitely many heads" if self.heads is None else f"{self.heads} heads of size {self.head_size}")
        return ", ".join(words)


def widths_of(width: Any) -> Widths:
    """Sizes as users give them: `Widths`, or one number, with half as many heads of size 4, as networks of `specht predict` have them."""
    if isinstance(width, Widths):
        return width.checked()
    number = whole_number("width", width, at_least=1)
    return Widths(number, number, heads=max(1, number // 2), head_size=4)
