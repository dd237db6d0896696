"""Architecture and source to spectrum: which method applies, what it costs, and the method itself."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from typing import Literal, get_args

import numpy as np
from scipy.special import gammaln

from specht.architecture import Architecture
from specht.errors import InputError, unknown_choice, whole_number
from specht.groups.partitions import partitions
from specht.infinite.forms import SAMPLED_FORMS, Kind, choose_form
from specht.infinite.kernel import Kernel
from specht.sequences.exchangeability import require_exchangeable
from specht.sequences.law import Source
from specht.sequences.sources import uniform
from specht.symmetry.blocks import values
from specht.symmetry.blocks.block import Block
from specht.symmetry.blocks.combinatorics import CountIndex, compositions
from specht.symmetry.blocks.law import CountLaw
from specht.symmetry.blocks.linear import is_linear_model, linear_blocks
from specht.symmetry.blocks.rayleigh import BATCHES, mean_diagonal, rayleigh_block
from specht.symmetry.blocks.two_tokens import OverlapKernel, two_token_blocks
from specht.symmetry.blocks.young import count_terms, young_block
from specht.symmetry.spectrum import Spectrum

Method = Literal["auto", "linear", "two tokens", "young", "rayleigh"]
Progress = Callable[[int, int], None]

FULL_LENGTH = 64
"""Longest context of two tokens whose levels are all computed unless `max_level` says otherwise."""
LOW_LEVEL = 3
"""Levels computed where not all of them can be."""
MAX_LENGTH = 2048
"""Longest context of two tokens, at a cost of the third power."""
MAX_TERMS = 10**9
"""Terms of sums over contingency tables that method "young" adds up at most: a quarter of an hour."""
SOON = 10**8
"""Terms at most where a method may choose itself: a minute or two."""
REPEATS = 8
"""Independent sets of heads whose scatter is the standard error of the eigenvalues of a sampled kernel."""


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
    [('[8]', 1, 24.9541), ('[8]', 1, 3.5459), ('[8]', 1, 1.25), ('[7,1]', 7, 1.25), ('[8]', 1, 0.25), ('[7,1]', 7, 0.25)]

    Arguments:
        source: law of the sequences; independent uniform tokens unless given.
        kind: "nngp" or "ntk".
        method: "linear" (linear attention and activation, any length), "two tokens", "young" (any exact kernel, small V and L),
            "rayleigh" (low levels at any length, sampled lower bounds), or "auto", the first of them that applies.
        max_level: largest level m = L - first row; all levels unless that is too much.
        heads: sampled heads of softmax attention, for each of a number of independent repeats.
        sequences: sequences of each of the 16 batches of "rayleigh".
        progress: called as progress(done, total).
    """
    source = uniform(arch.vocab) if source is None else source
    if source.vocab != arch.vocab:
        raise InputError(f"The source has {source.vocab} tokens and the architecture {arch.vocab}: give both the same vocab.")
    if method not in get_args(Method):
        raise unknown_choice("method", method, get_args(Method))
    if kind not in get_args(Kind):
        raise unknown_choice("kernel", kind, get_args(Kind))
    _require_symmetry(arch, kind)
    level = arch.length if max_level is None else whole_number("max_level", max_level)
    if method == "auto":
        method = _choose(arch, source, kind, max_level)
    if method == "rayleigh":
        low = level if max_level is not None else LOW_LEVEL
        return _rayleigh(arch, source, kind, low, heads=heads, sequences=sequences, seed=seed, progress=progress)
    law = CountLaw(arch, require_exchangeable(source, arch.length, readout=arch.readout))
    if method == "linear":
        if not is_linear_model(arch, kind):
            raise InputError(
                f"Method 'linear' is for one block of linear attention with a linear activation, and this is {arch}: "
                f"use method='{'two tokens' if arch.vocab == 2 else 'young'}'."
            )
        blocks = [block for block in linear_blocks(arch, law, kind) if block.irrep.level <= level]
        return Spectrum(arch, kind, "linear", tuple(blocks), _linear_trace(arch, law, kind))
    if method == "two tokens" and arch.vocab != 2:
        raise InputError(f"Method 'two tokens' is for vocab=2, and this architecture has {arch.vocab}: use method='young' or 'rayleigh'.")
    if max_level is None and method == "two tokens" and arch.length > FULL_LENGTH:
        level = LOW_LEVEL
    exact = _two_tokens if method == "two tokens" else _young
    return exact(arch, law, kind, level, heads=heads, seed=seed, progress=progress)


def _require_symmetry(arch: Architecture, kind: Kind) -> None:
    choose_form(arch, kind)  # refuses what has no kernel
    ordered = arch.causal and (arch.depth > 1 or arch.readout == "mean")
    if ordered or arch.positions == "sinusoidal":
        why = "its causal mask" if ordered else "its fixed positions"
        raise InputError(
            f"The kernel of {arch} changes when positions are permuted, because of {why}: "
            "its operator has no irreps of the symmetric group. Use learned positions or none, and no mask."
        )


def _choose(arch: Architecture, source: Source, kind: Kind, max_level: int | None) -> Method:
    if not source.is_exchangeable:
        return "rayleigh"
    if is_linear_model(arch, kind):
        return "linear"
    if arch.vocab == 2:
        return "two tokens"
    level = arch.length if max_level is None else max_level
    return "young" if _young_refusal(arch, kind, level, SOON) is None else "rayleigh"


def _linear_trace(arch: Architecture, law: CountLaw, kind: Kind) -> float:
    """E[k(x, x)], from the blocks: the linear model has no other irreps."""
    return float(sum(block.irrep.dimension * block.eigenvalues.sum() for block in linear_blocks(arch, law, kind)))


def _kernels(arch: Architecture, kind: Kind, heads: int, seed: int) -> list[Kernel]:
    """The kernel, or where heads are sampled several of it with heads of their own."""
    sampled = choose_form(arch, kind) in SAMPLED_FORMS
    return [Kernel(arch, heads=heads, seed=seed * REPEATS + number) for number in range(REPEATS if sampled else 1)]


def _with_errors(blocks: list[Block], left_out: list[list[Block]]) -> tuple[Block, ...]:
    """Standard errors of the eigenvalues by the jackknife: `left_out` are the blocks without one set of heads each."""
    if not left_out:
        return tuple(blocks)
    number = len(left_out)
    errors = [np.std([rest[i].eigenvalues for rest in left_out], axis=0) * math.sqrt(number - 1) for i in range(len(blocks))]
    return tuple(dataclasses.replace(block, stderr=error) for block, error in zip(blocks, errors, strict=True))


def _rests(number: int) -> list[list[int]]:
    """All but one of `number` things, in every way; nothing if there is only one."""
    return [[i for i in range(number) if i != out] for out in range(number)] if number > 1 else []


def _two_tokens(
    arch: Architecture, law: CountLaw, kind: Kind, max_level: int, *, heads: int, seed: int, progress: Progress | None
) -> Spectrum:
    if arch.length > MAX_LENGTH:
        raise InputError(
            f"Two tokens at length {arch.length} would take about {law.readouts**2 * arch.length**3 / 6:.0e} kernel evaluations, and the "
            f"method stops at length {MAX_LENGTH}: use method='rayleigh', which samples low levels at any length."
        )
    levels = range(min(max_level, arch.length // 2) + 1)
    kernels = [values.overlap_kernel(kernel, kind, law.readouts, seed) for kernel in _kernels(arch, kind, heads, seed)]

    diagonal = np.empty((law.readouts, arch.length + 1))

    def mean_of(chosen: list[int]) -> OverlapKernel:
        def column(ones: int) -> np.ndarray:
            mean = kernels[chosen[0]](ones) if len(chosen) == 1 else np.mean([kernels[i](ones) for i in chosen], axis=0)
            if len(chosen) == len(kernels):
                diagonal[:, ones] = np.einsum("ww->w", mean[:, ones, :, ones])
            return mean

        return column

    blocks = two_token_blocks(law, mean_of(list(range(len(kernels)))), levels, progress)
    left_out = [two_token_blocks(law, mean_of(rest), levels) for rest in _rests(len(kernels))]
    ones = np.arange(arch.length + 1)
    trace = _mean(law, np.stack([arch.length - ones, ones], axis=1), diagonal)
    return Spectrum(arch, kind, "two tokens", _with_errors(blocks, left_out), trace)


def _mean(law: CountLaw, counts: np.ndarray, diagonal: np.ndarray) -> float:
    """E[k(x, x)] from the kernel of each readout token and context counts: shapes (N, V) and (W, N)."""
    orders = gammaln(law.arch.length + 1.0) - gammaln(counts + 1.0).sum(axis=1)
    return float((np.exp(law.log_probability(counts) + orders) * diagonal).sum())


def _young_refusal(arch: Architecture, kind: Kind, max_level: int, limit: int) -> str | None:
    """Why the method "young" would take too long, or None."""
    vocab, length = arch.vocab, arch.length
    readouts = vocab if arch.readout == "last" else 1
    tables = math.comb(length + vocab**2 - 1, vocab**2 - 1) * readouts**2
    instead = "use method='rayleigh', which samples low levels at any length, or a smaller max_level"
    if tables > limit or (length + 1) ** (vocab**2 - 1) >= 2**63:
        return f"{vocab} tokens at length {length} have {tables:.1e} contingency tables, more than {limit:.0e}: {instead}"
    if choose_form(arch, kind) != "classes" and vocab**length > values.MAX_SEQUENCES:
        return (
            f"this kernel is no closed function of counts, so its {vocab}^{length} contexts would have to be listed, "
            f"more than {values.MAX_SEQUENCES}: {instead}"
        )
    terms = readouts**2 * sum(count_terms(shape, vocab) for shape in partitions(length, max_rows=vocab, max_level=max_level))
    return None if terms <= limit else f"the sums over tables have {terms:.1e} terms, more than {limit:.0e}: {instead}"


def _young(arch: Architecture, law: CountLaw, kind: Kind, max_level: int, *, heads: int, seed: int, progress: Progress | None) -> Spectrum:
    refusal = _young_refusal(arch, kind, max_level, MAX_TERMS)
    if refusal is not None:
        raise InputError(f"Method 'young' would take too long: {refusal}.")
    index = CountIndex(arch.length, arch.vocab**2)
    tables = [values.kernel_of_tables(kernel, kind, law.readouts, index) for kernel in _kernels(arch, kind, heads, seed)]
    shapes = list(partitions(arch.length, max_rows=arch.vocab, max_level=max_level))

    def blocks(chosen: list[int], report: Progress | None = None) -> list[Block]:
        table, found = np.mean([tables[i] for i in chosen], axis=0), []
        for number, shape in enumerate(shapes):
            found.append(young_block(law, shape, index, table))
            if report is not None:
                report(number + 1, len(shapes))
        return found

    everything = list(range(len(tables)))
    counts = compositions(arch.length, arch.vocab)
    own = index.rank(index.encode((counts[:, :, None] * np.eye(arch.vocab, dtype=int)).reshape(len(counts), -1)))
    diagonal = np.einsum("wwn->wn", np.mean(tables, axis=0)[:, :, own])
    found = _with_errors(blocks(everything, progress), [blocks(rest) for rest in _rests(len(tables))])
    return Spectrum(arch, kind, "young", found, _mean(law, counts, diagonal))


def _rayleigh(
    arch: Architecture, source: Source, kind: Kind, max_level: int, *, heads: int, sequences: int, seed: int, progress: Progress | None
) -> Spectrum:
    shapes = [shape for shape in partitions(arch.length, max_rows=arch.vocab, max_level=max_level) if 2 * shape.level <= arch.length]
    done = itertools.count(1)

    def tick() -> None:
        if progress is not None:
            progress(next(done), BATCHES * len(shapes))

    options = {"kind": kind, "heads": heads, "sequences": sequences, "seed": seed}
    blocks = [rayleigh_block(arch, source, shape, progress=tick, **options) for shape in shapes]
    trace, stderr = mean_diagonal(arch, source, **options)
    return Spectrum(arch, kind, "rayleigh", tuple(blocks), trace, stderr)
