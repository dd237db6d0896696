"""Sequences of letters, DNA or proteins, from FASTA files of any size: one entry may be larger than memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from specht.corpus.read.chunks import Chunk
from specht.corpus.read.parts import FilePart, blocks
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
        found: list[np.ndarray] = []
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
                    found.append(tokens)
                    count += len(tokens)
                fresh, place = block[stop - 1] == ord("\n"), stop
        places = np.array(starts, dtype=np.intp)
        if found:
            yield Chunk(np.concatenate(found), places if entries else places[:0], places)
