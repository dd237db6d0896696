"""From claims to a scorecard: which claims are asked for, which jobs test them, what they found, and what a page shows of it."""

from __future__ import annotations

import dataclasses
import importlib
import math
import pkgutil
from collections.abc import Mapping, Sequence

import specht.papers
from specht.errors import InputError, unknown_choice
from specht.lab import Archive, Failure, Job, describe
from specht.papers.claims import Claim, Experiment, JobResult, Paper, Results, Scale, Verdict
from specht.report import ChangedCriterion, JudgedClaim, OtherScale, PaperSection, Plot, Section, Table

_SEEDS_APART = 100_000
"""Between the seeds of one run and those of the next."""


@dataclasses.dataclass(frozen=True)
class Part:
    """An experiment, and those of its claims that are asked for."""

    paper: Paper
    experiment: Experiment
    claims: tuple[Claim, ...]


def papers() -> list[Paper]:
    """Every paper, in the order of their modules. Adding a paper is adding a module with a `PAPER`."""
    modules = [importlib.import_module(f"specht.papers.{module.name}") for module in pkgutil.iter_modules(specht.papers.__path__)]
    return [module.PAPER for module in modules if hasattr(module, "PAPER")]


def select(names: Sequence[str] = (), among: Sequence[Paper] | None = None) -> list[Part]:
    """The experiments with the claims that are named, by paper, by experiment or one by one; all without a name."""
    known = papers() if among is None else among
    parts = [Part(paper, experiment, tuple(experiment.claims)) for paper in known for experiment in paper.experiments]
    if not names:
        return parts
    choices = {name for part in parts for name in (part.paper.id, part.experiment.name, *(claim.id for claim in part.claims))}
    for name in names:
        if name not in choices:
            error = unknown_choice("paper or claim", name, sorted(choices))
            raise InputError(f"{str(error).split(' Choose from')[0]} `specht reproduce --list` shows them all.")
    wanted = set(names)
    chosen = []
    for part in parts:
        whole = part.paper.id in wanted or part.experiment.name in wanted
        claims = tuple(claim for claim in part.claims if whole or claim.id in wanted)
        if claims:
            chosen.append(dataclasses.replace(part, claims=claims))
    return chosen


def expected_outcomes(scale: Scale) -> dict[str, str]:
    """What this repository records for a scale, by claim."""
    return {claim.id: claim.record[scale].verdict for paper in papers() for claim in paper.claims if scale in claim.record}


@dataclasses.dataclass(frozen=True)
class Judged:
    """An experiment with its results, and the verdicts on its claims."""

    part: Part
    results: Results
    """Of the first seed: figures and tables show these."""
    claims: tuple[JudgedClaim, ...]


SEEDS: Mapping[Scale, int] = {"smoke": 1, "quick": 5, "full": 3}
"""How many seeds a claim is judged over."""


def jobs_of(part: Part, scale: Scale, seed: int = 0) -> list[Job]:
    """The jobs that test the claims of an experiment; none if no claim of it can be tested."""
    if not any(claim.judge for claim in part.claims):
        return []
    return [_seeded(job, seed) for job in part.experiment.jobs(scale)]


def runs_of(part: Part, scale: Scale, seed: int, seeds: int) -> list[list[Job]]:
    """The jobs of several seeds, each of which is a run of its own; one run if nothing is random."""
    runs = [jobs_of(part, scale, seed + step) for step in range(seeds)]
    return runs if any(run != runs[0] for run in runs) else runs[:1]


def _seeded(job: Job, seed: int) -> Job:
    arguments, step = job.arguments, _SEEDS_APART * seed
    if "seed" in arguments:
        arguments["seed"] += step
    if "seeds" in arguments:
        arguments["seeds"] = [seed + step for seed in arguments["seeds"]]
    return Job.of(job.function, **arguments)


def judge(part: Part, runs: Sequence[Sequence[Job]], archive: Archive, failures: Sequence[Failure], scale: Scale) -> Judged:
    """The verdicts on an experiment whose jobs have been done, or given up, for one seed or several."""
    jobs = list(dict.fromkeys(job for run in runs for job in run))
    failed = [failure for failure in failures if failure.job in set(jobs)]
    loaded = {} if failed else {job: archive.load(job) for job in jobs}
    lost = [job for job, data in loaded.items() if data is None]
    reason = ""
    if failed:
        reason = f"{len(failed)} of {len(jobs)} jobs failed; {failed[0].job}: {failed[0].error}"
    elif lost:
        reason = f"The result of {lost[0]} was damaged after it was computed: run it again."
    results = [] if reason else [[JobResult.of(job, data) for job in run if (data := loaded[job]) is not None] for run in runs]
    judged = [_judged(part.paper.id, claim, _verdict(claim, results, reason), scale) for claim in part.claims]
    return Judged(part, results[0] if results else (), tuple(judged))


def _judged(paper: str, claim: Claim, verdict: Verdict, scale: Scale) -> JudgedClaim:
    own = claim.record.get(scale)
    others = [OtherScale(name, **dataclasses.asdict(past)) for name, past in claim.record.items() if name not in (scale, "smoke")]
    return JudgedClaim(
        id=claim.id,
        sentence=claim.sentence,
        citation=claim.citation,
        criterion=claim.criterion,
        kind=claim.kind,
        since=None if claim.since is None else claim.since.isoformat(),
        changes=[ChangedCriterion(change.on.isoformat(), change.before, change.why) for change in claim.changes],
        others=others,
        paper=paper,
        verdict=verdict.outcome,
        expected=None if verdict.missing or own is None else own.verdict,
        measured=verdict.measured,
        stderr=verdict.stderr,
        interval=verdict.interval,
        seeds=verdict.seeds,
        agreeing=verdict.agreeing,
        regime=verdict.regime,
        missing=verdict.missing,
    )


def _verdict(claim: Claim, runs: Sequence[Results], reason: str) -> Verdict:
    if claim.judge is None:
        return Verdict("not tested", regime=claim.untested)
    if reason:
        return Verdict("not tested", regime=reason)
    try:
        verdict = claim.judge(*runs)
    except Exception as error:  # one claim that cannot be judged must not cost the others
        return Verdict("not tested", regime=f"Judging it failed: {describe(error)}")
    numbers = [number for number in (verdict.measured, verdict.stderr) if number is not None]
    if not all(map(math.isfinite, numbers)):
        return Verdict("not tested", regime=f"What was measured is not a number. {verdict.regime}".strip())
    return verdict


def paper_sections(judged: Sequence[Judged]) -> list[PaperSection]:
    """One section a paper, with its experiments in the order of the paper."""
    by_paper: dict[str, list[Judged]] = {}
    for experiment in judged:
        by_paper.setdefault(experiment.part.paper.id, []).append(experiment)
    papers = [(experiments[0].part.paper, [_section(experiment) for experiment in experiments]) for experiments in by_paper.values()]
    return [
        PaperSection(paper.title, paper.citation, paper.summary, sections, paper.label, paper.source, paper.in_full, paper.contents)
        for paper, sections in papers
    ]


def _section(judged: Judged) -> Section:
    experiment = judged.part.experiment
    plots: Sequence[Plot] = ()
    tables: Sequence[Table] = ()
    if judged.results:
        try:
            plots, tables = list(experiment.plots(judged.results)), list(experiment.tables(judged.results))
        except Exception as error:  # the scorecard is worth more than its pictures
            tables = [Table(("figures", "why they are missing"), [["not drawn", describe(error)]], title="Figures")]
    return Section(
        name=experiment.name,
        title=experiment.title,
        shown=experiment.shown,
        claims=judged.claims,
        plots=plots,
        tables=tables,
        method=experiment.method,
    )
