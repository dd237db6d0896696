"""Everything that decides the scores of `specht symmetry`."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter
from pydantic import Field

from specht.errors import InputError
from specht.lab.config import Config

if TYPE_CHECKING:
    from specht.corpus.read.corpora import Corpus
    from specht.corpus.survey import Settings

_READING = Group("Reading", sort_key=1)
LENGTHS = (16, 32)
BPE_TYPES = 4096
"""Of a byte pair encoding that is trained on the corpus."""
TOKENIZERS = "tokenizer-*.json"
"""Files of trained encodings beside the results, one a corpus."""


class SymmetryFlags(Config):
    """How corpora are read and measured."""

    tokens: Annotated[str, Parameter(group=_READING)] = "auto"
    """word, white, char, char-cased, cjk, byte, code, residue, kmer3 (up to 7), bpe, wikitext, wikitext-body; auto goes by the file."""
    records: Annotated[Literal["auto", "none", "line", "paragraph", "sentence", "file"], Parameter(group=_READING)] = "auto"
    """What windows must not cross, beside the ends of files: entries of FASTA files and rows of arrays (auto), or this."""
    encoding: Annotated[str, Parameter(group=_READING)] = "utf-8"
    """Of text files."""
    tokenizer: Annotated[Path | None, Parameter(group=_READING)] = None
    """A tokenizer.json for --tokens bpe; one of 4096 types is trained on each corpus unless given."""
    download: Annotated[bool, Parameter(group=_READING, negative="", show_default=False)] = False
    """Fetch corpora that are known by name and not here; nothing is ever fetched without it."""
    length: Annotated[int, Field(ge=2, le=4096)] = 64
    """Tokens of a window, L."""
    lengths: Annotated[tuple[Annotated[int, Field(ge=2, le=4096)], ...] | None, Parameter(consume_multiple=True, negative="")] = None
    """Further window lengths; 16 and 32, as far as they are shorter, unless given."""
    vocab: Annotated[int, Field(ge=1)] | None = None
    """Types that are told apart, V, the others being one; 500, or as many as there are, unless given."""
    metric: Literal["chi2-floor", "chi2", "plain"] = "chi2-floor"
    """How types are weighed: by one over their frequency (chi2), the same with a floor for rare ones, or all alike (plain)."""
    method: Literal["auto", "sketch", "tables", "exact"] = "auto"
    """Sketches of all pairs of types, exact tables, exact tables lag by lag, or what suits the vocabulary."""
    blocks: Annotated[int, Field(ge=4, le=256)] = 16
    """Pieces of the corpus that are compared with each other, for intervals and against the bias of noise."""
    nulls: Annotated[bool, Parameter(negative="--no-nulls")] = True
    """Measure the same corpora shuffled, too."""
    third: Annotated[bool, Parameter(negative="", show_default=False)] = False
    """Score third cumulants, too."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """Seed of shuffles, sketches and intervals."""


class SymmetryConfig(SymmetryFlags):
    """The symmetry of some corpora.

    >>> SymmetryConfig(corpora=("a.txt",), length=32).flags()
    ['a.txt', '--length', '32']
    """

    corpora: tuple[str, ...]

    def flags(self) -> list[str]:
        """The corpora first, since they have no flag; it is their last field."""
        return [*self.corpora, *super().flags()[: -1 - len(self.corpora)]]

    def open(self, spool_folder: Path) -> list[tuple[Corpus, bool]]:
        """All corpora, found and fit to be read, and whether a tokenizer is to be trained on each: such a one is opened as words."""
        from specht.corpus.read.corpora import STANDARD_INPUT, open_corpus, split_name, spool_standard_input

        if len(set(self.corpora)) < len(self.corpora):
            raise InputError(f"A corpus is named twice in {' '.join(self.corpora)}: name each once.")
        names = [split_name(source) for source in self.corpora]
        tokens = [before if before not in ("", "auto") else self.tokens for before, _ in names]
        if self.tokenizer is not None and "bpe" not in tokens:
            raise InputError(
                f"--tokenizer {self.tokenizer} belongs to the tokens bpe, and no corpus has these: leave it out, or say --tokens bpe."
            )
        spooled = spool_standard_input(spool_folder) if any(path == STANDARD_INPUT for _, path in names) else None
        given: dict[str, Any] = {"records": self.records, "encoding": self.encoding, "download": self.download, "standard_input": spooled}
        found = []
        for source, (_, path), kind in zip(self.corpora, names, tokens, strict=True):
            trained = kind == "bpe" and self.tokenizer is None
            tokenizer = os.path.abspath(self.tokenizer) if kind == "bpe" and self.tokenizer is not None else None
            corpus = open_corpus(path, tokens="white" if trained else kind, tokenizer=tokenizer, **given)
            parts = tuple(map(_absolute, corpus.parts))
            found.append((dataclasses.replace(corpus, name=source.removeprefix("auto:"), parts=parts), trained))
        return found

    @property
    def further_lengths(self) -> tuple[int, ...]:
        given = tuple(length for length in LENGTHS if length < self.length) if self.lengths is None else self.lengths
        return tuple(sorted(set(given) - {self.length}))

    def settings(self) -> Settings:
        """What is measured of each."""
        from specht.corpus.survey import Settings

        return Settings(
            length=self.length,
            lengths=self.further_lengths,
            vocab=self.vocab,
            metric=self.metric,
            how=self.method,
            blocks=self.blocks,
            extras=("influence", "isotypic", "harmonics") + ("third",) * self.third,
            seed=self.seed,
        )


class Opened(Config):
    """Corpora with the content of their files: what the results are named by."""

    config: SymmetryConfig
    contents: tuple[str, ...]
    """A digest of the files of each corpus, its tokenizer among them."""
    seed: int = 0

    def identity(self) -> dict[str, Any]:
        """Paths do not matter, what is in the files does."""
        fields = self.config.model_dump(mode="json", exclude={"corpora", "tokenizer", "download"})
        fields["lengths"] = list(self.config.further_lengths)
        return fields | {"corpora": [[name, content[:16]] for name, content in zip(self.config.corpora, self.contents, strict=True)]}

    def flags(self) -> list[str]:
        return self.config.flags()


def _absolute(part: Any) -> Any:
    """Workers may have another working folder."""
    return dataclasses.replace(part, path=os.path.abspath(part.path))
