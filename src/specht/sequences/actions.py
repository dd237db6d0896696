r"""Permutations of positions acting on sequences, and how much a function or a kernel changes under them.

A permutation $g$ of the $L$ context positions takes the token at position $a$ to position $g(a)$:

$$ (g x)_{g(a)} = x_a , \qquad a = 0 \dots L - 1 . $$

Sequences have $L + 1$ columns, and the last one, the readout token, stays in place; or $L$ columns (mean readout), and all of them move.
This is an action from the left, as permutations are multiplied in `specht.groups.permutations`: $p\,(q\,x) = (p\,q)\,x$.

Every permutation is a product of two (`generators`). So a function of all sequences that neither of the two changes is invariant under
the whole group, and nothing needs to be sampled. When `x` is a sample, products lead out of it, and the verdict is as good as the sample:
give more `permutations` where that matters.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, get_args

import numpy as np

from specht.architecture import Kind
from specht.arrays import as_numpy
from specht.checks import whole_number
from specht.errors import InputError, check_choice
from specht.groups import Action, Permutation, check_permutation, transposition
from specht.sequences.tokens import input_array


@dataclasses.dataclass(frozen=True)
class Residual:
    """How much permutations change a function: nothing at all for an invariant one."""

    change: float
    """Largest absolute change of any entry under any of the permutations; NaN if there is one."""
    scale: float
    """What it is compared with."""
    permutation: Permutation
    """The one that changes most."""

    @property
    def value(self) -> float:
        """The change as a fraction of the scale."""
        return self.change / self.scale if self.change else 0.0


def permute_context(x: Any, permutation: Sequence[int], length: int) -> np.ndarray:
    """The sequences with the token at position a moved to position `permutation[a]`, for the first `length` positions.

    `x` has one sequence a row and one position a column; axes after these two go along with their position.

    >>> permute_context([[5, 6, 7, 0]], (1, 2, 0), length=3)
    array([[7, 5, 6, 0]])
    """
    rows = _table("x", x, length)
    moved = rows.copy()
    moved[:, check_permutation(permutation, length)] = rows[:, :length]
    return moved


def generators(length: int) -> tuple[Permutation, ...]:
    """A cycle of all positions and an exchange of the first two, of which every permutation is a product.

    >>> generators(4)
    ((1, 2, 3, 0), (1, 0, 2, 3))
    """
    length = whole_number("length", length, 1)
    cycle = (*range(1, length), 0)
    return (cycle, transposition(length, 0, 1)) if length > 2 else (cycle,)


def random_permutations(length: int, count: int, seed: int = 0) -> tuple[Permutation, ...]:
    """Permutations drawn uniformly; the first ones stay the same when `count` grows.

    >>> random_permutations(4, 2)
    ((2, 0, 1, 3), (3, 2, 1, 0))
    """
    length, count = whole_number("length", length, 1), whole_number("count", count)
    rng = np.random.default_rng(whole_number("seed", seed))
    return tuple(tuple(rng.permutation(length).tolist()) for _ in range(count))


def action_on(x: Any, length: int) -> Action:
    """The action on the rows of `x`: `action(permutation)[i]` is the row that row i is moved to.

    `x` must hold every order of the contexts it holds, each once.

    >>> action_on([[0, 0, 1], [0, 1, 0], [1, 0, 0]], length=3)((1, 2, 0))
    array([2, 0, 1])
    """
    rows = _table("x", x, length)
    index = {row: number for number, row in enumerate(_tuples(rows))}
    if len(index) < len(rows):
        raise InputError(f"x holds {len(rows)} sequences, and only {len(index)} are different: give each of them once.")

    def action(permutation: Permutation) -> np.ndarray:
        try:
            return np.array([index[row] for row in _tuples(permute_context(rows, permutation, length))])
        except KeyError as missing:
            raise InputError(f"x lacks {missing}, which is a sequence of x in another order: give every order of each context.") from None

    return action


def invariance_residual(
    function: Callable[[np.ndarray], Any], x: Any, length: int, *, permutations: Sequence[Permutation] | None = None
) -> Residual:
    r"""How much $f(g x)$ differs from $f(x)$: the largest change, as a fraction of the spread of f.

    `function` takes sequences (n, columns) to values (n, ...). The spread of an output is its largest minus its smallest value over all
    sequences, before and after they are permuted; the output that spreads most is the scale. So the residual lies between 0 and 1, and
    stays the same when f is multiplied by a number or shifted. Spreads below the root of the float precision, relative to the largest
    entry, are taken for rounding: the scale is not smaller than that.

    Arguments:
        permutations: those to try, instead of the two `generators`.

    >>> x = [[0, 0, 1, 0], [1, 1, 0, 0], [0, 1, 0, 0]]
    >>> invariance_residual(lambda x: x.sum(axis=1), x, length=3).value
    0.0
    >>> invariance_residual(lambda x: x.sum(axis=1) + x[:, 0] / 2, x, length=3)
    Residual(change=0.5, scale=1.5, permutation=(1, 2, 0))
    """
    x, group = _table("x", x, length), _group(permutations, length)
    before, *after = _outputs(function, x, group, length)
    return _residual(group, before, after, _spread([before, *after], axes=2))


def spread_of(lowest: np.ndarray, highest: np.ndarray, epsilon: float) -> float:
    """What changes of outputs between these values are compared with: the spread of the one that spreads most.

    `epsilon` is the float precision; spreads below its root, relative to the largest entry, are taken for rounding.

    >>> spread_of(np.array([0.0, -1.0]), np.array([0.5, 2.0]), 2.0**-52)
    3.0
    """
    with np.errstate(invalid="ignore"):
        spread = (highest - lowest).max()
    return float(np.maximum(spread, np.sqrt(epsilon) * np.maximum(np.abs(lowest), np.abs(highest)).max()))


def equivariance_residual(
    function: Callable[[np.ndarray], Any], x: Any, length: int, *, permutations: Sequence[Permutation] | None = None
) -> Residual:
    r"""How much $f(g x)$ differs from $g f(x)$, for a function with one output a position, such as a hidden layer.

    `function` takes sequences (n, columns) to values (n, columns, ...), and its outputs are permuted as tokens are. The scale is that of
    `invariance_residual`, with the spread taken over positions too.

    >>> x = [[0, 0, 1, 0], [1, 1, 0, 0], [0, 1, 0, 0]]
    >>> equivariance_residual(lambda x: x - x.mean(axis=1, keepdims=True), x, length=3).value
    0.0
    >>> equivariance_residual(lambda x: x.cumsum(axis=1), x, length=3).value
    1.0
    """
    x, group = _table("x", x, length), _group(permutations, length)
    before, *after = _outputs(function, x, group, length)
    _table("the output of function", before, length)
    expected = np.stack([permute_context(before, permutation, length) for permutation in group])
    return _residual(group, expected, after, _spread([before, *after], axes=3))


def gram_residual(
    kernel: Any,
    x: Any,
    length: int,
    *,
    joint: bool = True,
    kind: Kind | str = "nngp",
    permutations: Sequence[Permutation] | None = None,
) -> Residual:
    r"""How much $k(g x, g y)$ differs from $k(x, y)$ for all pairs of `x`: the largest change, as a fraction of the largest entry
    before or after.

    Arguments:
        kernel: an object with methods `nngp` and `ntk`, or a function of two batches of sequences.
        joint: True moves both arguments, the symmetry of a network with exchangeable positions. False moves the left one only,
            $k(g x, y)$, the symmetry of a network without positions.
        kind: which kernel of an object that has two.
        permutations: those to try, instead of the two `generators`.

    >>> overlap = lambda x, y: (x[:, None, :] == y[None, :, :]).sum(axis=-1)
    >>> x = [[0, 0, 1, 0], [1, 1, 0, 0]]
    >>> gram_residual(overlap, x, length=3).value, gram_residual(overlap, x, length=3, joint=False).value
    (0.0, 0.5)
    """
    x, group = _table("x", x, length), _group(permutations, length)
    before = gram_matrix(kernel, x, kind=kind)
    moved = (permute_context(x, permutation, length) for permutation in group)
    after = [gram_matrix(kernel, y, None if joint else x, kind=kind) for y in moved]
    return _residual(group, before, after, float(np.abs([before, *after]).max()))


def gram_matrix(kernel: Any, x: np.ndarray, y: np.ndarray | None = None, *, kind: Kind | str = "nngp") -> np.ndarray:
    """The Gram (n, m) in float64, from an object with methods `nngp` and `ntk`, or from a function of two batches of sequences."""
    check_choice("kernel", kind, get_args(Kind))
    right = x if y is None else y
    method = getattr(kernel, kind, None)
    if method is not None:
        gram = method(x) if y is None else method(x, y)  # one batch may be cheaper than a pair of equal ones
    elif kind == "nngp" and callable(kernel):
        gram = kernel(x, right)
    else:
        raise InputError(f"A kernel of type {type(kernel).__name__} has no {kind}: give an object with that method, such as specht.Kernel.")
    gram = _numbers("kernel", gram).astype(np.float64, copy=False)
    if gram.shape != (len(x), len(right)):
        raise InputError(f"kernel must return one number a pair, so {len(x)} x {len(right)}, got an array of shape {gram.shape}.")
    return gram


def _table(name: str, values: Any, length: int) -> np.ndarray:
    """An array with one sequence a row and its positions along the second axis: `length` of them, or one more."""
    array, length = input_array(values, name), whole_number("length", length, 1)
    if array.ndim < 2:
        raise InputError(f"{name} must have one sequence a row, got an array of shape {array.shape}.")
    if array.shape[1] not in (length, length + 1):
        raise InputError(
            f"{name} has {array.shape[1]} columns, but length={length} means {length + 1} with a readout token, or {length} without."
        )
    if not len(array):
        raise InputError(f"{name} is empty: give at least one sequence.")
    return array


def _tuples(rows: np.ndarray) -> list[tuple[int, ...]]:
    return [tuple(row) for row in rows.tolist()]


def _group(permutations: Sequence[Permutation] | None, length: int) -> Sequence[Permutation]:
    group = generators(length) if permutations is None else permutations
    if not len(group):
        raise InputError("permutations is empty: give at least one, or leave it out for the generators of the group.")
    return [check_permutation(permutation, length) for permutation in group]


def _outputs(function: Callable[[np.ndarray], Any], x: np.ndarray, group: Sequence[Permutation], length: int) -> list[np.ndarray]:
    """f(x), and f(g x) for every g."""
    batches = [x, *(permute_context(x, permutation, length) for permutation in group)]
    outputs = [_numbers("function", function(batch)) for batch in batches]
    for output in outputs:
        if output.shape[:1] != (len(x),) or not output.size:
            raise InputError(f"function must return one row a sequence, so {len(x)}, got an array of shape {output.shape}.")
    return outputs


def _numbers(name: str, values: Any) -> np.ndarray:
    """What a function returned, in its own precision where it has one."""
    array = as_numpy(values, f"what {name} returned")
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} must return real numbers, got an array of dtype {array.dtype}.")
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def _spread(outputs: list[np.ndarray], axes: int) -> float:
    """The scale of values over the batches and the first axes of each."""
    values, over = np.stack(outputs), tuple(range(axes))
    return spread_of(values.min(axis=over), values.max(axis=over), float(np.finfo(values.dtype).eps))


def _residual(group: Sequence[Permutation], expected: np.ndarray, after: list[np.ndarray], scale: float) -> Residual:
    with np.errstate(invalid="ignore"):
        changes = np.abs(np.stack(after) - expected).reshape(len(group), -1).max(axis=1)
    worst = int(np.argmax(changes))  # the first NaN, if there is one
    return Residual(float(changes[worst]), scale, group[worst])
