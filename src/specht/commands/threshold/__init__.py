"""specht threshold: how many samples it takes to learn a sparse function, and how that grows with the number of bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from specht.commands.command import Command, command_line
from specht.commands.threshold.config import ThresholdConfig
from specht.commands.workers import WorkFlags

if TYPE_CHECKING:
    import xarray

    from specht.report.page import Page


class ThresholdCommand(Command):
    """The smallest number of samples that learns a sparse Boolean function, and how it grows with the number of bits.

    Of T random bits the label depends on the first s. At each T the number of samples m is searched at which a share of trials succeeds,
    with an interval, and the growth with T is compared with a logarithm, a power and a line. A search that was finished is not made again.
    For example:

        specht threshold
        specht threshold and --lengths 25 50 100 200 --learners transformer perceptron
        specht threshold parity --support 2 --lengths 8 12 16 --steps 500
        specht threshold 0110 --lengths 10 20 --learners perceptron-ntk
        specht threshold and --lengths 25 50 --learners transformer-width-16 transformer-width-64 transformer-nngp
        specht threshold threshold --support 4 --at-least 2 --budget 80 --json
    """

    name = "threshold"
    config = ThresholdConfig
    options = WorkFlags
    csv = "points"
    resumes = True

    def compute(self, config: ThresholdConfig, progress: Callable[[int, int], None] | None = None) -> xarray.DataTree:
        # Loaded now and not above, so that --help stays quick.
        from specht.commands.threshold.compute import jobs_of, summary_of
        from specht.lab.archive import Archive
        from specht.lab.sweep import datasets_of
        from specht.trees import tree

        archive, jobs = Archive(self.chosen.folder(self.out)), jobs_of(config)
        datasets = datasets_of(jobs, archive, self.chosen.places(archive.folder), progress)
        asked = [(job.arguments["learner"], job.arguments["length"]) for job in jobs]
        return tree(summary_of(config, dict(zip(asked, datasets, strict=True))))

    def page(self, data: xarray.DataTree) -> Page:
        from specht.commands.threshold.page import threshold_page
        from specht.trees import facts

        return threshold_page(facts(data))


threshold = command_line(ThresholdCommand)
