"""Tokens of small texts against loops that go through them by hand."""

from __future__ import annotations

import itertools
import json
import sys

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from specht.corpus.read import tokenise
from specht.errors import InputError

TEXT = st.text(st.sampled_from("aBzéİΣς汉𝔸_09'’.,!=- \t\n\x0b\u2028\u3000"), max_size=60)


def scanned_words(text: str) -> list[str]:
    """Words character by character."""

    def in_word(place: int) -> bool:
        return place < len(text) and (text[place].isalnum() or text[place] == "_")

    found, place = [], 0
    while place < len(text):
        start = place
        if in_word(place):
            while in_word(place) or (place < len(text) and text[place] in "'’" and in_word(place + 1)):
                place += 1
        elif text[place].isspace():
            place += 1
            continue
        else:
            place += 1
        found.append(text[start:place].lower())
    return found


def blanked(text: str) -> str:
    """White space as single blanks, run by run."""
    return "".join(" " if white else "".join(run) for white, run in itertools.groupby(text, str.isspace))


@given(TEXT)
def test_words_are_those_of_a_scan(text):
    assert tokenise.words(text) == scanned_words(text)


def test_words_of_a_sentence():
    assert tokenise.words('Don’t stop--it\'s "OK", Ω1_x!') == ["don’t", "stop", "-", "-", "it's", '"', "ok", '"', ",", "ω1_x", "!"]


def test_a_letter_whose_lower_case_is_longer_stays_in_its_word():
    assert tokenise.words("İstanbul") == ["İstanbul".lower()]


@given(TEXT)
def test_characters_are_code_points_with_single_blanks(text):
    assert tokenise.characters_cased(text).tolist() == [ord(each) for each in blanked(text)]
    assert tokenise.characters(text).tolist() == [ord(each) for each in blanked(text.lower())]
    assert tokenise.ideographs(text).tolist() == [ord(each) for each in text if not each.isspace()]


def test_white_space_is_what_python_says_it_is():
    points = np.flatnonzero(tokenise._white())
    assert points.tolist() == [point for point in range(0x110000) if chr(point).isspace()]


def test_white_space_tokens_are_left_as_they_are():
    assert tokenise.white(" The\tcat \n\n sat. ") == ["The", "cat", "sat."]


def test_wikitext_has_line_ends_and_its_body_has_no_headings():
    text = " \n = Title = \n \n The cat . \n = = Plot = = \n x = y \n"
    assert tokenise.wikitext(text) == (
        "<eos> = Title = <eos> <eos> The cat . <eos> = = Plot = = <eos> x = y <eos>".split()  # noqa: SIM905
    )
    assert tokenise.wikitext_body(text) == ["The", "cat", ".", "x", "=", "y"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (" = A = ", True),
        (" = A = B = ", True),
        (" = = A = = ", False),
        (" = = = A = = = ", False),
        (" A ", False),
        (" = = ", False),
        ("", False),
    ],
)
def test_titles_are_headings_of_level_one(line, expected):
    assert tokenise.is_title(line) is expected


def scanned_code(text: str) -> list[str]:
    """Tokens of a program line by line, for ASCII text with blanks and tabs only."""
    found: list[str] = []
    lines = text.split("\n")
    # The first line has no start and the end of the file is one, whatever number of empty lines surrounds them.
    for number, line in enumerate(lines):
        body = line.strip(" \t")
        if number and (body or number == len(lines) - 1):
            indent = line[: len(line) - len(line.lstrip(" \t"))]
            found.append("\n" + " " * min(8, len(indent.expandtabs(8))))
        while body := body.lstrip(" \t"):
            size = 1
            if body[0].isalpha() or body[0] == "_":
                while size < len(body) and (body[size].isalnum() or body[size] == "_"):
                    size += 1
            elif body[0].isdigit():
                while size < len(body) and (body[size].isalnum() or body[size] in "_."):
                    size += 1
            found.append(body[:size])
            body = body[size:]
    return found


@given(st.text(st.sampled_from("ab_1.=( \t\n"), max_size=60))
def test_code_is_that_of_a_scan(text):
    assert tokenise.code(text) == scanned_code(text)


def test_indentation_is_told_apart_up_to_eight_columns():
    assert tokenise.code("a\n   b\n\tc\n            d")[1::2] == ["\n   ", "\n        ", "\n        "]


@given(st.binary(max_size=40).map(lambda data: bytes(65 + each % 26 for each in data)), st.integers(1, 8))
def test_kmers_do_not_overlap_and_can_be_spelled(letters, size):
    numbers = tokenise.kmers(letters, size)
    expected = [letters[start : start + size].decode() for start in range(0, len(letters) - size + 1, size)]
    assert [tokenise.spell(f"kmer{size}", int(number)) for number in numbers] == expected


def test_residues_are_upper_case_letters():
    assert tokenise.residues(b"ac gT\r\nn-*\t\n") == b"ACGTN-*"


@pytest.mark.parametrize(
    ("name", "token", "expected"),
    [
        ("word", "sea", "sea"),
        ("char", 8364, "€"),
        ("byte", 255, "0xff"),
        ("residue", 65, "A"),
        ("kmer2", 0x4142, "AB"),
        ("ids", 5, "5"),
        ("bpe", 5, "5"),
    ],
)
def test_tokens_can_be_spelled(name, token, expected):
    assert tokenise.spell(name, token) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("x.fa", "residue"),
        ("x.FASTA.gz", "residue"),
        ("a/x.faa", "residue"),
        ("x.npy", "ids"),
        ("x.py", "code"),
        ("x.txt.gz", "word"),
        ("fa", "word"),
    ],
)
def test_auto_goes_by_the_ending(path, expected):
    assert tokenise.tokenisation("auto", path).name == expected


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("wrod", "Unknown tokens 'wrod': did you mean 'word'?"),
        ("kmer0", "K in kmerK must be a whole number from 1 to 7, got 0."),
        ("kmer-1", "K in kmerK must be a whole number from 1 to 7, got -1."),
        ("kmer9", "K in kmerK must be a whole number from 1 to 7, got 9."),
        ("kmer", "Unknown tokens 'kmer'"),
        ("bpe", "The tokens bpe need a tokenizer"),
    ],
)
def test_wrong_names_get_a_sentence(name, sentence):
    with pytest.raises(InputError) as caught:
        tokenise.tokenisation(name)
    assert str(caught.value).startswith(sentence)


def test_a_tokenizer_belongs_to_bpe():
    with pytest.raises(InputError, match="belongs to the tokens bpe, got 'word'"):
        tokenise.tokenisation("word", tokenizer="x.json")


TEXTS = ["the cat sat on the mat\nthe rat sat\n", "the bat and the hat — ünïcode\n\n  indented\n"]


def test_bpe_is_trained_the_same_every_time_and_loses_nothing(tmp_path):
    tokenizers = pytest.importorskip("tokenizers", reason="the library tokenizers is not installed")
    trained = tokenise.train_bpe(TEXTS, 300)
    assert trained == tokenise.train_bpe(iter(TEXTS), 300)
    assert len(json.loads(trained)["model"]["vocab"]) <= 300
    path = tmp_path / "tokenizer.json"
    path.write_text(trained, encoding="utf-8")
    kind = tokenise.tokenisation("bpe", tokenizer=str(path))
    assert kind.split is not None
    text = "the fat cat\n\nünseen 汉 words\nno end"
    ids = kind.split(text)
    assert tokenizers.Tokenizer.from_file(str(path)).decode(ids) == text
    # Lines are independent of each other, and merges were learned.
    pieces = [kind.split(line) for line in ("the fat cat\n", "\n", "ünseen 汉 words\n", "no end")]
    assert ids.tolist() == np.concatenate(pieces).tolist()
    assert [tokenise.spell("bpe", int(each), str(path)) for each in kind.split("the")] == ["the"]


def test_bpe_files_that_are_none_get_a_sentence(tmp_path):
    pytest.importorskip("tokenizers", reason="the library tokenizers is not installed")
    path = tmp_path / "tokenizer.json"
    with pytest.raises(InputError, match="cannot be read"):
        tokenise.tokenisation("bpe", tokenizer=str(path))
    path.write_text("{}")
    with pytest.raises(InputError, match=r"is not a tokenizer\.json"):
        tokenise.tokenisation("bpe", tokenizer=str(path))
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"is not a tokenizer\.json"):
        tokenise.tokenisation("bpe", tokenizer=str(path))


def test_without_the_library_bpe_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(InputError, match=r"pip install 'specht\[corpora\]'"):
        tokenise.train_bpe(["text"], 300)


def test_bpe_has_at_least_the_bytes():
    pytest.importorskip("tokenizers", reason="the library tokenizers is not installed")
    with pytest.raises(InputError, match="types must be a whole number of at least 256, got 100"):
        tokenise.train_bpe(["text"], 100)
