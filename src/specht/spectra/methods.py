"""The methods of a spectrum: what each costs, where it stops, and how its blocks become a spectrum."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from typing import Literal

import numpy as np

from specht.architecture import Architecture, Kind
from specht.errors import InputError
from specht.groups import Partition, about, count_vectors, partitions
from specht.kernel import MAX_POSITIONS, SAMPLED_FORMS, Kernel, choose_form
from specht.progress import Progress, stages
from specht.sequences import Source
from specht.spectra import values
from specht.spectra.block import CountLaw, IrrepBlock, count_readouts
from specht.spectra.combinatorics import CountIndex, log_factorial
from specht.spectra.linear import is_linear_model, linear_blocks
from specht.spectra.rayleigh import BATCHES, FEWEST, SpectrumSampling, count_orders, mean_diagonal, rayleigh_block
from specht.spectra.result import Spectrum
from specht.spectra.ritz import ritz_block
from specht.spectra.two_tokens import two_token_blocks
from specht.spectra.young import count_entries, count_terms, young_block
from specht.stats import jackknife_error

MAX_BLOCK = 2500
"""Most rows of a block of the linear model, V^2: half a minute."""
MAX_ORDERS = 2**10
"""Most orders of the tall columns of a shape that Rayleigh quotients sum over."""
MAX_TOKENS = 2**24
"""Most tokens of a batch of Rayleigh quotients."""
MAX_BYTES = 2**32
"""Memory of the blocks of two tokens, or of the lists of counts of "young", at most."""
MAX_LENGTH = 2048
"""Longest context of two tokens: with levels up to 3 some twenty minutes, the third power of the 18 s that length 512 takes."""
MAX_DIFFERENCES = 3 * 10**11
"""Most numbers in the finite differences of two tokens: a quarter of an hour."""
MAX_TABLES = 3 * 10**7
"""Most kernel values of contingency tables that are held: a quarter of a gigabyte."""
MAX_TERMS = 2 * 10**10
"""Terms of sums over tables that method "young" adds up at most: ten minutes at the 15 to 40 ns that one was measured to take."""
SOON = 2 * 10**9
"""Terms at most where it is chosen by itself: a minute."""
LISTED_SOON = 100
"""Most contexts that are listed for a kernel of sampled heads where "auto" chooses the method: they take half a minute."""
LISTED = 2500
"""Most contexts that are listed one by one, for a kernel that is no closed function of counts."""
JOINT_POSITIONS = 512
"""Most positions of a batch of Rayleigh quotients whose heads are drawn jointly, at a cost of the second power."""
MAX_PRODUCTS = 2 * 10**12
"""Most products of features of sampled heads that exact methods take: half an hour."""
REPEATS = 8
"""Independent sets of heads whose scatter is the standard error of the eigenvalues of a sampled kernel."""
DRAWING = 0.8
"""Fraction of the time that kernels of sampled heads or of listed sequences take, for the report of progress."""
MAX_SHAPES = 200
"""Most shapes of Rayleigh quotients."""
MAX_SEED = 2**31 // BATCHES - 1
"""Every batch has a seed of its own, below 2^31."""
_MAKING = 8
"""What it takes to make a term, in the time that it takes to add it up for one pair of readout tokens."""
_BYTES_A_COUNT = 24
"""Memory that goes with every number in a list of counts, as measured."""
_INSTEAD = "use method='rayleigh', which samples low levels at any length"


def linear(law: CountLaw, kind: Kind, max_level: int) -> Spectrum:
    """The solvable model, any length."""
    arch = law.arch
    if not is_linear_model(arch, kind):
        raise InputError(
            f"Method 'linear' is for one block of linear attention with a linear activation, and this is {arch}: "
            "use method='auto', which takes the one that fits."
        )
    size = law.readouts * arch.vocab
    if size > MAX_BLOCK:
        raise InputError(
            f"Method 'linear' has blocks of {size} x {size} entries for {arch.vocab} tokens, about {80 * size**2 / 2**30:.1f} GiB at work, "
            f"and stops at {MAX_BLOCK}: {_INSTEAD}."
        )
    blocks = linear_blocks(arch, law, kind)
    trace = float(sum(block.irrep.dimension * block.eigenvalues.sum() for block in blocks))  # there are no other irreps
    return Spectrum(arch, kind, "linear", tuple(block for block in blocks if block.irrep.level <= max_level), trace)


def two_token_refusal(arch: Architecture, kind: Kind, max_level: int) -> str | None:
    """Why the method "two tokens" cannot be used, or None."""
    length, readouts = arch.length, count_readouts(arch)
    if arch.vocab != 2:
        return f"it is for vocab=2, and this architecture has {arch.vocab}: use method='young' or 'rayleigh'"
    if length > MAX_LENGTH:
        evaluations = f"{about(readouts**2 * length**3 // 6)} kernel evaluations"
        return f"length {length} would take about {evaluations}, more than length {MAX_LENGTH} does: {_INSTEAD}"
    levels = range(min(max_level, length // 2) + 1)
    needed = 16 * sum((readouts * (length - 2 * m + 1)) ** 2 for m in levels)  # blocks and their eigenvectors
    if needed > MAX_BYTES:
        memory = f"{needed / 2**30:.0f} GiB, at most {MAX_BYTES / 2**30:.0f}"
        return f"{len(levels)} levels at length {length} need {memory}: give a smaller max_level"
    differences = readouts**2 * sum((m + 1) * (length - 2 * m + 1) ** 2 * (length - 2 * m + 2) // 2 for m in levels)
    if differences > MAX_DIFFERENCES:
        work = f"{about(differences)} numbers, at most {MAX_DIFFERENCES:.0e}"
        return f"finite differences of {len(levels)} levels at length {length} run through {work}: give a smaller max_level"
    windows = readouts * (length + 1) * (length + 4) // 2
    if choose_form(arch, kind) == "joint" and windows * arch.columns > MAX_POSITIONS:
        return f"heads of {windows} sequences would have to be drawn together, at most {MAX_POSITIONS // arch.columns}: {_INSTEAD}"
    return None


def two_tokens(law: CountLaw, kind: Kind, max_level: int, sampling: SpectrumSampling, progress: Progress | None) -> Spectrum:
    """Two tokens, any invariant kernel."""
    arch = law.arch
    refusal = two_token_refusal(arch, kind, max_level)
    if refusal is not None:
        raise InputError(f"Method 'two tokens' does not apply: {refusal}.")
    _refuse_heads(arch, kind, values.ARRANGEMENTS * law.readouts**2 * (arch.length + 1) ** 2 * (arch.length + 2) // 2, sampling)
    levels = range(min(max_level, arch.length // 2) + 1)
    limits = _kernels(arch, kind, sampling)
    drawing, adding = _two_stages(progress, len(limits), 0.0 if values.is_closed(limits[0], kind) else DRAWING)
    kernels = [values.overlap_kernel(limit, kind, law.readouts, sampling.seed, part) for limit, part in zip(limits, drawing, strict=True)]

    def solve(chosen: list[int], progress: Progress | None) -> tuple[list[IrrepBlock], np.ndarray]:
        def mean_kernel(ones: int) -> np.ndarray:
            return kernels[chosen[0]](ones) if len(chosen) == 1 else np.mean([kernels[i](ones) for i in chosen], axis=0)

        return two_token_blocks(law, mean_kernel, levels, progress)

    ones = np.arange(arch.length + 1)
    return _over_heads(law, kind, "two tokens", np.stack([arch.length - ones, ones], axis=1), solve, adding)


def young_refusal(arch: Architecture, kind: Kind, max_level: int, limit: int) -> str | None:
    """Why the method "young" would take too long, or None."""
    vocab, length = arch.vocab, arch.length
    readouts = count_readouts(arch)
    if (vocab**2 - 1) * math.log2(length + 1) >= 63.0:
        return f"contingency tables of {vocab} tokens at length {length} do not fit into 64-bit numbers: {_INSTEAD}"
    if length > MAX_TABLES:  # of one token, which has a single table
        return f"factorials up to length {length} would have to be listed, more than {MAX_TABLES:.0e}: {_INSTEAD}"
    tables = math.comb(length + vocab**2 - 1, vocab**2 - 1) * readouts**2
    if tables > MAX_TABLES:
        return f"{vocab} tokens at length {length} have {tables:.1e} contingency tables, more than {MAX_TABLES:.0e}: {_INSTEAD}"
    form = choose_form(arch, kind)
    listed = MAX_POSITIONS // arch.columns // readouts if form == "joint" else LISTED
    if form in SAMPLED_FORMS and limit < MAX_TERMS:
        listed = min(listed, LISTED_SOON)
    if form != "classes" and vocab**length > listed:
        contexts = f"its {vocab}^{length} contexts would have to be listed, more than {listed}"
        return f"this kernel is no closed function of counts, so {contexts}: {_INSTEAD}"
    shapes = list(partitions(length, max_rows=vocab, max_level=max_level))
    needed = _BYTES_A_COUNT * max(tables // readouts**2 * vocab**2, *(count_entries(shape, vocab) for shape in shapes))
    if needed > MAX_BYTES:
        memory = f"{needed / 2**30:.0f} GiB, at most {MAX_BYTES / 2**30:.0f}"
        return f"its lists of counts need about {memory}: {_INSTEAD}, or a smaller max_level"
    terms = (readouts**2 + _MAKING) * sum(count_terms(shape, vocab) for shape in shapes)
    if terms > limit:
        return f"the sums over tables have {terms:.1e} terms, more than {limit:.0e}: {_INSTEAD}, or a smaller max_level"
    return None


def young(law: CountLaw, kind: Kind, max_level: int, sampling: SpectrumSampling, progress: Progress | None) -> Spectrum:
    """Any number of tokens, any invariant kernel, short sequences."""
    arch = law.arch
    refusal = young_refusal(arch, kind, max_level, MAX_TERMS)
    if refusal is not None:
        raise InputError(f"Method 'young' would take too long: {refusal}.")
    _refuse_heads(arch, kind, (law.readouts * arch.vocab**arch.length) ** 2, sampling)
    index = CountIndex(arch.length, arch.vocab**2)
    kernels = _kernels(arch, kind, sampling)
    drawing, adding = _two_stages(progress, len(kernels), 0.1 if values.is_closed(kernels[0], kind) else DRAWING)
    tables = [values.kernel_of_tables(kernel, kind, law.readouts, index, part) for kernel, part in zip(kernels, drawing, strict=True)]
    shapes = list(partitions(arch.length, max_rows=arch.vocab, max_level=max_level))
    terms = [count_terms(shape, arch.vocab) for shape in shapes]
    counts = count_vectors(arch.vocab, arch.length)
    own = index.rank(index.encode((counts[:, :, None] * np.eye(arch.vocab, dtype=int)).reshape(len(counts), -1)))
    diagonals = np.array([np.einsum("wwn->wn", table[:, :, own]) for table in tables])

    def solve(chosen: list[int], progress: Progress | None) -> tuple[list[IrrepBlock], np.ndarray]:
        table = np.mean([tables[i] for i in chosen], axis=0)
        parts = stages(progress, terms)
        blocks = [young_block(law, shape, index, table, part) for shape, part in zip(shapes, parts, strict=True)]
        return blocks, diagonals[chosen].mean(axis=0)

    return _over_heads(law, kind, "young", counts, solve, adding)


def sampled_bounds(
    method: Literal["rayleigh", "ritz"],
    arch: Architecture,
    source: Source,
    kind: Kind,
    max_level: int,
    sampling: SpectrumSampling,
    progress: Progress | None,
) -> Spectrum:
    """Sample lower bounds on the top eigenvalue of each irrep of low level ("rayleigh"), or on several leading ones ("ritz")."""
    block = rayleigh_block if method == "rayleigh" else ritz_block
    if choose_form(arch, kind) == "joint":
        sampling = sampling._replace(sequences=max(2, min(sampling.sequences, JOINT_POSITIONS // arch.columns)))
    shapes = _shapes(arch, max_level)
    _refuse_large(arch, kind, shapes, sampling)
    *parts, last = stages(progress, [1.0] * len(shapes) + [0.2])  # a diagonal is quicker than a Gram
    blocks = [block(arch, source, shape, kind, sampling, part) for shape, part in zip(shapes, parts, strict=True)]
    trace, stderr = mean_diagonal(arch, source, kind, sampling, last)
    return Spectrum(arch, kind, method, tuple(blocks), trace, stderr, exchangeable=source.is_exchangeable)


def highest_level(arch: Architecture, kind: Kind, wanted: int) -> int:
    """The largest level up to `wanted` whose shapes the method "rayleigh" can all evaluate."""
    return max((level for level in range(wanted + 1) if _largest(arch, kind, _shapes(arch, level)) <= 1.0), default=0)


def _shapes(arch: Architecture, max_level: int) -> list[Partition]:
    """Shapes up to a level, and up to half the length: beyond, shapes are many and none is long and thin."""
    shapes = partitions(arch.length, max_rows=arch.vocab, max_level=min(max_level, arch.length // 2))
    return list(itertools.islice(shapes, MAX_SHAPES))


def _largest(arch: Architecture, kind: Kind, shapes: list[Partition]) -> float:
    """What the most demanding shape needs, as a fraction of what there is."""
    orders = max(count_orders(shape) for shape in shapes)
    positions = MAX_POSITIONS if choose_form(arch, kind) == "joint" else MAX_TOKENS
    return max(orders / MAX_ORDERS, FEWEST * orders * arch.columns / positions)


def _refuse_large(arch: Architecture, kind: Kind, shapes: list[Partition], sampling: SpectrumSampling) -> None:
    if _largest(arch, kind, shapes[:1]) > 1.0:
        raise InputError(
            f"A batch of Rayleigh quotients has {FEWEST} sequences at least, and at length {arch.length} there is no room for them: "
            "choose a shorter length, or the linear model, whose spectrum costs the same at any length."
        )
    if _largest(arch, kind, shapes) > 1.0 or len(shapes) == MAX_SHAPES:
        best = highest_level(arch, kind, 6)
        raise InputError(
            f"Rayleigh quotients up to level {max(shape.level for shape in shapes)} at length {arch.length} sum over too many orders or "
            f"sequences: give a max_level of at most {best}, or a shorter length."
        )
    if sampling.sequences * arch.columns > MAX_TOKENS:
        raise InputError(
            f"{sampling.sequences} sequences of {arch.columns} columns a batch are more than {MAX_TOKENS} tokens: "
            "ask for fewer sequences or a shorter length."
        )


def _refuse_heads(arch: Architecture, kind: Kind, pairs: int, sampling: SpectrumSampling) -> None:
    """Raise where the products of the features of sampled heads on so many pairs of sequences take longer than anybody waits for."""
    products = REPEATS * pairs * sampling.heads * (arch.columns + arch.symbols)
    if choose_form(arch, kind) == "heads" and products > MAX_PRODUCTS:
        raise InputError(
            f"{sampling.heads} sampled heads of all pairs of sequences that this method needs at length {arch.length} take "
            f"{about(products)} products, more than {MAX_PRODUCTS:.0e}: ask for fewer heads, or {_INSTEAD}."
        )


def _kernels(arch: Architecture, kind: Kind, sampling: SpectrumSampling) -> list[Kernel]:
    """The kernel, or where heads are sampled several of it with heads of their own."""
    sampled = choose_form(arch, kind) in SAMPLED_FORMS
    return [Kernel(arch, heads=sampling.heads, seed=sampling.seed * REPEATS + i) for i in range(REPEATS if sampled else 1)]


def _two_stages(progress: Progress | None, kernels: int, drawing: float) -> tuple[list, list]:
    """Callbacks of the kernels, which take a fraction `drawing` of the time, and of passes over all blocks, which take the rest.

    There is one pass for an exact kernel, and with several sets of heads one for all and one without each of them.
    """
    passes = 1 if kernels == 1 else 1 + kernels
    parts = stages(progress, [drawing / kernels] * kernels + [(1.0 - drawing) / passes] * passes)
    return parts[:kernels], parts[kernels:]


def _over_heads(
    law: CountLaw,
    kind: Kind,
    method: str,
    counts: np.ndarray,
    solve: Callable[[list[int], Progress | None], tuple[list[IrrepBlock], np.ndarray]],
    passes: list,
) -> Spectrum:
    """The spectrum with all sets of heads, and standard errors from what it is without one of them each.

    `solve` returns the blocks of the mean kernel of some sets, and k(x, x) by readout token and context counts (N, V).
    """
    sets = range(len(passes) - 1 or 1)
    blocks, diagonal = solve([*sets], passes[0])
    left_out = [solve([i for i in sets if i != out], part) for out, part in enumerate(passes[1:])]
    trace = _mean(law, counts, diagonal)
    if not left_out:
        return Spectrum(law.arch, kind, method, tuple(blocks), trace)
    errors = [jackknife_error([rest[i].eigenvalues for rest, _ in left_out]) for i in range(len(blocks))]
    blocks = [dataclasses.replace(block, stderr=error) for block, error in zip(blocks, errors, strict=True)]
    trace_error = jackknife_error([_mean(law, counts, without) for _, without in left_out])
    return Spectrum(law.arch, kind, method, tuple(blocks), trace, float(trace_error))


def _mean(law: CountLaw, counts: np.ndarray, diagonal: np.ndarray) -> float:
    """E[k(x, x)] from the kernel of each readout token and context counts: shapes (N, V) and (W, N)."""
    orders = log_factorial(np.array(law.arch.length)) - log_factorial(counts).sum(axis=1)
    return float((np.exp(law.log_probability(counts) + orders) * diagonal).sum())
