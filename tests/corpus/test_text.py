"""Streams of tokens: the same whatever the size of a piece, and with the counts that other programs found."""

from __future__ import annotations

import dataclasses
import gzip
import itertools
from unittest import mock

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given
from texts import saved, stream

from specht.corpus.read import text as text_module, tokenise
from specht.corpus.read.parts import FilePart
from specht.corpus.read.text import ReadingOptions

NASTY = "aB'’.!= \t\n\n\r>éΣ汉𝔸İ\x0b\u2028\u3000_1"


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
    assert stream(part, ReadingOptions(tokens), size) == (expected, [0] if expected else [], [])


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
    reading = ReadingOptions("wikitext-body" if body else "wikitext", records)
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
    assert stream(part, ReadingOptions(tokens, records), size) == (list(itertools.chain.from_iterable(pieces)), starts, [])


@pytest.mark.parametrize("tokens", ["char", "code", "bpe"])
@given(data=st.text(st.sampled_from("aé. \n\n"), max_size=40), size=st.integers(1, 9))
@example(data="a\né\na", size=1)
def test_records_do_not_depend_on_pieces_and_leave_tokens_alone(folder, tokens, data, size):
    tokenizer = None
    if tokens == "bpe":
        pytest.importorskip("tokenizers", reason="the library tokenizers is not installed")
        tokenizer = folder / "tokenizer.json"
        if not tokenizer.exists():
            tokenizer.write_text(tokenise.train_bpe(["aa é. aa é.\naa"], 262), encoding="utf-8")
    part = saved(folder, data.encode())
    for records in ("none", "line", "paragraph"):
        reading = ReadingOptions(tokens, records, tokenizer=tokenizer and str(tokenizer))
        whole = stream(part, reading)
        assert stream(part, reading, size) == whole
        if tokens != "char":
            assert whole[0] == stream(part, dataclasses.replace(reading, records="none"))[0]
        # The tokens of programs leave out letters beyond ASCII, so that a line of these has a token for its start only; the first has none.
        lines = enumerate(data.split("\n"))
        nonempty = [line for number, line in lines if line.strip(" é" if tokens == "code" and number == 0 else " ")]
        if records == "line" and nonempty and data.split("\n")[0] == nonempty[0]:
            assert len(whole[1]) == len(nonempty)


@given(data=st.lists(st.sampled_from(["a", "b", ".", "!", "?", "。", "\n", "<eos>"]), max_size=20), size=st.integers(1, 9))
def test_sentences_are_records(folder, data, size):
    part = saved(folder, " ".join(data).encode())
    tokens = [each for each in data if each != "\n"]
    ends = {".", "!", "?", "。", "<eos>"}
    expected = [place for place, token in enumerate(tokens) if not place or (tokens[place - 1] in ends and token not in ends)]
    assert stream(part, ReadingOptions("white", "sentence"), size) == (tokens, expected, [])


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
        whole = stream(part, ReadingOptions(tokens, records))
        assert stream(part, ReadingOptions(tokens, records), size) == whole
    if tokens in ("cjk", "char-cased", "wikitext-body") or all(len(word) < longest for word in data.split()):
        uncut = stream(part, ReadingOptions(tokens))[0]
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
    found, records, articles = stream(part, ReadingOptions(f"kmer{kmer}"), size)
    assert [tokenise.spell(f"kmer{kmer}", each) for each in found] == tokens
    assert records == articles == starts
    assert stream(part, ReadingOptions(f"kmer{kmer}", records="none"), size)[1] == ([0] if tokens else [])
    assert stream(saved(folder, gzip.compress(text.encode()), "x.fa.gz"), ReadingOptions(f"kmer{kmer}"), size) == (found, records, articles)


def test_letters_of_a_plain_file_are_one_record(folder):
    part = saved(folder, b"acgt acg\nt\n")
    tokens, records, articles = stream(part, ReadingOptions("kmer3"), 2)
    assert [tokenise.spell("kmer3", each) for each in tokens] == ["ACG", "TAC"]
    assert (records, articles) == ([0], [])


@given(data=st.binary(max_size=40), size=st.integers(1, 9))
def test_bytes_are_bytes(folder, data, size):
    assert stream(saved(folder, data, "x.bin"), ReadingOptions("byte"), size)[0] == list(data)


@pytest.mark.parametrize("dtype", ["uint16", ">i4", "uint64"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("size", [1, 5, 24, 100, 1 << 20])
def test_arrays_are_streams_or_records_a_row(folder, dtype, order, size):
    array = np.array(np.arange(35).reshape(5, 7) % 11, dtype=dtype, order=order)
    np.save(folder / "x.npy", array)
    part = FilePart(str(folder / "x.npy"))
    assert stream(part, ReadingOptions(), size) == (array.ravel().tolist(), list(range(0, 35, 7)), [])
    assert stream(part, ReadingOptions("ids", "none"), size) == (array.ravel().tolist(), [0], [])
    np.save(folder / "x.npy", array[0])
    assert stream(part, ReadingOptions(), size) == (array[0].tolist(), [0], [])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "gbk", "utf-8"])
def test_encodings_are_decoded_across_pieces(folder, encoding):
    text = "汉字 and words\r\n第二行 too"
    part = saved(folder, text.encode(encoding))
    for size in (1, 2, 3, 5, 1000):
        assert stream(part, ReadingOptions("white", encoding=encoding), size)[0] == text.split()
