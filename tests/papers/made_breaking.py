"""Made-up results of the experiments of the paper on broken symmetry: those for which its claims hold, unless a fault is asked for."""

from __future__ import annotations

import itertools

import numpy as np

from specht.papers.breaking_symmetry import addition, initial, invariance, kernels, training
from specht.probes.similarity import uniform_cosines

BOUND = 1.5
SEEDS = 3


def cells(rounding=1e-15, single=1e-15, broken=0.3, rotary=0.005, exchange=0.1, others=1e-15):
    """The invariance table as the theorem has it, with what each kind of cell changes by."""
    found = []
    for positions, causal, depth in itertools.product(("none", "learned", "rotary"), (False, True), (1, 2)):
        same = invariance.is_invariant(positions, causal, depth)
        value = (single if causal else rounding) if same else rotary if positions == "rotary" else broken
        numbers = {"change": value, "scale": 1.0, "share": value, "least": value, "exchange": exchange, "others": others}
        arguments = {"positions": positions, "causal": causal, "depth": depth, "residual": True, "norm": "pre"}
        found.append(invariance.measure_invariance.result(numbers, **arguments, permutations=4, networks=2, seed=depth))
    return found


def starts(off=0.0, with_stream=0.0, falling=1.0, attention=0.95, unmasked=0.5, embedding=0.5, layers=(0.6, 0.7), cosine=0.8, size=0.5):
    """Random networks of two layers, whose states have the closed forms but for what is given."""
    found = []
    for causal, residual in itertools.product((True, False), (True, False)):
        scores = [embedding, *(layers if causal else (unmasked, unmasked))]
        attended = [attention if causal else unmasked] * 2
        noise = np.array([[-1e-3], [1e-3]])
        numbers = {
            "stream": (("network", "layer"), scores + noise),
            "stream_mean": (("network", "layer"), scores + noise),
            "attention": (("network", "block"), attended + noise),
            "attention_mean": (("network", "block"), attended + noise),
            "probe_cosine": (("network", "block"), np.full(2, cosine) + noise),
            "probe_size": (("network", "block"), np.full(2, size) + noise),
            "cosines": (("i", "j"), uniform_cosines(6) + off),
            "residual_cosines": (("i", "j"), uniform_cosines(6, residual=0.2) + with_stream),
            "sizes": ("i", np.arange(1.0, 7.0) ** -falling),
            "ratio": 0.2,
        }
        arguments = {"causal": causal, "residual": residual, "deviation": initial.SMALL, "positions": 6, "depth": 2}
        found.append(initial.measure_similarity.result(numbers, **arguments, sequences=8, networks=2, seed=0))
    return found


def shares(outside=0.0, order=0.1, inside=0.0, mixed=0.01, apart=0.0, learnt=0.5):
    """Kernels by irrep; `outside` of the trivial one where order is ignored, `order` elsewhere, and the off-block mass of either kind."""
    found = []
    for attention, positions, causal, depth in itertools.product(("linear", "softmax"), ("none", "learned"), (False, True), (1, 2)):
        rest = outside if invariance.is_invariant(positions, causal, depth) else order
        values = np.array([1.0 - rest, rest])
        cell = {"attention": attention, "positions": positions, "causal": causal, "depth": depth, "length": 3}
        between = mixed if causal and depth > 1 else inside
        numbers = {"shares": ("level", values), "off_block": between, "joint": between, "one": rest, "noise": 0.0, "invariant": 1.0}
        heads = None if attention == "linear" else 64
        found.append(kernels.measure_kernel.result(numbers | {"eigenvalues": ("level", values)}, **cell, heads=heads, seed=0))
        if attention == "softmax":
            errors = np.full(2, 0.01 if rest else 0.0)  # where order is ignored, no network sees any of it
            sampled = {"shares": ("level", values + np.array([-apart, apart])), "stderr": ("level", errors)}
            found.append(kernels.random_networks.result(sampled, **cell, width=16, networks=8, seed=1))
            gained = np.array([0.9, learnt if rest else 0.0])
            parts = {"shares": values, "shares_stderr": [0.0, 0.0], "learnt": gained, "learnt_stderr": [0.002, 0.002]}
            levelled = {name: ("level", part) for name, part in parts.items()}
            found.append(kernels.trained_networks.result(levelled, **cell, width=16, networks=8, seed=2))
    return found


def bound():
    variables = {
        "loss": BOUND,
        "losses": ("place", [0.5, 2.5]),
        "accuracies": ("place", [0.7, 0.2]),
        "exact": 0.1,
        "shares": ("level", [0.2, 0.8]),
        "order": 0.8,
        "order_low": 0.7,
        "order_high": 0.9,
    }
    return addition.measure_bound.result(variables, digits=1, tests=100, seed=0)


def trained(model, seed, loss, *, exact=0.5, start=0.4, end=0.5, rng=None):
    """One run of a model; seeds lie a little apart, by random numbers if there are any."""
    off, later = 0.001 * (np.full(2, seed - 1) if rng is None else rng.normal(size=2))
    scores = {"slice_start": ("pair", np.full(model.depth, start + off)), "slice_end": ("pair", np.full(model.depth, end + later))}
    numbers = {"loss": loss + off, "loss_stderr": 0.002, "exact": exact + off, "exact_stderr": 0.001}
    return addition.trainings.result(scores | numbers, **model._asdict(), digits=1, steps=10, tests=100, seed=seed)


def sums(invariant=1.52, causal=1.0, bare=1.1, solved=0.99, rng=None):
    """Every model of the addition, with the loss of its kind and without residual sums another."""
    found = [bound()]
    for model in training.MODELS:
        loss = invariant if model.is_invariant else (causal if model.residual else bare)
        exact = solved if model.positions != "none" else 0.3
        found += [trained(model, seed, loss, exact=exact, rng=rng) for seed in range(SEEDS)]
    return found


def stacks(start=0.45, end=0.6, bare_start=0.0, bare_end=0.05, rng=None):
    """Two layers with and without residual sums, with the scores of vertical slices before and after training."""
    model = next(model for model in training.MODELS if model.causal and model.depth == 2 and model.positions == "none")
    found = []
    for norm in ("none", "pre"):
        for residual, scores in ((True, (start, end)), (False, (bare_start, bare_end))):
            runs = (
                trained(model._replace(norm=norm, residual=residual), seed, 1.0, start=scores[0], end=scores[1], rng=rng)
                for seed in range(SEEDS)
            )
            found += runs
    return found
