"""Files, folders and patterns as parts, which together have the tokens of the whole."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import io
import json
import os
from pathlib import Path
from unittest import mock

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from texts import saved, stream

from specht.corpus.read import parts as parts_module
from specht.corpus.read.parts import FilePart, find_parts, fingerprint, spool
from specht.corpus.read.text import ReadingOptions
from specht.errors import InputError


def small_parts(size: int):
    return mock.patch.multiple(parts_module, PART_BYTES=size, _NEARBY=max(2, size // 2), _BLOCK=3)


@given(data=st.text(st.sampled_from("ab. =\t\n\n汉"), max_size=120), size=st.integers(1, 30), chunk=st.integers(1, 50))
def test_parts_together_have_the_tokens_of_the_file(folder, data, size, chunk):
    whole = saved(folder, data.encode() + b"x")
    with small_parts(size):
        parts = find_parts(whole.path)
    content = Path(whole.path).read_bytes()
    assert b"".join(content[part.start : part.stop] for part in parts) == content
    assert all(content[part.start - 1] == ord("\n") for part in parts[1:])
    assert all(part.stop is None or part.stop - part.start >= size for part in parts)
    for tokens in ("word", "white", "wikitext", "char", "cjk", "code", "byte"):
        assert stream(parts, ReadingOptions(tokens), chunk)[0] == stream(whole, ReadingOptions(tokens))[0]


@given(lengths=st.lists(st.integers(0, 20), min_size=1, max_size=6), size=st.integers(1, 30))
def test_fasta_files_are_cut_between_entries(folder, lengths, size):
    data = "".join(f">{number} >\n" + "ACGTT\n" * length for number, length in enumerate(lengths))
    whole = saved(folder, data.encode(), "cut.fasta")
    with small_parts(size):
        parts = find_parts(whole.path)
    assert all(data[part.start] == ">" for part in parts)
    assert stream(parts, ReadingOptions("kmer3")) == stream(whole, ReadingOptions("kmer3"))


def test_articles_stay_whole_where_there_are_empty_lines(folder):
    data = "".join(f" \n = Title {number} = \n \n some words here . \n" for number in range(30))
    whole = saved(folder, data.encode())
    with small_parts(100):
        parts = find_parts(whole.path)
    assert len(parts) > 5
    assert stream(parts, ReadingOptions("wikitext"))[2] == stream(whole, ReadingOptions("wikitext"))[2]


def test_files_that_cannot_be_cut_stay_whole(tmp_path):
    (tmp_path / "a.txt").write_bytes("line\n".encode("utf-16") * 50)
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(os.urandom(300)))
    np.save(tmp_path / "c.npy", np.arange(100))
    (tmp_path / "d.txt").write_bytes(b"x" * 300)
    (tmp_path / "e.txt").write_bytes(b"line\n" * 50)
    with small_parts(20):
        assert [Path(part.path).name[0] for part in find_parts(tmp_path)] == [*"abcd", *["e"] * 10]
        assert len(find_parts(tmp_path / "e.txt", encoding="utf-16")) == 1
        assert len(find_parts(tmp_path / "e.txt", encoding="latin-1")) == 10


def test_folders_and_patterns(tmp_path):
    for name in ("b.txt", "a.txt", "sub/c.txt", ".hidden", ".git/d.txt", "sub/.e", "empty.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("" if "empty" in name else name)
    os.mkfifo(tmp_path / "pipe")
    names = [os.path.relpath(part.path, tmp_path) for part in find_parts(tmp_path)]
    assert names == ["a.txt", "b.txt", "sub/c.txt"]
    assert [Path(part.path).name for part in find_parts(f"{tmp_path}/*.txt")] == ["a.txt", "b.txt"]
    assert [Path(part.path).name for part in find_parts(f"{tmp_path}/**/c.*")] == ["c.txt"]
    assert find_parts(tmp_path / "a.txt") == [FilePart(str(tmp_path / "a.txt"))]
    # A name with brackets is a file before it is a pattern.
    (tmp_path / "[x].txt").write_text("x")
    assert len(find_parts(tmp_path / "[x].txt")) == 1


def test_parts_and_readings_are_plain_values():
    part, reading = FilePart("a", 3, 7), ReadingOptions("word", "line")
    assert FilePart(**json.loads(json.dumps(dataclasses.asdict(part)))) == part
    assert ReadingOptions(**json.loads(json.dumps(dataclasses.asdict(reading)))) == reading


def test_the_fingerprint_is_that_of_the_content(tmp_path):
    (tmp_path / "a").write_bytes(b"one" * 1000)
    (tmp_path / "b").write_bytes(b"two")
    one, two = FilePart(str(tmp_path / "a")), FilePart(str(tmp_path / "b"))
    assert fingerprint([one]) == hashlib.sha256(b"one" * 1000).hexdigest()
    assert fingerprint([FilePart(one.path, 0, 10), FilePart(one.path, 10)]) == fingerprint([one])
    assert len({fingerprint(each) for each in ([one], [two], [one, two], [two, one])}) == 4


def test_standard_input_is_kept_under_its_checksum(tmp_path):
    data = b"some text\n" * 200_000
    path = spool(io.BytesIO(data), tmp_path / "spool")
    assert path.read_bytes() == data
    assert hashlib.sha256(data).hexdigest() in path.name
    assert spool(io.BytesIO(data), tmp_path / "spool") == path
    assert len(list((tmp_path / "spool").iterdir())) == 1
    assert spool(io.BytesIO(gzip.compress(b"a b")), tmp_path).name.endswith(".gz")
    buffer = io.BytesIO()
    np.save(buffer, np.arange(3))
    assert stream(find_parts(spool(io.BytesIO(buffer.getvalue()), tmp_path)), ReadingOptions())[0] == [0, 1, 2]
    before = set(tmp_path.iterdir())
    with pytest.raises(InputError, match="standard input is empty"):
        spool(io.BytesIO(), tmp_path)
    with pytest.raises(KeyboardInterrupt):
        spool(mock.Mock(read=mock.Mock(side_effect=KeyboardInterrupt)), tmp_path)
    assert set(tmp_path.iterdir()) == before
