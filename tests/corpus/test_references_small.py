"""Reference values measured by an independent prototype on real corpora: irreps, third cumulants, Fourier blocks.

The metric, the role of the rest and of `<unk>` are those that reproduce the prototype: `<unk>` belongs to the rest for irreps and third
cumulants and is a type like others for Fourier blocks.
"""

from __future__ import annotations

import collections
import gzip
import itertools
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from specht.corpus.read.stream import Segment
from specht.corpus.stats.harmonics import measure_harmonics
from specht.corpus.stats.isotypic import PARTS, WindowTensor, isotypic_energies
from specht.corpus.stats.third import ThirdMoments, third_score


def data_file(name: str) -> Path:
    root = Path(__file__).parents[2] / os.environ.get("SPECHT_DATA", "../shared/data")
    if not (root / name).exists():
        pytest.skip(f"the corpus {name} is not in {root}")
    return root / name


def lines_of_wikitext() -> list[list[str]]:
    return [line.split() for line in data_file("wikitext2/train.txt").read_text(encoding="utf-8").split("\n")[:-1]]


def encoded(tokens: Iterable[str], vocab: int, rest: tuple[str, ...] = ("<unk>",)) -> np.ndarray:
    tokens = list(tokens)
    counts = collections.Counter(tokens)
    for each in rest:
        del counts[each]
    places = {token: place for place, (token, _) in enumerate(counts.most_common(vocab))}
    return np.array([places.get(token, vocab) for token in tokens], dtype=np.intp)


@pytest.fixture(scope="module")
def body() -> list[str]:
    """Words of WikiText-2 without headings, empty lines and line ends."""
    return [word for line in lines_of_wikitext() if line and not (line[0] == line[-1] == "=") for word in line]


@pytest.fixture(scope="module")
def proteins() -> list[str]:
    text = gzip.decompress(data_file("protein_ecoli/GCF_000005845.2_ASM584v2_protein.faa.gz").read_bytes()).decode()
    return ["".join(entry.split("\n")[1:]).upper() for entry in text.split(">")[1:]]


def stream(ids: np.ndarray, blocks: int, window: int = 0) -> list[Segment]:
    """Blocks of a text without records, or of one whose windows are records."""
    pieces = np.array_split(ids, blocks)
    inside = np.arange(window)[::-1]
    return [Segment(piece, len(piece), g, np.resize(inside, len(piece)) if window else None) for g, piece in enumerate(pieces)]


def records(sequences: list[str], vocab: int, blocks: int) -> list[Segment]:
    """Blocks of whole records with about as many tokens each."""
    ids = encoded("".join(sequences), vocab)
    ends = np.cumsum([len(sequence) for sequence in sequences])
    left = np.concatenate([np.arange(len(sequence))[::-1] for sequence in sequences])
    inner = ends[np.searchsorted(ends, np.arange(1, blocks) * len(ids) / blocks)]
    cuts = [0, *inner.tolist(), len(ids)]
    return [Segment(ids[low:high], high - low, g, left[low:high]) for g, (low, high) in enumerate(itertools.pairwise(cuts))]


def shuffled(ids: np.ndarray, window: int, blocks: int) -> np.ndarray:
    """Tokens permuted inside windows, and as many of them as blocks of whole windows hold."""
    windows = ids[: len(ids) // (window * blocks) * window * blocks].reshape(-1, window)
    return np.random.default_rng(0).permuted(windows, axis=1).ravel()


def isotypic(segments: list[Segment], vocab: int):
    tensor = WindowTensor(16, vocab + 1, len(segments))
    for segment in segments:
        tensor.update(segment)
    return isotypic_energies(tensor, 1 / np.sqrt(np.maximum(tensor.probabilities, 1e-3)))


def third(segments: list[Segment], vocab: int, length: int = 16):
    moments = ThirdMoments(length, vocab + 1, len(segments))
    for segment in segments:
        moments.update(segment)
    p = moments.probabilities
    return third_score(moments, np.append(1 / np.sqrt(p[:-1]), 0))


def test_isotypic_energies_of_wikitext(body):
    ids = encoded(body, 30)
    assert len(ids) == 2_007_146
    found = isotypic(stream(ids, 16), 30)
    expected = dict(zip(PARTS, (0.140, 0.023, 0.378, 0.459), strict=True))
    for part, share in found.shares.items():
        assert share.low < expected[part] < share.high
        assert share.value == pytest.approx(expected[part], abs=0.0035)
    assert found.diagonal.low < 0 < found.diagonal.high  # windows cut anywhere have no special positions

    control = isotypic(stream(shuffled(ids, 16, 16), 16), 30)
    for (part, share), value in zip(control.shares.items(), (1, 0, 0, 0), strict=True):
        assert share.low < value < share.high, part
        assert share.value == pytest.approx(value, abs=0.005)


def test_isotypic_energies_of_the_starts_of_proteins(proteins):
    starts = [sequence[:16] for sequence in proteins if len(sequence) >= 16]
    found = isotypic(records(starts, 20, 16), 20)
    assert found.shares["(L)"].value == pytest.approx(0.029, abs=0.001)
    assert found.shares["(L-1,1)"].value == pytest.approx(0.380, abs=0.002)
    assert found.diagonal.value > 2  # all of them begin with M


@pytest.mark.parametrize(("length", "expected", "interval"), [(16, 0.040, (0.034, 0.045)), (8, 0.035, None)])
def test_third_cumulants_of_wikitext(body, length, expected, interval):
    found = third(stream(encoded(body, 20), 12), 20, length)
    assert found.defined
    assert found.score.value == pytest.approx(expected, abs=0.001)
    if interval is not None:  # of other draws of the same blocks
        assert (found.score.low, found.score.high) == pytest.approx(interval, abs=0.006)


def test_third_cumulants_after_a_shuffle_of_windows(body):
    found = third(stream(shuffled(encoded(body, 20), 16, 12), 12, window=16), 20)
    assert found.score.low < 1 < found.score.high


def test_third_cumulants_of_proteins(proteins):
    found = third(records(proteins, 20, 12), 20)
    assert found.score.value == pytest.approx(0.157, abs=0.001)
    assert (found.score.low, found.score.high) == pytest.approx((0.129, 0.192), abs=0.007)


def test_third_cumulants_of_bases():
    lines = gzip.decompress(data_file("dna_ecoli/GCF_000005845.2_ASM584v2_genomic.fna.gz").read_bytes()).split(b"\n")[1:]
    codes = np.frombuffer(b"".join(lines).upper(), dtype=np.uint8)
    ids = np.searchsorted(np.frombuffer(b"ACGT", dtype=np.uint8), codes)
    score = third(stream(ids, 12), 4).score
    assert (score.value, score.low, score.high) == pytest.approx((0.037, 0.031, 0.043), abs=0.002)


@pytest.fixture(scope="module")
def whole() -> list[str]:
    """All words of WikiText-2, with `<eos>` at the ends of lines."""
    return [word for line in lines_of_wikitext() for word in (*line, "<eos>")]


def lag_tables(ids: np.ndarray, symbols: int, length: int):
    tables = np.empty((length - 1, symbols, symbols), dtype=np.int32)
    for t in range(1, length):
        tables[t - 1] = np.bincount(ids[:-t] * symbols + ids[t:], minlength=symbols**2).reshape(symbols, symbols)
    return tables, len(ids) - np.arange(1, length), np.bincount(ids, minlength=symbols) / len(ids)


@pytest.mark.parametrize(
    ("vocab", "length", "kind", "expected"),
    [
        (100, 64, "centred", (0.950, 0.760, 0.826)),
        pytest.param(1000, 64, "raw", (0.962, 0.820, 0.713), marks=pytest.mark.slow),
        pytest.param(1000, 64, "centred", (0.962, 0.820, 0.876), marks=pytest.mark.slow),
        pytest.param(1000, 64, "off-site", (0.273, -0.719, -0.083), marks=pytest.mark.slow),
    ],
)
def test_cosines_of_fourier_blocks(whole, vocab, length, kind, expected):
    found = measure_harmonics(*lag_tables(encoded(whole, vocab, rest=()), vocab + 1, length), kind=kind).cosines
    assert (found.within.mean, found.within.least, found.across.mean) == pytest.approx(expected, abs=0.001)


def test_unknown_words_in_the_rest_change_the_cosines(whole):
    found = measure_harmonics(*lag_tables(encoded(whole, 100), 101, 64)).cosines
    assert (found.within.mean, found.across.mean) == pytest.approx((0.946, 0.806), abs=0.001)


@pytest.mark.slow
def test_eigenvalues_of_fourier_blocks(whole):
    found = measure_harmonics(*lag_tables(encoded(whole, 500, rest=()), 501, 64), whitened=True, eigenvalues=True)
    distances = found.kolmogorov(normalised=False)
    measured = (distances.within.median, distances.within.most, distances.across.median)
    assert measured == pytest.approx((0.014, 0.092, 0.252), abs=0.001)
    normalised = found.kolmogorov()
    assert normalised.within.most < normalised.across.least
