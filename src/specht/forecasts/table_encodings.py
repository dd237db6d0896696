"""The bytes of a data file as text: in the encoding that is named, or in the one that they look like."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import NamedTuple

from specht.errors import InputError

UTF8 = "utf-8"
_MARKS = {
    codecs.BOM_UTF8: UTF8,
    codecs.BOM_UTF32_LE: "utf-32",  # begins as the mark of UTF-16 does, so it comes first
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Marks that files begin with."""
_COMMON_NAMES = {"utf-8-sig": UTF8, "utf_8_sig": UTF8, "iso8859-1": "latin-1"}
_CONTROLS = bytes({*range(0x20), 0x7F} - {*b"\t\n\v\f\r\x1b"})
"""Bytes that no text in an encoding of one byte a character has."""


class Text(NamedTuple):
    """What a file says, and the encoding that it was read in."""

    text: str
    encoding: str


def encoding_name(name: str) -> str:
    """The usual name of an encoding, or an `InputError` for one that Python does not know.

    >>> encoding_name("UTF8")
    'utf-8'
    """
    try:
        usual = codecs.lookup(name).name
        "".encode(name)  # some codecs, such as base64, make no text
    except (LookupError, ValueError, TypeError):
        raise InputError(f"encoding {name!r} is not known: write utf-8, utf-16, cp1252, latin-1 or another that Python knows.") from None
    return _COMMON_NAMES.get(usual, usual)


def read_text(path: Path, encoding: str | None = None) -> Text:
    """The text of a file that has some, without the mark at its beginning."""
    data = path.read_bytes()
    encoding = encoding_name(encoding) if encoding is not None else _guessed(data)
    text = None if encoding is None else _decoded(data, path, encoding)
    if encoding is None or text is None or "\0" in text:
        raise InputError(
            f"{path} holds binary data, not text: give text (UTF-8 is best), or name the file by what it is (.npy, .npz, .parquet)."
        )
    if not text.strip():
        raise InputError(f"{path} is empty: give a file with at least one row.")
    return Text(text, encoding)


def _guessed(data: bytes) -> str | None:
    """What the mark at the beginning says; UTF-8, or Western European text of one byte a character; None for what is no text."""
    for mark, encoding in _MARKS.items():
        if data.startswith(mark):
            return encoding
    if b"\0" in data:
        return None
    if _decodes(data, UTF8):
        return UTF8
    if data.translate(None, delete=_CONTROLS) != data:
        return None
    return "cp1252" if _decodes(data, "cp1252") else "latin-1"


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _decoded(data: bytes, path: Path, encoding: str) -> str:
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        where = f"byte 0x{data[error.start]:02x} in line {line}"
    except UnicodeError as error:
        where = str(error)
    raise InputError(f"{path} is not {encoding} text ({where}): give the right one with --encoding, or leave it out to have it guessed.")
