"""specht predict: what will be learnt from how many samples, before any training."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from specht.commands.command import Command, Writer, command_line
from specht.commands.output import OutputFlags, print_json, print_table
from specht.commands.predict.config import PredictConfig
from specht.commands.workers import WorkFlags
from specht.errors import InputError
from specht.progress import stages
from specht.trees import tree

if TYPE_CHECKING:
    import xarray

    from specht.report.page import Page


@dataclasses.dataclass(frozen=True, kw_only=True)
class PredictOptions:
    """Where phases are computed, and what else there is to show."""

    work: WorkFlags = WorkFlags()  # noqa: RUF009 -- frozen
    list_tasks: Annotated[bool, Parameter(negative="", show_default=False)] = False
    """Show the named tasks and stop."""


class PredictCommand(Command):
    """The learning curve of a transformer before any training: test, train and out of distribution, and what each irrep costs.

    For example:

        specht predict
        specht predict --check gp
        specht predict --source uniform --target and --width 16 64 256
        specht predict --source uniform --target and --phases
        specht predict --check gp net --width 64
        specht predict --preset softmax --target level --support 1 --length 16
        specht predict --task sparse-parity --vocab 2 --activation erf
        specht predict --target next-token --ridge 0.2
        specht predict --target mytask:function --vocab 2 --source uniform
        specht predict --breaking 0 0.1 0.3 1

    With a table of your own sequences and labels: specht forecast FILE --target COLUMN.
    """

    name = "predict"
    config = PredictConfig
    options = PredictOptions
    stem = "prediction"

    def run(self, config: PredictConfig, output: OutputFlags) -> None:
        if self.chosen.list_tasks:
            return _list_tasks(output.json)
        if self.chosen.work != WorkFlags() and not config.phases:
            raise InputError("--workers, --cluster, --slurm and --store say where phases are computed, and there are none: add --phases.")
        self.resumes = config.phases
        return super().run(config, output)

    def compute(self, config: PredictConfig, progress: Callable[[int, int], None] | None = None) -> xarray.DataTree:
        """Theory at infinite and finite width, what it is checked against, and phases where they are asked for."""
        # Loaded now and not above, so that --help stays quick.
        from specht.commands.predict.compute import prediction
        from specht.commands.predict.phases import diagrams
        from specht.lab.archive import Archive

        first, second = stages(progress, [1.0, 10.0 if config.phases else 0.0])
        values = prediction(config, first)
        if config.phases:
            archive = Archive(self.chosen.work.folder(self.out))
            values["phases"] = diagrams(config, archive, self.chosen.work.places(archive.folder), second)
        return tree(values)

    def page(self, data: xarray.DataTree) -> Page:
        from specht.commands.predict.page import predict_page
        from specht.trees import facts

        return predict_page(facts(data))

    def more_files(self, data: xarray.DataTree) -> Mapping[str, tuple[str, Writer]]:
        from specht.commands.predict.page import curves_csv
        from specht.lab.store import save_text

        return {"csv": ("prediction.csv", lambda path: save_text(curves_csv(data), path))}


def _list_tasks(as_json: bool) -> None:
    from specht.sequences.tasks import TASKS

    if as_json:
        return print_json({"command": "predict", "tasks": {name: preset.summary for name, preset in TASKS.items()}})
    return print_table([[name, preset.summary] for name, preset in TASKS.items()])


predict = command_line(PredictCommand)
