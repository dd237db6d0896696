"""specht select: attention that learns to select tokens, tested at lengths it has never seen."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from specht.commands.command import Command, command_line
from specht.commands.select.config import SelectConfig
from specht.commands.workers import STORE, WorkFlags
from specht.errors import InputError

if TYPE_CHECKING:
    import xarray

    from specht.report.page import Page


class SelectCommand(Command):
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

    name = "select"
    config = SelectConfig
    options = WorkFlags
    stem = "selection"
    csv = "losses"
    resumes = True

    def compute(self, config: SelectConfig, progress: Callable[[int, int], None] | None = None) -> xarray.DataTree:
        # Loaded now and not above, so that --help stays quick.
        from specht.commands.select.compute import theory_of, trainings_of, values_of
        from specht.lab.archive import Archive
        from specht.lab.executors import this_process
        from specht.trees import tree

        work: WorkFlags = self.chosen
        folder = work.store or (STORE if self.folder is None else self.folder / "jobs")
        # A process of its own compiles its own programs, so several kinds of codes are worth one each and seeds are not.
        is_asked = work.workers is not None or work.cluster is not None or work.slurm is not None
        places = work.places(folder) if is_asked else this_process
        with _removed_if_bad(folder):
            theory = theory_of(config)  # it refuses what cannot be trained, before hours of training
            return tree(values_of(config, trainings_of(config, Archive(folder), places, progress), theory))

    def page(self, data: xarray.DataTree) -> Page:
        from specht.commands.select.page import select_page

        return select_page(data)


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


select = command_line(SelectCommand)
