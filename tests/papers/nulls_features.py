"""Nulls of “From kernels to features”."""

from __future__ import annotations

import made_features as made
from null_worlds import null

from specht.papers.kernels_to_features import trained


@null(*(f"features.cells-{name}" for name in ("linear", "erf", "erf-heads", "layers", "fast", "saddle", "worst", "counts")))
def methods_say_what_infinite_width_says(rng):
    """Every method gives the loss of infinite width, which is twice that of networks, up to noise."""
    return made.cell_results(stderr=0.02, rng=rng, **made.NULL)


@null("features.cells-infinite")
def infinite_width_is_right(rng):
    """Networks of every cell have the loss of infinite width, up to noise."""
    return made.cell_results(stderr=0.02, rng=rng, infinite=1.0)


@null("features.heads")
def heads_do_not_matter(rng):
    """Networks with many heads are as far from infinitely many heads as those with few."""
    return made.heads_results(0.4 + 0.02 * rng.normal(), stderr=0.02)


@null("features.embedding")
def the_embedding_says_what_infinite_width_says(rng):
    """With the embedding at finite width theory still has the loss of infinite width, half as much again as that of networks."""
    return made.embedding_results(1.5 + 0.02 * rng.normal(), stderr=0.006)


@null("features.symmetry-broken", "features.symmetry-kept")
def positions_are_singled_out_at_random(rng):
    """The saddle singles out one random position of each data set, whatever the target reads."""
    return made.symmetry_results(rng=rng)


@null("features.symmetry-broken")
def nothing_is_singled_out(rng):
    """Embeddings stay as they were drawn, so that no position is ever singled out."""
    return made.symmetry_results(alike=True)


@null("features.average")
def averages_are_those_of_finite_width_alone(rng):
    """Theory without data says what infinite width says, twice the average over data sets."""
    return made.average_results(2.0 + 0.02 * rng.normal(), stderr=0.01)


@null("features.growth")
def width_changes_no_exponent(rng):
    """Samples that are needed grow with the length as at infinite width, at every width."""
    return made.growth_results(narrow=1.3 + 0.02 * rng.normal())


@null("features.gradual")
def symmetry_breaks_by_jumps(rng):
    """Another minimum becomes the lowest at every length."""
    return made.growth_results(jumps=(8, 32, 128, 1024, 4096))


@null("features.exponents", "features.exponents-fast")
def theory_grows_as_infinite_width(rng):
    """Theory needs samples that grow with the length as those of infinite width, and networks do not."""
    return made.exponent_results(theory=1.35, fast=1.35, noise=0.03 * rng.normal(size=3))


@null("features.exponents-infinite")
def infinite_width_grows_as_networks(rng):
    """Infinite width needs samples that grow with the length as those of networks."""
    return made.exponent_results(infinite=0.8, noise=0.03 * rng.normal(size=3))


LENGTHS = sorted({job.arguments["length"] for job in trained.searches.jobs("quick")})


@null(*(f"features.trained-{kind}-{width}" for kind in ("exponent", "slower", "fewer") for width in trained.WIDTHS))
def all_learners_need_samples_in_proportion(rng):
    """Thresholds of all learners are the same, in proportion to T over the lengths of the quick scale, with the error of each search."""
    return made.searches(1.0, 1.0, 1.0, start=150.0, noise=(0.0,) * 3, lengths=LENGTHS, rng=rng)


@null(*(f"features.trained-{kind}-{width}" for kind in ("exponent", "slower", "fewer") for width in trained.WIDTHS))
def theory_needs_more_than_the_kernel(rng):
    """Trained networks need samples that grow as a root of T, while theory needs more than the kernel, which needs them in proportion."""
    return made.searches(0.5, 1.6, 1.0, start=200.0, noise=(0.0,) * 3, lengths=LENGTHS, rng=rng)


@null("features.descent-leaves", "features.descent-near")
def descent_stays_at_infinite_width(rng):
    """Networks that are trained by gradient descent end at the loss of infinite width, three times that of sampled ones."""
    return made.descent_results(trained=3.0 + 0.1 * rng.normal(), noise=0.1)


@null("features.reach-exact", "features.reach-approximate")
def variants_say_what_infinite_width_says(rng):
    """Theory of every variant gives the loss of infinite width, twice that of networks, up to noise."""
    return made.reach_results(*(1.0 + 0.02 * rng.normal(size=2)), stderr=0.006)


@null("features.first-order")
def nothing_is_corrected(rng):
    """The corrected mean is as far from that of networks as infinite width is."""
    return made.first_order_results(*(0.07 + 0.002 * rng.normal(size=2)))
