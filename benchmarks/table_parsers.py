"""How the tables of `tables.toml` are read from the files of their repositories: one function a format, which yields texts and labels."""

import csv
import gzip
import hashlib
import io
import json
import re
import zipfile
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from math import log, log1p

import numpy as np

PACES = (1 / 60, 0.25, 1, 6, 24, 72, 168, 336)
"""Hours between events that letters tell apart."""

Rows = Iterator[tuple[str, str]]
Source = Sequence[tuple[str, bytes]]
"""Paths and what they hold."""


def hashed(text: str | bytes) -> str:
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def opened(path: str, content: bytes, member: str | None = None) -> bytes:
    """What a file holds, out of the archive it may be in."""
    if path.endswith(".zip"):
        return zipfile.ZipFile(io.BytesIO(content)).read(member or "")
    return gzip.decompress(content) if path.endswith(".gz") else content


def lines(path: str, content: bytes, encoding: str = "utf-8") -> list[str]:
    return opened(path, content).decode(encoding).splitlines()


def delimited(source: Source, text: str | list[str], label: str, delimiter: str = ",", member: str | None = None) -> Rows:
    """A column of texts, or several to be joined, beside a column of labels."""
    columns = [text] if isinstance(text, str) else text
    for path, content in source:
        found = csv.DictReader(io.StringIO(opened(path, content, member).decode("utf-8-sig"), newline=""), delimiter=delimiter)
        yield from (("".join(row[column] for column in columns), row[label]) for row in found)


def label_first(source: Source) -> Rows:
    """Lines that begin with their label."""
    for path, content in source:
        yield from ((text, label) for label, _, text in (line.partition(" ") for line in lines(path, content, "latin-1")))


def file_a_class(source: Source, classes: list[str], first: list[int] | None = None) -> Rows:
    """Files of texts, one class each, of which only so many lines may count."""
    for number, (path, content) in enumerate(source):
        yield from ((text, classes[number]) for text in lines(path, content)[: first[number] if first else None])


def side_by_side(source: Source, classes: list[str]) -> Rows:
    """A file of texts, and one of the numbers of their classes, from one."""
    texts, labels = (lines(path, content) for path, content in source)
    yield from ((text, classes[int(label) - 1]) for text, label in zip(texts, labels, strict=True))


def fasta(source: Source, classes: list[str] | None = None) -> Rows:
    """Sequences under headers; the class is the file's, or else the header."""
    for number, (path, content) in enumerate(source):
        for entry in ("\n" + "\n".join(lines(path, content))).split("\n>")[1:]:
            header, *parts = entry.splitlines()
            yield "".join(parts).upper(), classes[number] if classes else header.strip()


def spreadsheet(source: Source) -> Rows:
    """Two columns of a sheet without a header: a sequence and its class."""
    for _, content in source:
        book = zipfile.ZipFile(io.BytesIO(content))
        shared = re.findall(r"<t[^>]*>([^<]*)</t>", book.read("xl/sharedStrings.xml").decode())
        cells = re.findall(r'<c r="([AB])\d+"[^>]*><v>([^<]*)</v>', book.read("xl/worksheets/sheet1.xml").decode())
        for (_, text), (_, label) in zip(cells[::2], cells[1::2], strict=True):
            yield shared[int(text)].strip(), label


def arrays(source: Source) -> Rows:
    """One array of sequences and one of numbers above 0, of which logarithms are taken."""
    texts, labels = (np.load(io.BytesIO(content), allow_pickle=False).ravel() for _, content in source)
    yield from ((str(text).upper(), f"{log(float(label)):.6f}") for text, label in zip(texts, labels, strict=True))


def intents(source: Source) -> Rows:
    """Requests in pieces, by intent."""
    for _, content in source:
        try:
            text = content.decode()
        except UnicodeDecodeError:  # one of the files
            text = content.decode("latin-1")
        for intent, requests in json.loads(text).items():
            yield from (("".join(piece["text"] for piece in request["data"]), intent) for request in requests)


def receptors(source: Source, epitopes: list[str]) -> Rows:
    """Beta chains of receptors, by what they bind."""
    for path, content in source:
        for row in csv.DictReader(lines(path, content), delimiter="\t"):
            if row["antigen.epitope"] in epitopes:
                yield row["cdr3.beta"], row["antigen.epitope"]


def stresses(source: Source) -> Rows:
    """Words of letters, and which of their syllables is stressed."""
    for path, content in source:
        for word, *phones in (line.split("#")[0].split() for line in lines(path, content)):
            vowels = [phone[-1] for phone in phones if phone[-1].isdigit()]
            if word.isalpha() and vowels.count("1") == 1:
                yield word, str(vowels.index("1") + 1)


def cases(source: Source, label: str) -> Rows:
    """Beginnings of cases, one each, cut at a place that hangs on a hash: the day and hour of the first event, then every event with a
    letter for how long it took to come. The label is the event that follows or the logarithm of the days still to go."""
    for path, content in source:
        found: dict[str, list[tuple[datetime, str]]] = {}
        for row in csv.DictReader(lines(path, content)):
            found.setdefault(row["CaseID"], []).append((datetime.fromisoformat(row["CompleteTimestamp"]), row["ActivityID"]))
        for case, events in found.items():
            if len(events) > 1:
                cut = 1 + int(hashed(case), 16) % (len(events) - 1)
                hours = [0.0, *((after - before).total_seconds() / 3600 for (before, _), (after, _) in pairwise(events))]
                begun = [event + "ABCDEFGHI"[bisect(PACES, gap)] for (_, event), gap in zip(events[:cut], hours[:cut], strict=True)]
                to_go = f"{log1p(sum(hours[cut:]) / 24):.6f}"
                yield " ".join([f"{events[0][0]:%b %d %a %H}", *begun]), events[cut][1] if label == "next" else to_go


def games(source: Source) -> Rows:
    """Moves of games of chess, by result."""
    for path, content in source:
        for game in "\n".join(lines(path, content, "latin-1")).split("[Event ")[1:]:
            result = re.search(r'\[Result "([^"*]+)"\]', game)
            moves = re.sub(r"\{[^}]*\}|\$\d+|\d+\.+|1-0|0-1|1/2-1/2|\*", " ", game.partition("\n\n")[2]).split()
            if result and len(moves) >= 20:
                yield " ".join(moves), result[1]


def rounds(source: Source) -> Rows:
    """Moves of games of go, by winner: the first file says who won, the others hold the games."""
    fields = (line.split("\t") for line in lines(*source[0]))
    winners = {field[0]: field[5][0] for field in fields if field[5][:2] in ("B+", "W+")}
    for path, content in source[1:]:
        for number, moves in (line.split("\t", 1) for line in lines(path, content)):
            if number in winners and len(places := re.findall(r"[BW]\[(\w\w)\]", moves)) >= 20:
                yield " ".join(places), winners[number]


def endgames(source: Source, drawn: str) -> Rows:
    """Squares of white king, white rook and black king, and the moves to mate unless the game is drawn."""
    for path, content in source:
        for *places, moves in (line.split(",") for line in lines(path, content)):
            if moves != drawn:
                files, ranks = places[::2], places[1::2]
                yield "".join("abcdefgh"[int(file) - 1] + rank for file, rank in zip(files, ranks, strict=True)), moves


def pens(source: Source) -> Rows:
    """Eight points of a pen that writes a digit, coordinates as letters of a coarse scale."""
    for path, content in source:
        for *points, digit in (line.split(",") for line in lines(path, content)):
            yield "".join("abcdefghijk"[int(value) // 10] for value in points), digit.strip()


def programs(source: Source, length: int) -> Rows:
    """A few lines of each program, from a place that hangs on a hash, by language."""
    for path, content in source:
        code = [line.strip() for line in lines(path, content) if line.strip()]
        if len(code) >= length:
            begin = int(hashed(path), 16) % (len(code) - length + 1)
            yield " ¶ ".join(code[begin : begin + length]), path.rpartition(".")[2]


PARSERS: dict[str, Callable[..., Rows]] = {
    each.__name__: each
    for each in (
        *(arrays, cases, delimited, endgames, fasta, file_a_class, games, intents, label_first),
        *(pens, programs, receptors, rounds, side_by_side, spreadsheet, stresses),
    )
}
"""What `parse` in the catalogue may name."""
