"""Files that cannot be read as text: one sentence each."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from texts import saved, stream

from specht.corpus.read import parts as parts_module
from specht.corpus.read.parts import FilePart, find_parts
from specht.corpus.read.text import ReadingOptions
from specht.errors import InputError


def refused(part: FilePart | str | Path, reading: ReadingOptions | None = None, size: int = 1 << 20) -> str:
    with pytest.raises(InputError) as caught:
        stream(part if isinstance(part, FilePart) else find_parts(part), reading or ReadingOptions(), size)
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


def test_sources_that_are_not_there(tmp_path):
    assert "does not exist" in refused(tmp_path / "none.txt")
    assert "No file matches" in refused(f"{tmp_path}/*.txt")
    assert "has no files" in refused(tmp_path)
    (tmp_path / "a").write_bytes(b"")
    assert "a is empty" in refused(tmp_path / "a")
    assert "All files of" in refused(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    assert "neither a file nor a folder" in refused(tmp_path / "pipe")
    assert "does not exist" in refused("a\0b")
    assert "cannot be read (File name too long)" in refused("a" * 10_000)
    assert "cannot be read" in refused(FilePart(str(tmp_path / "gone")))


def test_files_that_may_not_be_read(tmp_path, monkeypatch):
    for name in "abc":
        (tmp_path / name).write_text("text")
    monkeypatch.setattr(parts_module.os, "access", lambda path, mode: False)
    assert "None of the 3 files" in refused(tmp_path)
    assert "permission denied" in refused(tmp_path / "a")
    monkeypatch.setattr(parts_module.os, "access", lambda path, mode: Path(path).name != "b")
    sentence = refused(tmp_path)
    assert "1 of the 3 files" in sentence
    assert str(tmp_path / "b") in sentence


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_wrong_encodings_are_told_with_the_byte_and_its_offset(tmp_path, size):
    data = "naïve text\n".encode() + b"more\xe9 text\n"
    place = data.index(b"\xe9 ")
    sentence = refused(saved(tmp_path, data), size=size)
    assert f"is not utf-8 text (byte 0xe9 at offset {place})" in sentence
    assert "--encoding" in sentence
    assert f"at offset {place})" in refused(FilePart(saved(tmp_path, data).path, data.index(b"more")), size=size)
    assert f"at offset {place + 3})" in refused(saved(tmp_path, b"\xef\xbb\xbf" + data), size=size)
    zipped = saved(tmp_path, gzip.compress(data), "x.txt.gz")
    assert f"byte 0xe9 at offset {place} of the decompressed text" in refused(zipped, size=size)
    cut = saved(tmp_path, "abc é".encode()[:-1])
    assert "byte 0xc3 at offset 4" in refused(cut, size=size)
    assert "byte 0x81 at offset 3" in refused(saved(tmp_path, b"abc\x81\x20"), ReadingOptions(encoding="gbk"), size)
    assert stream(saved(tmp_path, data), ReadingOptions("white", encoding="latin-1"), size)[0][-2] == "moreé"


def test_encodings_that_are_none(tmp_path):
    part = saved(tmp_path, b"text")
    assert "Unknown encoding 'utf-9'" in refused(part, ReadingOptions(encoding="utf-9"))
    assert "Unknown encoding 'rot13'" in refused(part, ReadingOptions(encoding="rot13"))


def test_binary_files_are_no_text(tmp_path):
    assert "read it with --tokens byte" in refused(saved(tmp_path, b"\x89PNG\0\0"))
    assert "read it with --tokens byte" in refused(saved(tmp_path, b"ab\0"), ReadingOptions("residue"))
    assert "read it with --tokens byte" in refused(saved(tmp_path, "a\0b".encode("utf-16")), ReadingOptions(encoding="utf-16"))


def test_broken_gzip_files(tmp_path):
    whole = gzip.compress(os.urandom(2000))
    for data in (b"no gzip", whole[:-9], whole[:50], whole[:100] + b"xxxx" + whole[104:]):
        assert "is not a whole gzip file" in refused(saved(tmp_path, data, "x.gz"), ReadingOptions("byte"))


@pytest.mark.parametrize(
    ("array", "sentence"),
    [
        (np.ones(3), "holds values of type float64"),
        (np.array(["a"]), "holds values of type <U1"),
        (np.array([True]), "holds values of type bool"),
        (np.array([1, None]), "holds Python objects"),
        (np.array([1, -2]), "holds -2, which is no id"),
        (np.array([2**63], dtype=np.uint64), "holds 9223372036854775808, which is no id"),
        (np.ones((2, 2, 2), dtype=int), "of 3 dimensions"),
        (np.array(3), "of 0 dimensions"),
        (np.array([], dtype=int), "is empty"),
    ],
)
def test_arrays_that_are_no_ids(tmp_path, array, sentence):
    np.save(tmp_path / "x.npy", array)
    assert sentence in refused(tmp_path / "x.npy")


def test_files_that_only_look_like_arrays(tmp_path):
    assert "is not a .npy file" in refused(saved(tmp_path, b"\x93NUMPY\x01\x00", "x.npy"))
    np.savez(tmp_path / "x.npz", a=np.arange(3))
    (tmp_path / "x.npz").rename(tmp_path / "y.npy")
    assert "is an archive of arrays" in refused(tmp_path / "y.npy")
    assert "Python objects" in refused(saved(tmp_path, b"plain text", "z.npy"))


def test_tokens_that_do_not_fit_the_file(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(3))
    text = saved(tmp_path, b"text")
    assert "leave --tokens at auto" in refused(tmp_path / "x.npy", ReadingOptions("word"))
    assert "leave --tokens at auto" in refused(text, ReadingOptions("ids"))
    assert "Unknown tokens 'wort': did you mean 'word'?" in refused(text, ReadingOptions("wort"))
    assert "from 1 to 7, got 0" in refused(text, ReadingOptions("kmer0"))
    assert "does not begin with '>'" in refused(saved(tmp_path, b"\nACGT\n>x\n", "x.fa"), size=2)
    for records, tokens in (("line", "byte"), ("sentence", "residue"), ("paragraph", "kmer2"), ("sentence", "char"), ("sentence", "code")):
        assert f"Records by {records} need" in refused(text, ReadingOptions(tokens, records))
    with pytest.raises(InputError, match="Unknown records 'lines': did you mean 'line'"):
        ReadingOptions(records="lines")
