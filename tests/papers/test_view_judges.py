"""The judges of the view from infinity, on numbers made up for them: each must be able to say yes and no."""

from __future__ import annotations

import pytest
from judging import assert_says_yes_and_no
from made_view import (
    activations,
    block_results,
    bound_results,
    half_results,
    headed,
    known,
    learnt,
    losses_grid,
    needs,
    others,
    output_results,
    regimes,
    sampled,
    spectrum_figure,
    theorem_results,
    tightness_map,
    tops,
    widths,
)

from specht.papers.view_from_infinity import (
    PAPER,
    scaling,
    width,
)

ON_TEXT = ("infinity.f3", "infinity.q8", "infinity.e5", "infinity.e7")
"""Tried in `test_text_judges`."""
JUDGED = {claim.id: claim for each in PAPER.experiments if each.name not in ON_TEXT for claim in each.claims if claim.judge is not None}


CASES = {
    "e1-heads": (widths(), widths(heads=-0.2)),
    "q3-langevin": (sampled(), sampled(size=40.0)),
    "e4-width": (sampled(), sampled(excess=-0.5)),
    "e8-mean-output": (sampled(), sampled(deviation=-0.5)),
    "e4-heads": (headed(), headed(few=0.05)),
    "e4-step": (sampled(step=0.01), sampled(step=0.1)),
    "e8-kernel": (regimes(), regimes(kernel="unclear")),
    "e8-features": (regimes(), regimes(features="kernel")),
    "q3-nonlinear": (learnt(), learnt(losses=(0.1, 0.9, 0.4))),
    "q3-learnability": (learnt(), learnt(off=0.2)),
    "f0-blocks": (block_results(), block_results(off_block=1e-6)),
    "f0-degeneracy": (block_results(), block_results(spread=1e-6)),
    "f0-brute-force": (block_results(), block_results(difference=1e-6)),
    "f1-test": (losses_grid(), losses_grid(test=1.2)),
    "f1-train": (losses_grid(test=1.5), losses_grid(train=0.8)),
    "f1-ood": (losses_grid(), losses_grid(ood=1.2)),
    "f1-equivalent": (losses_grid(equivalent=(0.95, 0.95)), losses_grid()),
    "f1-equivalent-large-ridge": (losses_grid(), losses_grid(equivalent=(0.5, 0.5))),
    "f1-equivalent-small-ridge": (losses_grid(), losses_grid(equivalent=(0.5, 0.5))),
    "f2-softmax-raw": (spectrum_figure(), spectrum_figure(raw=(0.0, -1.5, -2.0))),
    "f2-softmax-normalised": (spectrum_figure(kink=-1.0), spectrum_figure(lecun=(-0.5, -1.5, -3.0))),
    "f2-softmax-normalised-long": (spectrum_figure(), spectrum_figure(kink=-2.0)),
    "f2-window": (spectrum_figure(), spectrum_figure(kink=-1.0)),
    "f2-raw-lecun": (spectrum_figure(lecun=(0.0, -1.0, -2.0)), spectrum_figure()),
    "f2-normalised-peaked": (spectrum_figure(), spectrum_figure(raw=(0.5, -1.0, -2.0))),
    "f2-bound": (spectrum_figure(ratio=0.01, lecun=(-0.5, -1.5, -2.5)), spectrum_figure(ratio=1.2)),
    "f2-clusters": (spectrum_figure(), spectrum_figure(power=0.0)),
    "q1-nngp": (widths(), widths(error=(0.2, 0.05))),
    "q1-ntk": (widths(), widths(error=(0.005, 0.01))),
    "q1-nine": (widths(), widths(ratio=9.1)),
    "e1-bias": (widths(), widths(bias=-0.5)),
    "e1-fluctuation": (widths(), widths(fluctuation=-1.0)),
    "q2-outputs": (output_results(0.99), output_results(0.9)),
    "q4-bound": (bound_results(0.95), bound_results(1.1)),
    "q5-multilinear": (theorem_results(), theorem_results(wrong=1.0)),
    "q5-dimension": (theorem_results(), theorem_results(growth=1.2)),
    "q5-two-rows": (theorem_results(), theorem_results(three=0.0)),
    "q6-erf": (needs(), needs(exponents=(0.0, 1.0, 1.8))),
    "q6-erf-narrow": (needs(), needs(exponents=(0.0, 1.0, 1.8))),
    "q6-dimension": (needs(), needs(per_dimension=0.4)),
    "q6-bare-ridge": (needs(), needs(bare=0.5)),
    "q7-order": (needs(), needs(exponents=(2.0, 1.0, 0.0))),
    "e2-exact": (known(), known(largest=1e-5)),
    "e2-graded": (known(), known(power=2.0)),
    "e2-no-positions": (known(), known(rest=1e-5)),
    "e2-readout": (known(), known(moved=1e-12)),
    "e2-generic-hmm": (known(generic=0.0), known()),
    "e2-static-hmm": (known(), known(static=1e-3)),
    "e3-half-learning": (half_results(-0.1, 20.0), half_results(0.3, 20.0)),
    "e3-few-samples": (half_results(0.1, 2.0), half_results(0.3, 2.0)),
    "e6-second-level": (activations((-1, -2)), activations((-1, -2), linear=1e-3)),
    "e6-erf-narrow": (activations((-1, -2)), activations((-1, -2.5))),
    "e6-erf-wide": (activations((-1, -2)), activations((-1.5, -2))),
    "e6-relu-narrow": (activations((-1, -2)), activations((-1, -1.5))),
    "e6-relu-wide": (activations((-1, -2)), activations((-1, -2.5))),
    "e9-rotations": (others(), others(spread=1e-3)),
    "e9-segments": (others(), others(unlike=1.0)),
    "e10-crossover": (tightness_map(), tightness_map(shift=0.2)),
    "e10-limits": (tightness_map(shift=0.1), tightness_map(shift=0.5)),
    "e10-softmax-inside": (tightness_map(), tightness_map(inside=-1.5)),
    "e10-softmax-outside": (tightness_map(), tightness_map(outside=-1.2)),
}
"""For every claim, results with which it must hold and results with which it must fail."""


def test_every_judge_is_tried():
    assert {f"{PAPER.id}.{name}" for name in CASES} == set(JUDGED)


@pytest.mark.parametrize("name", CASES)
def test_judges_can_say_yes_and_no(name):
    assert_says_yes_and_no(f"{PAPER.id}.{name}", *CASES[name])


@pytest.mark.parametrize(
    ("name", "results"),
    [
        ("f2-softmax-raw", tops(scaling.PEAKED, (0.0, -1.0, -2.0), ratio=-1.0)),
        ("e3-half-learning", half_results(0.0, 2.0)),
        ("e3-few-samples", half_results(0.0, 20.0)),
        ("e10-softmax-outside", tops(scaling.PEAKED, (0.0, -1.0, -2.0), lengths=(16, 64))),
    ],
)
def test_a_judge_without_numbers_to_judge_says_so(name, results):
    verdict = JUDGED[f"{PAPER.id}.{name}"].judge(results)
    assert verdict.outcome == "not tested"
    assert verdict.regime


def test_noise_is_taken_out_of_the_error_of_a_kernel():
    networks = width.of_kernel(width.measure_width.data(widths()), "linear", "nngp")
    assert width.cleared(networks) == pytest.approx([0.2, 0.01], rel=1e-9)
    assert width.cleared(networks.assign(noise=2 * networks["error"])).tolist() == [0.0, 0.0]


def test_criteria_of_regimes_name_the_tolerances_that_decide():
    """The verdict is that of a job, and its tolerances cannot be imported without JAX."""
    from specht.learning.regime import KERNEL_TOLERANCE, LOSS_TOLERANCE, PROFILE_TOLERANCE

    assert LOSS_TOLERANCE == PROFILE_TOLERANCE
    kernel, features = (JUDGED[f"infinity.e8-{name}"].criterion for name in ("kernel", "features"))
    assert kernel.startswith(f"test loss and profile within {100 * LOSS_TOLERANCE:g} % of the kernel's")
    assert kernel.endswith(f"tangent kernel changed by at most {100 * KERNEL_TOLERANCE:g} %")
    assert features.startswith(f"tangent kernel changed by more than {100 * KERNEL_TOLERANCE:g} %")
