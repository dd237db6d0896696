r"""Matrices of the irreducible representations of the symmetric group, and projectors onto them.

Young's orthogonal form has one basis vector for each standard tableau $T$ of the shape. With $c(i)$ the content (column - row) of
the box that holds $i$ and $r = c(i+1) - c(i)$, the adjacent transposition $s_i = (i\ i{+}1)$ acts as

$$ s_i\, v_T = \frac1r\, v_T + \sqrt{1 - \frac1{r^2}}\; v_{s_i T} . $$
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from specht.checks import whole_number
from specht.errors import InputError
from specht.groups.characters import character
from specht.groups.partition import Partition, about, check_shape, partitions
from specht.groups.permutations import Permutation, check_permutation, cycle_type, transposition
from specht.groups.tableaux import lattice_words

Action = Callable[[Permutation], np.ndarray]
"""How a permutation moves the states of a system: `action(permutation)[state]` is the state that `state` goes to."""

_LARGEST_DIMENSION = 5000
_LARGEST_FORM = 2 * 10**9
"""Most steps, dimension x n^2, in which tableaux are listed and exchanged: a few seconds."""
_LARGEST_PRODUCT = 3 * 10**9
"""Most entries, exchanges x dimension^2, that the product of adjacent transpositions goes through: half a minute."""
_LARGEST_SUM = 8  # 40320 permutations
_LARGEST_CENTRE = 14  # up to here two sums over contents distinguish all shapes


def orthogonal_matrix(shape: Partition, permutation: Permutation) -> np.ndarray:
    """The matrix of a permutation, given by its images `permutation[i]`; the basis is that of `lattice_words(shape)`.

    It is a homomorphism for products that act like functions, from the right to the left:
    `orthogonal_matrix(shape, compose(p, q))` is `orthogonal_matrix(shape, p) @ orthogonal_matrix(shape, q)`.

    >>> orthogonal_matrix(Partition((2, 1)), (1, 2, 0)).round(3)
    array([[-0.5  ,  0.866],
           [-0.866, -0.5  ]])
    """
    _refuse_large(shape)
    images = list(check_permutation(permutation, shape.n))
    exchanges = _inversions(images)
    steps = exchanges * shape.dimension**2
    if steps > _LARGEST_PRODUCT:
        raise InputError(
            f"This permutation is a product of {exchanges} adjacent transpositions, and with matrices of {shape.dimension} rows that takes "
            f"{steps:.1e} steps, more than {_LARGEST_PRODUCT:.0e}: use character(shape, cycle_type(permutation)) for its trace, or choose "
            "a smaller shape."
        )
    diagonals, partners = _orthogonal_form(shape)
    matrix = np.eye(diagonals.shape[1])
    # Exchanging neighbours until the images are sorted multiplies the permutation by s_i, s_j, ... from the right: p = ... s_j s_i.
    for end in range(len(images) - 1, 0, -1):
        for place in range(end):
            if images[place] > images[place + 1]:
                images[place], images[place + 1] = images[place + 1], images[place]
                matrix = _exchange(diagonals[place], partners[place], matrix)
    return matrix


def _inversions(images: Sequence[int]) -> int:
    """How many pairs stand in the wrong order: the number of adjacent transpositions that sort them."""
    array = np.array(images)
    return sum(int((array[:place] > image).sum()) for place, image in enumerate(images))


def _refuse_large(shape: Partition) -> None:
    """Raise where there are more tableaux, or longer ones, than anybody waits for."""
    dimension = check_shape(shape).dimension
    if dimension > _LARGEST_DIMENSION:
        raise InputError(f"The matrices of {shape} have {dimension} rows, more than {_LARGEST_DIMENSION}: choose a smaller shape.")
    steps = dimension * shape.n**2
    if steps > _LARGEST_FORM:
        raise InputError(
            f"The standard tableaux of {shape}, {dimension} with {shape.n} entries each, take {about(steps)} steps to list and exchange, "
            f"more than {_LARGEST_FORM:.0e}: use character() for traces, or choose a smaller shape."
        )


def _exchange(diagonal: np.ndarray, partner: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """The product of an adjacent transposition and a matrix."""
    return diagonal[:, None] * matrix + np.sqrt(1.0 - diagonal**2)[:, None] * matrix[partner]


@functools.lru_cache(maxsize=256)
def _orthogonal_form(shape: Partition) -> tuple[np.ndarray, np.ndarray]:
    """For each exchange of i and i + 1 and each tableau: 1/r, and the tableau with i and i + 1 exchanged (itself where r is 1 or -1)."""
    words = list(lattice_words(shape))
    index = {word: number for number, word in enumerate(words)}
    shifts = max(shape.n - 1, 0)
    diagonals = np.empty((shifts, len(words)))
    partners = np.tile(np.arange(len(words)), (shifts, 1))
    for number, word in enumerate(words):
        contents = _contents(word)
        for i in range(shifts):
            diagonals[i, number] = 1.0 / (contents[i + 1] - contents[i])
            if word[i] != word[i + 1]:  # neighbours in one row cannot be exchanged, and most are
                partners[i, number] = index.get((*word[:i], word[i + 1], word[i], *word[i + 2 :]), number)
    diagonals.flags.writeable = partners.flags.writeable = False
    return diagonals, partners


def _contents(word: tuple[int, ...]) -> list[int]:
    lengths = [0] * len(word)
    contents = []
    for row in word:
        contents.append(lengths[row] - row)
        lengths[row] += 1
    return contents


def isotypic_projector(shape: Partition, action: Action) -> np.ndarray:
    r"""The orthogonal projector onto all copies of $S^\lambda$, as a sum over the n! permutations (n up to 8):

    $$ P_\lambda = \frac{\dim \lambda}{n!} \sum_g \chi^\lambda(g)\, \rho(g) . $$

    `action(permutation)` is the array of images of the states, so that $\rho(g)$ is a permutation matrix.

    >>> isotypic_projector(Partition((2, 1)), np.array).round(3)  # three positions, permuted
    array([[ 0.667, -0.333, -0.333],
           [-0.333,  0.667, -0.333],
           [-0.333, -0.333,  0.667]])
    """
    n = check_shape(shape).n
    if n > _LARGEST_SUM:
        raise InputError(f"The sum over the permutations of {n} points has {n}! terms, more than {_LARGEST_SUM}!: use isotypic_projectors.")
    states = _states(action, n)
    total = np.zeros((len(states), len(states)))
    for permutation in itertools.permutations(range(n)):
        if trace := character(shape, cycle_type(permutation)):
            total[_images(action, permutation), states] += trace
    return total * (shape.dimension / math.factorial(n))


def isotypic_projectors(n: int, action: Action) -> dict[Partition, np.ndarray]:
    r"""The projectors onto all irreps of $S_n$ that occur, from transpositions alone (n up to 14).

    The Jucys-Murphy elements $X_k = \sum_{i<k} (i\ k)$ have the contents of the boxes as eigenvalues. So $\sum_k (X_k + n^2 X_k^2)$
    commutes with the group and is $\sum_{\text{boxes}} (c + n^2 c^2)$ on $S^\lambda$, a whole number that no other shape has.

    >>> {str(shape): round(np.trace(projector)) for shape, projector in isotypic_projectors(3, np.array).items()}
    {'[3]': 1, '[2,1]': 2}
    """
    n = whole_number("n", n, 1)
    if n > _LARGEST_CENTRE:
        raise InputError(f"Two sums over contents tell shapes apart up to n = {_LARGEST_CENTRE}, got n = {n}: choose a smaller group.")
    states = _states(action, n)
    central = np.zeros((len(states), len(states)))
    for k in range(1, n):
        element = np.zeros_like(central)
        for i in range(k):
            images = _images(action, transposition(n, i, k))
            if not np.array_equal(images[images], states):
                raise InputError(f"action must follow products, but exchanging {i} and {k} twice does not lead back: check its images.")
            element[images, states] += 1.0
        central += element + n**2 * (element @ element)
    eigenvalues, vectors = np.linalg.eigh(central)
    projectors = {}
    for shape in partitions(n):
        block = vectors[:, np.abs(eigenvalues - _central_eigenvalue(shape)) < 1e-3]
        if block.shape[1]:
            projectors[shape] = block @ block.T
    if not np.allclose(sum(projectors.values()), np.eye(len(states)), atol=1e-6):
        raise InputError("action must follow products, but the sum of its transpositions has an eigenvalue of no irrep: check its images.")
    return projectors


def _central_eigenvalue(shape: Partition) -> int:
    contents = [column - row for row, part in enumerate(shape.parts) for column in range(part)]
    return sum(content + shape.n**2 * content**2 for content in contents)


def _states(action: Action, n: int) -> np.ndarray:
    images = _images(action, tuple(range(n)))
    states = np.arange(len(images))
    if not np.array_equal(images, states):
        raise InputError(f"action must leave every state in place for the identity, got {images!r}: check its images.")
    return states


def _images(action: Action, permutation: Permutation) -> np.ndarray:
    images = np.asarray(action(permutation))
    if images.ndim != 1 or not np.array_equal(np.sort(images), np.arange(len(images))):
        raise InputError(f"action must return where each state goes, every state once, got {images!r} for {permutation}.")
    return images
