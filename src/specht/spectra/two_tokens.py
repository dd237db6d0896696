r"""Two tokens, any invariant kernel: the block of $(L-m, m)$ is an m-th finite difference in the overlap.

With two tokens the kernel depends on the numbers of ones i, i' and their overlap t. On the functions
$\prod_{j \le m} (x_{a_j} - x_{b_j})$ times the indicator of i ones among the other $n = L - 2m$ positions,

$$ B^{(m)}_{wi,\,w'i'} = \sqrt{P_{wi} P_{w'i'}}\; E_t\big[\Delta_t^m k(w, i + m, w', i' + m, t)\big], \qquad
   P_{wi} = \tbinom ni\, p_w(i + m), $$

where t is hypergeometric (overlap of random sets of i and i' out of n) and $p_w$ the probability of one sequence. A kernel that is a
polynomial of degree D in the overlap therefore has no irrep beyond level D.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

from specht.groups import Partition
from specht.progress import Progress, report
from specht.spectra.basis import basis
from specht.spectra.block import CountLaw, IrrepBlock
from specht.spectra.combinatorics import log_factorial
from specht.spectra.young import solved_block

OverlapKernel = Callable[[int], np.ndarray]
"""From the number of ones of y to k(w, i, w', t), shape (W, L + 1, W, ones + 1); entries that no pair has may hold anything finite."""


def two_token_blocks(
    law: CountLaw, kernel: OverlapKernel, levels: Iterable[int], progress: Progress | None = None
) -> tuple[list[IrrepBlock], np.ndarray]:
    """The blocks of the given levels m, at a cost of O(L^3), and k(x, x) by readout token and number of ones, shape (W, L + 1)."""
    length, readouts = law.arch.length, law.readouts
    diagonal = np.empty((readouts, length + 1))
    differences = {m: np.zeros((readouts, length - 2 * m + 1, readouts, length - 2 * m + 1)) for m in levels}
    for ones in range(length + 1):
        values = kernel(ones)
        diagonal[:, ones] = np.diag(values[:, ones, :, ones])
        for m, block in differences.items():
            if m <= ones <= length - m:
                block[:, :, :, ones - m] = _expected_difference(values, length, ones, m)
        report(progress, ones + 1, length + 1)
    return [_block(law, m, differences[m]) for m in differences], diagonal


def _expected_difference(values: np.ndarray, length: int, ones: int, m: int) -> np.ndarray:
    """E_t of the m-th difference, for every number of ones of x and one of y: shape (W, n + 1, W)."""
    n, overlaps = length - 2 * m, ones - m + 1
    chosen = values[:, m : m + n + 1]
    difference = sum((-1.0) ** (m - j) * math.comb(m, j) * chosen[:, :, :, j : j + overlaps] for j in range(m + 1))
    return np.einsum("wixt,it->wix", difference, _overlap_law(n, ones - m))


def _overlap_law(n: int, ones: int) -> np.ndarray:
    """Probability that random sets of i (rows) and `ones` out of n share t (columns); impossible overlaps have none."""
    i, t = np.arange(n + 1)[:, None], np.arange(ones + 1)[None]
    possible = (t <= i) & (ones - t <= n - i)
    inside, outside = np.where(possible, t, 0), np.where(possible, ones - t, 0)
    log = _log_binomial(i, inside) + _log_binomial(n - i, outside)
    law = np.where(possible, np.exp(log - _log_binomial(np.array(n), np.array(ones))), 0.0)
    return law / law.sum(axis=1, keepdims=True)


def _log_binomial(n: np.ndarray, k: np.ndarray) -> np.ndarray:
    return log_factorial(n) - log_factorial(k) - log_factorial(n - k)


def _block(law: CountLaw, m: int, differences: np.ndarray) -> IrrepBlock:
    length = law.arch.length
    functions = basis(Partition((length - m, m) if m else (length,)), 2)
    ones = functions.copy_counts[:, 1]  # of the whole context, in the order of the basis
    log_orders = _log_binomial(np.array(length - 2 * m), ones - m)
    half = np.exp((law.log_probability(functions.copy_counts) + log_orders) / 2.0)
    return solved_block(law, functions, half, differences[:, ones - m][:, :, :, ones - m])
