"""specht symmetry: how much of the correlations of a corpus ignores order."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from specht.commands.command import Command, command_line
from specht.commands.output import OutputFlags, print_json, print_table
from specht.commands.symmetry.config import SymmetryConfig, standard_input_kept
from specht.commands.workers import WorkFlags
from specht.trees import facts

if TYPE_CHECKING:
    import xarray

    from specht.report.page import Page


@dataclasses.dataclass(frozen=True, kw_only=True)
class SymmetryOptions:
    """Where the work is done, and what else there is to show."""

    work: WorkFlags = dataclasses.field(default_factory=WorkFlags)
    list_corpora: Annotated[bool, Parameter(name="--list", negative="", show_default=False)] = False
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
    from specht.corpus.read.named import NAMED, whereabouts

    corpora = [
        {"name": name, "where": whereabouts(name), "title": entry.title, "licence": entry.licence, "url": entry.url}
        for name, entry in NAMED.items()
    ]
    if as_json:
        return print_json({"command": "symmetry", "corpora": corpora})
    return print_table([[str(corpus[field]) for field in ("name", "where", "title", "licence")] for corpus in corpora], fit=True)


symmetry = command_line(SymmetryCommand)
