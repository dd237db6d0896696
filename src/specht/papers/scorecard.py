"""From claims to a scorecard: which jobs test them, what they found, and whether that is what this repository expects."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

from specht.lab import Archive, Failure, Job, describe
from specht.papers.claims import Claim, JobResult, Results, Scale, Verdict
from specht.papers.registry import Part, papers
from specht.report import JudgedClaim

_SEEDS_APART = 100_000
"""Between the seeds of one run and those of the next."""


@dataclasses.dataclass(frozen=True)
class Judged:
    """An experiment with its results, and the verdicts on its claims."""

    part: Part
    results: Results
    claims: tuple[JudgedClaim, ...]


def jobs_of(part: Part, scale: Scale, seed: int = 0) -> list[Job]:
    """The jobs that test the claims of an experiment; none if no claim of it can be tested."""
    if not any(claim.judge for claim in part.claims):
        return []
    return [_seeded(job, seed) for job in part.experiment.jobs(scale)]


def _seeded(job: Job, seed: int) -> Job:
    arguments, step = job.arguments, _SEEDS_APART * seed
    if "seed" in arguments:
        arguments["seed"] += step
    if "seeds" in arguments:
        arguments["seeds"] = [each + step for each in arguments["seeds"]]
    return Job.of(job.function, **arguments)


def judge(part: Part, jobs: Sequence[Job], archive: Archive, failures: Sequence[Failure], expected: Mapping[str, str]) -> Judged:
    """The verdicts on an experiment whose jobs have been done, or given up."""
    failed = [failure for failure in failures if failure.job in set(jobs)]
    loaded = {} if failed else {job: archive.load(job) for job in jobs}
    lost = [job for job, data in loaded.items() if data is None]
    reason = ""
    if failed:
        reason = f"{len(failed)} of {len(jobs)} jobs failed; {failed[0].job}: {failed[0].error}"
    elif lost:
        reason = f"The result of {lost[0]} was damaged after it was computed: run it again."
    results = [] if reason else [JobResult.of(job, data) for job, data in loaded.items() if data is not None]
    judged = [_judged(part.paper.id, claim, _verdict(claim, results, reason), expected) for claim in part.claims]
    return Judged(part, results, tuple(judged))


def _judged(paper: str, claim: Claim, verdict: Verdict, expected: Mapping[str, str]) -> JudgedClaim:
    return JudgedClaim(
        id=claim.id,
        sentence=claim.sentence,
        citation=claim.citation,
        criterion=claim.criterion,
        kind=claim.kind,
        since=None if claim.since is None else claim.since.isoformat(),
        paper=paper,
        verdict=verdict.outcome,
        expected=None if verdict.missing else expected.get(claim.id),
        measured=verdict.measured,
        stderr=verdict.stderr,
        regime=verdict.regime,
        missing=verdict.missing,
    )


def _verdict(claim: Claim, results: Results, reason: str) -> Verdict:
    if claim.judge is None:
        return Verdict("not tested", regime=claim.untested)
    if reason:
        return Verdict("not tested", regime=reason)
    try:
        found = claim.judge(results)
    except Exception as error:  # one claim that cannot be judged must not cost the others
        return Verdict("not tested", regime=f"Judging it failed: {describe(error)}")
    numbers = [number for number in (found.measured, found.stderr) if number is not None]
    if not all(map(math.isfinite, numbers)):
        return Verdict("not tested", regime=f"What was measured is not a number. {found.regime}".strip())
    return found


def expected_outcomes(scale: Scale) -> dict[str, str]:
    """What this repository records for a scale, by claim."""
    return {claim.id: claim.verdicts[scale] for paper in papers() for claim in paper.claims if scale in claim.verdicts}
