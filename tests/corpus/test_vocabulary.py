"""Counts of types and vocabularies against collections.Counter and loops."""

from __future__ import annotations

from collections import Counter

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from specht.corpus.read.stream import Chunk
from specht.corpus.read.vocabulary import TypeCounts, Vocabulary
from specht.errors import InputError

WORDS = st.lists(st.sampled_from(["a", "b", "é", "汉", "<unk>", "<eos>", "", "𝔸"]), min_size=1, max_size=30)
NUMBERS = st.lists(st.sampled_from([0, 1, 2, 97, 2**21 - 1, 2**21, 2**40, 2**62]), min_size=1, max_size=30)


def counted(*pieces: Chunk) -> TypeCounts:
    counts = TypeCounts()
    for piece in pieces:
        counts.update(piece)
    return counts


def as_chunk(tokens: list) -> Chunk:
    return Chunk(tokens if isinstance(tokens[0], str) else np.array(tokens), np.array([0]))


@given(st.one_of(st.lists(WORDS, min_size=1, max_size=5), st.lists(NUMBERS, min_size=1, max_size=5)), st.randoms())
def test_the_order_of_merging_does_not_matter(pieces, random):
    whole = counted(*map(as_chunk, pieces))
    order = list(pieces)
    random.shuffle(order)
    merged = TypeCounts()
    for piece in order:
        merged.merge(counted(as_chunk(piece)))
    assert merged == whole
    assert {name: array.tolist() for name, array in merged.arrays().items()} == {n: a.tolist() for n, a in whole.arrays().items()}
    expected = Counter(token for piece in pieces for token in piece)
    assert whole.counts == expected
    assert (whole.tokens, len(whole)) == (expected.total(), len(expected))
    if len(expected) > 1:
        ours, theirs = Vocabulary.top(merged, 3, strict=False), Vocabulary.top(whole, 3, strict=False)
        assert ours.types == theirs.types


@given(st.one_of(WORDS, NUMBERS))
def test_arrays_hold_everything(tokens):
    counts = counted(as_chunk(tokens))
    arrays = counts.arrays()
    assert all(array.dtype.kind in "iu" and array.ndim == 1 for array in arrays.values())
    again = TypeCounts.from_arrays(arrays)
    assert again == counts
    assert again.kind is counts.kind


def test_no_counts_are_arrays_too():
    assert TypeCounts.from_arrays(TypeCounts().arrays()) == TypeCounts()


@given(st.one_of(WORDS, NUMBERS), st.integers(1, 9))
def test_encoding_is_the_place_in_the_sorted_list(tokens, size):
    chunk = as_chunk(tokens)
    counts = counted(chunk)
    if len(counts) == 1:
        return
    vocabulary = Vocabulary.top(counts, size, strict=False)
    ranking = sorted(set(tokens) - {"<unk>"}, key=lambda each: (-tokens.count(each), each))[:size]
    assert list(vocabulary.types) == ranking
    encoded = vocabulary.encode(chunk)
    assert encoded.ids.dtype == np.intp
    assert encoded.ids.tolist() == [ranking.index(each) if each in ranking else len(ranking) for each in tokens]
    assert encoded.records is chunk.records
    frequencies = np.bincount(encoded.ids, minlength=len(ranking) + 1) / len(tokens)
    np.testing.assert_allclose(vocabulary.probabilities, frequencies, atol=1e-15)
    assert vocabulary.probabilities.shape == (len(vocabulary) + 1,)
    assert vocabulary.rest == np.sum(encoded.ids == len(ranking))


def test_numbers_the_vocabulary_has_never_seen_are_the_rest():
    vocabulary = Vocabulary.top(counted(Chunk(np.array([5, 5, 3], dtype=np.uint8))), 2)
    assert vocabulary.encode(Chunk(np.array([5, 3, 0, 4, 6, 2**40]))).ids.tolist() == [0, 1, 2, 2, 2, 2]
    large = Vocabulary.top(counted(Chunk(np.array([2**40, 2**40, 3]))), 2)
    assert large.encode(Chunk(np.array([2**40, 3, 0, 2**50], dtype=np.int64))).ids.tolist() == [0, 1, 2, 2]
    assert vocabulary.encode(Chunk(np.array([255, 5], dtype=np.uint8))).ids.tolist() == [2, 0]


def test_all_256_bytes_are_a_vocabulary():
    data = np.arange(256, dtype=np.uint8)
    vocabulary = Vocabulary.top(counted(Chunk(data)), 256)
    assert vocabulary.encode(Chunk(data)).ids.tolist() == list(range(256))


def test_unknown_words_are_the_rest_and_all_types_may_be_taken():
    counts = counted(Chunk(["<unk>", "b", "<unk>", "a", "b"]))
    vocabulary = Vocabulary.top(counts, 2)
    assert vocabulary.types == ("b", "a")
    assert vocabulary.rest == 2
    full = Vocabulary.top(counted(Chunk(["a", "b"])), 10, strict=False)
    assert full.probabilities.tolist() == [0.5, 0.5, 0.0]


def test_a_vocabulary_larger_than_the_corpus_is_refused():
    counts = counted(Chunk(["a", "b", "<unk>"]))
    with pytest.raises(InputError, match="has 2 types of token, fewer than a vocabulary of 3"):
        Vocabulary.top(counts, 3)
    assert len(Vocabulary.top(counts, 3, strict=False)) == 2


@pytest.mark.parametrize(
    ("size", "sentence"), [(0, "vocab must be a whole number of at least 1, got 0"), (1.5, "got 1.5"), (True, "got True")]
)
def test_sizes_are_whole_numbers(size, sentence):
    with pytest.raises(InputError, match=sentence):
        Vocabulary.top(counted(Chunk(["a", "b"])), size)


def test_one_type_or_none_is_refused():
    with pytest.raises(InputError, match=r"has one type of token only \('a'\)"):
        Vocabulary.top(counted(Chunk(["a", "a"])), 1)
    with pytest.raises(InputError, match="has no tokens"):
        Vocabulary.top(TypeCounts(), 1)


def test_words_and_numbers_do_not_mix():
    counts = counted(Chunk(["a"]))
    with pytest.raises(InputError, match="words in some files and numbers in others"):
        counts.update(Chunk(np.array([1])))
    with pytest.raises(InputError, match="words in some files and numbers in others"):
        counts.merge(counted(Chunk(np.array([1]))))
    counts.update(Chunk(np.array([], dtype=int)))
    counts.merge(TypeCounts())
    assert counts.tokens == 1
