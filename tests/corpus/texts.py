"""Files of text, and the tokens that are read from them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from specht.corpus.read.parts import FilePart
from specht.corpus.read.text import ReadingOptions, read


def stream(parts: FilePart | list[FilePart], reading: ReadingOptions, chunk_bytes: int = 1 << 20) -> tuple[list, list[int], list[int]]:
    """Tokens, and where records and articles begin, of parts one after the other."""
    tokens: list = []
    records: list[int] = []
    articles: list[int] = []
    for part in [parts] if isinstance(parts, FilePart) else parts:
        for number, chunk in enumerate(read(part, reading, chunk_bytes)):
            assert len(chunk)
            assert number or chunk.records[0] == 0
            for found, places in ((records, chunk.records), (articles, chunk.articles)):
                assert np.all(np.diff(places) > 0)
                assert not len(places) or (places[0] >= 0 and places[-1] < len(chunk))
                found.extend(len(tokens) + place for place in places.tolist())
            tokens.extend(chunk.tokens if isinstance(chunk.tokens, list) else chunk.tokens.tolist())
    return tokens, records, articles


def saved(folder: Path, data: bytes, name: str = "text.txt") -> FilePart:
    path = folder / name
    path.write_bytes(data)
    return FilePart(str(path))
