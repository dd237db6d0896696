"""Corpora by name: what they are, whose they are, and where they lie on this machine.

Nothing is downloaded unless one asks for it, and a file that is not the one the name stands for is never read.
"""

from __future__ import annotations

import dataclasses
import os
import sysconfig
from pathlib import Path
from typing import Any

from specht.corpus.read.parts import FilePart, default_parts, find_parts, fingerprint
from specht.corpus.read.text import ReadingOptions
from specht.errors import InputError, StorageError, check_choice

DATA = "SPECHT_DATA"
"""The environment variable with the folder of corpora."""
_TIMEOUT = 30
"""Seconds without an answer after which a download is given up."""
_WIKITEXT_URL = (
    "https://raw.githubusercontent.com/pytorch/examples/77f55b912142e11fcfdf5b530231fb9c52f181e8/word_language_model/data/wikitext-2/"
)
_ECOLI_URL = "https://raw.githubusercontent.com/KorfLab/setup/73b437f295e9eef478d3b77d6ddcf6faca114118/data/"
_WIKITEXT_LICENCE = "WikiText-2 (Merity et al. 2016), text of Wikipedia: CC BY-SA 3.0, keep the attribution and share alike."
_ECOLI_LICENCE = "NCBI RefSeq GCF_000005845.2 (E. coli K-12 MG1655): no restrictions placed by NCBI."
_BIBLE_LICENCE = "Parallel Bible corpus (Christodoulopoulos & Steedman 2015): CC0 1.0."


@dataclasses.dataclass(frozen=True)
class Named:
    """A corpus with a name."""

    title: str
    path: str | None
    """Below the folder of corpora; None for Python's own source."""
    reading: ReadingOptions
    licence: str
    url: str | None = None
    """Where the file is public, unchanged."""
    sha256: str | None = None


SHA256 = {
    "wikitext2/train.txt": "9e9fa1ad55b1c2c95b08e37dd8e653f638fac2c6de904b79e813611eefbc985f",
    "wikitext2/valid.txt": "f0737ed31fc1329026e95cb8b98e19c2a182c39c240ab909dc31abf2f8af58e8",
    "wikitext2/test.txt": "d790b833ef8cf03a90db7bf1271b7520b83c45ce07ba3c1a9699df81e239eca0",
    "dna_ecoli/GCF_000005845.2_ASM584v2_genomic.fna.gz": "254606e2722f64ca0906dfc1d41bceac41be72c335627c23f831b007939c8a48",
    "protein_ecoli/GCF_000005845.2_ASM584v2_protein.faa.gz": "d8bc2793b4f585c15740ec5c543857666a1d8dc135965e9854e6f4e8fecc45bb",
    "gutenberg_en/moby_dick.txt": "734818e439fe15c91dcc51e9d12092a057993b1556ac45e1e34de3c6add29fdc",
    "gutenberg_alice/alice_in_wonderland.txt": "db3358c54b5db242c4d0cdeb6e62767239fd9e49b90c87f6d34470a81d20c688",
    "gutenberg_de/der_prozess.txt": "52dc4f3a52a99f2870ef1d19d64118b3ebdf234736a3490f67814c49e8131073",
    "gutenberg_fr/les_trois_mousquetaires.txt": "78d6a67bb02530882023c135a1fec69b4605a88401daf9bdebcc37989249d39b",
    "gutenberg_es/don_quijote.txt": "b23f7e93e3641ed041e59ed21da93c0d5610e991c9a2688e034c4345829b76b3",
    "gutenberg_it/i_promessi_sposi.txt": "477b6262f404b112f936d178c14b6b1af52d44c345448b3bec06850c1f0f2428",
    "gutenberg_fi/kalevala.txt": "4621d83f5c548dcff35f2e7fd3569ca7b1247342908dcc2da49032e79c2c4354",
    "gutenberg_zh/hongloumeng.txt": "0f31cd3b36e7c2df7717a47009e5a9d9b0fd98ff5114c207918ef4032a9f14f0",
    "bible_nt/eus.txt": "6a53f1654484bf348326b1f162661eba50076a0139ed118464ffc13a28c8b7d0",
    "bible_nt/ukr.txt": "3689d6a7723b79b7881e46bb9ce7ab031e9e2041b48dd18d9f55f42a8bec364e",
    "bible_nt/cop.txt": "0e2ddceffcfda38fe9f2fc0c9c9313ca4dc066d3ca33d2b30d0df76be4e50971",
    "bible_nt/syr.txt": "2c869a8c42bcd0e56828a300f38b1317dba955fbd85b7fdbafa27e0ff9ced7fb",
}
"""Of the file of each path below the folder of corpora."""


def _known(title: str, path: str, tokens: str, licence: str, url: str | None = None) -> Named:
    return Named(title, path, ReadingOptions(tokens=tokens), licence, url and url + path.rpartition("/")[2], SHA256[path])


def _wikitext(title: str, part: str, tokens: str = "wikitext") -> Named:
    return _known(f"WikiText-2, {title}", f"wikitext2/{part}.txt", tokens, _WIKITEXT_LICENCE, _WIKITEXT_URL)


def _ecoli(title: str, path: str) -> Named:
    return _known(f"E. coli K-12, {title}", path, "residue", _ECOLI_LICENCE, _ECOLI_URL)


def _book(title: str, path: str, tokens: str = "word") -> Named:
    return _known(title, path, tokens, "Public domain (Project Gutenberg's text without its boilerplate).")


def _bible(title: str, file: str) -> Named:
    return _known(f"New Testament, {title}", f"bible_nt/{file}", "word", _BIBLE_LICENCE)


NAMED = {
    "stdlib": Named(
        "Source of the running Python's standard library", None, ReadingOptions(tokens="code"), "Python Software Foundation License."
    ),
    "wikitext-2": _wikitext("training part", "train"),
    "wikitext-2-body": _wikitext("training part without headings and line ends", "train", "wikitext-body"),
    "wikitext-2-valid": _wikitext("validation part", "valid"),
    "wikitext-2-test": _wikitext("test part", "test"),
    "ecoli-genome": _ecoli("genome NC_000913.3", "dna_ecoli/GCF_000005845.2_ASM584v2_genomic.fna.gz"),
    "ecoli-proteins": _ecoli("proteins", "protein_ecoli/GCF_000005845.2_ASM584v2_protein.faa.gz"),
    "moby-dick": _book("Moby-Dick, Herman Melville", "gutenberg_en/moby_dick.txt"),
    "alice": _book("Alice's Adventures in Wonderland, Lewis Carroll", "gutenberg_alice/alice_in_wonderland.txt"),
    "der-prozess": _book("Der Prozess, Franz Kafka", "gutenberg_de/der_prozess.txt"),
    "trois-mousquetaires": _book("Les trois mousquetaires, Alexandre Dumas", "gutenberg_fr/les_trois_mousquetaires.txt"),
    "don-quijote": _book("Don Quijote, Miguel de Cervantes", "gutenberg_es/don_quijote.txt"),
    "promessi-sposi": _book("I promessi sposi, Alessandro Manzoni", "gutenberg_it/i_promessi_sposi.txt"),
    "kalevala": _book("Kalevala, Elias Lönnrot", "gutenberg_fi/kalevala.txt"),
    "hongloumeng": _book("Honglou meng, Cao Xueqin", "gutenberg_zh/hongloumeng.txt", "cjk"),
    "nt-basque": _bible("Basque (Leizarraga 1571)", "eus.txt"),
    "nt-ukrainian": _bible("Ukrainian (Kulish 1903)", "ukr.txt"),
    "nt-coptic": _bible("Coptic", "cop.txt"),
    "nt-syriac": _bible("Syriac (Peshitta)", "syr.txt"),
}


def named(name: str) -> Named:
    """The corpus of a name."""
    check_choice("corpus", name, NAMED)
    return NAMED[name]


def named_parts(name: str, download: bool = False) -> tuple[list[FilePart], ReadingOptions]:
    """The parts of a corpus and how it is read."""
    corpus = named(name)
    return (default_parts() if corpus.path is None else find_parts(locate(name, download))), corpus.reading


def whereabouts(name: str) -> str:
    """Whether a corpus is here, can be fetched, or has to be brought; files are not read.

    >>> whereabouts("stdlib")
    'here'
    """
    corpus = named(name)
    if corpus.path is None or _found(corpus.path) is not None:
        return "here"
    return "to be put there by you" if corpus.url is None else "by --download"


def _found(path: str) -> Path | None:
    """A file below the folder of corpora, or among earlier downloads."""
    if os.environ.get(DATA) and (file := Path(os.environ[DATA]) / path).is_file():
        return file
    pooch = _library()
    return file if pooch is not None and (file := _cache(pooch) / _cached_name(path)).is_file() else None


def locate(name: str, download: bool = False) -> Path:
    """Where the file of a corpus is: below the folder in `SPECHT_DATA`, or among earlier downloads, or fetched now.

    Args:
        name: A name of `NAMED`.
        download: Whether to fetch the file if it is on none of these places. Without it no connection is ever made.
    """
    corpus = named(name)
    if corpus.path is None or corpus.sha256 is None:
        return Path(sysconfig.get_paths()["stdlib"])
    if (path := _found(corpus.path)) is not None:
        return _checked(path, name, corpus.sha256)
    pooch = _library()
    here = f"put it at {corpus.path} below the folder that the environment variable {DATA} names"
    if corpus.url is None:
        raise InputError(f"The corpus {name} is not on this machine and has no public address: {here}.")
    if not download:
        raise InputError(f"The corpus {name} is not on this machine: allow its download with --download, or {here}.")
    if pooch is None:
        raise InputError("Downloads need the library pooch, which is not installed: `pip install 'specht[corpora]'`.")
    return _download(pooch, name, corpus.url, corpus.sha256, _cached_name(corpus.path))


def _checked(path: Path, name: str, sha256: str) -> Path:
    digest = fingerprint([FilePart(str(path))])
    if digest != sha256:
        both = f"its SHA-256 is {digest[:12]}…, not {sha256[:12]}…"
        raise InputError(f"{path} is not the corpus {name} ({both}): replace or remove the file.")
    return path


def _cached_name(path: str) -> str:
    return path.replace("/", "-")


def _library() -> Any:
    try:
        import pooch  # pyright: ignore[reportMissingImports]
    except ImportError:
        return None
    return pooch


def _cache(pooch: Any) -> Path:
    return Path(pooch.os_cache("specht"))


def _download(pooch: Any, name: str, url: str, sha256: str, file: str) -> Path:
    import requests  # pyright: ignore[reportMissingModuleSource, reportMissingImports]  (pooch needs it too)

    try:
        downloader = pooch.HTTPDownloader(timeout=_TIMEOUT)
        return Path(pooch.retrieve(url, known_hash=f"sha256:{sha256}", fname=file, path=_cache(pooch), downloader=downloader))
    except requests.RequestException as error:
        fault = type(error).__name__
        if error.response is not None:
            fault = f"status {error.response.status_code}"
            error.response.close()
        raise InputError(f"The corpus {name} cannot be downloaded from {url} ({fault}): check the connection.") from None
    except OSError as error:
        fault = error.strerror or type(error).__name__
        raise StorageError(f"The corpus {name} cannot be kept in {_cache(pooch)} ({fault}): make room there, or allow writing.") from None
    except ValueError as error:
        if "hash" not in str(error):
            raise
        raise InputError(f"What {url} sent is not the corpus {name} (its SHA-256 differs), so it was not kept: try again later.") from None
