"""Nulls of the paper on sparse variables."""

from __future__ import annotations

import math
from unittest import mock

import made_sparse as made
import numpy as np
from null_worlds import measured, null

from specht.papers.sparse_variables import profiles, theory, thresholds

GROWTH = ("sparse.f2-log", "sparse.f2-exponent", "sparse.f2-law", "sparse.f2-points")
ERROR = 0.055
"""Of the logarithm of a threshold: searches of transformers stop where their interval of 90 % spans a factor of 1.2."""


@null("sparse.theory-log", "sparse.theory-dense")
def capacities_are_exchanged(rng):
    """Bounds of attention grow in proportion to T, and that of a fully connected network with the logarithm of T."""
    return made.statements(power=1.0, dense=0.15)


@null("sparse.theory-heads", "sparse.theory-sum", "sparse.theory-dual")
def heads_read_other_positions(rng):
    """Heads take the mean over three random positions, which are not those that were asked for."""
    signs = 2.0 * rng.integers(2, size=(100, 2, theory.SUPPORT)) - 1.0
    error = float(np.abs(np.diff(signs.mean(axis=2), axis=1)).max())
    return made.statements(exact=error, trained=error, literal=error, dual=error)


@null("sparse.theory-shatter")
def heads_have_random_signs(rng):
    """Every head gives random signs, so that some patterns come twice and others never."""
    patterns = rng.integers(2, size=(16, 4))
    return made.statements(share=len({tuple(row) for row in patterns.tolist()}) / 16.0)


@null("sparse.bounds-vacuous")
def bounds_are_as_large_as_the_samples(rng):
    """Bounds need about as many samples as networks are trained on."""
    return made.gaps(samples=float(rng.uniform(20.0, 200.0)))


@null("sparse.bounds-rank")
def gaps_are_random(rng):
    """The gap of a network has nothing to do with its norms."""
    return made.gaps(rng=rng)


def lengths_of(scale, learner):
    """Those at which a learner is searched for."""
    return sorted({job.arguments["length"] for job in thresholds.thresholds.jobs(scale) if job.arguments["learner"] == learner})


def in_proportion(T):
    """Through the paper's threshold at T = 100."""
    return thresholds.DIGITISED[100] * T / 100.0


@null(*GROWTH)
def thresholds_in_proportion_to_t(rng):
    """Transformers need samples in proportion to T over the lengths of the quick scale, with the error of each search."""
    return made.searches(in_proportion, errors=ERROR, own=lengths_of("quick", thresholds.TRANSFORMER), rng=rng)


@null(*GROWTH, "sparse.f2-slope")
def thresholds_in_proportion_to_t_up_to_long_sequences(rng):
    """Transformers need samples in proportion to T over the lengths of the full scale, with the error of each search."""
    return made.searches(in_proportion, errors=ERROR, own=lengths_of("full", thresholds.TRANSFORMER), rng=rng)


@null("sparse.f2-points", "sparse.f2-slope")
def thresholds_do_not_grow(rng):
    """Transformers need as many samples at every length of the full scale as the paper's do at T = 150, with the error of each search."""
    return made.searches(lambda T: thresholds.DIGITISED[150], errors=ERROR, own=lengths_of("full", thresholds.TRANSFORMER), rng=rng)


@null("sparse.f2-digitised", replaced=(thresholds, "DIGITISED", {T: round(in_proportion(T), -1) for T in thresholds.DIGITISED}))
def the_paper_s_points_lie_on_a_line(rng):
    """The paper's own thresholds are in proportion to T, on its grid of m."""
    return made.searches()


@null(*(f"sparse.f2-{learner}" for learner in thresholds.OTHERS))
def all_learners_are_alike(rng):
    """Every learner needs as many samples as the transformer, with the error of each search."""

    def law(T):
        return -24 + 17.4 * np.log(T)

    return made.searches(law, law, errors=ERROR, lengths=lengths_of("quick", "perceptron-ntk"), rng=rng)


@null("sparse.f3-above")
def labels_are_shuffled(rng):
    """Labels are shuffled: training samples are fitted, and on others networks are right as often as not."""
    return made.runs(above=0.5 + 0.02 * rng.normal(), below=0.5)


@null("sparse.f3-below")
def few_samples_are_enough(rng):
    """There is no threshold: networks learn the function from few samples as from many."""
    return made.runs(below=1.0 - 0.005 * rng.uniform())


@null("sparse.f3-relevant", "sparse.f3-irrelevant")
def attention_is_random(rng):
    """Heads attend to random positions, whatever the function reads."""
    return made.runs(weights=rng.dirichlet(np.ones(10), size=2))


@null("sparse.f4-learnt")
def parities_of_shuffled_labels(rng):
    """Labels are shuffled, and no run ever leaves the plateau."""
    return made.streams((-1,) * 5, (-1,) * 5)


@null("sparse.f4-abrupt")
def losses_fall_evenly(rng):
    """Losses fall evenly from the first step on, so that they leave ln 2 after a tenth of the time."""
    return made.streams(left=0.1 + 0.01 * rng.normal())


@null("sparse.f4-longer")
def the_number_of_bits_does_not_matter(rng):
    """Parities of more bits take as long as those of fewer, and both vary from run to run."""
    return made.streams(*(200.0 + 40.0 * rng.normal(size=(2, 5))))


@null("sparse.profile-parity", "sparse.profile-and")
def targets_of_two_bits(rng):
    """All targets read two bits in place of three, so that nothing lies above level 2."""
    seed = int(rng.integers(1000))
    with mock.patch.object(profiles, "SUPPORT", 2):
        return [measured(profiles.measure_profile, target=target, length=10, samples=400, seed=seed) for target in ("and", "parity")]


@null("sparse.lemma-43")
def tokens_are_longer_than_the_bound_knows(rng):
    """The longest token is twice as long as the bound takes it to be, and some heads pass it."""
    return made.moved(beyond=float(rng.uniform(0.02, 0.2)))


@null("sparse.lemma-43-norms", "sparse.cover-norms")
def all_norms_are_one(rng):
    """Random functions have norms of about one, so that a bound with other powers of them is as good."""
    return made.moved(wrong=float(rng.uniform(0.3, 0.9)), false=3e4 * float(rng.uniform(0.5, 2.0)))


@null("sparse.lemma-43-constant")
def softmax_is_as_steep_as_the_lemma_says(rng):
    """The Lipschitz constant of softmax is two, and a search comes near to it."""
    return made.moved(constant=1.0 - float(rng.uniform(0.0, 0.02)))


@null("sparse.lemma-43-length")
def changes_add_up_over_positions(rng):
    """Changes of scores at different positions add up at random, and with them how far a head moves: the root of T."""
    return made.moved(growth=0.5 + 0.02 * float(rng.normal()))


@null("sparse.lemma-46", "sparse.theorem-42")
def more_functions_than_the_bound_has(rng):
    """Bounds are so small that a thousand random functions are more than they allow."""
    return made.moved(packing=math.log(1000.0), bound=float(rng.uniform(1.5, 2.5)))


@null("sparse.f4-paper-start")
def parities_of_shuffled_labels_from_the_start_of_the_paper(rng):
    """Labels are shuffled, and no run from the start of the paper ever leaves the plateau."""
    return made.streams(paper=(-1,) * 5)


@null("sparse.f4-start")
def the_start_does_not_matter(rng):
    """Runs take as long from one start as from the other, and vary."""
    short, long, paper = 200.0 + 40.0 * rng.normal(size=(3, 5))
    return made.streams(short, long, paper=paper)
