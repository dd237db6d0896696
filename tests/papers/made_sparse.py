"""Made-up results of the experiments of the paper on sparse variables: those for which its claims hold, unless a fault is asked for."""

from __future__ import annotations

import math

import numpy as np

from specht.papers.sparse_variables import curves, lemmas, parity, profiles, theory, thresholds, trained_bounds

LENGTHS = (25, 35, 50, 71, 100, 141, 200)
LONGER = (*LENGTHS, 283, 400, 566, 800, 1100)


def searches(
    law=lambda T: -24 + 17.4 * math.log(T),
    other=lambda T: 5.0 * T,
    errors=0.03,
    states="found",
    lengths=LENGTHS,
    own=LENGTHS,
    rng=None,
):
    """Searches at some lengths; those of the transformer at its own. With random numbers every threshold has the error that it states."""
    found = []
    for learner in (thresholds.TRANSFORMER, *thresholds.OTHERS, *thresholds.THEORIES):
        for T in own if learner == thresholds.TRANSFORMER else lengths:
            m = law(T) if learner == thresholds.TRANSFORMER else other(T)
            m *= 1.0 if rng is None else math.exp(errors * rng.normal())
            numbers = {"m": m, "low": 0.9 * m, "high": 1.1 * m, "log_stderr": errors, "curve_width": 0.2, "lapse": 0.01, "reached": 1.0}
            batches = {name: ("batch", [1.0, 2.0]) for name in ("size", "successes", "runs", "accuracy", "identified")}
            search = {"batch": 8, "smallest": 8, "largest": 512}
            training = {"transformer": {"restarts": 3, "steps": 125}, "perceptron": {"restarts": 1, "steps": 250}}.get(learner, {})
            arguments = {"learner": learner, "length": T, "search": search, "training": training}
            found.append(thresholds.thresholds.result(numbers | batches, {"state": states}, **arguments))
    return found


def runs(above=1.0, fitted=1e-3, below=0.7, mass=0.33, rest=1e-5, learnt=1.0, weights=None):
    """Runs below and above the threshold, and one head, whose attention may be given run by run."""
    looks = np.array([20, 40])
    found = []
    for side, best, loss, m in ((curves.BELOW, below, fitted, 30), (curves.ABOVE, above, 1e-3, 90)):
        fields = {"accuracy": (("run", "look"), np.full((5, 2), best)), "train_loss": (("run", "look"), np.full((5, 2), loss))}
        found.append(curves.measure_curves.result(fields, {"look": looks}, side=side, length=100, m=m, runs=5, steps=40, seed=0))
    weights = np.array([[mass] * 3 + [rest] * 6 + [0.01]] * 2) if weights is None else weights
    fields = {
        "weights": (("run", "column"), weights),
        "single": (("run", "example", "column"), weights[:, None]),
        "accuracy": (("run",), [learnt] * 2),
    }
    return [*found, curves.measure_attention.result(fields, length=9, m=300, runs=2, steps=40, seed=0)]


def streams(short=(100, 110), long=(190, 200), left=0.9, paper=(400, 500)):
    """Runs by the number of bits; those from the start of the paper take as long with 10 bits as with 15."""
    found = []
    for start, runs in ((parity.OURS, {10: short, 15: long}), (parity.PAPERS, {10: paper, 15: paper})):
        for length, times in runs.items():
            for seed, learnt in enumerate(times):
                fields = {"learnt_at": float(learnt), "left_at": left * learnt, "loss": (("step",), [0.69, 0.0])}
                arguments = {"start": start, "length": length, "steps": 1200, "batch": 2048, "learning_rate": 1e-3, "seed": seed}
                found.append(parity.measure_parity.result(fields, {"step": [0, 299]}, **arguments))
    return found


def statements(bend=0.0, dense=1.0, exact=0.01, trained=0.01, literal=0.3, dual=0.005, share=1.0, power=0.0, **more):
    """Capacities of attention grow as a `power` of T beside its logarithm; `uneven` bends the curve with all constants alone, `norm` is
    that of queries."""
    kinds = ["corollary 4.5", "theorem 4.2, all constants", "lemma A.12, four heads", "theorem A.17, two layers", "fully connected"]
    lengths = np.array(theory.LENGTHS, dtype=float)
    attention = (np.log(lengths) + 3) * lengths**power + bend * lengths**2
    rows = [attention, attention + more.get("uneven", 0.0) * lengths, attention, attention, lengths**dense]
    found = [
        theory.measure_capacity.result({"capacity": (("kind", "length"), np.array(rows))}, {"kind": kinds, "length": list(theory.LENGTHS)})
    ]
    norms = {f"norm_{name}": 1.0 for name in ("key", "value", "mix")} | {"norm_query": more.get("norm", 8.0)}
    for key, dimension, error in (("sum", 200, exact), ("sum", 1001, literal), ("dual", 1001, dual), ("trained", 0, trained)):
        found.append(theory.measure_head.result({"error": error} | norms, length=200, dimension=dimension, key=key, samples=10, seed=0))
    return [*found, theory.measure_shattering.result({"sequences": 4.0, "share": share, "margin": 0.4}, length=16)]


def gaps(samples=1e12, order=1.0, perceptron=1e14, rng=None):
    """Gaps in the order of the factors, or random ones if there are random numbers."""
    found = []
    for learner, needed in (("transformer", samples), ("perceptron", perceptron)):
        for m in (20, 40, 60, 100, 180):
            factor = np.arange(1.0, 9.0) + 10.0 * (m == 20)
            fields = {
                "factor": factor,
                "samples": np.full(8, needed),
                "gap": order * factor if rng is None else rng.normal(size=8),
                "accuracy": np.ones(8),
            }
            fields = {name: (("run",), values) for name, values in fields.items()}
            found.append(trained_bounds.measure_gap.result(fields, learner=learner, length=50, m=m, runs=8, steps=100, seed=0))
    return found


def levels(off=0.0, third=0.02):
    found = []
    for function in profiles.FUNCTIONS:
        share = np.array([profiles.parity_share(50, level) for level in range(4)] + [0.0]) + np.array([0, 0, off, -off, 0])
        if function == "and":
            share = np.array([0.1, 0.7, 0.18, third, 0.0])
        low = np.maximum(share - 0.01, 0.0)
        high = np.where(share == 0.0, 0.0, share + 0.01)  # what a function has nothing of has no noise
        fields = {"share": share, "low": low, "high": high, "variance_share": share}
        fields = {name: (("level",), values) for name, values in fields.items()} | {"above_high": 0.0}
        found.append(profiles.measure_profile.result(fields, {"level": list(range(5))}, target=function, length=50, samples=100, seed=0))
    return found


def moved(beyond=0.0, wrong=5.0, constant=0.5, growth=0.0, packing=3.0, bound=3e4, false=0.1):
    """How many heads pass their bound and how far others move, and functions that are told apart beside theirs."""
    found = []
    for length in (2, 4, 16):
        fields = {name: ("change", np.full(3, value)) for name, value in {"ratio": 0.9, "typical": 0.2, "beyond": beyond}.items()}
        fields |= {
            "steepest": constant,
            "slope": 0.4 * length**growth,
            "typical_slope": 0.1,
            "wrong": ("norm", np.full(len(lemmas.WRONG), wrong)),
        }
        places = {"change": list(lemmas.CHANGES), "norm": list(lemmas.WRONG)}
        found.append(lemmas.measure_change.result(fields, places, length=length, heads=100, seed=0))
    for job in lemmas.measure_cover.jobs("smoke"):
        rows = {"packing": packing, "bound": bound, "false_bound": false}
        fields = {name: ("resolution", np.full(len(lemmas.RESOLUTIONS), value)) for name, value in rows.items()}
        found.append(lemmas.measure_cover.result(fields, {"resolution": list(lemmas.RESOLUTIONS)}, **job.arguments))
    return found
