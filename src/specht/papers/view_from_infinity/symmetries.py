"""Spectra under known symmetries: exact, broken by degrees, larger than expected, and not there at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.lab.jobs import Job
from specht.papers import common
from specht.papers.claims import Claim, Experiment, Results, Scale, Verdict, holds_if
from specht.papers.view_from_infinity import sources
from specht.papers.view_from_infinity.sources import EXACT
from specht.report.figures import Plot
from specht.report.html import Step, Table

_HERE = f"{sources.PACKAGE}.symmetries"
VOCAB = 2


def _architecture(length: int, **fields: Any) -> Any:
    import specht

    return specht.Architecture(vocab=VOCAB, length=length, activation="erf", s_w=0.5, **fields)


def measure_splitting(length: int, epsilon: float, seed: int) -> xarray.Dataset:
    """How far multiplets come apart when the order of the tokens matters by a degree epsilon.

    `leading` is the splitting of the leading multiplet of [L-1,1] over its eigenvalue, `largest` that of any multiplet above one part in
    ten thousand of the top eigenvalue.
    """
    import specht
    from specht.spectra.dense import multiplet_splittings

    source = specht.sources.graded_mixture(epsilon, VOCAB, seed=seed)
    rows = multiplet_splittings(specht.Kernel(_architecture(length)), source)
    several = [row for row in rows if row.irrep.dimension > 1 and row.eigenvalue > 1e-4 * rows[0].eigenvalue]
    leading = next(row for row in several if row.irrep.level == 1)
    largest = max(row.splitting / row.eigenvalue for row in several)
    return common.record("splitting", {"leading": leading.splitting / leading.eigenvalue, "largest": largest})


def measure_without_positions(length: int, seed: int) -> xarray.Dataset:
    """The largest eigenvalue of any irrep but the trivial one, over E[k], without positions."""
    import specht

    spec = specht.spectrum(_architecture(length, s_p=0.0), specht.sources.default_mixture(VOCAB, seed=seed))
    return common.record("without positions", {"rest": max(abs(row.eigenvalue) for row in spec.rows if row.irrep.level > 0) / spec.trace})


def measure_readout(length: int, seed: int) -> xarray.Dataset:
    """The splitting of multiplets of S_(L+1), which moves the readout token too, and of S_L, which does not."""
    import specht
    from specht.spectra.dense import multiplet_splittings

    kernel, source = specht.Kernel(_architecture(length)), specht.sources.default_mixture(VOCAB, seed=seed)
    splittings = []
    for columns, readout in ((length + 1, "mean"), (length, "last")):
        rows = multiplet_splittings(lambda x, y: kernel(x, y), source, length=columns, readout=readout)
        leading = next(row for row in rows if row.irrep.level == 1)
        splittings.append(leading.splitting / leading.eigenvalue)
    return common.record("readout", {"moved": splittings[0], "fixed": splittings[1]})


def measure_law(vocab: int, length: int, seeds: list[int]) -> xarray.Dataset:
    """Total variation between a mixture of hidden Markov models and its average over orders, by kind of mixture, for several draws."""
    import specht

    s = specht.sources
    kinds = {
        "generic": lambda seed: s.generic_mixture(vocab, seed=seed),
        "stationary": lambda seed: s.generic_mixture(vocab, seed=seed, stationary=True),
        "static": lambda seed: s.default_mixture(vocab, seed=seed, chain="static"),
        "memoryless": lambda seed: s.default_mixture(vocab, seed=seed, chain="memoryless"),
    }
    gaps = [[s.exchangeability_gap(make(seed), length).value for seed in seeds] for make in kinds.values()]
    return common.record("law", {"gap": (("kind", "seed"), gaps)}, {"kind": list(kinds), "seed": seeds})


def jobs(scale: Scale) -> list[Job]:
    length = common.at_scale(scale, smoke=3, quick=6, full=8)
    degrees = common.at_scale(
        scale, smoke=[0.0, 0.01, 0.04], quick=[0.0, 0.005, 0.01, 0.02, 0.05, 0.1], full=[0.0, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1]
    )
    seeds = list(range(common.at_scale(scale, smoke=2, quick=8, full=32)))
    vocab, columns = common.at_scale(scale, smoke=(2, 3), quick=(3, 5), full=(3, 7))
    return [
        *(Job.of(f"{_HERE}:measure_splitting", length=length, epsilon=epsilon, seed=0) for epsilon in degrees),
        Job.of(f"{_HERE}:measure_without_positions", length=common.at_scale(scale, smoke=6, quick=32, full=64), seed=0),
        Job.of(f"{_HERE}:measure_readout", length=length, seed=0),
        Job.of(f"{_HERE}:measure_law", vocab=vocab, length=columns, seeds=seeds),
    ]


def _regime(results: Results) -> str:
    return f"Linear attention + erf, V = {VOCAB}, L = {results[0].arguments['length']}, s_w = 0.5, s_p = 1, every sequence listed."


def judge_exact(results: Results) -> Verdict:
    found = common.chosen(results, "splitting", epsilon=0.0)
    worst = common.column(found, "largest").max()
    return holds_if(worst < EXACT, worst, regime=_regime(found))


def judge_graded(results: Results) -> Verdict:
    found = [result for result in common.chosen(results, "splitting") if result.arguments["epsilon"] > 0]
    epsilons = common.arguments(found, "epsilon")
    power = common.power_law(epsilons, common.column(found, "leading"))
    assert power is not None
    words = f"{_regime(found)} Leading [L-1,1], order broken by ε = {common.span(epsilons)}."
    return holds_if(abs(power.exponent - 1.0) <= 0.1, power.exponent, power.stderr, words)


def judge_without_positions(results: Results) -> Verdict:
    (found,) = common.chosen(results, "without positions")
    value = float(found.data["rest"])
    return holds_if(value < EXACT, value, regime=f"Linear attention + erf, V = {VOCAB}, L = {found.arguments['length']}, s_p = 0.")


def judge_readout(results: Results) -> Verdict:
    found = common.chosen(results, "readout")
    moved, fixed = (float(found[0].data[name]) for name in ("moved", "fixed"))
    words = f"{_regime(found)} Splitting of the leading [L,1] over its eigenvalue; {fixed:.0e} for [L-1,1] with the readout in place."
    return holds_if(moved > 0.01 and fixed < EXACT, moved, regime=words)


def _gaps(results: Results, kinds: list[str]) -> tuple[np.ndarray, str]:
    (found,) = common.chosen(results, "law")
    words = (
        f"V = {found.arguments['vocab']}, L = {found.arguments['length']}, 2 hidden states, 4 components, {found.data.sizes['seed']} draws"
    )
    return found.data["gap"].sel(kind=kinds).values, words


def judge_generic(results: Results) -> Verdict:
    gaps, words = _gaps(results, ["generic", "stationary"])
    means, stderr = gaps.mean(axis=1), gaps[0].std(ddof=1) / np.sqrt(gaps.shape[1])
    words = (
        f"{words}: {means[0]:.3f} on average for generic chains, {means[1]:.3f} for stationary ones. It holds for static or memoryless "
        "chains."
    )
    return holds_if(means[0] < 0.01, means[0], stderr, words)


def judge_special(results: Results) -> Verdict:
    gaps, words = _gaps(results, ["static", "memoryless"])
    return holds_if(float(gaps.max()) < EXACT, float(gaps.max()), regime=f"{words}; the largest is shown.")


def plots(results: Results) -> list[Plot]:
    found = [result for result in common.chosen(results, "splitting") if result.arguments["epsilon"] > 0]
    epsilons = common.arguments(found, "epsilon")
    figure = go.Figure()
    for number, (name, label) in enumerate({"leading": "leading [L-1,1]", "largest": "any multiplet"}.items()):
        common.add_points(figure, epsilons, common.column(found, name), label, number, joined=True)
    first = float(found[0].data["leading"])
    common.add_guide(figure, epsilons, [first * epsilon / epsilons[0] for epsilon in epsilons], "in proportion to ε")
    common.finished(figure, x="degree ε to which order matters", y="splitting / eigenvalue", ticks=epsilons)
    caption = "How far multiplets come apart when the hidden chain remembers its state to a degree ε: at first in proportion to it."
    return [Plot(figure, "A broken symmetry splits multiplets", caption, wide=True)]


def tables(results: Results) -> list[Table]:
    (law,) = common.chosen(results, "law")
    rows = [
        [str(kind), f"{values.mean():.2g}", f"{values.max():.2g}"]
        for kind, values in zip(law.data["kind"].values, law.data["gap"].values, strict=True)
    ]
    header = ("hidden chains", "mean over draws", "largest")
    return [
        Table(
            header,
            rows,
            "Total variation between the law and its average over orders of the context.",
            "Is a mixture of hidden Markov models symmetric?",
        )
    ]


EXPERIMENT = Experiment(
    name="infinity.e2",
    title="Spectra under known symmetries",
    shown=(
        "Summary: an experiment that it suggests, spectra on data with a known symmetry. Poster: the theory needs a law that "
        "permutations leave as it is, and the data are mixtures of hidden Markov models."
    ),
    claims=(
        Claim(
            "infinity.e2-exact",
            "On exchangeable data multiplets are exactly degenerate.",
            sources.SUGGESTED,
            "relative splitting of every multiplet below 1e-10",
            judge_exact,
        ),
        Claim(
            "infinity.e2-graded",
            "Where order matters by a degree ε, multiplets split in proportion to it.",
            sources.SUGGESTED,
            "log-log slope of the splitting against ε is 1 ± 0.1",
            judge_graded,
        ),
        Claim(
            "infinity.e2-no-positions",
            "Without positions only the trivial irrep is left.",
            sources.SUGGESTED,
            "largest other eigenvalue below 1e-10 E[k]",
            judge_without_positions,
        ),
        Claim(
            "infinity.e2-readout",
            "Moving the readout token too is no symmetry of the network.",
            sources.SUGGESTED,
            "splitting above 1 % if the readout token is permuted, below 1e-10 if it is not",
            judge_readout,
        ),
        Claim(
            "infinity.e2-generic-hmm",
            "A mixture of hidden Markov models is a law that permutations leave as it is.",
            f"{sources.POSTER}, data and assumption of the theory",
            "total variation from its average over orders below 0.01",
            judge_generic,
        ),
        Claim(
            "infinity.e2-static-hmm",
            "A mixture of hidden Markov models is such a law where every hidden chain keeps its state for ever or forgets it at each step.",
            sources.OURS,
            "total variation from its average over orders below 1e-10",
            judge_special,
        ),
    ),
    jobs=jobs,
    plots=plots,
    tables=tables,
    method=(
        Step("Multiplets are those of the operator averaged over permutations; the actual operator, projected on each, splits it."),
        Step("Order is broken by mixing a shift into the transitions.", ("A = (1 − ε) 1π^T + ε shift",)),
    ),
)
