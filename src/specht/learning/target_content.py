r"""How a target is spread over a spectrum: all that its learning curve depends on.

A target splits as $g = \sum_r g_r + g_\perp$: one part for each row r of the spectrum, that is an eigenvalue and its multiplet, and what
lies in no row. In distribution, only the mean squares $E[g_r^2]$ matter. Out of distribution two more things do:

$$ Q_{rs} = E_\text{test}[g_r g_s] , \qquad  v_r = \sum_{a \in \text{multiplet}} E_\text{test}[\varphi_{ra}^2] , $$

which are the mean squares and the degeneracy again where the test law is the training law. With several outputs, everything is summed
over them.

Targets whose level is known, and eigenfunctions, are decomposed exactly where sequences of each kind can be listed. Any other function is
decomposed by sampling, in independent folds: products of different folds are free of bias, and their scatter is the standard error.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from specht.errors import InputError
from specht.groups import Partition
from specht.learning.multiplets import MultipletFunctions, find_support, multiplet
from specht.progress import Progress, report
from specht.sequences import Source, Target, Task, check_task, order_forgotten, whole_numbers
from specht.spectra import IrrepBlock, Points, Row, Spectrum, points
from specht.stats import jackknife_error, standard_error

FOLDS = 16
"""Independent parts of a sample."""
SAMPLES = 2**15
"""Sequences drawn where expectations are sampled."""
_CONSTANT = 1e-12
"""Share of a mean square, or of E[k], below which a difference is rounding."""
_STEP = 2**22
"""Values of eigenfunctions held at a time."""


class Resolved(NamedTuple):
    """What is known of a spectrum, in units of E[k]."""

    rows: tuple[Row, ...]
    eigenvalues: np.ndarray
    degeneracies: np.ndarray
    tail: float
    """Share of E[k] in no row."""


def resolve(spectrum: Spectrum) -> Resolved:
    """The rows of a spectrum that are resolved, and what is left."""
    rows = tuple(spectrum.truncated())
    eigenvalues = np.array([max(row.eigenvalue, 0.0) for row in rows]) / spectrum.trace
    degeneracies = np.array([float(row.degeneracy) for row in rows])
    return Resolved(rows, eigenvalues, degeneracies, left_over(eigenvalues, degeneracies))


def left_over(eigenvalues: np.ndarray, degeneracies: np.ndarray) -> float:
    """Share of E[k] that eigenvalues in units of it leave over; zero where that is rounding."""
    left = 1.0 - float(eigenvalues @ degeneracies)
    return left if left > _CONSTANT else 0.0


@dataclasses.dataclass(frozen=True)
class Shifted:
    """What a learning curve needs to know of the test law."""

    form: np.ndarray
    """Q, shape (M + 1, M + 1); the last entry is what lies in no row."""
    spread: np.ndarray
    """v, shape (M,)."""


@dataclasses.dataclass(frozen=True)
class TargetPart:
    """Where the parts of a target in one block come from: coefficients of the functions of its multiplet."""

    block: IrrepBlock
    rows: np.ndarray
    """Indices of the rows of this block, one a copy that is used."""
    orders: tuple[np.ndarray, np.ndarray]
    """Order in which each function reads the context, shape (functions, L), for either half of the sample."""
    coefficients: tuple[np.ndarray, np.ndarray]
    """Shape (functions, copies, outputs)."""

    def evaluate(self, x: np.ndarray, half: int) -> np.ndarray:
        """The parts of the target in the rows of this block at sequences x, shape (n, copies, outputs)."""
        orders, coefficients = self.orders[half], self.coefficients[half]
        length, copies = orders.shape[1], coefficients.shape[1]
        total = np.zeros((len(x), copies, coefficients.shape[2]))
        for order, coefficient in zip(orders, coefficients, strict=True):
            moved = np.concatenate([x[:, order], x[:, length:]], axis=1)
            total += self.block.eigenfunctions(moved)[:, :copies, None] * coefficient
        return total


@dataclasses.dataclass(frozen=True, kw_only=True)
class Content:
    """A target in the rows of a spectrum; eigenvalues are in units of E[k]."""

    rows: tuple[Row, ...]
    eigenvalues: np.ndarray
    degeneracies: np.ndarray
    weights: np.ndarray
    """Mean square of the target in each row, shape (M,)."""
    weights_stderr: np.ndarray
    """Standard errors; zero where they are exact."""
    total: float
    """Mean square of the whole target."""
    mean_square: float
    """Square of its mean: what the best constant prediction explains."""
    label_noise: float = 0.0
    """Variance of the labels around the target, from the task itself."""
    tail: float
    """Share of E[k] in no row: functions that are not resolved, which act on all others like a ridge."""
    parts: tuple[TargetPart, ...] = ()
    outputs: int = 1
    shifted: Shifted | None = None
    """The test law, if it is another one."""

    @property
    def rest(self) -> float:
        """Mean square of the target in no row, which is never learnt."""
        return max(0.0, self.total - float(self.weights.sum()))

    @property
    def variance(self) -> float:
        """Variance of the target, the error of the best constant prediction; its mean square where it is a constant itself."""
        return self.total if self.is_constant else self.total - self.mean_square

    @property
    def is_constant(self) -> bool:
        """Whether the target takes one value."""
        return self.total - self.mean_square <= _CONSTANT * self.total

    @property
    def levels(self) -> np.ndarray:
        """Level of each row, shape (M,)."""
        return np.array([row.irrep.level for row in self.rows])

    def by_level(self) -> dict[int, Content]:
        """The part of the target at each level of the spectrum, as a target of its own."""
        parts = {int(level): np.where(self.levels == level, self.weights, 0.0) for level in np.unique(self.levels)}
        return {
            level: dataclasses.replace(self, weights=weights, total=float(weights.sum()), mean_square=0.0 if level else self.mean_square)
            for level, weights in parts.items()
        }

    def components(self, x: Any, half: int = 0) -> np.ndarray:
        """The parts of the target in all rows at sequences x, shape (n, M, outputs)."""
        x = whole_numbers(x)
        values = np.zeros((len(x), len(self.rows), self.outputs))
        for part in self.parts:
            values[:, part.rows] = part.evaluate(x, half)
        return values

    def mean_output(self, x: Any, learnability: np.ndarray) -> np.ndarray:
        r"""Predicted output $\sum_r \mathcal L_r\, g_r(x)$, averaged over data sets, shape (n, outputs), from learnabilities (M,)."""
        halves = (self.components(x, 0) + self.components(x, 1)) / 2.0
        return np.einsum("nro,r->no", halves, learnability)


def content(spectrum: Spectrum, task: Task, *, samples: int = SAMPLES, seed: int = 0, progress: Progress | None = None) -> Content:
    """Decompose the target of a task over the rows of a spectrum.

    The spectrum must be that of the task's source; where the order of its tokens matters, that of the source with its order forgotten.
    """
    arch = spectrum.arch
    check_task(task, arch.vocab)
    source = order_forgotten(task.source, arch.columns)
    known = resolve(spectrum)
    if not known.rows:
        raise InputError(f"The kernel of {arch} has no eigenvalue above rounding, so nothing is learnt: change its variances.")
    size, rng, target = len(known.rows), np.random.default_rng([seed, 1]), task.target
    nothing = {"weights": np.zeros(size), "weights_stderr": np.zeros(size), "total": 0.0, "mean_square": 0.0}
    bare = Content(**known._asdict(), **nothing, outputs=target.outputs)
    if isinstance(target, Modes) and target.belongs_to(spectrum):
        bare = _of_modes(bare, spectrum, target, points(source, arch.length, arch.columns, 0, samples, rng))
    else:
        bare = _of_function(bare, spectrum, target, source, samples, rng, progress)
    if task.test_source is None:
        return bare
    return dataclasses.replace(bare, shifted=_shifted(bare, spectrum, task.target, task.test_source, samples, seed))


def _of_modes(bare: Content, spectrum: Spectrum, target: Modes, at: Points) -> Content:
    """The content of eigenfunctions of the spectrum; only the square of their mean needs sequences."""
    weights, parts, identity = np.zeros(len(bare.rows)), [], np.arange(spectrum.arch.length)[None]
    for block in spectrum.blocks:
        rows = _rows_of(block, bare)
        chosen = np.array([target.coefficients.get((block.irrep, copy), 0.0) for copy in range(len(rows))])
        if chosen.any():
            weights[rows] = chosen**2
            coefficients = chosen[None, :, None]
            parts.append(TargetPart(block, rows, (identity, identity), (coefficients, coefficients)))
    total = float(sum(value**2 for value in target.coefficients.values()))
    mean_square = float(((at.weights @ target.invariant_part(at.x)) ** 2).sum())
    return dataclasses.replace(bare, weights=weights, total=total, mean_square=mean_square, parts=tuple(parts))


def _of_function(
    bare: Content,
    spectrum: Spectrum,
    target: Target,
    source: Source,
    samples: int,
    rng: np.random.Generator,
    progress: Progress | None,
) -> Content:
    """The content of any function, from its inner products with the functions of every block."""
    arch = spectrum.arch
    pure = target.pairs is not None and spectrum.exchangeable
    reads = 2 * (target.pairs or 0) if pure else arch.length
    at = points(source, arch.length, arch.columns, reads, samples, rng)
    values, parts = target(at.x), []
    weights, errors = np.zeros((2, len(bare.rows)))
    blocks = [block for block in spectrum.blocks if not pure or block.irrep == _two_rows(arch.length, target.pairs or 0)]
    singled = target.reads if pure or target.reads is not None else find_support(target, at.x, arch.length)
    folds = 1 if at.exact else FOLDS
    for number, block in enumerate(blocks):
        identity = MultipletFunctions(np.arange(arch.length)[None], np.eye(1))  # the only function that matters to a pure target
        functions, rows = identity if pure else multiplet(block.irrep, singled), _rows_of(block, bare)
        if len(rows):
            inner = _inner_products(block, functions.orders, at, values, len(rows), folds)
            weights[rows], errors[rows] = _mean_squares(inner, functions)
            halves = (inner[: (folds + 1) // 2].mean(axis=0), inner[folds // 2 :].mean(axis=0))
            orders, coefficients = zip(*(functions.expansion(half, number, rng) for number, half in enumerate(halves)), strict=True)
            parts.append(TargetPart(block, rows, orders, coefficients))
        report(progress, number + 1, len(blocks))
    return dataclasses.replace(
        bare,
        weights=weights,
        weights_stderr=errors,
        total=float(at.weights @ (values**2).sum(axis=1)),
        mean_square=float(((at.weights @ values) ** 2).sum()),
        label_noise=float(at.weights @ target.label_variance(at.x)),
        parts=tuple(parts),
    )


def _rows_of(block: IrrepBlock, bare: Content) -> np.ndarray:
    """Indices of the rows of a block in the order of its copies: always the first ones."""
    return np.array([index for index, row in enumerate(bare.rows) if row.irrep == block.irrep], dtype=int)


def _two_rows(length: int, level: int) -> Partition:
    return Partition((length - level, level) if level else (length,))


def _inner_products(block: IrrepBlock, orders: np.ndarray, at: Points, values: np.ndarray, copies: int, folds: int) -> np.ndarray:
    """E[g phi] in every fold, for every order and copy: shape (folds, functions, copies, outputs)."""
    length = orders.shape[1]
    fold = np.arange(len(at.x)) % folds
    inner = np.zeros((folds, len(orders), copies, values.shape[1]))
    step = max(folds, _STEP // copies)
    for number, order in enumerate(orders):
        for start in range(0, len(at.x), step):
            part = slice(start, start + step)
            x = at.x[part]
            phi = block.eigenfunctions(np.concatenate([x[:, order], x[:, length:]], axis=1))[:, :copies]
            weighted = values[part] * at.weights[part, None] * folds
            for place in range(folds):
                inside = fold[part] == place
                inner[place, number] += phi[inside].T @ weighted[inside]
    return inner


def _mean_squares(inner: np.ndarray, functions: MultipletFunctions) -> tuple[np.ndarray, np.ndarray]:
    """Mean square of the target in every copy, without the products of a fold with itself, and its standard error.

    The error is that of the jackknife over folds, and of the scatter over orders where these are random.
    """
    folds, squares = len(inner), functions.squares
    if folds == 1:
        return squares(inner[0]), _order_scatter(inner, functions)
    own = np.array([squares(of_fold) for of_fold in inner])
    whole = inner.sum(axis=0)
    value = (squares(whole) - own.sum(axis=0)) / (folds * (folds - 1))
    others = [(squares(whole - inner[out]) - own.sum(axis=0) + own[out]) / ((folds - 1) * (folds - 2)) for out in range(folds)]
    return value, np.hypot(jackknife_error(others), _order_scatter(inner, functions))


def _order_scatter(inner: np.ndarray, functions: MultipletFunctions) -> np.ndarray:
    """Standard error that random orders add: each is an estimate by itself."""
    if not functions.is_random:
        return np.zeros(inner.shape[2])
    by_order = functions.metric[:, None] * len(functions.orders) * (inner.mean(axis=0) ** 2).sum(axis=2)
    return standard_error(by_order)


def _shifted(bare: Content, spectrum: Spectrum, target: Target, test_source: Source, samples: int, seed: int) -> Shifted:
    arch, rng = spectrum.arch, np.random.default_rng([seed, 2])
    pure = target.pairs is not None or isinstance(target, Modes)
    reads = max((2 * row.irrep.level for row, weight in zip(bare.rows, bare.weights, strict=True) if weight), default=0)
    at = points(test_source, arch.length, arch.columns, reads if pure else arch.length, samples, rng)
    size = len(bare.rows) + 1
    form = np.zeros((size, size))
    step = max(1, _STEP // (size * bare.outputs))
    for start in range(0, len(at.x), step):
        x, weights = at.x[start : start + step], at.weights[start : start + step]
        values = target(x)
        halves = [bare.components(x, half) for half in range(2)]
        first, second = (np.concatenate([parts, (values - parts.sum(axis=1))[:, None]], axis=1) for parts in halves)
        form += np.einsum("n,nro,nso->rs", weights, first, second, optimize=True)
    return Shifted((form + form.T) / 2.0, _spread(bare, spectrum, test_source, samples, rng))


def _spread(bare: Content, spectrum: Spectrum, test_source: Source, samples: int, rng: np.random.Generator) -> np.ndarray:
    """v: the degeneracy times the mean square of one function of the multiplet, over the test law with its context shuffled."""
    arch, spread = spectrum.arch, np.zeros(len(bare.rows))
    for block in spectrum.blocks:
        rows = _rows_of(block, bare)
        tall = sum(height for height in block.irrep.conjugate.parts if height > 1) if block.irrep.level else 0
        at = points(test_source, arch.length, arch.columns, tall, samples, rng)
        x = at.x if at.exact else at.x.copy()
        if not at.exact:
            x[:, : arch.length] = rng.permuted(x[:, : arch.length], axis=1)
        step = max(1, _STEP // max(1, len(rows)))
        for start in range(0, len(x), step):
            phi = block.eigenfunctions(x[start : start + step])[:, : len(rows)]
            spread[rows] += at.weights[start : start + step] @ phi**2
    return spread * bare.degeneracies


@dataclasses.dataclass(frozen=True)
class Modes(Target):
    """A sum of eigenfunctions of one spectrum."""

    coefficients: Mapping[tuple[Partition, int], float] = dataclasses.field(default_factory=dict)
    """By irrep and copy."""
    spectrum: Spectrum | None = None

    def invariant_part(self, x: np.ndarray) -> np.ndarray:
        """The part of the trivial irrep, the only one with a mean, shape (n, 1)."""
        assert self.spectrum is not None
        total = np.zeros((len(x), 1))
        for block in self.spectrum.blocks:
            chosen = [(copy, value) for (irrep, copy), value in self.coefficients.items() if irrep == block.irrep and not irrep.level]
            for copy, value in chosen:
                total[:, 0] += value * block.eigenfunction(copy)(x)
        return total

    def belongs_to(self, spectrum: Spectrum) -> bool:
        """Whether the eigenfunctions are those of this spectrum."""
        return self.spectrum is spectrum


def modes(spectrum: Spectrum, rows: Iterable[tuple[Row, float]]) -> Modes:
    """The sum of the eigenfunctions of some rows with coefficients, each for the positions in their given order.

    >>> import specht
    >>> spec = specht.spectrum(specht.Architecture(vocab=2, length=8))
    >>> target = modes(spec, [(spec.rows[0], 1.0), (spec.rows[3], 0.5)])
    >>> target.name
    '[8] + 0.5 [7,1]'
    """
    chosen = list(rows)
    if not chosen:
        raise InputError("A target of eigenfunctions needs at least one row of the spectrum with its coefficient.")
    functions = [(spectrum.eigenfunction(row), float(value)) for row, value in chosen]
    coefficients = {(row.irrep, row.copy): float(value) for row, value in chosen}
    if len(coefficients) < len(chosen):
        raise InputError("A row of the spectrum is named twice: give each once, with its whole coefficient.")

    def total(x: np.ndarray) -> np.ndarray:
        return np.sum([value * function(x) for function, value in functions], axis=0)

    name = " + ".join(f"{'' if value == 1.0 else f'{value:.3g} '}{row.irrep}" for row, value in chosen)
    return Modes(name, total, coefficients=coefficients, spectrum=spectrum)


def leading_modes(spectrum: Spectrum, levels: Iterable[int] = (0, 1)) -> Modes:
    """The leading eigenfunction of each level in equal parts, mean square one; at level 0 the second, as the first is nearly constant."""
    rows = []
    for level in levels:
        of_level = [row for row in spectrum.truncated() if row.irrep.level == level]
        if of_level:
            rows.append(of_level[min(1, len(of_level) - 1) if level == 0 else 0])
    if not rows:
        raise InputError(f"The spectrum of {spectrum.arch} has no eigenvalue above rounding at levels {', '.join(map(str, levels))}.")
    return modes(spectrum, [(row, len(rows) ** -0.5) for row in rows])
