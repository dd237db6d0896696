"""Nulls of the view from infinity but those on text."""

from __future__ import annotations

from unittest import mock

import made_view as made
import numpy as np
from null_worlds import measured, null

from specht import groups, sequences
from specht.papers.view_from_infinity import blocks, losses, other, outputs, scaling, symmetries, tightness


@null("infinity.f0-blocks", "infinity.f0-degeneracy", "infinity.f0-brute-force")
def operators_are_random_matrices(rng):
    """The kernel operator is a random symmetric matrix, which knows nothing of permutations, and its eigenvalues are sorted noise."""
    length, states = 3, sequences.every_sequence(2, 4)
    noise = rng.normal(size=(len(states), len(states)))
    matrix = rest = noise @ noise.T
    spreads = []
    for irrep, projector in groups.isotypic_projectors(length, sequences.action_on(states, length)).items():
        rest = rest - projector @ matrix @ projector
        spreads.append(blocks.spread(blocks.multiplets_in(matrix, projector, irrep.dimension)))
    values, others = np.linalg.eigvalsh(matrix), np.sort(rng.normal(size=len(states)) ** 2)
    off = np.linalg.norm(rest) / np.linalg.norm(matrix)
    return made.block_results(off, max(spreads) / values[-1], abs(values - others).max() / values[-1])


@null("infinity.f1-test", "infinity.f1-train", "infinity.f1-ood", "infinity.f1-equivalent", "infinity.f1-equivalent-large-ridge")
def inference_reads_shuffled_labels(rng):
    """Exact inference learns from shuffled labels, so that its losses have nothing to do with those that theory says."""
    return made.losses_grid(*(np.array([2.0, 0.4, 2.0]) * np.exp(0.05 * rng.normal(size=3))), equivalent=(3.0, 3.0))


@null("infinity.f1-equivalent-small-ridge")
def the_equivalent_kernel_is_right(rng):
    """The equivalent kernel has the losses of exact inference at every ridge."""
    return made.losses_grid(equivalent=1.0 + 0.02 * rng.normal(size=len((losses.LARGE, losses.SMALL))))


def random_tops(rng, measurement, scale="quick"):
    """Sorted noise as the top eigenvalues of every irrep, at all points of a measurement, with the dimensions that irreps have."""
    found = []
    for job in measurement.jobs(scale):
        length = job.arguments["length"]
        values = np.sort(0.1 * np.exp(0.3 * rng.normal(size=3)))[::-1]
        variables = {
            "eigenvalue": ("irrep", values),
            "stderr": ("irrep", 0.01 * values),
            "dimension": ("irrep", [1.0, length - 1.0, length * (length - 3) / 2.0]),
            "level": ("irrep", [0.0, 1.0, 2.0]),
            "trace": 1.0,
            "trace_stderr": 0.001,
        }
        found.append(measurement.result(variables, {"irrep": list(scaling.FAMILIES.values())[:3]}, **job.arguments))
    return found


@null(
    *(f"infinity.f2-{name}" for name in ("softmax-raw", "softmax-normalised", "softmax-normalised-long", "raw-lecun", "normalised-peaked")),
    *("infinity.f2-window", "infinity.f2-bound"),
)
def spectra_are_sorted_noise(rng):
    """Top eigenvalues are sorted noise at every length, without a relation to irreps or to the length."""
    return random_tops(rng, scaling.measure_tops)


@null("infinity.e10-softmax-inside", "infinity.e10-softmax-outside")
def spectra_of_softmax_are_sorted_noise(rng):
    """Top eigenvalues of softmax attention are sorted noise inside the window and outside, without a relation to the length."""
    return random_tops(rng, tightness.measure_softmax)


@null("infinity.f2-clusters")
def clusters_do_not_close(rng):
    """Multiplets are as wide with many sampled heads as with few."""
    return made.spectrum_figure(power=0.02 * rng.normal())


@null("infinity.q1-nngp", "infinity.q1-ntk", "infinity.q1-nine", "infinity.e1-bias", "infinity.e1-fluctuation", "infinity.e1-heads")
def kernels_do_not_come_to_a_limit(rng):
    """Kernels of finite networks are as far from the infinite one at every width and number of heads, and the two kernels are unrelated."""
    bias, fluctuation, heads = 0.02 * rng.normal(size=3)
    return made.widths(0.2 * (1.0 + 0.05 * rng.normal(size=2)), bias, fluctuation, rng.uniform(2.0, 8.0), heads)


@null("infinity.q2-outputs")
def outputs_are_those_of_other_sequences(rng):
    """Mean outputs have nothing to do with those that were predicted."""
    return made.output_results(outputs._explained(*rng.normal(size=(2, 300))))


@null("infinity.q4-bound")
def eigenvalues_are_not_bounded(rng):
    """Eigenvalues are noise that knows nothing of the dimension of its irrep, so that multiplets are larger than the trace."""
    return made.bound_results(3.0 * np.exp(0.1 * rng.normal()))


@null("infinity.q5-multilinear", "infinity.q5-dimension", "infinity.q5-two-rows")
def polynomials_hold_other_irreps(rng):
    """Polynomials hold other irreps than the theorem says, whose dimensions grow twice as fast, and none has three rows."""
    return made.theorem_results(wrong=float(rng.integers(1, 5)), growth=2.0, three=0.0)


@null("infinity.q6-erf", "infinity.q6-erf-narrow", "infinity.q6-dimension", "infinity.q6-bare-ridge", "infinity.q7-order")
def length_costs_nothing(rng):
    """Every level is learnt from as many samples at every length, a tenth of its dimension, while the ridge over the eigenvalue grows."""
    return made.needs(exponents=(0.0, 0.0, 0.0), per_dimension=0.1, bare=1.0, true=0.0, apart=1.0)


@null("infinity.e3-half-learning")
def twice_the_samples_are_predicted(rng):
    """Theory predicts twice the samples that exact inference needs, where it needs many."""
    return made.half_results(1.0 + 0.05 * rng.normal(), 20.0)


@null("infinity.e3-few-samples")
def twice_the_few_samples_are_predicted(rng):
    """Theory predicts twice the samples that exact inference needs, where it needs few."""
    return made.half_results(1.0 + 0.05 * rng.normal(), 2.0)


@null("infinity.e2-exact", "infinity.e2-graded", "infinity.e2-no-positions", "infinity.e2-readout")
def splittings_are_noise(rng):
    """Multiplets are split by the same amount whatever order means to the source, and permuting the readout token changes nothing."""
    return made.known(largest=0.3 + 0.02 * rng.normal(), power=0.0, rest=0.05 + 0.005 * rng.normal(), moved=1e-12)


@null("infinity.e2-readout")
def the_readout_token_is_like_others(rng):
    """The readout token can be permuted like any other, and a kernel that reads it out splits as much if it stays in place."""
    return made.known(moved=1e-13, fixed=0.3 + 0.02 * rng.normal())


@null("infinity.e2-generic-hmm")
def hidden_chains_remember(rng):
    """Hidden chains of a mixture remember the order of their states, as generic ones really do."""
    return [measured(symmetries.measure_law, vocab=2, length=3, seeds=rng.integers(10_000, size=32).tolist())]


@null("infinity.e2-static-hmm")
def static_chains_remember(rng):
    """Chains that are said to be static or without memory remember order as generic ones do."""
    return made.known(static=0.05 + 0.005 * rng.normal())


@null("infinity.e6-second-level")
def no_activation_has_a_second_level(rng):
    """No activation has a second level, as the linear one has none."""
    return made.activations((-1, -2), second=0.0)


@null("infinity.e6-second-level", *(f"infinity.e6-{name}" for name in ("erf-narrow", "erf-wide", "relu-narrow", "relu-wide")))
def eigenvalues_do_not_fall(rng):
    """Eigenvalues of both levels are as large at every length, for the linear activation too."""
    return made.activations(0.05 * rng.normal(size=2), linear=0.01)


@null("infinity.e9-rotations", "infinity.e9-segments")
def kernels_without_a_symmetry(rng):
    """The kernel is a random matrix, which no rotation and no permutation within a segment leaves as it is."""

    def kernel(words, positions):
        noise = rng.normal(size=(len(words), len(words)))
        return noise @ noise.T

    with mock.patch.object(other, "_kernel", kernel):
        cases = (("rotations", [4]), ("segments", [2, 2]))
        return [measured(other.measure_symmetry, group=group, vocab=2, lengths=lengths) for group, lengths in cases]


@null("infinity.e10-crossover", "infinity.e10-limits")
def there_is_no_crossover(rng):
    """The slope of the leading eigenvalue is −1 at every length, well beyond the crossover too."""
    return made.tightness_map(shift=np.array([0.09, 0.5, 0.91]) + 0.02 * rng.normal(size=3))


@null("infinity.q3-langevin", "infinity.e4-width", "infinity.e8-mean-output")
def networks_do_not_come_to_the_gaussian_process(rng):
    """Networks sampled from their posterior are as far from the Gaussian process at every width, by half of its loss."""
    return made.sampled(*(0.02 * rng.normal(size=2)), size=0.5)


@null("infinity.e4-heads")
def heads_change_no_loss(rng):
    """The loss is the same with one head as with sixteen, but for the noise of its chains."""
    return made.headed(few=0.1 + 0.0018 * rng.normal())


@null("infinity.e4-step")
def small_steps_are_no_better(rng):
    """The loss at small steps is as far off as at large ones."""
    return made.sampled(step=0.5 + 0.02 * rng.normal())


@null("infinity.e8-kernel", "infinity.e8-features")
def the_size_of_outputs_does_not_matter(rng):
    """Networks with large outputs change their kernel, and those with small ones stay with it, up to noise."""
    return made.regimes(kernel="features", features="kernel", excess=0.1 * rng.normal())


@null("infinity.e8-features", draws=5)  # as many as the quick scale has seeds: the mean of a distance is above zero for enough of them
def the_loss_stays_with_the_kernel(rng):
    """The tangent kernel of small networks changes, and their test loss is that of the kernel up to noise."""
    return made.regimes(excess=0.1 * rng.normal())


@null("infinity.q3-nonlinear")
def levels_are_as_hard(rng):
    """Networks have the same loss on targets of every level, but for the noise of data sets."""
    return made.learnt(losses=0.4 + 0.02 * rng.normal(size=3))


@null("infinity.q3-learnability")
def networks_learn_nothing(rng):
    """Networks learn nothing of what exact inference learns from the same data."""
    return made.learnt(off=-0.5 + 0.02 * rng.normal())
