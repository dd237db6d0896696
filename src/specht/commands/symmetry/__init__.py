"""specht symmetry: how much of the correlations of a corpus ignores order."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter
from pydantic import Field

from specht.commands.command import Command, Many, OutputFlags, Switch, command_line, print_json, print_table
from specht.commands.workers import WorkFlags
from specht.errors import InputError
from specht.lab import Config
from specht.trees import facts

if TYPE_CHECKING:
    import xarray

    from specht.commands.symmetry.compute import Prepared
    from specht.corpus import SurveySettings
    from specht.corpus.read import Corpus
    from specht.report import Page


_READING = Group("Reading", sort_key=1)
LENGTHS = (16, 32)
"""Lengths of further windows unless others are given."""
Length = Annotated[int, Field(ge=2, le=4096)]


class SymmetryConfig(Config):
    """Some corpora, and how they are read and measured.

    >>> SymmetryConfig(corpora=("a.txt",), length=32).flags()
    ['a.txt', '--length', '32']
    """

    positional = "corpora"
    corpora: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = ("stdlib",)
    """Files, folders, patterns, .npy arrays of token ids, names (wikitext-2, wikitext-2-body, ecoli-genome, ecoli-proteins, stdlib, ...)
    or - for standard input, each with its own tokens if these stand before it, as in char:novel.txt. The source of Python's standard
    library unless given."""
    tokens: Annotated[str, Parameter(group=_READING)] = "auto"
    """word, white, char, char-cased, cjk, byte, code, residue, kmer3 (up to 7), bpe, wikitext, wikitext-body; auto goes by the file."""
    records: Annotated[Literal["auto", "none", "line", "paragraph", "sentence", "file"], Parameter(group=_READING)] = "auto"
    """What windows must not cross, beside the ends of files: entries of FASTA files and rows of arrays (auto), or this."""
    encoding: Annotated[str, Parameter(group=_READING)] = "utf-8"
    """Of text files."""
    tokenizer: Annotated[Path | None, Parameter(group=_READING)] = None
    """A tokenizer.json for --tokens bpe; one of 4096 types is trained on each corpus unless given."""
    download: Annotated[Switch, Parameter(group=_READING)] = False
    """Fetch corpora that are known by name and not here; nothing is ever fetched without it."""
    length: Length = 64
    """Tokens of a window, L."""
    lengths: Annotated[tuple[Length, ...] | None, Many] = None
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
    third: Switch = False
    """Score third cumulants, too."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """Seed of shuffles, sketches and intervals."""

    def identity(self) -> dict[str, Any]:
        """Paths do not matter, what is in the files does."""
        fields = self.model_dump(mode="json", exclude={"corpora", "tokenizer", "download"}) | {"lengths": list(self.further_lengths)}
        contents = [prepared.content[:16] for prepared in self.prepared]
        return fields | {"corpora": [list(pair) for pair in zip(self.corpora, contents, strict=True)]}

    @cached_property
    def prepared(self) -> list[Prepared]:
        """The corpora with digests of their files, which are read once for it."""
        from specht.commands.symmetry.compute import Prepared  # loads NumPy and xarray, which help does not need

        return [Prepared.of(corpus, trained) for corpus, trained in self.open()]

    def open(self) -> list[tuple[Corpus, bool]]:
        """All corpora, found and fit to be read, and whether a tokenizer is to be trained on each: such a corpus is opened as words."""
        from specht.corpus.read import STANDARD_INPUT, open_corpus, split_name, spool_standard_input

        shown = [source.removeprefix("auto:") for source in self.corpora]
        if len(set(shown)) < len(shown):
            raise InputError(f"A corpus is named twice in {' '.join(self.corpora)}: name each once.")
        names = [split_name(source) for source in self.corpora]
        tokens = [before if before not in ("", "auto") else self.tokens for before, _ in names]
        if self.tokenizer is not None and "bpe" not in tokens:
            raise InputError(
                f"--tokenizer {self.tokenizer} belongs to the tokens bpe, and no corpus has these: leave it out, or say --tokens bpe."
            )
        spooled = spool_standard_input(_spool_folder()) if any(path == STANDARD_INPUT for _, path in names) else None
        reading: dict[str, Any] = {"records": self.records, "encoding": self.encoding, "download": self.download, "standard_input": spooled}
        opened = []
        for name, (_, path), kind in zip(shown, names, tokens, strict=True):
            trained = kind == "bpe" and self.tokenizer is None
            tokenizer = os.path.abspath(self.tokenizer) if kind == "bpe" and self.tokenizer is not None else None
            corpus = open_corpus(path, tokens="white" if trained else kind, tokenizer=tokenizer, **reading)
            # Workers may have another working folder.
            parts = tuple(dataclasses.replace(part, path=os.path.abspath(part.path)) for part in corpus.parts)
            opened.append((dataclasses.replace(corpus, name=name, parts=parts), trained))
        return opened

    @property
    def further_lengths(self) -> tuple[int, ...]:
        """Lengths of the other windows, shortest first."""
        lengths = tuple(length for length in LENGTHS if length < self.length) if self.lengths is None else self.lengths
        return tuple(sorted(set(lengths) - {self.length}))

    def settings(self) -> SurveySettings:
        """What is measured of each corpus."""
        from specht.corpus import SurveySettings

        return SurveySettings(
            length=self.length,
            lengths=self.further_lengths,
            vocab=self.vocab,
            metric=self.metric,
            how=self.method,
            blocks=self.blocks,
            extras=("influence", "isotypic", "harmonics") + ("third",) * self.third,
            seed=self.seed,
        )


@contextlib.contextmanager
def standard_input_kept() -> Iterator[None]:
    """Standard input is read more than once, from a file; what a run that was killed had read is found there again."""
    folder = _spool_folder()
    before = set(folder.glob("*"))
    yield
    for path in set(folder.glob("*")) - before:  # only if all went well, and nothing of another run
        path.unlink(missing_ok=True)


def _spool_folder() -> Path:
    """Where standard input is kept: a folder for each user. In a container a user may have a number but no name."""
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    return Path(tempfile.gettempdir()) / f"specht-input-{user}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class SymmetryOptions:
    """Where the work is done, and what else there is to show."""

    work: WorkFlags = dataclasses.field(default_factory=WorkFlags)
    list_corpora: Annotated[Switch, Parameter(name="--list")] = False
    """Show the corpora that have names, and stop."""


class SymmetryCommand(Command):
    """How permutation-symmetric is a corpus? The share of the correlations between positions that ignores order, with an interval.

    A run that was stopped goes on when the same command is given again. For example:

        specht symmetry
        specht symmetry novel.txt char:novel.txt
        specht symmetry texts/ --length 128 --vocab 1000
        specht symmetry genome.fna kmer3:genome.fna proteins.faa.gz
        specht symmetry tokens.npy --no-nulls
        zcat corpus.gz | specht symmetry - --tokens white
        specht symmetry wikitext-2 wikitext-2-body --download
        specht symmetry 'corpus/*.txt' --cluster tcp://node1:8786
    """

    name = "symmetry"
    config = SymmetryConfig
    options = SymmetryOptions
    csv = "scores"
    resumes = True

    def run(self, config: SymmetryConfig, output: OutputFlags) -> None:
        if self.chosen.list_corpora:
            return _list_corpora(output.json)
        with standard_input_kept():
            return super().run(config, output)

    def compute(self, config: SymmetryConfig, progress: Callable[[int, int], None] | None = None) -> xarray.DataTree:
        """What each corpus is like, the most symmetric first, and scores as one table."""
        from specht.commands.symmetry.compute import compute_in

        assert self.folder is not None  # a trained tokenizer and statistics are kept in it
        return compute_in(self.folder, self._jobs, config, self.chosen.work, progress)

    def page(self, data: xarray.DataTree) -> Page:
        from specht.commands.symmetry.page import symmetry_page

        return symmetry_page(facts(data))

    def finish(self) -> None:
        """Statistics are large, and used up when everything is written."""
        if self.chosen.work.store is None:
            shutil.rmtree(self._jobs, ignore_errors=True)

    @property
    def _jobs(self) -> Path:
        """The folder of the results of jobs."""
        return self.chosen.work.store or Path(self.folder or "") / "jobs"


def _list_corpora(as_json: bool) -> None:
    from specht.corpus.read import NAMED, whereabouts

    corpora = [
        {"name": name, "where": whereabouts(name), "title": entry.title, "licence": entry.licence, "url": entry.url}
        for name, entry in NAMED.items()
    ]
    if as_json:
        return print_json({"command": "symmetry", "corpora": corpora})
    return print_table([[str(corpus[field]) for field in ("name", "where", "title", "licence")] for corpus in corpora], fit=True)


symmetry = command_line(SymmetryCommand)
