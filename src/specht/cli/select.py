"""specht select: attention that learns to select tokens, tested at lengths it has never seen."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from specht.cli.run import Origin, Outcome, data_writers, run_command
from specht.commands.output import OutputFlags, ProgressBar, print_table
from specht.commands.workers import WorkFlags
from specht.errors import InputError
from specht.lab.select_config import SelectConfig

FILES = {"report": "report.html", "data": "selection.nc", "csv": "selection.csv"}


def select(
    *,
    config: Annotated[SelectConfig, Parameter(name="*")] = SelectConfig(),  # noqa: B008 -- frozen
    work: WorkFlags = WorkFlags(),  # noqa: B008 -- frozen
    output: OutputFlags = OutputFlags(),  # noqa: B008 -- frozen
) -> None:
    """Does attention learn to average the tokens that a query names, and at lengths it has not seen? Training with codes of positions.

    The task: T Gaussian vectors and a set of q positions, whose mean is the answer. Losses are half the mean squared error; that of
    answering zero is d/2q. A run that was stopped goes on when the same command is given again. For example:

        specht select
        specht select --length 20 --support 2 --steps 1000 --seeds 2
        specht select --optimiser sgd --steps 6000 --code 64
        specht select --codes one-hot --optimiser sgd --length 20 --learning-rate 2
        specht select --test-lengths 75 100 200 --test-supports 2 5 8
        specht select --query sum --codes stochastic --json
    """
    run_command("select", config, output, FILES, lambda origin: _compute(config, work, origin), _print)


def _compute(config: SelectConfig, work: WorkFlags, origin: Origin) -> Outcome:
    # Loaded now and not above, so that --help stays quick.
    from specht.lab import store
    from specht.lab.archive import Archive
    from specht.lab.executors import this_process
    from specht.lab.select_job import run_select
    from specht.report.select import select_report

    folder = work.store or origin.folder / "jobs"
    asked = work.workers is not None or work.cluster is not None or work.slurm is not None
    # A process of its own compiles its own programs, so several kinds of codes are worth one each and seeds are not.
    places = work.places(folder) if asked else this_process
    with store.begun(origin.request, origin.folder), _removed_if_bad(folder), ProgressBar("select") as progress:
        run = run_select(config, Archive(folder), places, progress)
    result = origin.heading | run.summary()
    report = select_report(result, run, reproduce=origin.reproduce, made_with=origin.made_with)
    return Outcome(result, report, data_writers(run, origin))


@contextlib.contextmanager
def _removed_if_bad(folder: Path) -> Iterator[None]:
    """Leave nothing behind if the input turns out to be bad; trainings that have come to their end stay."""
    before = folder.exists()
    try:
        yield
    except InputError:
        if not before and not any(folder.glob("*.json")):
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _print(result: dict[str, Any]) -> None:
    from specht.report.select_tables import answer, header, rows, subtitle

    print(f"{subtitle(result)}\n")
    print_table(rows(result), header=header(result))
    print("", *answer(result), sep="\n")
