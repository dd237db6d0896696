"""specht predict: what will be learnt from how many samples, before any training; its flags and the command."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from cyclopts import Group, Parameter
from pydantic import Field, field_validator, model_validator

from specht.architecture import Architecture, Kind
from specht.commands.command import Command, Many, OutputFlags, Switch, Writer, command_line, print_summaries
from specht.commands.task_flags import SourceFlags, TargetFlags
from specht.commands.workers import WorkFlags
from specht.errors import InputError, unknown_choice
from specht.lab import ArchitectureFlags, Config
from specht.progress import stages
from specht.trees import tree

if TYPE_CHECKING:
    import xarray

    from specht.learning import Networks
    from specht.report import Page
    from specht.sequences import Source


DEFAULT_N = tuple(2**power for power in range(3, 15))
DEFAULT_WIDTH = 64
INFINITE = "infinite"
Width = int | Literal["infinite"]
Shift = Literal["none", "reweighted", "redrawn", "order-broken"]


class MixtureFlags(SourceFlags):
    """A source that is the mixture of hidden Markov models unless the flags say otherwise."""

    source: Literal["uniform", "mixture", "graded", "generic"] = "mixture"
    """Law of the sequences: hidden Markov models, exchangeable (mixture), order-broken (graded) or any (generic); or uniform tokens."""


class ShiftFlags(Config):
    """How the test law differs from the training law."""

    shift: Shift | None = None
    """Out of distribution: components in other proportions (reweighted), new ones (redrawn), order that matters (order-broken), none."""
    shift_epsilon: Annotated[float, Field(ge=0, le=1)] = 0.2
    """How much the order of tokens matters in --shift order-broken."""

    def kind(self, source: SourceFlags) -> Shift:
        """The shift, or what it is unless given: other proportions of a mixture."""
        if self.shift is not None:
            return self.shift
        return "reweighted" if source.is_drawn and source.components > 1 else "none"

    def build(self, source: Source, flags: SourceFlags, seed: int) -> Source | None:
        """The test source, if there is one."""
        from specht.sequences import shifted  # loads SciPy, which help does not need

        kind = self.kind(flags)
        return None if kind == "none" else shifted(source, kind, seed, self.shift_epsilon)


class NetworkFlags(Config):
    """The finite networks of --check net: as wide as the smallest --width, with half as many heads, of size 4."""

    net_n: Annotated[int, Field(gt=0)] = 32
    """Largest number of samples that networks are trained on."""
    net_datasets: Annotated[int, Field(ge=2)] = 4
    """Data sets that networks are trained on."""
    output_scale: Annotated[float, Field(gt=0)] = 1.0
    """How large random networks are beside the target: large ones stay near the kernel, small ones learn features."""

    def build(self, width: int) -> Networks:
        from specht.learning import Networks
        from specht.nn import Size  # loads JAX, which help does not need

        return Networks(size=Size(width, width // 2, 4), output_scale=self.output_scale)


class PredictConfig(Config):
    """A learning curve by theory, and what it is checked against.

    >>> PredictConfig(ridge=0.1, target=TargetFlags(target="level")).flags()
    ['--target', 'level', '--ridge', '0.1']
    """

    architecture: Annotated[ArchitectureFlags, Parameter(name="*", group=Group("Architecture", sort_key=1))] = ArchitectureFlags()
    task: Annotated[str | None, Parameter(group=Group("Task", sort_key=1))] = None
    """A named task instead of a source, a target and a shift (specht predict --list-tasks shows them)."""
    source: Annotated[MixtureFlags, Parameter(name="*", group=Group("Task", sort_key=1))] = MixtureFlags()
    target: Annotated[TargetFlags, Parameter(name="*", group=Group("Task", sort_key=1))] = TargetFlags()
    shift: Annotated[ShiftFlags, Parameter(name="*", group=Group("Task", sort_key=1))] = ShiftFlags()
    n_train: Annotated[tuple[Annotated[int, Field(gt=0)], ...], Many] = DEFAULT_N
    """Numbers of samples, fewest first."""
    width: Annotated[tuple[Width, ...] | None, Many] = None
    """Widths of the network, beside the infinite one: 16 64 256, or infinite for that one alone. 64 unless given, where its theory takes
    seconds. Networks of --check net have the smallest of them."""
    phases: Annotated[bool, Parameter(negative="")] = False
    """Add phase diagrams: the loss over samples and width, and over samples and length, with the line where the network leaves its kernel.
    Computed cell by cell, which can be stopped, resumed and spread."""
    ridge: Annotated[float, Field(ge=0)] = 1.0
    """Ridge of the regression, in units of the mean kernel E[k(x, x)]."""
    noise: Annotated[float, Field(ge=0)] = 0.0
    """Variance of noise on each output of the labels."""
    error: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """The error whose number of samples is asked for, as a share of the target's variance."""
    kind: Kind = "nngp"
    """Which kernel: nngp for Bayesian inference, ntk for gradient flow with weight decay."""
    max_level: Annotated[int, Field(ge=0)] | None = None
    """Largest level of the spectrum; all of them unless that is too much."""
    check: Annotated[tuple[Literal["gp", "net"], ...], Many] = ()
    """Compare on sampled data with exact Bayesian inference (gp), and with finite networks (net): sampled from their posterior, or
    trained to the end with --kind ntk."""
    datasets: Annotated[int, Field(ge=2)] = 20
    """Data sets that a check averages over."""
    check_n: Annotated[int, Field(gt=0)] = 1024
    """Largest number of samples in a check."""
    breaking: Annotated[tuple[Annotated[float, Field(ge=0, le=1)], ...], Many] = ()
    """Degrees to which order matters, for example 0 0.1 0.3 1: how far theory is from exact inference on data broken so much."""
    networks: Annotated[NetworkFlags, Parameter(name="*", group=Group("Networks, with --check net", sort_key=3))] = NetworkFlags()
    heads: Annotated[int, Field(gt=0)] = 256
    """Sampled heads of softmax attention in each of several independent sets."""
    sequences: Annotated[int, Field(ge=8)] = 768
    """Sequences in each of 16 batches where the spectrum has to be sampled."""
    seed: Annotated[int, Field(ge=0, lt=2**27)] = 0
    """Seed of whatever is sampled, and of a mixture."""

    def identity(self) -> dict[str, Any]:
        plain = ("ridge", "noise", "error", "kind", "heads", "sequences", "seed", "check", "breaking")
        shift = {"shift": self.shift.kind(self.source), "shift_epsilon": self.shift.shift_epsilon}
        task = {"task": self.task} if self.task is not None else self.source.identity() | self.target.identity() | shift
        fields = self.architecture.identity() | task | {"n_train": list(self.n_train)}
        fields |= self.model_dump(mode="json", include=set(plain))
        fields |= {"max_level": self.max_level} if self.max_level is not None else {}
        fields |= {"width": None if self.width is None else self.widths} | ({"phases": True} if self.phases else {})
        fields |= self.networks.model_dump(mode="json") if "net" in self.check else {}
        return fields | ({"datasets": self.datasets, "check_n": self.check_n} if "gp" in self.check or self.breaking else {})

    @property
    def widths(self) -> list[int]:
        """The finite widths, smallest first."""
        asked = (DEFAULT_WIDTH,) if self.width is None else self.width
        return sorted(width for width in asked if isinstance(width, int))

    @property
    def network_width(self) -> int:
        """How wide the networks of --check net are."""
        return self.widths[0] if self.widths else DEFAULT_WIDTH

    @property
    def needs_finite_width(self) -> bool:
        """Whether a theory of finite width was asked for, and not only networks of that width."""
        return self.phases or bool(self.width is not None and self.widths and "net" not in self.check)

    def build_source(self, arch: Architecture) -> Source:
        """Where the training sequences come from."""
        from specht.sequences import TASKS

        return self.source.build(arch.vocab, self.seed) if self.task is None else TASKS[self.task].source(arch.vocab, self.seed)

    @field_validator("width", mode="before")
    @classmethod
    def _are_widths(cls, widths: Any) -> Any:
        if widths is None:
            return None
        words = [str(width) for width in widths]
        for word in words:
            if word != INFINITE and not (word.isdecimal() and int(word) >= 2):
                raise InputError(f"--width takes whole numbers from 2 on, or the word {INFINITE}, got {word}: for example --width 16 64.")
        if not words:
            raise InputError(f"--width is empty: give widths, for example --width 16 64, or --width {INFINITE} for that one alone.")
        if len(set(words)) < len(words):
            raise InputError(f"--width names a value twice, got {' '.join(words)}: write each once.")
        return tuple(word if word == INFINITE else int(word) for word in words)

    @model_validator(mode="after")
    def _a_task_is_described_once(self) -> Self:
        if self.task is None:
            return self
        from specht.sequences import TASKS

        if self.task not in TASKS:
            raise unknown_choice("task", self.task, TASKS)
        if self.breaking and not TASKS[self.task].has_chains:
            raise InputError(f"--breaking changes hidden Markov models, and --task {self.task} has none: choose another task.")
        for part in (self.source, self.target, self.shift):
            for name in sorted(part.model_fields_set):
                raise InputError(f"--task {self.task} says what --{name.replace('_', '-')} says too: give one of them.")
        return self

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        numbers = " ".join(map(str, self.n_train))
        if not self.n_train or any(second <= first for first, second in itertools.pairwise(self.n_train)):
            raise InputError(f"--n-train must increase, got {numbers or 'nothing'}: write each number of samples once, fewest first.")
        if any(second <= first for first, second in itertools.pairwise(self.breaking)):
            raise InputError(f"--breaking must increase, got {' '.join(map(str, self.breaking))}: write each degree once, smallest first.")
        if len(set(self.check)) < len(self.check):
            raise InputError(f"--check names {self.check[0]} twice: write each check once.")
        self._check_networks()
        self._check_finite_width()
        if ("gp" in self.check or self.breaking) and self.n_train[0] > self.check_n:
            raise InputError(f"--check-n {self.check_n} is less than every number of samples in --n-train: raise it.")
        if self.task is not None:
            return self
        if self.breaking and not self.source.is_drawn:
            raise InputError("--breaking changes hidden Markov models, and --source uniform has none: choose --source mixture.")
        kind = self.shift.kind(self.source)
        if kind != "none" and not self.source.is_drawn:
            raise InputError(f"--shift {kind} changes a mixture, and --source uniform is none: choose --source mixture.")
        if "shift_epsilon" in self.shift.model_fields_set and kind != "order-broken":
            raise InputError(f"--shift-epsilon {self.shift.shift_epsilon} says nothing about --shift {kind}: add --shift order-broken.")
        return self

    def _check_finite_width(self) -> None:
        if not self.needs_finite_width:
            return
        asked = "--phases" if self.phases else f"--width {self.widths[0]}"
        if not self.widths:
            raise InputError(f"--phases needs a finite width, and --width {INFINITE} leaves none: give another --width.")
        if self.kind != "nngp":
            raise InputError(
                f"{asked} asks for the theory of finite width, which is Bayesian and knows no --kind {self.kind}: leave one out."
            )
        if self.ridge == 0:
            raise InputError(f"{asked} asks for the theory of finite width, which takes a ridge, and --ridge is 0: raise it.")

    def _check_networks(self) -> None:
        described = sorted(self.networks.model_fields_set)
        if "net" not in self.check:
            if described:
                raise InputError(f"--{described[0].replace('_', '-')} describes networks, and there are none: add --check net.")
            return
        if self.n_train[0] > self.networks.net_n:
            raise InputError(f"--net-n {self.networks.net_n} is less than every number of samples in --n-train: raise it.")
        if self.ridge == 0:
            raise InputError("--check net samples and trains networks with a ridge, and --ridge is 0: raise it.")


@dataclasses.dataclass(frozen=True, kw_only=True)
class PredictOptions:
    """Where phases are computed, and what else there is to show."""

    work: WorkFlags = WorkFlags()  # noqa: RUF009 -- frozen
    list_tasks: Switch = False
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
            from specht.sequences import TASKS

            return print_summaries("predict", "tasks", TASKS, output.json)
        if self.chosen.work != WorkFlags() and not config.phases:
            raise InputError("--workers, --cluster, --slurm and --store say where phases are computed, and there are none: add --phases.")
        self.resumes = config.phases
        return super().run(config, output)

    def compute(self, config: PredictConfig, progress: Callable[[int, int], None] | None = None) -> xarray.DataTree:
        """Theory at infinite and finite width, what it is checked against, and phases where they are asked for."""
        # Loaded now and not above, so that --help stays quick.
        from specht.commands.predict.compute import prediction
        from specht.commands.predict.phases import diagrams
        from specht.lab import Archive

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
        from specht.lab import save_text

        return {"csv": ("prediction.csv", lambda path: save_text(curves_csv(data), path))}


def curves_csv(data: xarray.DataTree) -> str:
    """All curves as columns, with a row for each number of samples."""
    import numpy as np
    import pandas

    from specht.learning import LOSSES

    groups = {str(name): group.to_dataset() for name, group in data.children.items()}
    theory = groups["theory"]
    columns = {"n_train": theory["n_train"].values} | {f"theory_{name}": theory[name].values for name in LOSSES}
    columns["equivalent_test"] = theory["equivalent_test"].values
    for width in groups["finite"]["width"].values if "finite" in groups else ():
        curve = groups["finite"].sel(width=width)
        columns |= {f"width_{width:g}_{name}": curve[name].values for name in ("test", "train", "learned", "strength")}
    for name in ("gp", "net"):
        if name in groups:
            columns |= {f"{name}_{loss}{end}": groups[name][f"{loss}{end}"].values for loss in LOSSES for end in ("", "_stderr")}
    series = {name: pandas.Series(np.atleast_1d(values)) for name, values in columns.items()}
    return pandas.DataFrame(series).to_csv(index=False, lineterminator="\n")


predict = command_line(PredictCommand)
