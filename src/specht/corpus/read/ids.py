"""Streams of ids from .npy files, which are mapped and not loaded; no pickle is ever read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from specht.corpus.read.chunks import Chunk
from specht.corpus.read.parts import FilePart
from specht.errors import InputError


def id_chunks(part: FilePart, rows: bool, chunk_bytes: int) -> Iterator[Chunk]:
    """The numbers of an array: a stream, or a record a row."""
    array = _load(Path(part.path))
    size = max(1, chunk_bytes // array.dtype.itemsize)
    columns = array.shape[-1]
    table = array if array.ndim == 2 else array[None]
    first = True
    for top in range(0, len(table), height := max(1, size // columns)):
        band = table[top : top + height]
        for left in range(0, columns, width := columns if height > 1 else size):
            values = np.asarray(band[:, left : left + width]).reshape(-1)
            if values.min() < 0 or values.max() > np.iinfo(np.int64).max:
                wrong = values.min() if values.min() < 0 else values.max()
                raise InputError(f"{part.path} holds {wrong}, which is no id: ids are whole numbers from 0 on, below 2^63.")
            starts = range(0, len(values), columns) if rows and not left else range(1) if first else range(0)
            first = False
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
