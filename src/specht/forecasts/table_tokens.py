"""Sequences of a table: what texts are cut into, tokens as numbers, and their arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

OTHER = "<other>"


def cut_into(cells: Iterable[Any], tokens: str = "auto") -> str:
    """words where at least half of the texts have a space between others, characters where fewer have.

    >>> cut_into(["a b", "b a c", "c"]), cut_into(["acgt", "de la Cruz", "ttg"])
    ('words', 'characters')
    """
    if tokens != "auto":
        return tokens
    texts = [text for cell in cells if isinstance(cell, str) and (text := cell.strip())]
    spaced = sum(has_space(text) for text in texts)
    return "words" if spaced and 2 * spaced >= len(texts) else "characters"


def has_space(text: str) -> bool:
    """Whether there is a space, of any kind, between other characters."""
    return len(text.split(maxsplit=1)) > 1


class TokenNumbers:
    """Numbers of tokens, in the order in which they come up: texts are cut, and whole numbers are tokens by their digits.

    >>> numbers = TokenNumbers("words")
    >>> numbers.encode("to be or not to be"), numbers.encode(["be", 7])
    (array([0, 1, 2, 3, 0, 1], dtype=int32), array([1, 4], dtype=int32))
    >>> numbers.encode([])
    'no sequence'
    """

    def __init__(self, cut: str) -> None:
        self.cut = cut
        self._of_text = _TextNumbers()
        self._of_integer = _IntegerNumbers(self._of_text)

    @property
    def names(self) -> list[str]:
        return list(self._of_text)

    def encode(self, cell: Any) -> np.ndarray | str:
        """The tokens of a cell, or what is wrong with it."""
        if isinstance(cell, np.ndarray) and cell.dtype.kind in "iu" and cell.ndim == 1:
            return _array(map(self._of_integer.__getitem__, cell.tolist()), len(cell))
        if isinstance(cell, str):
            words = cell.split() if self.cut == "words" else cell.strip()
            return _array(map(self._of_text.__getitem__, words), len(words))
        if cell is None:
            return _array((), 0)
        items = cell.tolist() if isinstance(cell, np.ndarray) else cell
        return self._encode_items(items if isinstance(items, list) else [items])

    def _encode_items(self, items: list[Any]) -> np.ndarray | str:
        kinds = set(map(type, items))
        if kinds == {int}:
            return _array(map(self._of_integer.__getitem__, items), len(items))
        for item in items if kinds != {str} else ():
            if not isinstance(item, bool | int | str) and not (isinstance(item, float) and item.is_integer()):
                return f"a sequence holds {item!r}, and tokens are texts or whole numbers"
        return _array((self._of_text[str(int(item)) if isinstance(item, float) else str(item)] for item in items), len(items))


class _TextNumbers(dict[str, int]):
    def __missing__(self, text: str) -> int:
        self[text] = number = len(self)
        return number


class _IntegerNumbers(dict[int, int]):
    def __init__(self, of_text: _TextNumbers) -> None:
        super().__init__()
        self._of_text = of_text

    def __missing__(self, value: int) -> int:
        self[value] = number = self._of_text[str(value)]
        return number


def _array(numbers: Iterable[int], count: int) -> np.ndarray | str:
    return np.fromiter(numbers, dtype=np.int32, count=count) if count else "no sequence"


class TokenArrays(NamedTuple):
    """Tokens as `SequenceTable` has them."""

    tokens: np.ndarray
    mask: np.ndarray
    vocabulary: tuple[str, ...]
    other_share: float


def token_arrays(sequences: Sequence[np.ndarray], names: Sequence[str], vocab: int, max_length: int, keep: str) -> TokenArrays:
    """Sequences as arrays that are aligned at their end, with tokens numbered by how frequent they are."""
    kept = [ids[-max_length:] if keep == "last" else ids[:max_length] for ids in sequences]
    flat, lengths = np.concatenate(kept), np.array([len(ids) for ids in kept])
    counts = np.bincount(flat, minlength=len(names)).tolist()
    order = sorted((number for number, count in enumerate(counts) if count), key=lambda number: (-counts[number], names[number]))
    common = order if len(order) <= vocab else order[: vocab - 1]
    place = np.full(len(names), len(common), dtype=np.int32)
    place[common] = np.arange(len(common))
    columns = max(2, int(lengths.max()))  # a context position and a readout column
    mask = np.arange(columns) >= (columns - lengths)[:, None]
    tokens = np.zeros(mask.shape, dtype=np.int32)
    tokens[mask] = place[flat]
    others = len(flat) - sum(counts[number] for number in common)
    vocabulary = (*(names[number] for number in common), *([OTHER] if len(common) < len(order) else []))
    return TokenArrays(tokens, mask, vocabulary, others / len(flat))


def number_of_types(sequences: Sequence[np.ndarray], names: Sequence[str]) -> int:
    """How many different tokens there are."""
    present = np.zeros(len(names), dtype=bool)
    for ids in sequences:
        present[ids] = True
    return int(present.sum())
