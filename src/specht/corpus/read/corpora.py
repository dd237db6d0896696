"""What people call a corpus: a file, a folder, a pattern, a name, standard input, or tokens in memory."""

from __future__ import annotations

import dataclasses
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from specht.arrays import as_numpy
from specht.corpus.read.named import NAMED, named_parts
from specht.corpus.read.numbers import array_chunks
from specht.corpus.read.parts import FilePart, find_parts, fingerprint, spool
from specht.corpus.read.stream import Chunk
from specht.corpus.read.text import ReadingOptions, read
from specht.corpus.read.tokenise import NAMES, is_fasta
from specht.errors import InputError
from specht.sequences import booleans, split_batch

DEFAULT = "stdlib"
"""The source of the running Python's standard library: a corpus that every machine has."""
STANDARD_INPUT = "-"
_PIECE = 2**18
"""Tokens in memory that are handed on at a time."""


@dataclasses.dataclass(frozen=True)
class Corpus:
    """Parts that are read one by one, so that windows never cross from one to the next."""

    name: str
    parts: tuple[Any, ...]
    """Parts of files, or arrays of ids."""
    reading: ReadingOptions

    def read(self, number: int) -> Iterator[Chunk]:
        """The tokens of a part."""
        part = self.parts[number]
        return read(part, self.reading) if isinstance(part, FilePart) else array_chunks(part, True, _PIECE, self.name)

    @property
    def tokens(self) -> str:
        """The tokenisation, by the name that it was asked for."""
        return self.reading.tokens

    def as_json(self) -> dict[str, Any]:
        """What a worker needs to open the same corpus."""
        return {"name": self.name, "parts": [dataclasses.astuple(part) for part in self.parts], "reading": dataclasses.asdict(self.reading)}

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Corpus:
        """The corpus that `as_json` described."""
        return cls(fields["name"], tuple(FilePart(*part) for part in fields["parts"]), ReadingOptions(**fields["reading"]))

    def fingerprint(self) -> str:
        """A digest of the content of its files, wherever they lie."""
        return fingerprint(self.parts)


def open_corpus(
    source: Any = None,
    *,
    tokens: str = "auto",
    records: str = "auto",
    encoding: str = "utf-8",
    tokenizer: str | None = None,
    download: bool = False,
    standard_input: Path | None = None,
) -> Corpus:
    """Find a corpus.

    Arguments:
        source: a path, a folder, a pattern such as `texts/*.txt`, a name of `specht.corpus.read.named`, `-` for standard input, an array of
            ids (n,) or (records, n), or None for the source of the standard library. A tokenisation may stand before it: `char:file.txt`.
        tokens, records, encoding, tokenizer: see `specht.corpus.read.text.ReadingOptions`.
        download: whether a corpus that is known by name may be fetched.
        standard_input: the file that `-` stands for, see `spool_standard_input`.
    """
    if source is not None and not isinstance(source, (str, os.PathLike)):
        return Corpus("tokens", _arrays(source), ReadingOptions("ids"))
    name = DEFAULT if source is None else os.fspath(source)
    before, path = split_name(name)
    tokens = tokens if before in ("", "auto") else before
    if tokens == "bpe" and tokenizer is None:
        raise InputError("The tokens bpe need a tokenizer: give the path of a tokenizer.json with --tokenizer.")
    if path in NAMED and not Path(path).exists():
        parts, reading = named_parts(path, download)
        changes = {name: value for name, value in (("tokens", tokens), ("records", records)) if value != "auto"}
        return Corpus(name, tuple(parts), dataclasses.replace(reading, tokenizer=tokenizer, **changes))
    reading = ReadingOptions(tokens, records, encoding, tokenizer)
    if path == STANDARD_INPUT:
        if standard_input is None:
            raise InputError("Standard input has to be kept in a file, since a corpus is read twice: see spool_standard_input.")
        return Corpus(name.removeprefix("auto:"), tuple(find_parts(standard_input, encoding)), reading)
    return Corpus(name, tuple(find_parts(path, encoding)), reading)


def has_articles(corpus: Corpus) -> bool:
    """Whether it is known what belongs together, so that shuffling inside articles says something: headings, entries, or several files."""
    part = corpus.parts[0]
    marked = corpus.tokens.startswith("wikitext") or (isinstance(part, FilePart) and is_fasta(part.path))
    return marked or len({part.path for part in corpus.parts if isinstance(part, FilePart)}) > 1


def spool_standard_input(folder: Path) -> Path:
    """The file that standard input is kept in."""
    if sys.stdin is None:
        raise InputError("There is no standard input: pipe text into the command, or give a file.")
    return spool(sys.stdin.buffer, folder)


def split_name(name: str) -> tuple[str, str]:
    """A tokenisation before a colon, and the rest.

    >>> split_name("char:a.txt"), split_name("C:a.txt"), split_name("kmer3:-")
    (('char', 'a.txt'), ('', 'C:a.txt'), ('kmer3', '-'))
    """
    before, colon, path = name.partition(":")
    known = before in NAMES or re.fullmatch(r"kmer\d+", before)
    return (before, path) if colon and known and not Path(name).exists() else ("", name)


def _arrays(tokens: Any) -> tuple[np.ndarray, ...]:
    """Ids in memory: one stream, or one record a row. A list or a series of sequences is one record each; padding is left out."""
    ids, mask = split_batch(tokens, None, "tokens")
    rows = _records(ids)
    if mask is not None:
        rows = _without_padding(rows, [booleans(row, "the attention_mask of tokens") for row in _records(mask)])
    if any(row.ndim == 0 for row in rows):
        raise InputError(f"A corpus is a path, a name or an array of ids, got {type(tokens).__name__}: give one of these.")
    if any(row.ndim not in (1, 2) or (row.size and not np.issubdtype(row.dtype, np.integer)) for row in rows):
        raise InputError(f"tokens must be whole numbers, shape (n,) or (records, n), got {rows[0].dtype} of shape {rows[0].shape}.")
    if any(row.size and row.min() < 0 for row in rows):
        raise InputError("tokens must be whole numbers of at least 0, and some are negative.")
    if any(row.size and row.max() > np.iinfo(np.int64).max for row in rows):
        raise InputError("tokens must be whole numbers below 2^63, and some are larger.")
    if not sum(row.size for row in rows):
        raise InputError("There are no tokens: give at least a few windows of them.")
    return tuple(row for row in rows if row.size)


def _records(values: Any) -> list[np.ndarray]:
    """One array of any shape, or one a sequence where their lengths may differ."""
    if getattr(getattr(values, "dtype", None), "kind", "") == "O":  # a series of lists, or an array of arrays
        values = list(values)
    unequal = "tokens must be whole numbers in a row, or rows of them."
    if isinstance(values, (list, tuple)) and len(values) and hasattr(values[0], "__len__") and not isinstance(values[0], str):
        rows = [as_numpy(row, "tokens", unequal) for row in values]
        if all(row.ndim == 1 for row in rows):
            return rows
    return [as_numpy(values, "tokens", unequal)]


def _without_padding(rows: list[np.ndarray], real: list[np.ndarray]) -> list[np.ndarray]:
    if [row.shape for row in rows] != [row.shape for row in real]:
        raise InputError("The attention_mask of tokens has another shape than they have: give one entry a token.")
    if all(row.all() for row in real):
        return rows  # a table stays one
    return [
        record[shown] for row, mask in zip(rows, real, strict=True) for record, shown in zip(*map(np.atleast_2d, (row, mask)), strict=True)
    ]
