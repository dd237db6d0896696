"""Files whose tokens are numbers: letters of DNA and proteins, one entry of which may be larger than memory, and arrays of ids.

Arrays are mapped and not loaded; no pickle is ever read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from specht.corpus.read.parts import FilePart, blocks
from specht.corpus.read.stream import Chunk
from specht.corpus.read.tokenise import is_fasta, kmers, residues
from specht.errors import InputError


def letter_chunks(part: FilePart, size: int, entries: bool, chunk_bytes: int) -> Iterator[Chunk]:
    """k-mers of the entries of a FASTA file, or of a file of letters; lines that begin with `>` are no letters."""
    fresh, header = True, False  # at the beginning of a line; within a header
    begun = not is_fasta(part.path)
    rest = b""  # letters of the entry that do not fill a k-mer yet
    entry = False  # the next token begins an entry
    for block in blocks(part, chunk_bytes):
        if b"\0" in block:
            raise InputError(f"{part.path} holds binary data, not sequences: read it with --tokens byte.")
        block = block.replace(b"\r", b"\n")
        pieces: list[np.ndarray] = []
        count = 0
        starts: list[int] = []
        place = 0
        while place < len(block):
            if header:
                end = block.find(b"\n", place)
                if end < 0:
                    break
                header, fresh, place = False, True, end + 1
            elif fresh and block[place] == ord(">"):
                header, begun, entry, rest = True, True, True, b""
                place += 1
            else:
                end = block.find(b"\n>", place)
                stop = len(block) if end < 0 else end + 1
                letters = residues(block[place:stop])
                if letters and not begun:
                    raise InputError(
                        f"{part.path} does not begin with '>', so it is no FASTA file: rename it, or add a line '>name' at its beginning."
                    )
                letters = rest + letters
                tokens = kmers(letters, size)
                rest = letters[len(tokens) * size :]
                if len(tokens):
                    starts += [count] * entry
                    entry = False
                    pieces.append(tokens)
                    count += len(tokens)
                fresh, place = block[stop - 1] == ord("\n"), stop
        places = np.array(starts, dtype=np.intp)
        if pieces:
            yield Chunk(np.concatenate(pieces), places if entries else places[:0], places)


def id_chunks(part: FilePart, rows: bool, chunk_bytes: int) -> Iterator[Chunk]:
    """The numbers of an array in a file."""
    array = _load(Path(part.path))
    return array_chunks(array, rows, max(1, chunk_bytes // array.dtype.itemsize), part.path)


def array_chunks(array: np.ndarray, rows: bool, size: int, name: str) -> Iterator[Chunk]:
    """The numbers of an array, about `size` at a time: a stream, or a record a row."""
    columns = array.shape[-1]
    table = array if array.ndim == 2 else array[None]
    for top in range(0, len(table), height := max(1, size // columns)):
        band = table[top : top + height]
        for left in range(0, columns, width := columns if height > 1 else size):
            values = np.asarray(band[:, left : left + width]).reshape(-1)
            if values.min() < 0 or values.max() > np.iinfo(np.int64).max:
                wrong = values.min() if values.min() < 0 else values.max()
                raise InputError(f"{name} holds {wrong}, which is no id: ids are whole numbers from 0 on, below 2^63.")
            starts = range(0, len(values) if rows and not left else 0, columns)
            yield Chunk(values.astype(np.int64), np.array(starts, dtype=np.intp))


def _load(path: Path) -> np.ndarray:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error}): check the path of the corpus.") from None
    except (ValueError, EOFError) as error:
        if "object" in str(error).lower() or "pickle" in str(error).lower():
            raise InputError(f"{path} holds Python objects (a pickle), which are never loaded: save ids as one integer array.") from None
        raise InputError(f"{path} is not a .npy file: save ids with numpy.save.") from None
    if not isinstance(array, np.ndarray):
        array.close()
        raise InputError(f"{path} is an archive of arrays: save one integer array with numpy.save.")
    if array.dtype.kind not in "iu":
        raise InputError(f"{path} holds values of type {array.dtype}, which are no ids: save whole numbers.")
    if array.ndim not in (1, 2):
        raise InputError(f"{path} holds an array of {array.ndim} dimensions: give a stream of ids (1) or one record a row (2).")
    if not array.size:
        raise InputError(f"{path} is empty: give an array with ids.")
    return array
