r"""Young tableaux and how many there are: bases of Specht modules, multiplicities of irreps.

Entries count from 0. A standard tableau holds 0 to n - 1 and increases along rows and down columns; a semistandard one may repeat entries
along rows. Everything rests on one fact: the boxes that hold the largest symbol form a horizontal strip (no two in one column), so that

$$ \lambda_1 \ge \mu_1 \ge \lambda_2 \ge \mu_2 \ge \dots $$

for the shape $\mu$ that is left when they are taken away.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence

from specht.checks import whole_number
from specht.errors import InputError
from specht.groups.partition import Partition, check_shape, whole_numbers

Tableau = tuple[tuple[int, ...], ...]


def lattice_words(shape: Partition) -> Iterator[tuple[int, ...]]:
    """Standard tableaux as words: the row of entry 0, of entry 1, and so on; row by row comes first, column by column last.

    >>> list(lattice_words(Partition((2, 1))))
    [(0, 0, 1), (0, 1, 0)]
    """
    unfinished: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((), check_shape(shape).parts)]
    while unfinished:
        word, rows = unfinished.pop()
        if not any(rows):
            yield word
            continue
        for row, length in enumerate(rows):
            if length > (rows[row + 1] if row + 1 < len(rows) else 0):
                unfinished.append(((row, *word), (*rows[:row], length - 1, *rows[row + 1 :])))


def standard_tableaux(shape: Partition) -> Iterator[Tableau]:
    """The standard tableaux, as many as the dimension of the irrep.

    >>> list(standard_tableaux(Partition((2, 1))))
    [((0, 1), (2,)), ((0, 2), (1,))]
    """
    for word in lattice_words(shape):
        rows: list[list[int]] = [[] for _ in shape.parts]
        for entry, row in enumerate(word):
            rows[row].append(entry)
        yield tuple(map(tuple, rows))


def inner_shapes(shape: Partition, size: int) -> Iterator[Partition]:
    """The shapes of `size` boxes that a horizontal strip completes to `shape`.

    >>> [str(inner) for inner in inner_shapes(Partition((3, 2)), 3)]
    ['[3]', '[2,1]']
    """
    return map(Partition, _inner(check_shape(shape).parts, whole_number("size", size)))


def _inner(parts: tuple[int, ...], size: int) -> Iterator[tuple[int, ...]]:
    if not parts:
        if size == 0:
            yield ()
        return
    below = (*parts[1:], 0)
    # The first row takes what the others leave, so that its length costs nothing.
    for tail in itertools.product(*(range(low, high + 1) for low, high in itertools.pairwise(reversed(below)))):
        first = size - sum(tail)
        if below[0] <= first <= parts[0]:
            yield tuple(part for part in (first, *reversed(tail)) if part)


def outer_parts(parts: tuple[int, ...], size: int) -> Iterator[tuple[int, ...]]:
    """The rows of all shapes that a horizontal strip of `size` boxes makes of a shape (Pieri's rule).

    >>> list(outer_parts((2, 1), 2))
    [(4, 1), (3, 1, 1), (3, 2), (2, 2, 1)]
    """
    if not parts:
        yield (size,) if size else ()
        return
    free = [range(low, min(high, low + size) + 1) for high, low in itertools.pairwise((*parts, 0))]
    # The first row takes what the others leave, so that its length costs nothing.
    for tail in itertools.product(*free):
        first = sum(parts) + size - sum(tail)
        if first >= parts[0]:
            yield tuple(part for part in (first, *tail) if part)


def count_semistandard(shape: Partition, vocab: int) -> int:
    r"""Number of semistandard tableaux with entries 0 to vocab - 1, by Weyl's formula where symbols are few, at a cost of O(V^2), and
    elsewhere by the hook content formula, at a cost of O(`level` + min(V, row)):

    $$ \prod_{i < j \le V} \frac{\lambda_i - \lambda_j + j - i}{j - i}
       = \prod_{\text{boxes}} \frac{V + \text{column} - \text{row}}{h} . $$

    It is the multiplicity of $S^\lambda$ in the functions on sequences of V tokens, and zero when the shape has more than V rows.

    >>> count_semistandard(Partition((10**6 - 1, 1)), vocab=2)
    999999
    """
    vocab = whole_number("vocab", vocab)
    if not check_shape(shape).parts:
        return 1
    if len(shape.parts) > vocab:
        return 0
    if vocab * (vocab - 1) // 2 <= shape.level:
        ends = [part - row for row, part in enumerate((*shape.parts, *[0] * (vocab - len(shape.parts))))]
        pairs = list(itertools.combinations(range(vocab), 2))
        return math.prod(ends[i] - ends[j] for i, j in pairs) // math.prod(j - i for i, j in pairs)
    first, second = shape.parts[0], (*shape.parts, 0)[1]
    first_row = math.comb(vocab + first - 1, first) * math.perm(first, second)  # (V + first - 1)! / ((V - 1)! (first - second)!)
    below = math.prod(vocab + column - row for row, part in enumerate(shape.parts[1:], start=1) for column in range(part))
    return first_row * below // shape.tall_hook_product()


def kostka_number(shape: Partition, content: Sequence[int]) -> int:
    r"""Number $K_{\lambda\mu}$ of semistandard tableaux of shape $\lambda$ that hold symbol v exactly `content[v]` times.

    It is the multiplicity of $S^\lambda$ in the permutation module $M^\mu$ (Young's rule) and does not depend on the order of `content`.
    Symbols that occur more than once are taken away strip by strip; those that occur once leave a standard tableau, of which there are
    `dimension`. So $K_{\lambda,(j,1,\dots,1)}$, the number of standard tableaux of the skew shape $\lambda/(j)$, takes one step.

    >>> kostka_number(Partition((3, 1)), (2, 1, 1))
    2
    >>> kostka_number(Partition((10**6 - 2, 2)), (2, 10**6 - 4, 2))
    3
    """
    content = _check_content(shape, content)
    return _kostka(shape.parts, tuple(sorted((count for count in content if count > 1), reverse=True)))


@functools.lru_cache(maxsize=2**16)
def _kostka(parts: tuple[int, ...], repeated: tuple[int, ...]) -> int:
    shapes = Counter({parts: 1})
    size = sum(parts)
    symbols = size - sum(repeated) + len(repeated)
    for count in repeated:
        size, symbols = size - count, symbols - 1
        smaller: Counter[tuple[int, ...]] = Counter()
        for outer, ways in shapes.items():
            for inner in _inner(outer, size):
                if len(inner) <= symbols:  # a column of distinct symbols must still fit
                    smaller[inner] += ways
        shapes = smaller
    return sum(ways * Partition(inner).dimension for inner, ways in shapes.items())


def _check_content(shape: Partition, content: Sequence[int]) -> tuple[int, ...]:
    counts = whole_numbers("content", content)
    if sum(counts) != check_shape(shape).n:
        raise InputError(f"content adds up to {sum(counts)}, but the shape {shape} has {shape.n} boxes: make them equal.")
    return counts
