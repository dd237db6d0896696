"""Nulls of the paper on broken symmetry."""

from __future__ import annotations

import itertools
import math

import numpy as np
from made_breaking import BOUND, cells, shares, stacks, sums
from null_worlds import null

from specht import probes
from specht.papers.breaking_symmetry import initial

ROUNDING = 1e-15
NETWORKS, SEQUENCES, POSITIONS, DEPTH, WIDTH = 4, 8, 8, 2, 32


@null("breaking.invariant", "breaking.single-layer", "breaking.prefixes")
def every_stack_sees_order(rng):
    """Every stack sees order, whatever its positions, its mask and its depth."""
    return cells(*(0.3 * np.exp(0.1 * rng.normal(size=6))))


@null("breaking.broken", "breaking.rotary", "breaking.first-two", "breaking.single-layer")
def no_stack_sees_order(rng):
    """No stack sees order: all that changes is rounding."""
    return cells(*(ROUNDING * rng.uniform(size=6)))


def of_states(stream, attended):
    """What the experiment measures of hidden states, (kind, network, layer, sequence, position, width), of each mask and sum."""
    found = []
    for kind, (causal, residual) in enumerate(itertools.product((True, False), (True, False))):
        rows, sizes, pairs, summed = [], [], [], []
        for own, first in zip(stream[kind], attended[kind], strict=True):
            cosines = {"stream": list(map(probes.self_cosines, own)), "attention": list(map(probes.self_cosines, first))}
            row = {name: [probes.adjacency_score(one) for one in layers] for name, layers in cosines.items()}
            row |= {f"{name}_mean": [probes.adjacency_score(one.mean(axis=0)) for one in layers] for name, layers in cosines.items()}
            row["probe_cosine"] = [probes.position_probe(probes.rows_without_self(one)) for one in cosines["attention"]]
            row["probe_size"] = [probes.position_probe(probes.size_features(state)) for state in first]
            rows.append(row)
            pairs.append(cosines["attention"][0].mean(axis=0))
            summed.append(probes.self_cosines(own[0] + first[0]).mean(axis=0))
            sizes.append((first[0] ** 2).sum(axis=-1).mean(axis=0))
        numbers = {name: (("network", "layer" if name.startswith("stream") else "block"), [row[name] for row in rows]) for name in rows[0]}
        numbers |= {"cosines": (("i", "j"), np.mean(pairs, axis=0)), "residual_cosines": (("i", "j"), np.mean(summed, axis=0))}
        numbers |= {"sizes": ("i", np.mean(sizes, axis=0)), "ratio": 1.0}
        given = {"causal": causal, "residual": residual, "deviation": initial.SMALL, "positions": POSITIONS, "depth": DEPTH}
        found.append(initial.measure_similarity.result(numbers, **given, sequences=SEQUENCES, networks=NETWORKS, seed=0))
    return found


def vectors(rng, layers):
    """Independent random vectors at every position of every layer."""
    return rng.normal(size=(4, NETWORKS, layers, SEQUENCES, POSITIONS, WIDTH))


@null(
    *("breaking.closed-form", "breaking.closed-form-residual", "breaking.sizes", "breaking.adjacency", "breaking.depth"),
    "breaking.probe",
)
def states_are_random_vectors(rng):
    """Hidden states are independent random vectors in every layer, so that no position tells anything of another one."""
    return of_states(vectors(rng, DEPTH + 1), vectors(rng, DEPTH))


@null("breaking.chance")
def states_are_running_means_everywhere(rng):
    """Nearby positions are alike in every layer, with a mask or without, because states are running means from the embedding on."""
    places = np.arange(1.0, POSITIONS + 1)[:, None]
    return of_states(*(np.cumsum(vectors(rng, layers), axis=-2) / places for layers in (DEPTH + 1, DEPTH)))


@null("breaking.addition-invariant", "breaking.addition-causal", "breaking.addition-positions", "breaking.addition-residual")
def sums_are_shuffled(rng):
    """Problems have the sums of other problems: nothing can be learnt, and every network ends at ln 10 a digit."""
    return sums(*[math.log(10.0)] * 3, solved=1e-4, rng=rng)


@null("breaking.addition-invariant")
def networks_without_order_learn_to_add(rng):
    """Networks that ignore order learn to add as well as those that see it, which shows that they see it."""
    return sums(invariant=1.0, rng=rng)


@null("breaking.addition-causal")
def a_mask_shows_no_order(rng):
    """Networks with a causal mask do no better than those that know the multiset of the digits."""
    return sums(causal=1.01 * BOUND, bare=1.01 * BOUND, rng=rng)


@null("breaking.slices-training", "breaking.slices-trained")
def nothing_was_trained(rng):
    """Training changes nothing, and no residual sums make one layer like the next."""
    return stacks(start=0.02, end=0.02, bare_start=0.0, bare_end=0.0)


@null("breaking.slices-start", "breaking.slices-trained", "breaking.slices-training")
def residual_sums_do_nothing(rng):
    """Scores of vertical slices are the same with residual sums and without, before and after training, but for the noise of seeds."""
    start, end = 0.3, 0.35
    return stacks(start, end, start, end, rng=rng)


@null("breaking.kernel-trivial", "breaking.kernel-blocks")
def kernels_are_random_matrices(rng):
    """Kernels are random matrices without a relation to permutations: every level has a share, and every irrep mixes with every other."""
    outside, order, inside, mixed = 0.5 * np.exp(0.1 * rng.normal(size=4))
    return shares(outside, order, inside, mixed)


@null("breaking.kernel-order", "breaking.kernel-blocks")
def kernels_ignore_order(rng):
    """Kernels ignore order with positions and masks too, so that they lie in the trivial irrep and mix nothing."""
    return shares(order=ROUNDING, mixed=ROUNDING)


@null("breaking.kernel-networks")
def networks_have_random_shares(rng):
    """What random networks compute has shares by level that have nothing to do with those of the kernel."""
    return shares(apart=0.4 * np.exp(0.1 * rng.normal()))


@null("breaking.kernel-trained")
def targets_are_shuffled(rng):
    """Labels are shuffled over sequences, and what networks give back of the target is noise."""
    return shares(learnt=0.002 * rng.normal())
