"""What a paper claims, how it is tested, and what came out.

A paper is a module of this package with a `PAPER`. It is a sequence of experiments in the order of the paper: a figure, a theorem or a
statement each, with the claims that it makes, the jobs that test them, and the pictures and tables that stand beside what the paper shows.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

import xarray

from specht.lab import Job
from specht.report import ContentsEntry, Plot, Step, Table

Scale = Literal["smoke", "quick", "full"]
"""Smoke checks the machinery, quick takes minutes on two cores, full is the scale of the papers."""
SCALES: tuple[Scale, ...] = get_args(Scale)
Outcome = Literal["holds", "fails", "undecided", "not tested"]
"""`undecided` where the measurement does not tell on which side of the threshold the number lies."""


class JobResult(NamedTuple):
    """What one job was asked and what it found."""

    arguments: Mapping[str, Any]
    data: xarray.Dataset
    function: str = ""
    """Which function was called, as in the job."""

    @classmethod
    def of(cls, job: Job, data: xarray.Dataset) -> JobResult:
        """What came of a job."""
        return cls(job.arguments, data, job.function)


Results = Sequence[JobResult]
"""Of all jobs of an experiment, in their order."""


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What came of testing a claim."""

    outcome: Outcome
    measured: float | None = None
    """The number that the criterion speaks of."""
    stderr: float | None = None
    """Its standard error, where it was sampled."""
    regime: str = ""
    """Where it was measured, and where it holds if it does not hold everywhere; why it was not tested, if it was not."""
    interval: tuple[float, float] | None = None
    """Of 90 %, where it was sampled."""
    seeds: int = 1
    """How many runs with other random numbers were judged; one where nothing is random, or where there was one run."""
    agreeing: int = 1
    """How many of these come to the same verdict alone."""
    missing: bool = False
    """Whether it was not tested because this machine lacks the data, which is nobody's fault; `regime` says where they come from."""


@dataclasses.dataclass(frozen=True)
class Recorded:
    """What came out when a scale was last run and put on record."""

    verdict: Outcome
    measured: float | None = None
    interval: tuple[float, float] | None = None
    seeds: int = 1
    agreeing: int = 1


@dataclasses.dataclass(frozen=True)
class Change:
    """A criterion that was not always what it is, and why."""

    on: datetime.date
    before: str
    """What it said until then."""
    why: str


@dataclasses.dataclass(frozen=True)
class Claim:
    """A statement that numbers can bear out or not."""

    id: str
    """Short and stable, `paper.claim`: what people cite and type."""
    sentence: str
    """In our words."""
    citation: str
    """Where the paper says it."""
    criterion: str
    """What must be measured for it to hold, with its tolerance."""
    judge: Callable[..., Verdict] | None = None
    """From the results of the experiment, of one run or several, to a verdict; None for a claim that the package cannot test yet."""
    untested: str = ""
    """Why it cannot be tested yet, if so."""
    kind: str = ""
    """`paper`, `question` or `ours`: who says it; `check` for what no result could make false if the code is right."""
    since: datetime.date | None = None
    """When the criterion was first written."""
    changes: Sequence[Change] = ()
    """When it was changed after a result had been seen, from what, and why."""
    record: Mapping[str, Recorded] = dataclasses.field(default_factory=dict)
    """What is on record, by scale."""
    refuses_null: bool | None = None
    """Whether the criterion says no to what would be measured if the claim were false; None if no such number is given."""


@dataclasses.dataclass(frozen=True)
class Experiment:
    """One figure, theorem or statement of a paper: what is run for it, what is drawn, what is claimed."""

    name: str
    title: str
    shown: str
    """What the paper shows there, in words."""
    claims: Sequence[Claim]
    jobs: Callable[[Scale], Sequence[Job]] = lambda scale: ()
    plots: Callable[[Results], Sequence[Plot]] = lambda results: ()
    tables: Callable[[Results], Sequence[Table]] = lambda results: ()
    method: Sequence[Step] = ()


@dataclasses.dataclass(frozen=True)
class Paper:
    """A paper and what is tested of it."""

    id: str
    title: str
    citation: str
    summary: str
    """What it says, in two sentences of ours."""
    experiments: Sequence[Experiment]
    label: str = "in the paper"
    """What stands before the words of an experiment on what is shown."""
    source: str = ""
    """What was at hand of the paper; empty for results of this project."""
    in_full: bool = False
    """Whether its full text was read."""
    contents: Sequence[ContentsEntry] = ()
    """What the paper is known to hold, and where it is tested."""

    @property
    def claims(self) -> list[Claim]:
        return [claim for experiment in self.experiments for claim in experiment.claims]


def lacking(reason: str) -> Verdict:
    """The verdict on a claim whose data are not on this machine."""
    return Verdict("not tested", regime=reason, missing=True)


def holds_if(condition: bool, measured: float, stderr: float | None = None, regime: str = "") -> Verdict:
    """The verdict on a claim that was tested."""
    return Verdict("holds" if condition else "fails", float(measured), None if stderr is None else float(stderr), regime)
