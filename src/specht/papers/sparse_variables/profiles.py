"""Beside the paper: the symmetry profiles of its targets, and what they say about kernels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.lab.jobs import Job
from specht.papers import common
from specht.papers.claims import Claim, Experiment, Results, Scale, Verdict, holds_if
from specht.papers.sparse_variables import sources
from specht.report.figures import Plot
from specht.report.html import Step, Table

_HERE = f"{sources.PACKAGE}.profiles"
SUPPORT, MOST = 3, 4
FUNCTIONS = ("and", "or", "majority", "parity")


def measure_profile(target: str, length: int, samples: int, seed: int) -> xarray.Dataset:
    """The weights of a sparse function by level, on bits that balance its labels."""
    from specht.sequences.sources import iid
    from specht.sequences.sparse import sparse_function
    from specht.symmetry.profile import profile

    chosen = sparse_function(target, SUPPORT)
    p = chosen.probability
    found = profile(chosen.target(length), iid([1.0 - p, p]), length, seed, samples=samples, max_level=MOST, readout="mean")
    shares = np.array([[share.value, share.low, share.high] for share in found.shares])
    fields: dict[str, Any] = {"share": (("level",), shares[:, 0]), "low": (("level",), shares[:, 1]), "high": (("level",), shares[:, 2])}
    fields |= {"variance_share": (("level",), found.variance_shares), "above_high": found.above.high / found.total}
    return common.record("profile", fields, {"level": list(found.levels)})


def jobs(scale: Scale) -> list[Job]:
    length, samples = common.at_scale(scale, smoke=10, quick=50, full=200), common.at_scale(scale, smoke=8000, quick=8000, full=20000)
    return [Job.of(f"{_HERE}:measure_profile", target=function, length=length, samples=samples, seed=5) for function in FUNCTIONS]


def parity_share(length: int, level: int) -> float:
    """The share of a product of s uniform signs at a level: dim [L-m, m] over the number of s-subsets.

    >>> [round(parity_share(10, level) * 120) for level in range(4)]
    [1, 9, 35, 75]
    """
    before = math.comb(length, level - 1) if level else 0
    return (math.comb(length, level) - before) / math.comb(length, SUPPORT)


def judge_parity(results: Results) -> Verdict:
    """Whether every exact share lies in its interval."""
    (found,) = common.chosen(results, "profile", target="parity")
    length, data = found.arguments["length"], found.data
    exact = np.array([parity_share(length, level) for level in range(SUPPORT + 1)])
    inside = (data["low"].values[: SUPPORT + 1] <= exact + 1e-12) & (exact <= data["high"].values[: SUPPORT + 1] + 1e-12)
    words = (
        f"L = {length}, {found.arguments['samples']} sequences; exact share {exact[-1]:.3f}, measured share at level {SUPPORT} is shown."
    )
    most = int(np.argmax(data["share"].values)) == SUPPORT
    return holds_if(bool(inside.all()) and most, float(data["share"][SUPPORT]), regime=words)


def judge_spread(results: Results) -> Verdict:
    """The smallest share of the variance of AND at levels up to s."""
    (found,) = common.chosen(results, "profile", target="and")
    shares = found.data["low"].values[1 : SUPPORT + 1]
    varying = found.data["variance_share"].values[: SUPPORT + 1]
    listed = ", ".join(f"{share:.3f}" for share in varying)
    words = f"L = {found.arguments['length']}; shares of the variance at levels 0 to {SUPPORT}: {listed}."
    return holds_if(bool((shares > 0.0).all()), float(varying[1:].min()), regime=words)


def plots(results: Results) -> list[Plot]:
    figure = go.Figure()
    for number, function in enumerate(FUNCTIONS):
        (found,) = common.chosen(results, "profile", target=function)
        data = found.data
        figure.add_bar(
            x=[str(level) for level in data["level"].values],
            y=100 * data["variance_share"].values,
            name=f"{function} of {SUPPORT}",
            marker={"color": common.colour(number), "opacity": 0.85},
            hovertemplate=f"{function}, level %{{x}}: %{{y:.1f}} %<extra></extra>",
        )
    common.finished(figure, x="level: positions that are singled out", y="share of the variance in %", linear_y=True)
    figure.update_layout(barmode="group")
    figure.update_xaxes(type="category")
    length = results[0].arguments["length"]
    return [
        Plot(
            figure, "Symmetry profiles of the targets", f"L = {length} positions, each function on bits that balance its labels.", wide=True
        )
    ]


def tables(results: Results) -> list[Table]:
    rows = []
    for found in results:
        data = found.data
        cells = [f"{100 * share:.1f} %" for share in data["variance_share"].values]
        rows.append([f"{found.arguments['target']} of {SUPPORT}", *cells])
    header = ("function", *(f"level {level}" for level in range(MOST + 1)))
    note = (
        "Shares of the variance. A kernel needs of order L^m samples for what lies at level m, but AND is also the sign of a function of "
        "level 1, so its kernel limits need only of order L: a classifier need not learn what lies above."
    )
    return [Table(header, rows, note, "Levels")]


EXPERIMENT = Experiment(
    name="sparse.profiles",
    title="Symmetry profiles of sparse functions",
    shown="Nothing: the paper has no symmetry. Beside its targets stands what the view from infinity says about them.",
    claims=(
        Claim(
            "sparse.profile-parity",
            "Parity of s uniform bits lies almost all at level s.",
            sources.OURS,
            "exact shares dim [L−m, m] / C(L, s) inside their intervals, the largest at level s",
            judge_parity,
        ),
        Claim(
            "sparse.profile-and",
            "AND of s bits that balance its labels spreads over all levels up to s.",
            sources.OURS,
            f"intervals of the shares at levels 1 to {SUPPORT} above zero",
            judge_spread,
        ),
    ),
    jobs=jobs,
    plots=plots,
    tables=tables,
    method=(Step("Weights by level come from correlations after shuffling, as in `specht profile`."),),
)
