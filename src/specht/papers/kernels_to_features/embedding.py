"""The embedding alone at finite width: everything behind it integrated out, against networks whose later layers are wide."""

from __future__ import annotations

import math

import plotly.graph_objects as go
import xarray

from specht.lab.jobs import Job
from specht.papers import common
from specht.papers.claims import Experiment, Results, Scale, Verdict, holds_if
from specht.papers.kernels_to_features import tasks
from specht.report.figures import Plot
from specht.report.html import Step, Table

_HERE = f"{tasks.PACKAGE}.embedding"
LENGTH, N = 16, 24


def measure(embedding: int, later: int, chains: int, burn_in: int, samples: int, seed: int) -> xarray.Dataset:
    """Test loss by the collapsed posterior and by networks with the same embedding, copying the first flip."""
    import specht
    from specht.learning.adaptive import Chains, Widths

    data = tasks.flips("copy", LENGTH, N, seed)
    length = Chains(chains=8, burn_in=100, samples=200, kept=100)
    found = specht.adapt(data.arch, data.x, data.y, width=Widths(embedding), ridge=tasks.RIDGE, scale=data.scale, chains=length)
    loss, stderr = found.mean_square_error(data.new, data.new_y)
    size = specht.nn.Size(width=later, heads=later // 4, head_size=8, embedding=embedding)
    networks, networks_stderr = tasks.sampled_networks(data, size, chains, burn_in, samples)
    return common.record("embedding", {"loss": loss, "stderr": stderr, "networks": networks, "networks_stderr": networks_stderr})


def jobs(scale: Scale) -> list[Job]:
    widths, later, chains, burn_in, samples = common.at_scale(
        scale, smoke=((4,), 8, 3, 4, 4), quick=((16,), 512, 4, 50, 60), full=((16, 32, 64), 512, 4, 50, 60)
    )
    length = {"chains": chains, "burn_in": burn_in, "samples": samples}
    return [Job.of(f"{_HERE}:measure", embedding=width, later=later, seed=0, **length) for width in widths]


def judge(results: Results) -> Verdict:
    """The largest relative difference, and whether all are within 5 % and three standard errors."""
    found = [(_difference(result.data), result) for result in common.chosen(results, "embedding")]
    (error, stderr), worst = max(found, key=lambda each: each[0][0] - 3.0 * each[0][1])
    given = worst.arguments
    words = (
        f"Copying the first of {LENGTH} flips from {N} samples, embeddings of {common.listed(common.arguments(results, 'embedding'))}, "
        f"later layers of {given['later']}; the worst is at {given['embedding']}."
    )
    return holds_if(all(off <= 0.05 + 3.0 * error for (off, error), _ in found), error, stderr, words)


def _difference(data: xarray.Dataset) -> tuple[float, float]:
    loss, stderr, networks, of_networks = (float(data[name]) for name in ("loss", "stderr", "networks", "networks_stderr"))
    return abs(loss / networks - 1.0), loss / networks * math.hypot(stderr / loss, of_networks / networks)


def plots(results: Results) -> list[Plot]:
    found, figure = common.chosen(results, "embedding"), go.Figure()
    widths = common.arguments(found, "embedding")
    common.add_points(figure, widths, common.column(found, "loss"), "embedding sampled", 0, errors=common.column(found, "stderr"))
    errors = common.column(found, "networks_stderr")
    common.add_points(figure, widths, common.column(found, "networks"), "networks", 1, errors=errors)
    common.finished(figure, x="width of the embedding", y="test loss", ticks=widths, linear_y=True)
    return [Plot(figure, "The embedding alone", "Networks have later layers of width 512 and 128 heads of size 8.")]


def tables(results: Results) -> list[Table]:
    rows = [
        [
            str(result.arguments["embedding"]),
            common.with_error(float(result.data["loss"]), float(result.data["stderr"])),
            common.with_error(float(result.data["networks"]), float(result.data["networks_stderr"])),
        ]
        for result in common.chosen(results, "embedding")
    ]
    return [Table(("embedding", "collapsed posterior", "networks"), rows, "Test loss.", "The embedding alone")]


EXPERIMENT = Experiment(
    name="features.embedding",
    title="The embedding alone",
    shown="An embedding of finite width, and everything behind it wide.",
    claims=(
        tasks.claim(
            "embedding",
            "With wide layers behind it, an embedding of finite width does what its collapsed posterior says.",
            "test loss within 5 % and three standard errors of networks with the same embedding and later widths of 512",
            judge,
        ),
    ),
    jobs=jobs,
    plots=plots,
    tables=tables,
    method=(
        Step(
            "Embeddings are sampled with the evidence of the Gaussian process behind them as likelihood.",
            ("p(A | y) ∝ p(A) N(y; 0, k_A + δ)",),
        ),
    ),
)
