"""Which symmetry is left: the positions that an embedding singles out are those that the target reads, and none without a reason."""

from __future__ import annotations

import numpy as np
import xarray

from specht.lab.jobs import Job
from specht.papers import common
from specht.papers.claims import Experiment, Results, Scale, Verdict, holds_if
from specht.papers.kernels_to_features import tasks
from specht.report.html import Step, Table

_HERE = f"{tasks.PACKAGE}.symmetry"
LENGTH, WIDTH = 16, 16
SHUFFLED = "shuffled labels"
"""The labels of copying in another order: nothing is left to read."""
CASES = ("copy", "and", "counts", SHUFFLED)
MOST = 0.9


def measure(target: str, n: int, seed: int) -> xarray.Dataset:
    """The positions that the saddle singles out, and the largest variance of a position over the median."""
    import specht

    data = tasks.flips("copy" if target == SHUFFLED else target, LENGTH, n, seed)
    y = np.random.default_rng([seed, 9]).permutation(data.y) if target == SHUFFLED else data.y
    found = specht.adapt(data.arch, data.x, y, width=WIDTH, ridge=tasks.RIDGE, scale=data.scale, method="saddle")
    positions = found.order.positions[:LENGTH]
    fields = {"singled_out": ("position", found.singled_out.astype(np.float64)), "ratio": ("position", positions / np.median(positions))}
    return common.record("symmetry", fields)


def jobs(scale: Scale) -> list[Job]:
    n, seeds = common.at_scale(scale, smoke=(48, 1), quick=(96, 5), full=(96, 20))
    return [Job.of(f"{_HERE}:measure", target=target, n=n, seed=seed) for target in CASES for seed in range(seeds)]


def _right(results: Results, target: str) -> tuple[float, int]:
    """The share of data sets in which just the right positions are singled out, and how many data sets there are."""
    wanted = tasks.READS.get(target, ())
    found = [
        tuple(np.flatnonzero(result.data["singled_out"].values)) == wanted for result in common.chosen(results, "symmetry", target=target)
    ]
    return float(np.mean(found)), len(found)


def _judge(*targets: str):
    def judge(results: Results) -> Verdict:
        shares = {target: _right(results, target) for target in targets}
        share, count = min(shares.values())
        given = f"L = {LENGTH}, width {WIDTH}, N = {results[0].arguments['n']}"
        words = f"{given}, {count} data sets each of {' and '.join(targets)}; the least share is shown."
        return holds_if(share >= MOST, share, (share * (1.0 - share) / count) ** 0.5, words)

    return judge


def tables(results: Results) -> list[Table]:
    rows = []
    for target in CASES:
        ratios = common.stacked(common.chosen(results, "symmetry", target=target), "ratio")
        reads = list(tasks.READS.get(target, ()))
        rest = np.delete(ratios, reads, axis=1)
        read = f"{ratios[:, reads].mean():.2f}" if reads else ""
        rows.append([target, str(reads or "none"), read, f"{rest.mean():.2f}", f"{_right(results, target)[0]:.0%}"])
    header = ("target", "reads", "their variance", "that of the others", "just these singled out")
    return [Table(header, rows, "Variances of positions over their median, at the saddle, averaged over data sets.", "What is singled out")]


EXPERIMENT = Experiment(
    name="features.symmetry",
    title="Which symmetry is left",
    shown="The variances of position vectors, for targets that read one position, two, all alike, or nothing.",
    claims=(
        tasks.claim(
            "symmetry-broken",
            "The symmetry between positions breaks to the permutations that leave the target alone.",
            f"just the positions that the target reads are singled out, in at least {MOST:.0%} of data sets for copy and AND",
            _judge("copy", "and"),
        ),
        tasks.claim(
            "symmetry-kept",
            "Where the target treats positions alike, or labels mean nothing, no position is singled out.",
            f"no position is singled out in at least {MOST:.0%} of data sets for counts and for shuffled labels",
            _judge("counts", SHUFFLED),
        ),
    ),
    jobs=jobs,
    tables=tables,
    method=(Step("A position is singled out where its variance is 15 robust standard deviations from the median."),),
)
