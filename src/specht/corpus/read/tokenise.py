r"""Text into tokens: small pure functions, and a table of them by name.

Every function gives the same tokens whether a text comes at once or in pieces that end at line ends. Two of them look at white space
across lines: `hold` says what of the white space at the end of a piece has to wait for what follows.

>>> words("Call me Ishmael. It's")
['call', 'me', 'ishmael', '.', "it's"]
>>> wikitext(" = Title = \n \n")
['=', 'Title', '=', '<eos>', '<eos>']
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal

import numpy as np

from specht.checks import whole_number
from specht.errors import InputError, unknown_choice
from specht.files import reading

LINE_END = "<eos>"
FASTA_ENDINGS = (".fa", ".fasta", ".fna", ".faa", ".ffn")
LONGEST_KMER = 7
"""Letters that fit into one 64-bit number."""
_INDENT = 8
"""Columns of indentation that are distinguished."""
_WORD = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")
_CODE = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|\n[ \t]*|[^\w\s]")
_BLANK_LINES = re.compile(r"\n\s*\n")
_UPPER = bytes(range(256)).upper()
_WHITE_BYTES = b" \t\n\r\v\f"

Tokens = list[str] | np.ndarray


@dataclasses.dataclass(frozen=True)
class Tokenisation:
    """How a file becomes tokens."""

    name: str
    about: str
    unit: Literal["text", "letters", "bytes", "ids"]
    """What it works on: decoded text, the letters of sequences, raw bytes, or arrays of ids."""
    split: Callable[[str], Tokens] | None = None
    """Text to tokens."""
    hold: Callable[[str], str] | None = None
    """White space at the end of a piece, as short as it may be, to be put before the next one."""
    leads: bool = False
    """Whether such white space belongs to the record that follows it, not to the one before."""
    sentences: bool = False
    """Whether full stops are tokens of their own, so that one knows where sentences end."""
    letters: int = 1
    """Letters that make a token, for sequences."""


def words(text: str) -> list[str]:
    """Words and single punctuation marks in lower case."""
    if text.isascii():
        return _WORD.findall(text.lower())
    # Outside ASCII a letter's lower case may be longer, and would then be cut differently: match first.
    return [word.lower() for word in _WORD.findall(text)]


def white(text: str) -> list[str]:
    """What stands between white space, as it is."""
    return text.split()


def wikitext(text: str) -> list[str]:
    """What stands between white space, and a token for each line end."""
    return text.replace("\n", f" {LINE_END} ").split()


def is_heading(line: str) -> bool:
    """Whether a line of WikiText is a heading of any level.

    >>> is_heading(" = = Plot = = \\n"), is_heading(" x = y \\n")
    (True, False)
    """
    line = line.strip()
    return line.startswith("=") and line.endswith("=")


def is_title(line: str) -> bool:
    """Whether a line has the form of a heading of level one.

    >>> is_title(" = Homarus gammarus = \\n"), is_title(" = = Plot = = \\n")
    (True, False)
    """
    parts = line.split()
    return len(parts) > 2 and parts[0] == parts[-1] == "=" and parts[1] != "=" and parts[-2] != "="


def wikitext_body(text: str) -> list[str]:
    """WikiText without headings, empty lines and line ends."""
    return [word for line in text.split("\n") if not is_heading(line) for word in line.split()]


def code_points(text: str) -> np.ndarray:
    """The characters of a text as numbers.

    >>> code_points("aé").tolist()
    [97, 233]
    """
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


def characters_cased(text: str) -> np.ndarray:
    """Characters as code points, each run of white space one blank.

    >>> "".join(map(chr, characters_cased("A \\n b")))
    'A b'
    """
    points = code_points(text)
    blank = _white()[points]
    follows = np.zeros(len(points), dtype=bool)
    follows[1:] = blank[1:] & blank[:-1]
    return np.where(blank, np.uint32(ord(" ")), points)[~follows]


def characters(text: str) -> np.ndarray:
    """The same in lower case."""
    return characters_cased(text.lower())


def ideographs(text: str) -> np.ndarray:
    """Characters as code points, white space left out."""
    points = code_points(text)
    return points[~_white()[points]]


@functools.cache
def _white() -> np.ndarray:
    """Which code points are white space."""
    table = np.zeros(0x110000, dtype=bool)
    table[[point for point in range(0x3001) if chr(point).isspace()]] = True
    return table


def code(text: str) -> list[str]:
    r"""Names, numbers, signs, and line starts with their indentation.

    >>> code("if x:\n\n    y1 += 2.5\n")
    ['if', 'x', ':', '\n    ', 'y1', '+', '=', '2.5', '\n']
    """
    tokens = _CODE.findall(_BLANK_LINES.sub("\n", text))
    return [_line_start(token) if token[0] == "\n" else token for token in tokens]


@functools.lru_cache(maxsize=256)
def _line_start(token: str) -> str:
    return "\n" + " " * min(_INDENT, len(token[1:].expandtabs(_INDENT)))


def _one_blank(run: str) -> str:
    return " " if run else ""


def _last_line_start(run: str) -> str:
    _, line_end, indent = run.rpartition("\n")
    return line_end + indent[:_INDENT]


def residues(sequence: bytes) -> bytes:
    """The letters of a sequence in upper case, without line ends.

    >>> residues(b"acg\\nT")
    b'ACGT'
    """
    return sequence.translate(_UPPER, _WHITE_BYTES)


def kmers(letters: bytes, size: int) -> np.ndarray:
    """Numbers of the non-overlapping k-mers from the first letter on, an incomplete one at the end left out.

    A k-mer's number has its letters as digits to base 256, the first one leading; `spell` gives them back.

    >>> [spell("kmer3", int(number)) for number in kmers(b"ATGGCAT", 3)]
    ['ATG', 'GCA']
    """
    digits = np.frombuffer(letters, dtype=np.uint8)
    if size == 1:
        return digits
    digits = digits[: len(digits) // size * size].reshape(-1, size)
    numbers = np.zeros(len(digits), dtype=np.int64)
    for column in range(size):
        numbers = (numbers << 8) | digits[:, column]
    return numbers


_TOKENISATIONS = (
    Tokenisation("word", "lower-cased words and punctuation marks", "text", words, sentences=True),
    Tokenisation("white", "what stands between white space", "text", white, sentences=True),
    Tokenisation("wikitext", "the same, and <eos> at every line end", "text", wikitext, sentences=True),
    Tokenisation("wikitext-body", "the same without headings and <eos>", "text", wikitext_body, sentences=True),
    Tokenisation("char", "lower-cased characters, white space as one blank", "text", characters, hold=_one_blank),
    Tokenisation("char-cased", "characters, white space as one blank", "text", characters_cased, hold=_one_blank),
    Tokenisation("cjk", "characters without white space", "text", ideographs),
    Tokenisation("code", "names, numbers, signs and indented line starts of a program", "text", code, hold=_last_line_start, leads=True),
    Tokenisation("byte", "raw bytes", "bytes"),
    Tokenisation("residue", "letters of DNA, RNA or proteins", "letters"),
    Tokenisation("ids", "whole numbers of a .npy file", "ids"),
)
TOKENISATIONS = {entry.name: entry for entry in _TOKENISATIONS}
"""Those without a setting; besides them there are `auto`, `kmerK` (kmer3) and `bpe`."""
NAMES = ("auto", *TOKENISATIONS, "kmer3", "bpe")


def is_fasta(path: str | Path) -> bool:
    """Whether a file's name says that it holds sequences.

    >>> is_fasta("genome.fna.gz"), is_fasta("book.txt")
    (True, False)
    """
    return str(path).lower().removesuffix(".gz").endswith(FASTA_ENDINGS)


def choose(path: str | Path) -> str:
    """The tokenisation that `auto` stands for, by the ending of a file's name.

    >>> [choose(path) for path in ("a.faa.gz", "a.npy", "a.py", "a.txt")]
    ['residue', 'ids', 'code', 'word']
    """
    name = str(path).lower()
    if is_fasta(name):
        return "residue"
    if name.endswith(".npy"):
        return "ids"
    return "code" if name.removesuffix(".gz").endswith(".py") else "word"


def tokenisation(name: str, path: str | Path = "", tokenizer: str | None = None) -> Tokenisation:
    """The tokenisation of a name for a file.

    Args:
        name: One of `NAMES`, or kmerK with a number K.
        path: The file, which decides what `auto` is.
        tokenizer: A tokenizer.json, for `bpe`.
    """
    if (tokenizer is not None) != (name == "bpe"):
        raise InputError(
            "The tokens bpe need a tokenizer: give the path of a tokenizer.json with --tokenizer."
            if tokenizer is None
            else f"A tokenizer ({tokenizer}) belongs to the tokens bpe, got {name!r}: leave one of them out."
        )
    if name == "auto":
        name = choose(path)
    if tokenizer is not None:
        return Tokenisation("bpe", "pieces of words by byte pair encoding", "text", _encoder(tokenizer))
    if name in TOKENISATIONS:
        return TOKENISATIONS[name]
    if size := re.fullmatch(r"kmer(-?\d+)", name, re.ASCII):
        letters = whole_number("K in kmerK", int(size[1]), at_least=1, at_most=LONGEST_KMER)
        return Tokenisation(name, f"non-overlapping runs of {letters} letters", "letters", letters=letters)
    raise unknown_choice("tokens", name, NAMES)


def spell(name: str, token: str | int, tokenizer: str | None = None) -> str:
    """A token as one reads it.

    >>> spell("char", 233), spell("residue", 65), spell("word", "sea"), spell("byte", 10), spell("ids", 7)
    ('é', 'A', 'sea', '0x0a', '7')
    """
    if isinstance(token, str):
        return token
    if name == "bpe" and tokenizer is not None:
        word = _load(tokenizer, _changed(tokenizer)).id_to_token(int(token))
        return f"{token}" if word is None else word
    kind = tokenisation(name) if name not in ("auto", "bpe") else None
    if kind is not None and kind.unit == "letters":
        return int(token).to_bytes(kind.letters, "big").decode("latin-1")
    if kind is not None and kind.unit == "text":
        return chr(token)
    return f"0x{token:02x}" if name == "byte" else f"{token}"


def _library() -> Any:
    try:
        import tokenizers  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise InputError("The tokens bpe need the library tokenizers, which is not installed: `pip install 'specht[corpora]'`.") from None
    return tokenizers


@functools.lru_cache(maxsize=8)
def _load(path: str, changed: int | None) -> Any:
    """A tokenizer from its file, which is read again if it was changed: every part of a corpus asks for it."""
    library = _library()
    with reading(path, "check the path given to --tokenizer"):
        text = Path(path).read_bytes()
    try:
        tokenizer = library.Tokenizer.from_str(text.decode("utf-8"))
    except Exception as error:  # the library raises nothing narrower
        raise InputError(f"{path} is not a tokenizer.json ({str(error).splitlines()[0]}): save one with the library tokenizers.") from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _changed(path: str) -> int | None:
    """When a file was changed; None if it is not there."""
    return os.stat(path).st_mtime_ns if os.path.exists(path) else None


def _encoder(path: str) -> Callable[[str], np.ndarray]:
    """Lines to ids. Each line is encoded by itself, its end included, so that nothing depends on how a text is cut."""
    tokenizer = _load(path, _changed(path))

    def encode(text: str) -> np.ndarray:
        ids = [tokenizer.encode(line, add_special_tokens=False).ids for line in text.splitlines(keepends=True)]
        return np.fromiter(itertools.chain.from_iterable(ids), dtype=np.int64)

    return encode


def train_bpe(texts: Iterable[str], types: int) -> str:
    """A byte-level BPE tokenizer with that many types, learned from texts, as the JSON of a tokenizer.json.

    The 256 bytes are among the types, so that any text can be encoded. The same texts give the same JSON.
    """
    library = _library()
    types = whole_number("types", types, at_least=256)
    tokenizer = library.Tokenizer(library.models.BPE())
    tokenizer.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = library.decoders.ByteLevel()
    trainer = library.trainers.BpeTrainer(
        vocab_size=types, initial_alphabet=sorted(library.pre_tokenizers.ByteLevel.alphabet()), show_progress=False, special_tokens=[]
    )
    lines = (line for text in texts for line in text.splitlines(keepends=True))
    tokenizer.train_from_iterator(lines, trainer)
    return json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False, sort_keys=True)
