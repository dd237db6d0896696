"""specht symmetry: how much of the correlations of a corpus ignores order."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from specht.cli.run import Origin, Outcome, data_writers, run_command
from specht.commands.output import OutputFlags, ProgressBar, print_json, print_table
from specht.commands.workers import WorkFlags
from specht.errors import InputError
from specht.lab.symmetry_config import TOKENIZERS, Opened, SymmetryConfig, SymmetryFlags

if TYPE_CHECKING:
    from specht.lab.executors import Places
    from specht.lab.symmetry_job import Prepared

FILES = {"report": "report.html", "data": "symmetry.nc", "csv": "symmetry.csv"}
DEFAULT = "stdlib"
_SMALL = 4_000_000
"""Bytes of text that are not worth the start of other processes."""


def symmetry(
    *corpora: str,
    flags: Annotated[SymmetryFlags, Parameter(name="*")] = SymmetryFlags(),  # noqa: B008 -- frozen
    work: WorkFlags = WorkFlags(),  # noqa: B008 -- frozen
    output: OutputFlags = OutputFlags(),  # noqa: B008 -- frozen
    list_corpora: Annotated[bool, Parameter(name="--list", negative="", show_default=False)] = False,
) -> None:
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

    Parameters
    ----------
    corpora
        Files, folders, patterns, .npy arrays of token ids, names (wikitext-2, wikitext-2-body, ecoli-genome, ecoli-proteins, stdlib, ...)
        or - for standard input, each with its own tokens if these stand before it, as in char:novel.txt. The source of Python's standard
        library unless given.
    list_corpora
        Show the corpora that have names, and stop.
    """
    if list_corpora:
        return _list(output.json)
    with _spool() as folder:
        config = SymmetryConfig(corpora=corpora or (DEFAULT,), **{name: getattr(flags, name) for name in flags.model_fields_set})
        prepared = _prepare(config, folder)
        opened = Opened(config=config, contents=tuple(each.content for each in prepared), seed=config.seed)
        run_command("symmetry", opened, output, FILES, lambda origin: _compute(opened, prepared, work, origin), _print)


def _list(as_json: bool) -> None:
    from specht.corpus.read.named import NAMED, whereabouts

    corpora = [
        {"name": name, "where": whereabouts(name), "title": entry.title, "licence": entry.licence, "url": entry.url}
        for name, entry in NAMED.items()
    ]
    if as_json:
        return print_json({"command": "symmetry", "corpora": corpora})
    print_table([[str(corpus[field]) for field in ("name", "where", "title", "licence")] for corpus in corpora], fit=True)
    return None


@contextlib.contextmanager
def _spool() -> Iterator[Path]:
    """A folder for standard input, which is read more than once; what a run that was killed had read is found there again."""
    folder = Path(tempfile.gettempdir()) / f"specht-input-{_user()}"
    before = set(folder.glob("*"))
    yield folder
    for path in set(folder.glob("*")) - before:  # only if all went well, and nothing of another run
        path.unlink(missing_ok=True)


def _user() -> str:
    """Tells users of one machine apart; in a container a user may have a number but no name."""
    return str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")


def _prepare(config: SymmetryConfig, folder: Path) -> list[Prepared]:
    from specht.lab.symmetry_job import Prepared  # loads NumPy and xarray, which help does not need

    return [Prepared.of(corpus, trained) for corpus, trained in config.open(folder)]


def _compute(opened: Opened, prepared: list[Prepared], work: WorkFlags, origin: Origin) -> Outcome:
    from specht.lab import store
    from specht.lab.archive import Archive
    from specht.lab.symmetry_job import run_symmetry, train_tokenizers
    from specht.lab.symmetry_results import SymmetryRun
    from specht.report.symmetry import symmetry_report

    config, folder = opened.config, work.store or origin.folder / "jobs"
    with store.begun(origin.request, origin.folder), _removed_if_bad(origin.folder, [] if work.store else [folder]):
        prepared = train_tokenizers(prepared, origin.folder)
        with ProgressBar("symmetry") as progress:
            found = run_symmetry(prepared, config.settings(), config.nulls, Archive(folder), _places(work, folder, prepared), progress)
    ordered = sorted(found, key=lambda corpus: (corpus["defined"], corpus["score"] or 0.0), reverse=True)
    result = origin.heading | {"corpora": ordered}
    report = symmetry_report(result, reproduce=origin.reproduce, made_with=origin.made_with)
    # Statistics are large, and used up when everything is written.
    used_up = partial(shutil.rmtree, folder, ignore_errors=True) if work.store is None else None
    return Outcome(result, report, data_writers(SymmetryRun(ordered), origin), used_up)


@contextlib.contextmanager
def _removed_if_bad(results: Path, statistics: list[Path]) -> Iterator[None]:
    """Leave nothing behind if the input turns out to be bad; a run that is killed or interrupted finds its own again."""

    def made() -> set[Path]:
        return {*results.glob(TOKENIZERS), *filter(Path.exists, statistics)}

    before = made()
    try:
        yield
    except InputError:
        for path in made() - before:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        raise


def _places(work: WorkFlags, folder: Path, prepared: list[Prepared]) -> Places:
    """What the jobs run on: this process for little text, unless somebody asks for another."""
    from specht.lab.executors import this_process

    asked = work.workers is not None or work.cluster is not None or work.slurm is not None
    return this_process if not asked and sum(each.bytes for each in prepared) < _SMALL else work.places(folder)


def _print(result: dict[str, Any]) -> None:
    from specht.report.symmetry_tables import SCORE_HEADER, answer, remarks, score_rows

    print_table(score_rows(result), header=SCORE_HEADER, fit=True)
    print("", answer(result), *remarks(result), sep="\n")
