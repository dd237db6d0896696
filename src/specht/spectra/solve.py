"""Architecture and source to spectrum: which method applies."""

from __future__ import annotations

from typing import Literal, get_args

from specht.architecture import Architecture, Kind, check_architecture
from specht.checks import whole_number
from specht.errors import InputError, explains_calls, unknown_choice
from specht.kernel import SAMPLED_FORMS, choose_form
from specht.progress import Progress, report
from specht.sequences import Source, require_exchangeable, uniform
from specht.spectra import methods
from specht.spectra.block import CountLaw, count_readouts
from specht.spectra.linear import is_linear_model
from specht.spectra.rayleigh import SpectrumSampling
from specht.spectra.result import Spectrum

Method = Literal["auto", "linear", "two tokens", "young", "rayleigh", "ritz"]

FULL_LENGTH = 64
"""Longest context of two tokens whose levels are all computed unless `max_level` says otherwise."""
LOW_LEVEL = 3
"""Levels computed where not all of them can be."""
RITZ_LEVEL = 2
"""Largest level of the method "ritz", whose trial functions are of second degree."""
SAMPLED_LENGTH = 16
"""Longest context of two tokens for which heads of all overlaps are sampled unless the method says so."""


@explains_calls
def spectrum(
    arch: Architecture,
    source: Source | None = None,
    *,
    kind: Kind = "nngp",
    method: Method = "auto",
    max_level: int | None = None,
    heads: int = 4096,
    sequences: int = 192,
    seed: int = 0,
    progress: Progress | None = None,
) -> Spectrum:
    """The spectrum of the kernel operator of an architecture over a source.

    >>> spec = spectrum(Architecture(vocab=2, length=8))
    >>> [(str(row.irrep), row.degeneracy, round(row.eigenvalue, 4)) for row in spec.rows]
    [('[8]', 1, 29.6878), ('[8]', 1, 6.7277), ('[8]', 1, 1.8348), ('[7,1]', 7, 0.625), ('[8]', 1, 0.3747), ('[7,1]', 7, 0.125)]

    Arguments:
        source: law of the sequences; independent uniform tokens unless given.
        kind: "nngp" or "ntk".
        method: "linear" (linear attention and activation, any length), "two tokens", "young" (any exact kernel, small V and L),
            "rayleigh" (low levels at any length, sampled lower bounds), "ritz" (the same for several eigenvalues of each irrep), or "auto",
            the first of them but the last that applies.
        max_level: largest level m = L - first row; all levels unless that is too much.
        heads: sampled heads of softmax attention, for each of a number of independent repeats.
        sequences: sequences of each of the 16 batches of "rayleigh" and "ritz".
        progress: called as progress(done, total).
    """
    check_architecture(arch)
    source = uniform(arch.vocab) if source is None else source
    if not isinstance(source, Source):
        raise InputError(f"source must be one of specht.sources, got {source!r}: write for example specht.sources.uniform({arch.vocab}).")
    if source.vocab != arch.vocab:
        raise InputError(f"The source has {source.vocab} tokens and the architecture {arch.vocab}: give both the same vocab.")
    if method not in get_args(Method):
        raise unknown_choice("method", method, get_args(Method))
    if kind not in get_args(Kind):
        raise unknown_choice("kernel", kind, get_args(Kind))
    _require_symmetry(arch, kind)
    level = arch.length if max_level is None else whole_number("max_level", max_level)
    if method == "auto":
        method = choose_method(arch, source, kind, max_level)
    if max_level is None and (method == "rayleigh" or (method == "two tokens" and arch.length > FULL_LENGTH)):
        level = LOW_LEVEL if method == "two tokens" else methods.highest_level(arch, kind, LOW_LEVEL)
    sampling = SpectrumSampling(
        whole_number("heads", heads, 1), whole_number("sequences", sequences, 2), whole_number("seed", seed, 0, methods.MAX_SEED)
    )
    if method == "rayleigh":
        return methods.sampled_bounds("rayleigh", arch, source, kind, level, sampling, progress)
    if method == "ritz":
        mixture = require_exchangeable(source, arch.length, readout=arch.readout)
        return methods.sampled_bounds("ritz", arch, mixture, kind, min(level, RITZ_LEVEL), sampling, progress)
    law = CountLaw(arch, require_exchangeable(source, arch.length, readout=arch.readout))
    if method == "linear":
        solved = methods.linear(law, kind, level)
        report(progress, 1, 1)
        return solved
    return (methods.two_tokens if method == "two tokens" else methods.young)(law, kind, level, sampling, progress)


def _require_symmetry(arch: Architecture, kind: Kind) -> None:
    choose_form(arch, kind)  # refuses what has no kernel
    ordered = arch.causal and (arch.depth > 1 or arch.readout == "mean")
    if ordered or arch.positions == "sinusoidal":
        why = "its causal mask" if ordered else "its fixed positions"
        raise InputError(
            f"The kernel of {arch} changes when positions are permuted, because of {why}: "
            "its operator has no irreps of the symmetric group. Use learned positions or none, and no mask."
        )


def choose_method(arch: Architecture, source: Source, kind: Kind = "nngp", max_level: int | None = None) -> Method:
    """The method that "auto" stands for: the first one that applies and is not too slow."""
    level = arch.length if max_level is None else max_level
    if not source.is_mixture:
        return "rayleigh"
    if is_linear_model(arch, kind) and count_readouts(arch) * arch.vocab <= methods.MAX_BLOCK:
        return "linear"
    if arch.vocab == 2 and (choose_form(arch, kind) not in SAMPLED_FORMS or arch.length <= SAMPLED_LENGTH):
        low = LOW_LEVEL if max_level is None and arch.length > FULL_LENGTH else level
        return "two tokens" if methods.two_token_refusal(arch, kind, low) is None else "rayleigh"
    return "young" if methods.young_refusal(arch, kind, level, methods.SOON) is None else "rayleigh"
