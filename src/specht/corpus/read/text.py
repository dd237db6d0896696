"""Files into a stream of tokens, a piece at a time: memory is bounded by the size of a piece, whatever the file.

The tokens, the records and the articles do not depend on how large the pieces are. What a window must not cross is decided here:
records are the entries of FASTA files, or lines, paragraphs or sentences where one asks for them, and always the parts themselves.
"""

from __future__ import annotations

import codecs
import dataclasses
import io
import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from specht.corpus.read.numbers import id_chunks, letter_chunks
from specht.corpus.read.parts import FilePart, blocks
from specht.corpus.read.stream import Chunk
from specht.corpus.read.tokenise import LINE_END, Tokenisation, Tokens, is_heading, is_title, tokenisation
from specht.errors import InputError, check_choice

RECORDS = ("auto", "none", "line", "paragraph", "sentence", "file")
LONGEST_LINE = 2**16
"""Characters after which a line is cut behind white space, or anywhere if it has none."""
_SENTENCE_ENDS = frozenset([".", "!", "?", "。", "！", "？", LINE_END])


@dataclasses.dataclass(frozen=True)
class ReadingOptions:
    """How a corpus is read; plain values only."""

    tokens: str = "auto"
    """A name of `specht.corpus.read.tokenise`."""
    records: str = "auto"
    """auto (entries of FASTA files, rows of arrays), none, line, paragraph, sentence or file."""
    encoding: str = "utf-8"
    tokenizer: str | None = None
    """The path of a tokenizer.json, for the tokens bpe."""

    def __post_init__(self) -> None:
        check_choice("records", self.records, RECORDS)


def read(part: FilePart, reading: ReadingOptions, chunk_bytes: int = 1 << 20) -> Iterator[Chunk]:
    """The tokens of a part, from pieces of about `chunk_bytes`. Its first token begins a record.

    Args:
        part: A file or a range of one.
        reading: Tokens, records and encoding.
        chunk_bytes: Bytes that are read at a time.
    """
    kind = tokenisation(reading.tokens, part.path, reading.tokenizer)
    array = part.path.lower().endswith(".npy")
    if array != (kind.unit == "ids") and kind.unit != "bytes":
        raise InputError(
            f"{part.path} holds ids, so the tokens {reading.tokens} cannot be made of it: leave --tokens at auto."
            if array
            else f"The tokens ids are read from .npy files, and {part.path} is none: leave --tokens at auto."
        )
    if reading.records in ("line", "paragraph", "sentence") and kind.unit != "text":
        raise InputError(f"Records by {reading.records} need text, and {part.path} is read as {kind.name}: leave --records at auto.")
    if reading.records == "sentence" and not kind.sentences:
        raise InputError(f"Records by sentence need words, and {part.path} is read as {kind.name}: choose --tokens word.")
    if kind.unit == "ids":
        chunks = id_chunks(part, reading.records == "auto", chunk_bytes)
    elif kind.unit == "bytes":
        chunks = (Chunk(np.frombuffer(block, dtype=np.uint8)) for block in blocks(part, chunk_bytes))
    elif kind.unit == "letters":
        chunks = letter_chunks(part, kind.letters, reading.records == "auto", chunk_bytes)
    else:
        chunks = _text(part, kind, reading, chunk_bytes)
    yield from _marked(chunks)


def _marked(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """Chunks with tokens, the very first of which begins a record."""
    first = True
    for chunk in chunks:
        if not len(chunk):
            continue
        if first and not (len(chunk.records) and chunk.records[0] == 0):
            chunk = dataclasses.replace(chunk, records=np.concatenate([[0], chunk.records]).astype(np.intp))
        first = False
        yield chunk


# Text: bytes, then characters, then whole lines, then stretches that begin records or articles, then tokens.


def _text(part: FilePart, kind: Tokenisation, reading: ReadingOptions, chunk_bytes: int) -> Iterator[Chunk]:
    pieces = _pieces(_decoded(part, reading.encoding, chunk_bytes), LONGEST_LINE)
    if kind.name == "wikitext":
        pieces = _ended(pieces)
    titles = kind.name in ("wikitext", "wikitext-body")
    if titles or reading.records in ("line", "paragraph"):
        batches = _stretches(pieces, reading.records, titles, body=kind.name == "wikitext-body")
    else:
        batches = ([_Stretch(piece)] for piece in pieces)
    chunks = _tokens(batches, kind, after_cut=part.start > 0, before_cut=part.stop is not None)
    return _sentences(chunks) if reading.records == "sentence" else chunks


def _decoded(part: FilePart, encoding: str, chunk_bytes: int) -> Iterator[str]:
    """Text with `\\n` as the only line end and without a byte order mark."""
    try:
        ascii_like = "a\n".encode(encoding) == b"a\n"
        utf8 = codecs.lookup(encoding).name == "utf-8"
        decoder = codecs.getincrementaldecoder("utf-8-sig" if utf8 and not part.start else encoding)()
    except (LookupError, UnicodeError):
        raise InputError(f"Unknown encoding {encoding!r}: give one that Python knows, such as utf-8, latin-1 or utf-16.") from None
    lines = io.IncrementalNewlineDecoder(decoder, translate=True)
    place = part.start
    binary = InputError(f"{part.path} holds binary data, not text: read it with --tokens byte.")

    def decode(block: bytes, final: bool = False) -> str:
        try:
            return lines.decode(block, final=final)
        except UnicodeDecodeError as error:
            # Counted from the end, since the decoder may have kept bytes of the last block.
            wrong = place - len(error.object) + error.start
            where = f"offset {wrong} of the decompressed text" if part.path.lower().endswith(".gz") else f"offset {wrong}"
            raise InputError(
                f"{part.path} is not {encoding} text (byte 0x{error.object[error.start]:02x} at {where}): "
                "give its encoding with --encoding."
            ) from None
        except UnicodeError as error:  # no byte order mark, for example
            raise InputError(f"{part.path} is not {encoding} text ({error}): give its encoding with --encoding.") from None

    for block in blocks(part, chunk_bytes):
        if ascii_like and b"\0" in block:
            raise binary
        place += len(block)
        if text := decode(block):
            if "\0" in text:
                raise binary
            yield text
    if text := decode(b"", final=True):
        yield text


def _pieces(texts: Iterable[str], longest: int) -> Iterator[str]:
    """The same text in pieces of whole lines; the last line may lack its end, and overlong lines come in pieces of their own.

    Where an overlong line is cut depends on the line only.
    """
    carry = ""
    for text in texts:
        text = carry + text
        begin = place = 0  # what is not given away yet, and the line that is looked at
        while len(text) - place > longest:
            end = text.rfind("\n", place, place + longest + 1)
            if end >= 0:
                place = end + 1
                continue
            if place > begin:
                yield text[begin:place]
            cut = place + _behind_white(text[place : place + longest])
            yield text[place:cut]
            begin = place = cut
        place = max(place, text.rfind("\n", place) + 1)
        if place > begin:
            yield text[begin:place]
        carry = text[place:]
    if carry:
        yield carry


def _behind_white(text: str) -> int:
    """The place behind the last white space, or the end if there is none."""
    if text[-1].isspace():
        return len(text)
    return len(text) - len(text.rsplit(None, 1)[-1]) or len(text)


def _ended(pieces: Iterable[str]) -> Iterator[str]:
    """The same pieces; the last line gets an end if it has none."""
    last = "\n"
    for last in pieces:
        yield last
    if not last.endswith("\n"):
        yield "\n"


class _Stretch(NamedTuple):
    """Text that is in one record and in one article."""

    text: str
    record: bool = False
    article: bool = False


def _lines(piece: str) -> list[str]:
    """Lines with their ends, cut at `\\n` only."""
    lines = [line + "\n" for line in piece.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _stretches(pieces: Iterable[str], records: str, titles: bool, body: bool) -> Iterator[list[_Stretch]]:
    """Lines, in batches: records begin with every line that is not empty, or behind empty ones.

    In WikiText an article begins with a title that stands between empty lines: elsewhere such a line belongs to a formula. A title waits
    for the line that follows it. The body has neither headings nor empty lines.
    """
    blank, whole = True, True
    waiting: str | None = None

    def title(line: str, article: bool) -> _Stretch:
        return _Stretch("" if body else line, record=records in ("line", "paragraph"), article=article)

    for piece in pieces:
        batch = []
        for line in _lines(piece):
            empty = whole and line.isspace()
            if waiting is not None:
                batch.append(title(waiting, article=empty))
                blank, waiting = False, None
            ended = line.endswith("\n")
            if titles and whole and ended and blank and is_title(line):
                waiting = line
            else:
                begins = whole and not empty and (records == "line" or (records == "paragraph" and blank))
                dropped = body and whole and (empty or is_heading(line))
                batch.append(_Stretch("" if dropped else line, record=begins))
                blank = empty
            whole = ended
        yield batch
    if waiting is not None:
        yield [title(waiting, article=True)]


def _tokens(batches: Iterable[list[_Stretch]], kind: Tokenisation, after_cut: bool, before_cut: bool) -> Iterator[Chunk]:
    """Stretches into tokens, with the places where records and articles begin.

    Where a file is cut into parts the white space at the cut goes to the part behind it, so that the parts together have the
    tokens of the file.
    """
    split, hold = kind.split, kind.hold
    assert split is not None
    held = "\n" if after_cut and hold else ""
    record = article = False  # begins with the next token
    for batch in batches:
        pieces: list[Tokens] = []
        count = 0
        records: list[int] = []
        articles: list[int] = []
        for stretch in batch:
            if stretch.record and held and not kind.leads:
                pieces.append(split(held))
                count += len(pieces[-1])
                held = ""
            record, article = record or stretch.record, article or stretch.article
            text = held + stretch.text
            if hold is not None:
                ready = text.rstrip()
                held = hold(text[len(ready) :])
                text = ready
            if text and len(tokens := split(text)):
                records += [count] * record
                articles += [count] * article
                record = article = False
                pieces.append(tokens)
                count += len(tokens)
        yield Chunk(_joined(pieces), np.array(records, dtype=np.intp), np.array(articles, dtype=np.intp))
    if held and not before_cut:
        yield Chunk(split(held))


def _joined(pieces: list[Tokens]) -> Tokens:
    if len(pieces) == 1:
        return pieces[0]
    if pieces and isinstance(pieces[0], np.ndarray):
        return np.concatenate(pieces)
    return list(itertools.chain.from_iterable(pieces))


def _sentences(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """A record begins behind full stops, question and exclamation marks."""
    ended = False
    for chunk in chunks:
        if not len(chunk):
            continue
        ends = np.fromiter(map(_SENTENCE_ENDS.__contains__, chunk.tokens), dtype=bool, count=len(chunk))
        behind = np.concatenate([[ended], ends[:-1]])
        ended = bool(ends[-1])
        yield dataclasses.replace(chunk, records=np.flatnonzero(behind & ~ends))
