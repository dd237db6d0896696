r"""The kernel of contingency tables, however it has to be had.

A closed kernel is a function of the counts. Any other is evaluated on sequences and averaged over pairs that have the same table: of all
sequences where they can be listed, of a few arrangements of representatives where there are two tokens. The average is what makes a
kernel of sampled heads, which is invariant in the mean only, exactly invariant.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from specht.architecture import Kind
from specht.kernel import Kernel, PairCounts, choose_form, kernel_of_counts
from specht.progress import Progress, report, stages
from specht.sequences import every_sequence
from specht.spectra.combinatorics import CountIndex
from specht.spectra.two_tokens import OverlapKernel

ARRANGEMENTS = 8
"""Random orders of the positions over which representatives of a table are averaged."""


def is_closed(kernel: Kernel, kind: Kind) -> bool:
    """Whether the kernel is a known function of counts."""
    return choose_form(kernel.arch, kind) == "classes"


def kernel_of_tables(kernel: Kernel, kind: Kind, readouts: int, index: CountIndex, progress: Progress | None = None) -> np.ndarray:
    """The kernel of every table and every pair of readout tokens, shape (W, W, tables)."""
    if not is_closed(kernel, kind):
        return _average_of_sequences(kernel, kind, readouts, index, progress)
    tables = index.vectors.reshape(len(index), kernel.arch.vocab, kernel.arch.vocab)
    out = np.empty((readouts, readouts, len(index)))
    for number, (left, right) in enumerate(itertools.product(range(readouts), repeat=2), start=1):
        first, second = (np.full(len(index), token) for token in (left, right))
        out[left, right] = kernel_of_counts(kernel.arch, PairCounts.of_tables(kernel.arch, tables, first, second), kind)
        report(progress, number, readouts**2)
    return out


def _average_of_sequences(kernel: Kernel, kind: Kind, readouts: int, index: CountIndex, progress: Progress | None) -> np.ndarray:
    arch = kernel.arch
    contexts = every_sequence(arch.vocab, arch.length)
    gram = _gram_by_readout(kernel, kind, readouts, contexts, contexts, progress)
    weights = index.weights.reshape(arch.vocab, arch.vocab)
    codes = sum(weights[np.ix_(contexts[:, a], contexts[:, a])] for a in range(arch.length))
    place = index.rank(np.asarray(codes)).ravel()
    number = np.bincount(place, minlength=len(index))
    flat = gram.transpose(0, 2, 1, 3).reshape(readouts, readouts, -1)
    return np.array([[np.bincount(place, pair, minlength=len(index)) / number for pair in row] for row in flat])


def overlap_kernel(kernel: Kernel, kind: Kind, readouts: int, seed: int, progress: Progress | None = None) -> OverlapKernel:
    """The kernel of two tokens by numbers of ones and overlap: a closed one when it is asked, any other one at once."""
    if is_closed(kernel, kind):
        return _closed_overlaps(kernel, kind, readouts)
    return _sampled_overlaps(kernel, kind, readouts, seed, progress)


def _closed_overlaps(kernel: Kernel, kind: Kind, readouts: int) -> OverlapKernel:
    length = kernel.arch.length

    def column(ones: int) -> np.ndarray:
        i, t = np.meshgrid(np.arange(length + 1), np.arange(ones + 1), indexing="ij")
        possible = (t <= i) & (i + ones - t <= length)
        i, t = i[possible], t[possible]
        tables = np.stack([length - i - ones + t, ones - t, i - t, t], axis=-1).reshape(-1, 2, 2)
        out = np.zeros((readouts, length + 1, readouts, ones + 1))
        for left, right in itertools.product(range(readouts), repeat=2):
            counts = PairCounts.of_tables(kernel.arch, tables, np.full(len(i), left), np.full(len(i), right))
            out[left, i, right, t] = kernel_of_counts(kernel.arch, counts, kind)
        return out

    return column


def _sampled_overlaps(kernel: Kernel, kind: Kind, readouts: int, seed: int, progress: Progress | None) -> OverlapKernel:
    """x starts with its ones, y has them in a window that starts at s: the overlap i - s takes every possible value."""
    length = kernel.arch.length
    position = np.arange(length)
    x = (position[None] < np.arange(length + 1)[:, None]).astype(int)
    windows = [(ones, start) for ones in range(length + 1) for start in range(length - ones + 1)]
    y = np.array([(position >= start) & (position < start + ones) for ones, start in windows], dtype=int)
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(length) for _ in range(ARRANGEMENTS)]
    parts = zip(orders, stages(progress, [1.0] * len(orders)), strict=True)
    gram = np.mean([_gram_by_readout(kernel, kind, readouts, x[:, order], y[:, order], part) for order, part in parts], axis=0)
    first = {ones: number for number, (ones, start) in enumerate(windows) if start == 0}

    def column(ones: int) -> np.ndarray:
        i, t = np.meshgrid(np.arange(length + 1), np.arange(ones + 1), indexing="ij")
        possible = (t <= i) & (i + ones - t <= length)
        place = first[ones] + np.where(possible, i - t, 0)
        return gram[:, i, :, place].transpose(2, 0, 3, 1)

    return column


def _gram_by_readout(kernel: Kernel, kind: Kind, readouts: int, x: np.ndarray, y: np.ndarray, progress: Progress | None) -> np.ndarray:
    """The Gram of contexts with every readout token: shape (W, n, W, m)."""
    left, right = (with_readouts(kernel, readouts, batch) for batch in (x, y))
    evaluate: Callable[..., np.ndarray] = getattr(kernel, kind)
    kernel.progress = progress
    gram = evaluate(left) if x is y else evaluate(left, right)
    report(progress, 1, 1)
    return gram.reshape(readouts, len(x), readouts, len(y))


def with_readouts(kernel: Kernel, readouts: int, contexts: np.ndarray) -> np.ndarray:
    """Sequences of the contexts with every readout token in turn; a class symbol fills its column by itself."""
    if kernel.arch.readout == "mean":
        return contexts
    last = np.repeat(np.arange(readouts), len(contexts))[:, None]
    return np.hstack([np.tile(contexts, (readouts, 1)), last])
