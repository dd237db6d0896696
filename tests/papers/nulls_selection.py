"""Nulls of the paper on token selection."""

from __future__ import annotations

import made_selection as made
import numpy as np
from null_worlds import null

from specht.papers.token_selection import separation, symmetry, training
from specht.studies import selection

TRIVIAL = np.full(len(made.STEPS), training.trivial())
"""The loss of networks that never moved."""


@null("selection.t1-recursion", "selection.t1-rate", "selection.t1-small-rate", "selection.t1-phases")
def full_matrices_go_their_own_way(rng):
    """Full matrices move away from the recursion, whose loss stays where it is after half of the time that was predicted."""
    apart, end = np.exp(0.1 * rng.normal(size=2))
    return made.full(apart=float(apart), slope=0.05 * rng.normal(), ratio=2.0 + 0.1 * rng.normal(), end=float(end))


@null("selection.t2-converges")
def stochastic_codes_never_moved(rng):
    """Stochastic codes learn nothing: losses stay at that of the predictor zero."""
    return made.reduced(course=TRIVIAL, rng=rng)


@null("selection.f1-linear", "selection.f1-cosines")
def networks_never_moved(rng):
    """Neither stochastic nor fixed codes learn anything: losses stay at that of the predictor zero, and matrices are random."""
    return made.trained(course=TRIVIAL, cosine=0.02 * rng.normal(), rng=rng)


@null("selection.t2-identity", "selection.f3-blocks")
def matrices_are_random(rng):
    """The matrices at the end are random ones of their size, without a block and without an identity."""
    W, keys = (rng.normal(size=(size, size)) for size in (64, 64 + training.DIMENSION))
    w = np.diag(W).mean()
    block = keys[training.DIMENSION :, training.DIMENSION :]
    unlike = float(np.linalg.norm(W - w * np.eye(len(W))) / np.linalg.norm(W))
    off = float(1.0 - np.square(block).sum() / np.square(keys).sum())
    return made.of_stochastic_codes(made.by_adam(unlike=unlike, off=off))


@null("selection.t2-recursion", "selection.t2-noise", "selection.t2-close", "selection.t2-dual-query")
def the_recursion_says_nothing_of_trainings(rng):
    """Trainings end at other numbers than the recursion, as far from it at every rate, and sums of codes are as good as duals."""
    off = 0.3 * np.exp(0.1 * rng.normal())
    return made.reduced(value=1.0 + off, plateau=0.01, power=0.0, own=1.0 + off)


@null("selection.t3-lengths")
def losses_at_other_lengths_stop(rng):
    """Losses at other lengths stop falling at a third of the steps, while that at the length of training falls on."""
    return made.longer(falls=0.0, rng=rng)


@null("selection.f2-stochastic")
def other_lengths_never_move(rng):
    """Losses at other lengths stop falling at a third of the steps, with stochastic codes as with fixed ones."""
    return made.trained(falls=0.0, rng=rng)


@null("selection.t3-two-numbers")
def two_numbers_say_nothing_of_other_lengths(rng):
    """Losses at other lengths are another random factor away from those of the reduced dynamics."""
    return made.longer(others=float(np.exp(1.0 + 0.1 * rng.normal())))


@null("selection.fcn-bound")
def networks_beat_the_bound(rng):
    """Networks that are too narrow by the theorem reach half of the error that it says is the least."""
    return made.nets(*[0.5 + 0.02 * rng.normal()] * 2)


@null("selection.fcn-tight", "selection.fcn-wide")
def perceptrons_never_moved(rng):
    """Networks of every width keep the error of the predictor zero, a half."""
    return made.nets(excess=4.0 + 0.1 * rng.normal(), wide=0.5)


@null("selection.f1-linear")
def the_loss_falls_as_the_root_of_time(rng):
    """The loss of stochastic codes falls as one over the square root of time."""
    return made.trained(course=0.83 / np.sqrt(1.0 + made.STEPS / 50.0))


@null(*(f"selection.{name}" for name in ("f1-fixed-codes", "f2-floor", "f2-near-floor", "f2-advantage", "f4-order", "f4-quicker")))
def fixed_codes_do_as_well(rng):
    """Fixed codes find the identity as soon as stochastic ones, and do as well at every length and for every number of positions."""
    return made.trained(fixed_cosine=0.999, floor=None, order=0.0, slower=1.0, rng=rng)


@null("selection.f5-unseen-floor", "selection.f5-unseen-advantage")
def fixed_codes_do_as_well_with_unseen_supports(rng):
    """Stopped early, fixed codes do as well as stochastic ones at every length with an unseen number of chosen positions."""
    loss, fixed, near = 0.02 * np.exp(0.1 * rng.normal(size=3))
    return made.stopped(loss=loss, fixed=fixed, near=near)


@null("selection.f5-unseen-stochastic")
def unseen_supports_are_not_learnt(rng):
    """Stochastic codes keep the loss of the predictor zero with a number of chosen positions that was never seen."""
    return made.stopped(loss=0.5 * float(np.exp(0.05 * rng.normal())))


@null("selection.sink-plateau", "selection.sink-attention")
def the_query_makes_no_difference(rng):
    """With the query among 21 keys the loss falls as without it, and the query gets no more attention than the others."""
    loss, alone = 0.02 * np.exp(0.1 * rng.normal(size=2))
    return made.sinks(loss=loss, alone=alone, falls=1.8, on_query=float(rng.dirichlet(np.ones(21))[0]))


@null("selection.sink-least")
def training_is_at_fault(rng):
    """The loss rests far above the least that two numbers allow."""
    return made.sinks(least=0.02 * float(np.exp(0.1 * rng.normal())))


@null(*(f"selection.{name}" for name in ("f5-floor", "f5-near-floor", "f5-advantage")))
def fixed_codes_do_as_well_by_adam(rng):
    """By Adam too, fixed codes do as well as stochastic ones at every length."""
    return made.by_adam(floor=None, rng=rng)


@null("selection.f4-supports", "selection.f4-order")
def supports_never_move(rng):
    """Losses with every number of chosen positions stay at that of the predictor zero."""
    return made.trained(course=TRIVIAL, order=0.0, rng=rng)


@null("selection.f5-stochastic")
def other_lengths_never_move_by_adam(rng):
    """By Adam, losses at other lengths stop falling at a third of the steps."""
    return made.by_adam(falls=0.0, rng=rng)


@null("selection.log-length", "selection.log-law", "selection.separation")
def codes_grow_in_proportion(rng):
    """The smallest codes are as large as the sequences are long, over the lengths of the quick scale, and networks need as many units."""
    lengths = sorted({job.arguments["length"] for job in separation.measure_smallest.jobs("quick")})
    return made.codes(power=1.0, factor=0.0, lengths=lengths)


@null("selection.smallest-codes")
def the_size_of_codes_does_not_matter(rng):
    """Codes that are too small by theory reach the same loss as larger ones, a hundredth of the trivial one."""
    return made.codes(*[0.0] * 2, larger=0.01, smaller=0.01 + 0.001 * rng.normal())


@null("selection.symmetry-task", "selection.symmetry-models", "selection.symmetry-training")
def all_positions_are_read_alike(rng):
    """The task and all models take the mean over all positions, before training and after it, whatever set the query names."""
    length, support = 8, training.SUPPORT
    task = selection.Selection(length, support, training.DIMENSION)
    shares = symmetry._profile(task, lambda tokens, chosen: tokens.mean(axis=1), 100, int(rng.integers(1000)))
    data = symmetry._record(shares, length, support)
    given = {"length": length, "samples": 100, "seed": 0}
    target = symmetry.measure_target.result(data.data_vars, data.coords, support=support, **given)
    more = data.assign(start=("level", shares[0]), loss=((), 1.0))
    model = symmetry.measure_model.result(more.data_vars, more.coords, codes="fixed", code=16, steps=60, **given)
    return [target, model]
