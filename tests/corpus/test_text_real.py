"""Memory of long files, and real corpora: the counts that other programs found."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from texts import saved, stream

from specht.corpus.read import text as text_module, tokenise
from specht.corpus.read.parts import default_parts, find_parts
from specht.corpus.read.text import ReadingOptions, read

DATA = Path(os.environ.get("SPECHT_DATA", Path(__file__).parents[2] / "../shared/data"))


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
    list(read(saved(tmp_path, b"x", "warm.txt"), ReadingOptions("char")))  # tables that are kept
    tracemalloc.start()
    try:
        assert sum(map(len, read(part, ReadingOptions(tokens), 1 << 16))) == count
        assert tracemalloc.get_traced_memory()[1] < 6_000_000
    finally:
        tracemalloc.stop()


def test_the_default_corpus_is_the_standard_library():
    parts = default_parts()
    names = [Path(part.path).name for part in parts]
    assert {"argparse.py", "typing.py"} < set(names)
    assert names == sorted(names)
    argparse = next(part for part in parts if part.path.endswith("argparse.py"))
    tokens, records, _ = stream(argparse, ReadingOptions("code"), 1000)
    assert tokens == tokenise.code(Path(argparse.path).read_text(encoding="utf-8"))
    assert records == [0]
    assert stream(argparse, ReadingOptions())[0] == tokens


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
        for chunk in read(part, ReadingOptions(tokens)):
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
    first = next(read(parts[0], ReadingOptions("char-cased"), 3_100_000)).tokens[:3_000_000]
    assert isinstance(first, np.ndarray)
    assert (len(first), len(np.unique(first))) == (3_000_000, 173)


def test_reading_loads_no_large_libraries():
    check = (
        "import sys, specht.corpus.read.text, specht.corpus.read.vocabulary, specht.corpus.read.named\n"
        "print({name.split('.')[0] for name in sys.modules} & {'jax', 'xarray', 'plotly', 'pydantic', 'tqdm', 'pooch', 'tokenizers'})"
    )
    assert subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True).stdout == "set()\n"
