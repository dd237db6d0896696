"""Where a corpus is: files, folders and patterns, cut into parts that can be read by themselves."""

from __future__ import annotations

import dataclasses
import glob
import gzip
import hashlib
import mmap
import os
import sysconfig
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from specht.corpus.read.tokenise import is_fasta
from specht.errors import InputError, StorageError
from specht.files import reading

PART_BYTES = 8 * 2**20
"""Plain files above this size are cut."""
_NEARBY = 2**16
"""How far behind the size of a part an empty line is looked for before any line end will do."""
_BLOCK = 2**20
_CURE = "check the path of the corpus"


@dataclasses.dataclass(frozen=True)
class FilePart:
    """The bytes of a file from `start` to before `stop`, or to its end."""

    path: str
    start: int = 0
    stop: int | None = None


def find_parts(source: str | Path, encoding: str = "utf-8") -> list[FilePart]:
    """The parts of a file, of all files below a folder in sorted order, or of the files that a pattern matches.

    In folders hidden and empty files are passed over. Files of more than `PART_BYTES` are cut behind line ends, if the encoding writes
    these as one byte; compressed files and arrays stay whole, and FASTA files are cut where an entry begins.
    """
    files, whole = _files(source)
    _check_readable(source, files)
    filled = [file for file in files if file.stat().st_size]
    if not filled:
        raise InputError(
            f"{source} is empty: give a file with text." if whole else f"All files of {source} are empty: give files with text."
        )
    return [part for file in filled for part in _cut(file, _line_ends_are_bytes(encoding))]


def default_parts() -> list[FilePart]:
    """The source of the running Python's standard library: its top-level modules."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    files = sorted(file for file in folder.glob("*.py") if file.is_file() and file.stat().st_size)
    if not files:
        raise InputError(f"{folder} has no source of Python's standard library: give a corpus of your own.")
    return [FilePart(str(file)) for file in files]


def _files(source: str | Path) -> tuple[list[Path], bool]:
    """Regular files in order, and whether the source is one itself."""
    path = Path(source)
    with reading(source, _CURE):
        if path.is_dir():
            files = [file for file in _below(path) if file.is_file()]
            if not files:
                raise InputError(f"The folder {path} has no files: give a folder with text files below it.")
            return files, False
        if path.is_file():
            return [path], True
        if path.exists():
            raise InputError(f"{path} is neither a file nor a folder: save its content as a file.")
    if glob.has_magic(str(source)):
        files = sorted(Path(name) for name in glob.glob(str(source), recursive=True) if os.path.isfile(name))
        if not files:
            raise InputError(f"No file matches {source}: check the pattern, and quote it so that the shell leaves it alone.")
        return files, False
    raise InputError(f"{source} does not exist: check the path of the corpus.")


def _below(folder: Path) -> list[Path]:
    files: list[Path] = []

    def refuse(error: OSError) -> None:
        raise error

    for place, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        files += [Path(place) / name for name in names if not name.startswith(".")]
    return sorted(files)


def _check_readable(source: str | Path, files: list[Path]) -> None:
    closed = [file for file in files if not os.access(file, os.R_OK)]
    if not closed:
        return
    if len(files) == 1:
        raise InputError(f"{closed[0]} cannot be read (permission denied): change its permissions.")
    count = "None" if len(closed) == len(files) else f"{len(closed)}"
    verb = "can" if len(closed) == len(files) else "cannot"
    raise InputError(f"{count} of the {len(files)} files of {source} {verb} be read (the first is {closed[0]}): change their permissions.")


def _line_ends_are_bytes(encoding: str) -> bool:
    try:
        return "a\n".encode(encoding) == b"a\n"
    except (LookupError, UnicodeError):
        # Reading says what is wrong with the name.
        return False


def _cut(file: Path, cuttable: bool) -> list[FilePart]:
    size = file.stat().st_size
    if size <= PART_BYTES or not cuttable or file.suffix.lower() in (".gz", ".npy"):
        return [FilePart(str(file))]
    with reading(file, "check the file"), file.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        # Zero bytes mean other encodings of text, or no text: there a line end cannot be told by its byte.
        cuts = [0] if content.find(b"\0", 0, _NEARBY) >= 0 else list(_cuts(content, is_fasta(file)))
    return [FilePart(str(file), start, stop) for start, stop in zip(cuts, [*cuts[1:], None], strict=True)]


def _cuts(content: mmap.mmap, entries: bool) -> Iterator[int]:
    """Where parts begin: every time behind the first good place after `PART_BYTES`."""
    yield 0
    start = 0
    while 0 < (start := _next_cut(content, start + PART_BYTES, entries)) < len(content):
        yield start


def _next_cut(content: mmap.mmap, place: int, entries: bool) -> int:
    """Behind the first empty line nearby, or else the first line end; before the next entry if there are entries; 0 if nowhere."""
    if entries:
        return content.find(b"\n>", place) + 1
    for empty in (b"\n\n", b"\n \n", b"\n\r\n"):  # behind these paragraphs, articles and functions stay whole
        if (line := content.find(empty, place, place + _NEARBY)) >= 0:
            return line + len(empty)
    return content.find(b"\n", place) + 1


def blocks(part: FilePart, size: int) -> Iterator[bytes]:
    """The bytes of a part, decompressed, at most `size` at a time."""
    open_file = gzip.open if part.path.lower().endswith(".gz") else open
    with reading(part.path, _CURE):
        try:
            with open_file(part.path, "rb") as stream:
                stream.seek(part.start)
                left = size if part.stop is None else part.stop - part.start
                while block := stream.read(min(size, left)):
                    yield block
                    left = size if part.stop is None else left - len(block)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise InputError(
                f"{part.path} is not a whole gzip file ({str(error).rstrip('.')}): compress it again, or give it unpacked."
            ) from None


def spool(stream: BinaryIO, folder: str | Path) -> Path:
    """Copies a stream, standard input say, into a file that is named by its content, so that it can be read more than once."""
    digest, beginning = hashlib.sha256(), b""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".spool-", delete=False) as file:
            written = Path(file.name)
            try:
                while block := stream.read(_BLOCK):
                    beginning = beginning or block[:8]
                    digest.update(block)
                    file.write(block)
            except BaseException:
                written.unlink()
                raise
        if not beginning:
            written.unlink()
            raise InputError("The standard input is empty: pipe text into it.")
        # What the name of a file would say otherwise.
        ending = ".npy" if beginning.startswith(b"\x93NUMPY") else ".txt.gz" if beginning.startswith(b"\x1f\x8b") else ".txt"
        return written.rename(Path(folder) / f"input-{digest.hexdigest()}{ending}")
    except OSError as error:
        raise StorageError(
            f"The standard input cannot be kept in {folder} ({error.strerror or error}): make room, or save it yourself."
        ) from None


def fingerprint(parts: Iterable[FilePart]) -> str:
    """SHA-256 of a file's content; of several files, that of their checksums one after the other."""
    digests: list[str] = []
    for path in dict.fromkeys(part.path for part in parts):
        with reading(path, _CURE), open(path, "rb") as stream:
            digests.append(hashlib.file_digest(stream, "sha256").hexdigest())
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
