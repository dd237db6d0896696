"""specht threshold: how many samples it takes to learn a sparse function, and how that grows with the number of bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field, model_validator

from specht.commands.command import Command, Many, command_line
from specht.commands.workers import WorkFlags
from specht.errors import InputError
from specht.lab import Config
from specht.studies import sparse

if TYPE_CHECKING:
    import xarray

    from specht.report import Page
    from specht.studies.sparse import SparseFunction


TRAINING = ("restarts", "steps", "learning_rate")
"""Flags that say how networks are trained."""
SEARCH = ("share", "smallest", "largest", "width", "confidence", "batch", "budget", "plateau")
"""Flags that say what is looked for, and at what cost."""


class ThresholdConfig(Config):
    """The thresholds of one function: a name, or a table of zeros and ones.

    >>> ThresholdConfig(function="parity", support=2, lengths=(10,)).flags()
    ['parity', '--support', '2', '--lengths', '10']
    """

    positional = "function"

    function: str = "and"
    """and, or, majority, threshold (with --at-least), parity; or the table of a function of s bits as 2^s zeros and ones: 0110."""
    support: Annotated[int, Field(ge=1)] | None = None
    """Bits s that the function reads; 3 unless given. A table says so by its length."""
    at_least: Annotated[int, Field(ge=1)] | None = None
    """Ones from which on the function threshold is one."""
    lengths: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Many] = (25, 50, 100)
    """Numbers of bits T."""
    learners: Annotated[tuple[str, ...], Many] = ("transformer",)
    """Who learns: transformer, perceptron, or the infinitely wide limits transformer-nngp, transformer-ntk, perceptron-nngp,
    perceptron-ntk; or transformer-width-64, the theory of a transformer of that width, with any number."""
    share: Annotated[float, Field(gt=0, lt=0.99)] = 0.8
    """Share of trials that must succeed."""
    accuracy: Annotated[float, Field(gt=0.5, le=1)] = 1.0
    """Share of the validation set that must be right for a trial to succeed."""
    validation: Annotated[int, Field(ge=100)] = 512
    """Samples of the validation set."""
    smallest: Annotated[int, Field(ge=2)] = 8
    """Fewest samples m that are tried."""
    largest: Annotated[int, Field(ge=3)] = 1024
    """Most samples m that are tried."""
    budget: int = 160
    """Most trials for each threshold; a trial is one set of samples."""
    batch: Annotated[int, Field(ge=1, le=64)] = 8
    """Trials at one m before the next m is chosen."""
    width: Annotated[float, Field(gt=1)] = 1.3
    """Ratio of the ends of the interval at which a search is over."""
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.9
    """Of the intervals."""
    plateau: bool = False
    """Whether the share of trials that succeed may stay below one however many samples there are; takes about a quarter more trials."""
    restarts: Annotated[int, Field(ge=1, le=16)] = 3
    """Starts of a network before a trial counts as failed."""
    steps: Annotated[int, Field(ge=1)] = 125
    """Most steps of training, all samples at once; networks are looked at every 25."""
    learning_rate: Annotated[float, Field(gt=0)] = 1e-3
    """Of Adam."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """Seed of samples and starts."""

    @model_validator(mode="after")
    def _lists_are_lists(self) -> Self:
        for name in self.learners:
            sparse.check_learner(name)
        for flag, values in (("learners", self.learners), ("lengths", self.lengths)):
            if not values:
                raise InputError(f"--{flag} is empty: give at least one value, or leave it out.")
            if len(set(values)) < len(values):
                raise InputError(f"--{flag} names a value twice, got {' '.join(map(str, values))}: write each once.")
        return self

    def build_function(self) -> SparseFunction:
        return sparse.sparse_function(self.function, 3 if self.support is None else self.support, self.at_least)

    @property
    def table(self) -> str:
        """The values of the function on the patterns of its bits, as zeros and ones."""
        return "".join("01"[value] for value in self.build_function().table)

    def search(self) -> dict[str, Any]:
        """What is looked for, and at what cost."""
        return self.model_dump(include={*SEARCH})

    def training(self) -> dict[str, Any] | None:
        """How networks are trained, if any of the learners is one."""
        return self.model_dump(include={*TRAINING}) if {*self.learners} & {*sparse.NETWORKS} else None

    def job_arguments(self, learner: str, length: int) -> dict[str, Any]:
        """What decides one threshold."""
        training = self.model_dump(include={*TRAINING}) if learner in sparse.NETWORKS else {}
        where = {"table": self.table, "length": length, "learner": learner, "search": self.search(), "training": training}
        return where | self.model_dump(include={"accuracy", "validation", "seed"})

    def identity(self) -> dict[str, Any]:
        self._refuse_flags_of_another_function()
        function = self.build_function()
        for length in self.lengths:
            function.check_length(length)
        sparse.Search(**self.search())  # complains about what cannot be searched
        fields = self.model_dump(mode="json", exclude={"support", "at_least", *TRAINING})
        return fields | (self.training() or {}) | {"function": function.name}

    def _refuse_flags_of_another_function(self) -> None:
        if self.support is not None and set(self.function) <= {"0", "1"}:
            raise InputError(f"--support {self.support} says nothing about a table, whose length tells: leave it out.")
        if self.at_least is not None and self.function != "threshold":
            raise InputError(f"--at-least {self.at_least} says nothing about {self.function}: leave it out, or ask for threshold.")


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
        from specht.lab import Archive, datasets_of
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
