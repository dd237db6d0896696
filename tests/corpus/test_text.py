"""Streams of tokens: the same whatever the size of a piece, and with the counts that other programs found."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import io
import itertools
import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path
from unittest import mock

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given

from specht.corpus import parts as parts_module
from specht.corpus import text as text_module
from specht.corpus import tokenise
from specht.corpus.text import Part, Reading, default_parts, find_parts, fingerprint, read, spool
from specht.errors import InputError

DATA = Path(os.environ.get("SPECHT_DATA", Path(__file__).parents[2] / "../shared/data"))
NASTY = "aB'’.!= \t\n\n\r>éΣ汉𝔸İ\x0b\u2028\u3000_1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("texts")


def stream(parts: Part | list[Part], reading: Reading, chunk_bytes: int = 1 << 20) -> tuple[list, list[int], list[int]]:
    """Tokens, and where records and articles begin, of parts one after the other."""
    tokens: list = []
    records: list[int] = []
    articles: list[int] = []
    for part in [parts] if isinstance(parts, Part) else parts:
        for number, chunk in enumerate(read(part, reading, chunk_bytes)):
            assert len(chunk)
            assert number or chunk.records[0] == 0
            for found, places in ((records, chunk.records), (articles, chunk.articles)):
                assert np.all(np.diff(places) > 0)
                assert not len(places) or (places[0] >= 0 and places[-1] < len(chunk))
                found.extend(len(tokens) + place for place in places.tolist())
            tokens.extend(chunk.tokens if isinstance(chunk.tokens, list) else chunk.tokens.tolist())
    return tokens, records, articles


def saved(folder: Path, data: bytes, name: str = "text.txt") -> Part:
    path = folder / name
    path.write_bytes(data)
    return Part(str(path))


def naive_code(text: str) -> list[str]:
    lines = text.split("\n")
    kept = [line for number, line in enumerate(lines) if not number or line.strip() or number == len(lines) - 1]
    return tokenise.code("\n".join(kept))


WHOLE = {
    "word": tokenise.words,
    "white": str.split,
    "char": lambda text: [
        ord(each) for each in "".join(" " if w else "".join(run) for w, run in itertools.groupby(text.lower(), str.isspace))
    ],
    "char-cased": lambda text: [
        ord(each) for each in "".join(" " if w else "".join(run) for w, run in itertools.groupby(text, str.isspace))
    ],
    "cjk": lambda text: [ord(each) for each in text if not each.isspace()],
    "code": naive_code,
}


@pytest.mark.parametrize("tokens", WHOLE)
@given(data=st.text(st.sampled_from(NASTY), max_size=50), size=st.integers(1, 9), start=st.sampled_from(["", "\ufeff"]))
def test_pieces_of_any_size_give_the_tokens_of_the_whole(folder, tokens, data, size, start):
    if tokens == "code":
        # A vertical tab between lines is white space to the regular expression, and no line of its own to the loop above.
        data = data.replace("\x0b", " ").replace("\u2028", " ").replace("\u3000", " ")
    part = saved(folder, (start + data).encode())
    whole = data.replace("\r\n", "\n").replace("\r", "\n")
    expected = WHOLE[tokens](whole)
    assert stream(part, Reading(tokens), size) == (expected, [0] if expected else [], [])


def naive_wikitext(text: str, body: bool, records: str) -> tuple[list, list[int], list[int]]:
    """WikiText line by line, all lines at hand."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    empty = [not line.strip() for line in lines]
    tokens: list[str] = []
    starts: list[int] = []
    articles: list[int] = []
    for number, line in enumerate(lines):
        before = number == 0 or empty[number - 1]
        behind = number == len(lines) - 1 or empty[number + 1]
        # The last line is a title only if it is whole.
        whole = number < len(lines) - 1 or text.endswith("\n")
        if tokenise.is_title(line) and before and behind and whole:
            articles.append(len(tokens))
        if not empty[number] and (records == "line" or (records == "paragraph" and before)):
            starts.append(len(tokens))
        if not body:
            tokens += [*line.split(), "<eos>"]
        elif not empty[number] and not (line.strip()[0] == "=" == line.strip()[-1]):
            tokens += line.split()
    starts = [0, *starts] if tokens else []
    return tokens, sorted({each for each in starts if each < len(tokens)}), sorted({each for each in articles if each < len(tokens)})


LINES = st.lists(st.sampled_from(["", " ", " = A = ", " = A = ", " = = B = = ", " x = y ", "the cat .", " = c ", "=", "é"]), max_size=9)


@pytest.mark.parametrize("records", ["none", "line", "paragraph"])
@pytest.mark.parametrize("body", [False, True])
@given(lines=LINES, end=st.sampled_from(["", "\n", "\r\n"]), size=st.integers(1, 40))
@example(lines=["", " = A = ", "", "x", " = B = ", "y"], end="\n", size=3)
def test_wikitext_is_that_of_a_loop_over_all_lines(folder, body, records, lines, end, size):
    text = "\n".join(lines) + end
    part = saved(folder, text.encode())
    reading = Reading("wikitext-body" if body else "wikitext", records)
    assert stream(part, reading, size) == naive_wikitext(text.replace("\r\n", "\n"), body, records)


@pytest.mark.parametrize("records", ["line", "paragraph"])
@pytest.mark.parametrize("tokens", ["word", "white", "cjk"])
@given(lines=st.lists(st.sampled_from(["", "  ", "a b.", "c", " It's ", "汉 d"]), max_size=9), size=st.integers(1, 30))
def test_lines_and_paragraphs_are_records(folder, records, tokens, lines, size):
    part = saved(folder, "\n".join(lines).encode())
    groups: list[list[str]] = []
    for blank, run in itertools.groupby(lines, lambda line: not line.strip()):
        if not blank:
            group = list(run)
            groups += [[line] for line in group] if records == "line" else [group]
    pieces = [list(WHOLE[tokens]("\n".join(group))) for group in groups]
    starts = [0, *itertools.accumulate(map(len, pieces))][: len(pieces)]
    assert stream(part, Reading(tokens, records), size) == (list(itertools.chain.from_iterable(pieces)), starts, [])


@pytest.mark.parametrize("tokens", ["char", "code", "bpe"])
@given(data=st.text(st.sampled_from("aé. \n\n"), max_size=40), size=st.integers(1, 9))
def test_records_do_not_depend_on_pieces_and_leave_tokens_alone(folder, tokens, data, size):
    tokenizer = None
    if tokens == "bpe":
        pytest.importorskip("tokenizers", reason="the library tokenizers is not installed")
        tokenizer = folder / "tokenizer.json"
        if not tokenizer.exists():
            tokenizer.write_text(tokenise.train_bpe(["aa é. aa é.\naa"], 262), encoding="utf-8")
    part = saved(folder, data.encode())
    for records in ("none", "line", "paragraph"):
        reading = Reading(tokens, records, tokenizer=tokenizer and str(tokenizer))
        whole = stream(part, reading)
        assert stream(part, reading, size) == whole
        if tokens != "char":
            assert whole[0] == stream(part, dataclasses.replace(reading, records="none"))[0]
        # The tokens of programs leave out letters beyond ASCII.
        nonempty = [line for line in data.split("\n") if line.strip(" é" if tokens == "code" else " ")]
        if records == "line" and nonempty and data.split("\n")[0] == nonempty[0]:
            assert len(whole[1]) == len(nonempty)


@given(data=st.lists(st.sampled_from(["a", "b", ".", "!", "?", "。", "\n", "<eos>"]), max_size=20), size=st.integers(1, 9))
def test_sentences_are_records(folder, data, size):
    part = saved(folder, " ".join(data).encode())
    tokens = [each for each in data if each != "\n"]
    ends = {".", "!", "?", "。", "<eos>"}
    expected = [place for place, token in enumerate(tokens) if not place or (tokens[place - 1] in ends and token not in ends)]
    assert stream(part, Reading("white", "sentence"), size) == (tokens, expected, [])


@given(
    data=st.text(st.sampled_from("ab Σ\n\u3000"), max_size=80),
    size=st.integers(1, 20),
    longest=st.integers(1, 12),
    tokens=st.sampled_from(["word", "white", "wikitext", "wikitext-body", "char", "cjk", "code"]),
    records=st.sampled_from(["none", "line", "paragraph"]),
)
def test_overlong_lines_are_cut_in_the_same_places_by_any_piece(folder, data, size, longest, tokens, records):
    part = saved(folder, data.encode())
    with mock.patch.object(text_module, "LONGEST_LINE", longest):
        whole = stream(part, Reading(tokens, records))
        assert stream(part, Reading(tokens, records), size) == whole
    if tokens in ("cjk", "char-cased", "wikitext-body") or all(len(word) < longest for word in data.split()):
        uncut = stream(part, Reading(tokens))[0]
        if tokens == "wikitext-body":
            whole, uncut = ("".join(whole[0]),), "".join(uncut)
        if records == "none" or tokens not in ("char", "char-cased"):
            assert whole[0] == uncut


def naive_fasta(text: str, size: int) -> tuple[list[str], list[int]]:
    tokens: list[str] = []
    starts: list[int] = []
    for entry in ("\n" + text).replace("\r", "\n").split("\n>")[1:]:
        letters = "".join("".join(entry.split("\n")[1:]).split()).upper()
        if len(letters) >= size:
            starts.append(len(tokens))
        tokens += [letters[start : start + size] for start in range(0, len(letters) - size + 1, size)]
    return tokens, starts


@given(
    entries=st.lists(
        st.tuples(st.sampled_from(["", "x >y", "é"]), st.text(st.sampled_from("acgT\n \r"), max_size=12)), min_size=1, max_size=5
    ),
    kmer=st.integers(1, 4),
    size=st.integers(1, 9),
)
def test_fasta_entries_are_records_and_kmers_begin_with_them(folder, entries, kmer, size):
    text = "".join(f">{name}\n{letters}\n" for name, letters in entries)
    part = saved(folder, text.encode(), "x.fa")
    tokens, starts = naive_fasta(text, kmer)
    found, records, articles = stream(part, Reading(f"kmer{kmer}"), size)
    assert [tokenise.spell(f"kmer{kmer}", each) for each in found] == tokens
    assert records == articles == starts
    assert stream(part, Reading(f"kmer{kmer}", records="none"), size)[1] == ([0] if tokens else [])
    assert stream(saved(folder, gzip.compress(text.encode()), "x.fa.gz"), Reading(f"kmer{kmer}"), size) == (found, records, articles)


def test_letters_of_a_plain_file_are_one_record(folder):
    part = saved(folder, b"acgt acg\nt\n")
    tokens, records, articles = stream(part, Reading("kmer3"), 2)
    assert [tokenise.spell("kmer3", each) for each in tokens] == ["ACG", "TAC"]
    assert (records, articles) == ([0], [])


@given(data=st.binary(max_size=40), size=st.integers(1, 9))
def test_bytes_are_bytes(folder, data, size):
    assert stream(saved(folder, data, "x.bin"), Reading("byte"), size)[0] == list(data)


@pytest.mark.parametrize("dtype", ["uint16", ">i4", "uint64"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("size", [1, 5, 24, 100, 1 << 20])
def test_arrays_are_streams_or_records_a_row(folder, dtype, order, size):
    array = np.array(np.arange(35).reshape(5, 7) % 11, dtype=dtype, order=order)
    np.save(folder / "x.npy", array)
    part = Part(str(folder / "x.npy"))
    assert stream(part, Reading(), size) == (array.ravel().tolist(), list(range(0, 35, 7)), [])
    assert stream(part, Reading("ids", "none"), size) == (array.ravel().tolist(), [0], [])
    np.save(folder / "x.npy", array[0])
    assert stream(part, Reading(), size) == (array[0].tolist(), [0], [])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "gbk", "utf-8"])
def test_encodings_are_decoded_across_pieces(folder, encoding):
    text = "汉字 and words\r\n第二行 too"
    part = saved(folder, text.encode(encoding))
    for size in (1, 2, 3, 5, 1000):
        assert stream(part, Reading("white", encoding=encoding), size)[0] == text.split()


# Parts.


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
        assert stream(parts, Reading(tokens), chunk)[0] == stream(whole, Reading(tokens))[0]


@given(lengths=st.lists(st.integers(0, 20), min_size=1, max_size=6), size=st.integers(1, 30))
def test_fasta_files_are_cut_between_entries(folder, lengths, size):
    data = "".join(f">{number} >\n" + "ACGTT\n" * length for number, length in enumerate(lengths))
    whole = saved(folder, data.encode(), "cut.fasta")
    with small_parts(size):
        parts = find_parts(whole.path)
    assert all(data[part.start] == ">" for part in parts)
    assert stream(parts, Reading("kmer3")) == stream(whole, Reading("kmer3"))


def test_articles_stay_whole_where_there_are_empty_lines(folder):
    data = "".join(f" \n = Title {number} = \n \n some words here . \n" for number in range(30))
    whole = saved(folder, data.encode())
    with small_parts(100):
        parts = find_parts(whole.path)
    assert len(parts) > 5
    assert stream(parts, Reading("wikitext"))[2] == stream(whole, Reading("wikitext"))[2]


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
    assert find_parts(tmp_path / "a.txt") == [Part(str(tmp_path / "a.txt"))]
    # A name with brackets is a file before it is a pattern.
    (tmp_path / "[x].txt").write_text("x")
    assert len(find_parts(tmp_path / "[x].txt")) == 1


def test_parts_and_readings_are_plain_values():
    part, reading = Part("a", 3, 7), Reading("word", "line")
    assert Part(**json.loads(json.dumps(dataclasses.asdict(part)))) == part
    assert Reading(**json.loads(json.dumps(dataclasses.asdict(reading)))) == reading


def test_the_fingerprint_is_that_of_the_content(tmp_path):
    (tmp_path / "a").write_bytes(b"one" * 1000)
    (tmp_path / "b").write_bytes(b"two")
    one, two = Part(str(tmp_path / "a")), Part(str(tmp_path / "b"))
    assert fingerprint([one]) == hashlib.sha256(b"one" * 1000).hexdigest()
    assert fingerprint([Part(one.path, 0, 10), Part(one.path, 10)]) == fingerprint([one])
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
    assert stream(find_parts(spool(io.BytesIO(buffer.getvalue()), tmp_path)), Reading())[0] == [0, 1, 2]
    before = set(tmp_path.iterdir())
    with pytest.raises(InputError, match="standard input is empty"):
        spool(io.BytesIO(), tmp_path)
    with pytest.raises(KeyboardInterrupt):
        spool(mock.Mock(read=mock.Mock(side_effect=KeyboardInterrupt)), tmp_path)
    assert set(tmp_path.iterdir()) == before


# Errors.


def refused(part: Part | str | Path, reading: Reading | None = None, size: int = 1 << 20) -> str:
    with pytest.raises(InputError) as caught:
        stream(part if isinstance(part, Part) else find_parts(part), reading or Reading(), size)
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
    assert "cannot be read" in refused(Part(str(tmp_path / "gone")))


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
    assert f"at offset {place})" in refused(Part(saved(tmp_path, data).path, data.index(b"more")), size=size)
    assert f"at offset {place + 3})" in refused(saved(tmp_path, b"\xef\xbb\xbf" + data), size=size)
    zipped = saved(tmp_path, gzip.compress(data), "x.txt.gz")
    assert f"byte 0xe9 at offset {place} of the decompressed text" in refused(zipped, size=size)
    cut = saved(tmp_path, "abc é".encode()[:-1])
    assert "byte 0xc3 at offset 4" in refused(cut, size=size)
    assert "byte 0x81 at offset 3" in refused(saved(tmp_path, b"abc\x81\x20"), Reading(encoding="gbk"), size)
    assert stream(saved(tmp_path, data), Reading("white", encoding="latin-1"), size)[0][-2] == "moreé"


def test_encodings_that_are_none(tmp_path):
    part = saved(tmp_path, b"text")
    assert "Unknown encoding 'utf-9'" in refused(part, Reading(encoding="utf-9"))
    assert "Unknown encoding 'rot13'" in refused(part, Reading(encoding="rot13"))


def test_binary_files_are_no_text(tmp_path):
    assert "read it with --tokens byte" in refused(saved(tmp_path, b"\x89PNG\0\0"))
    assert "read it with --tokens byte" in refused(saved(tmp_path, b"ab\0"), Reading("residue"))
    assert "read it with --tokens byte" in refused(saved(tmp_path, "a\0b".encode("utf-16")), Reading(encoding="utf-16"))


def test_broken_gzip_files(tmp_path):
    whole = gzip.compress(os.urandom(2000))
    for data in (b"no gzip", whole[:-9], whole[:50], whole[:100] + b"xxxx" + whole[104:]):
        assert "is not a whole gzip file" in refused(saved(tmp_path, data, "x.gz"), Reading("byte"))


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
    assert "leave --tokens at auto" in refused(tmp_path / "x.npy", Reading("word"))
    assert "leave --tokens at auto" in refused(text, Reading("ids"))
    assert "Unknown tokens 'wort': did you mean 'word'?" in refused(text, Reading("wort"))
    assert "from 1 to 7, got 0" in refused(text, Reading("kmer0"))
    assert "does not begin with '>'" in refused(saved(tmp_path, b"\nACGT\n>x\n", "x.fa"), size=2)
    for records, tokens in (("line", "byte"), ("sentence", "residue"), ("paragraph", "kmer2"), ("sentence", "char"), ("sentence", "code")):
        assert f"Records by {records} need" in refused(text, Reading(tokens, records))
    with pytest.raises(InputError, match="Unknown records 'lines': did you mean 'line'"):
        Reading(records="lines")


# Memory and real corpora.


@pytest.mark.parametrize(
    ("name", "data", "tokens", "count"),
    [
        ("one.fa", b">x\n" + b"ACGTTGCA" * 2_500_000, "kmer3", 6_666_666),
        ("blanks.txt", b" " * 8_000_000 + b"x", "char", 2),
        ("endless.txt", b"ab" * 4_000_000, "cjk", 8_000_000),
        ("words.txt", b"ab cd " * 200_000, "word", 400_000),
        ("letters.txt", b"a" * 4_000_000, "word", -(-4_000_000 // text_module.LONGEST_LINE)),
    ],
)
def test_memory_is_bounded_by_the_piece(tmp_path, name, data, tokens, count):
    part = saved(tmp_path, data, name)
    del data
    list(read(saved(tmp_path, b"x", "warm.txt"), Reading("char")))  # tables that are kept
    tracemalloc.start()
    try:
        assert sum(map(len, read(part, Reading(tokens), 1 << 16))) == count
        assert tracemalloc.get_traced_memory()[1] < 6_000_000
    finally:
        tracemalloc.stop()


def test_the_default_corpus_is_the_standard_library():
    parts = default_parts()
    names = [Path(part.path).name for part in parts]
    assert {"argparse.py", "typing.py"} < set(names)
    assert names == sorted(names)
    argparse = next(part for part in parts if part.path.endswith("argparse.py"))
    tokens, records, _ = stream(argparse, Reading("code"), 1000)
    assert tokens == tokenise.code(Path(argparse.path).read_text(encoding="utf-8"))
    assert records == [0]
    assert stream(argparse, Reading())[0] == tokens


BOOKS = [
    ("gutenberg_en/moby_dick.txt", "word", 258_714, 17_859),
    ("gutenberg_en/moby_dick.txt", "char", 1_210_246, 70),
    ("gutenberg_de/der_prozess.txt", "word", 87_779, 7_909),
    ("gutenberg_fr/les_trois_mousquetaires.txt", "word", 279_510, 15_385),
    ("gutenberg_es/don_quijote.txt", "word", 450_650, 22_967),
    ("gutenberg_it/i_promessi_sposi.txt", "word", 289_045, 24_383),
    ("gutenberg_fi/kalevala.txt", "word", 93_154, 20_045),
    ("gutenberg_zh/hongloumeng.txt", "cjk", 856_102, 4_341),
    ("gutenberg_alice/alice_in_wonderland.txt", "word", 34_154, 2_765),
    ("gutenberg_alice/alice_in_wonderland.txt", "char", 142_994, 47),
    ("bible_nt/eus.txt", "word", 162_481, 16_611),
    ("bible_nt/ukr.txt", "word", 166_228, 17_005),
    ("bible_nt/cop.txt", "word", 129_694, 22_302),
    ("bible_nt/syr.txt", "word", 109_726, 16_457),
    ("dna_ecoli/GCF_000005845.2_ASM584v2_genomic.fna.gz", "auto", 4_641_652, 4),
    ("dna_ecoli/GCF_000005845.2_ASM584v2_genomic.fna.gz", "kmer3", 1_547_217, 64),
    ("protein_ecoli/GCF_000005845.2_ASM584v2_protein.faa.gz", "auto", 1_329_980, 21),
    # 2,051,910 words and 36,718 line ends; the notes' 2,088,629 counts the nothing behind the last line end as one more line.
    ("wikitext2/train.txt", "wikitext", 2_088_628, 33_278),
    ("wikitext2/train.txt", "wikitext-body", 2_007_146, 33_230),
    ("wikitext2/valid.txt", "wikitext", 213_886 + 3_760, None),
    ("wikitext2/test.txt", "wikitext", 241_211 + 4_358, None),
    ("wikitext2_control/train_article_shuffle.txt.gz", "white", 2_088_628, 33_278),
]


@pytest.mark.parametrize(("file", "tokens", "count", "types"), BOOKS)
def test_real_corpora_have_the_counts_that_others_found(file, tokens, count, types):
    if not (DATA / file).exists():
        pytest.skip(f"the corpus {file} is not below {DATA}: set SPECHT_DATA")
    found, total = set(), 0
    records = articles = 0
    for part in find_parts(DATA / file):
        for chunk in read(part, Reading(tokens)):
            found.update(chunk.tokens if isinstance(chunk.tokens, list) else np.unique(chunk.tokens).tolist())
            total += len(chunk)
            records += len(chunk.records)
            articles += len(chunk.articles)
    assert total == count
    assert types is None or len(found) == types
    if "protein" in file:
        assert records == articles == 4_298
    if file.startswith("wikitext2/"):
        assert articles == (600 if "train" in file else 60)


def test_wikitext_is_cut_and_its_first_characters_are_of_173_types():
    file = DATA / "wikitext2/train.txt"
    if not file.exists():
        pytest.skip(f"the corpus {file} is not there: set SPECHT_DATA")
    parts = find_parts(file)
    assert [part.start for part in parts] == [0, parts[0].stop]
    first = next(read(parts[0], Reading("char-cased"), 3_100_000)).tokens[:3_000_000]
    assert isinstance(first, np.ndarray)
    assert (len(first), len(np.unique(first))) == (3_000_000, 173)


def test_reading_loads_no_large_libraries():
    check = (
        "import sys, specht.corpus.text, specht.corpus.vocabulary, specht.corpus.named\n"
        "print({name.split('.')[0] for name in sys.modules} & {'jax', 'xarray', 'plotly', 'pydantic', 'tqdm', 'pooch', 'tokenizers'})"
    )
    assert subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True).stdout == "set()\n"
