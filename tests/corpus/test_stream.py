"""Streams into segments: every pair, triple and window of a record is found once and in its block, however the stream was cut."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from specht.corpus.read.stream import SEGMENT, Blocks, Encoded, Segment, record_starts, segments, window_starts
from specht.errors import InputError


def random_stream(seed: int, total: int, records: int) -> tuple[np.ndarray, np.ndarray]:
    """Ids that are their own places, so that any pair tells where it came from, and the number of the record of each."""
    rng = np.random.default_rng(seed)
    begins = np.sort(rng.choice(np.arange(1, total), size=records, replace=False))
    return np.arange(total), np.searchsorted(begins, np.arange(total), side="right")


def cut(ids: np.ndarray, record: np.ndarray, bounds: list[int]) -> list[Encoded]:
    """The stream in pieces, whose first token begins a record if it is the first of the stream, or of its record."""
    begins = np.concatenate([[True], np.diff(record) > 0])
    return [Encoded(ids[low:high], np.flatnonzero(begins[low:high])) for low, high in itertools.pairwise(bounds)]


CUTS = {
    "one piece": [0, 300],
    "single tokens": list(range(301)),
    "some of them empty": [0, 0, 7, 150, 150, 299, 300],
}


@pytest.mark.parametrize("bounds", CUTS.values(), ids=CUTS.keys())
@pytest.mark.parametrize("size", [1, 16, 1000])
@pytest.mark.parametrize("records", [0, 20, 200])
def test_pairs_of_all_records_and_blocks(bounds, size, records):
    ids, record = random_stream(records, 300, records)
    blocks = Blocks(300, 7)
    block = np.searchsorted(blocks.bounds, ids, side="right") - 1
    found = {lag: [] for lag in range(1, 10)}
    for segment in segments(cut(ids, record, bounds), blocks, reach=9, size=size):
        assert segment.owned <= size
        for lag, pairs in found.items():
            stop, apart = segment.pairs(lag)
            first = segment.ids[:stop] if apart is None else segment.ids[:stop][~apart]
            second = segment.ids[lag : stop + lag] if apart is None else segment.ids[lag : stop + lag][~apart]
            pairs += [(segment.block, *pair) for pair in zip(first.tolist(), second.tolist(), strict=True)]
            starts = segment.starts(lag)
            assert segment.ids[starts].tolist() == first.tolist()
            assert segment.ids[segment.shifted(starts, lag)].tolist() == second.tolist()
    for lag, pairs in found.items():
        expected = [(block[s], s, s + lag) for s in range(300 - lag) if record[s] == record[s + lag]]
        assert pairs == expected


def test_every_token_is_owned_once():
    ids, record = random_stream(1, 1000, 30)
    bounds = [0, 400, 1000]
    found = list(segments(cut(ids, record, bounds), Blocks(1000, 3), reach=5, size=64))
    assert np.concatenate([segment.ids[: segment.owned] for segment in found]).tolist() == ids.tolist()
    assert [sum(segment.owned for segment in found if segment.block == block) for block in range(3)] == [333, 333, 334]


def test_later_parts_of_a_corpus_know_their_blocks():
    ids, record = random_stream(2, 500, 10)
    record[200:] += 1  # a part begins a record
    blocks = Blocks(500, 4)

    def pairs(pieces: list[Encoded], offset: int) -> list[tuple[int, int, int]]:
        found = []
        for segment in segments(pieces, blocks, reach=3, offset=offset, size=50):
            starts = segment.starts(2)
            places = zip(segment.ids[starts].tolist(), segment.ids[segment.shifted(starts, 2)].tolist(), strict=True)
            found += [(segment.block, *place) for place in places]
        return found

    whole = pairs(cut(ids, record, [0, 500]), 0)
    assert pairs(cut(ids[:200], record[:200], [0, 200]), 0) + pairs(cut(ids[200:], record[200:], [0, 300]), 200) == whole


@pytest.mark.parametrize("records", [0, 5, 60])
@pytest.mark.parametrize("length", [1, 4, 9])
def test_disjoint_windows_begin_with_segments_and_records(records, length):
    ids, record = random_stream(3, 200, records)
    for segment in segments(cut(ids, record, [0, 200]), Blocks(200, 3), reach=8, size=40):
        place, expected = 0, []
        while place < segment.owned:
            same = record[segment.ids[place : segment.owned]] == record[segment.ids[place]]
            inside = int(same.sum())
            expected += range(place, place + inside // length * length, length)
            place += inside
        assert window_starts(segment, length).tolist() == expected
        begins = np.flatnonzero(np.diff(record[segment.ids[: segment.owned]])) + 1
        assert record_starts(segment).tolist() == [0, *begins]


def test_segments_without_ends_of_records_need_no_places():
    ids, record = random_stream(4, 100, 1)
    found = list(segments(cut(ids, record, [0, 100]), Blocks(100, 2), reach=3, size=10))
    end = int(record.argmax())
    for segment in found:
        crossed = segment.ids[0] < end <= segment.ids[-1]
        assert (segment.left is not None) == crossed


def test_blocks_are_contiguous_and_alike():
    for total, number in ((16, 16), (17, 16), (1000, 7), (SEGMENT, 2)):
        sizes = np.diff(Blocks(total, number).bounds)
        assert sizes.sum() == total
        assert sizes.max() - sizes.min() <= 1
    with pytest.raises(InputError, match="15 tokens cannot be split into 16 blocks"):
        Blocks(15, 16)
    with pytest.raises(InputError, match="number of blocks must be a whole number of at least 2, got 1"):
        Blocks(15, 1)


def test_a_segment_at_the_end_of_a_stream_has_fewer_partners():
    segment = Segment(np.arange(5), owned=5, block=0)
    assert [segment.pairs(lag)[0] for lag in (1, 4, 5, 9)] == [4, 1, 0, 0]
    assert segment.starts(9) == slice(0, 0)
