r"""The kernel operator by brute force: every sequence is listed, so that exact methods have something to be compared with.

A kernel $k$ and a law $p$ of sequences make the operator $(K f)(x) = \sum_y k(x, y)\, p(y)\, f(y)$. It has the eigenvalues of the symmetric
matrix $\sqrt{p(x)}\, k(x, y) \sqrt{p(y)}$, one row for each of the $V^T$ sequences. When $k$ and $p$ are invariant under $S_L$,
eigenvalues form *multiplets*: one for each copy of an irrep, as many equal numbers as the irrep has dimensions.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple, get_args

import numpy as np

from specht.architecture import Kind, Readout
from specht.checks import whole_number
from specht.errors import InputError, unknown_choice
from specht.groups import Partition, isotypic_projectors
from specht.sequences import Source, action_on, generators, gram_matrix

LARGEST_STATES = 5000
"""Most sequences that are listed: a matrix of them takes 200 megabytes."""
_BLOCK = 2**22
"""Positions of pairs of sequences held at a time."""
_ROUNDING = 1e-9
"""Relative difference above which a matrix that should be symmetric, or invariant, is taken not to be."""
_COINCIDENCE = 1e-13
"""Relative difference (to the norm of the matrix) below which two eigenvalues are taken for equal."""


@dataclasses.dataclass(frozen=True, eq=False)
class DenseOperator:
    """A kernel operator on all sequences of a source."""

    states: np.ndarray
    """The sequences (states, columns), in lexicographic order."""
    probabilities: np.ndarray
    """Probability of each sequence (states,)."""
    gram: np.ndarray
    """The kernel of every pair (states, states)."""
    length: int
    """Number L of context positions."""

    @functools.cached_property
    def matrix(self) -> np.ndarray:
        """sqrt(p) k sqrt(p), which has the eigenvalues of the operator."""
        root = np.sqrt(self.probabilities)
        return root[:, None] * self.gram * root

    @property
    def trace(self) -> float:
        """E[k(x, x)], the sum of all eigenvalues."""
        return float(self.probabilities @ np.diag(self.gram))

    def eigenvalues(self) -> np.ndarray:
        """All of them (states,), the largest first."""
        return np.linalg.eigvalsh(self.matrix)[::-1]

    @property
    def contexts(self) -> np.ndarray:
        """The different contexts (contexts, length). In `states` each is repeated with every readout token that there is."""
        readouts = np.count_nonzero((self.states[:, : self.length] == self.states[0, : self.length]).all(axis=1))
        return self.states[::readouts, : self.length]

    def symmetrised(self) -> DenseOperator:
        r"""The operator with law and kernel averaged over the permutations of the context:

        $$ \bar p(x) = \frac1{L!} \sum_g p(g x) , \qquad \bar k(x, y) = \frac1{L!} \sum_g k(g x, g y) . $$

        Sequences are permutations of each other when they have the same counts, and pairs of them when they have the same contingency
        table. So the averages run over sequences or pairs with equal tables and equal readout tokens, instead of over permutations.
        """
        contexts = self.contexts
        readouts = len(self.states) // len(contexts)
        law, gram = self.probabilities.reshape(-1, readouts), self.gram.reshape(len(contexts), readouts, len(contexts), readouts)
        mean_law, mean_gram = np.empty_like(law), np.empty_like(gram)
        orbits, tables = _orbits(contexts), _tables(contexts)
        for left in range(readouts):
            mean_law[:, left] = _means(orbits, law[:, left])
            for right in range(readouts):
                mean_gram[:, left, :, right] = _means(tables, gram[:, left, :, right])
        square = mean_gram.reshape(self.gram.shape)
        return dataclasses.replace(self, probabilities=mean_law.ravel(), gram=(square + square.T) / 2)


class Multiplet(NamedTuple):
    """One copy of an irrep in the spectrum of an invariant operator."""

    irrep: Partition
    eigenvalue: float
    degeneracy: int
    """How often the eigenvalue occurs: the dimension of the irrep."""


class Splitting(NamedTuple):
    """A multiplet of the symmetrised operator, and how far the actual operator pulls it apart."""

    irrep: Partition
    eigenvalue: float
    splitting: float


def dense_operator(
    kernel: Any, source: Source, *, kind: Kind | str = "nngp", length: int | None = None, readout: Readout | str | None = None
) -> DenseOperator:
    """The operator of a kernel on all sequences of a source, up to 5000 of them.

    Arguments:
        kernel: an object with methods `nngp` and `ntk`, or a function of two batches of sequences.
        kind: which kernel of an object that has two.
        length, readout: what the sequences have; those of `kernel.arch` unless given; a kernel without one needs the length, and
            its readout is "last" unless given. The class token of readout "cls" is the network's own, and stands as 0 in `states`.

    >>> from specht.sequences.sources import uniform
    >>> agreement = lambda x, y: (x[:, None, :] == y[None, :, :]).mean(axis=-1)
    >>> operator = dense_operator(agreement, uniform(2), length=3)
    >>> operator.matrix.shape, operator.trace, operator.eigenvalues()[:5].round(3).tolist()
    ((16, 16), 1.0, [0.5, 0.125, 0.125, 0.125, 0.125])
    """
    length, readout = _length_and_readout(kernel, length, readout)
    drawn = length + (readout == "last")
    _check_size(source.vocab, drawn)
    states, probabilities = source.enumerate(drawn)
    if readout == "cls":
        states = np.pad(states, ((0, 0), (0, 1)))
    gram = gram_matrix(kernel, states, kind=kind)
    if not np.isfinite(gram).all():
        raise InputError(f"kernel returned {gram[~np.isfinite(gram)][0]} for a pair of sequences: give a kernel with finite entries.")
    difference = np.abs(gram - gram.T).max()
    if difference > _ROUNDING * np.abs(gram).max():
        raise InputError(f"kernel is not symmetric: k(x, y) and k(y, x) differ by up to {difference:.1e}, so it has no real spectrum.")
    return DenseOperator(states, probabilities, (gram + gram.T) / 2, length)


def multiplets(operator: DenseOperator) -> list[Multiplet]:
    """The eigenvalues of an invariant operator by irrep, one row for each copy, the largest eigenvalue first.

    The operator is restricted to all copies of one irrep at a time. There every eigenvalue occurs as often as the irrep has dimensions
    or a multiple of that, so equal ones need not be recognised: labels hold also where eigenvalues of different irreps coincide.

    >>> from specht.sequences.sources import iid
    >>> agreement = lambda x, y: (x[:, None, :] == y[None, :, :]).mean(axis=-1)
    >>> for irrep, eigenvalue, degeneracy in multiplets(dense_operator(agreement, iid([0.25, 0.75]), length=3, readout="mean"))[:3]:
    ...     print(irrep, round(eigenvalue, 3), degeneracy)
    [3] 0.655 1
    [2,1] 0.125 2
    [3] 0.095 1
    """
    _require_invariant(operator)
    rows = []
    for irrep, basis in _isotypic_bases(operator):
        eigenvalues = np.linalg.eigvalsh(basis.T @ operator.matrix @ basis)
        rows += [Multiplet(irrep, value, irrep.dimension) for value in _copies(irrep, eigenvalues)]
    return sorted(rows, key=lambda row: -row.eigenvalue)


def multiplet_splittings(
    kernel: Any, source: Source, *, kind: Kind | str = "nngp", length: int | None = None, readout: Readout | str | None = None
) -> list[Splitting]:
    """How far a source or a kernel that is not invariant splits each multiplet; arguments as for `dense_operator`.

    Multiplets are those of the symmetrised operator, the largest eigenvalue first. The splitting of one is the largest minus the
    smallest eigenvalue of the actual operator projected on its eigenspace: degenerate perturbation theory of first order, good while
    splittings are small against the distances between multiplets. Copies of an irrep with one eigenvalue between them share an
    eigenspace, and a splitting.

    >>> from specht.sequences.sources import markov
    >>> agreement = lambda x, y: (x[:, None, :] == y[None, :, :]).mean(axis=-1)
    >>> sticky = markov([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]])
    >>> for irrep, eigenvalue, splitting in multiplet_splittings(agreement, sticky, length=3, readout="mean")[:3]:
    ...     print(irrep, round(eigenvalue, 3), round(splitting, 3))
    [3] 0.5 0.0
    [3] 0.416 0.0
    [2,1] 0.042 0.04
    """
    operator = dense_operator(kernel, source, kind=kind, length=length, readout=readout)
    symmetric = operator.symmetrised()
    tolerance = _COINCIDENCE * float(np.linalg.norm(symmetric.matrix))
    rows = []
    for irrep, basis in _isotypic_bases(operator):
        eigenvalues, vectors = np.linalg.eigh(basis.T @ symmetric.matrix @ basis)
        copies, actual = _copies(irrep, eigenvalues), basis.T @ operator.matrix @ basis
        for first, last in _runs(copies, tolerance):
            space = vectors[:, first * irrep.dimension : last * irrep.dimension]
            splitting = float(np.ptp(np.linalg.eigvalsh(space.T @ actual @ space)))
            rows += [Splitting(irrep, value, splitting) for value in copies[first:last]]
    return sorted(rows, key=lambda row: -row.eigenvalue)


def _length_and_readout(kernel: Any, length: int | None, readout: str | None) -> tuple[int, str]:
    arch = getattr(kernel, "arch", None)
    if arch is not None:
        length, readout = arch.length if length is None else length, readout or arch.readout
    if length is None:
        raise InputError("A kernel that is a plain function does not say how long its sequences are: give length.")
    readout = readout or "last"
    if readout not in get_args(Readout):
        raise unknown_choice("readout", readout, get_args(Readout))
    return whole_number("length", length, 1), readout


def _check_size(vocab: int, columns: int) -> None:
    if vocab**columns > LARGEST_STATES:
        digits = math.log10(8) + 2 * columns * math.log10(vocab)  # the number itself may be too large for a float
        raise InputError(
            f"The dense operator lists every sequence, and a matrix of all {vocab}^{columns} would take "
            f"{10 ** (digits % 1):.1f}e{int(digits)} bytes; it stops at {LARGEST_STATES} sequences: "
            "use specht.spectrum, or a smaller vocab or length."
        )


def _require_invariant(operator: DenseOperator) -> None:
    matrix, action = operator.matrix, action_on(operator.states, operator.length)
    largest = np.abs(matrix).max()
    for permutation in generators(operator.length):
        images = action(permutation)
        change = np.abs(matrix[np.ix_(images, images)] - matrix).max()
        if change > _ROUNDING * largest:
            raise InputError(
                f"The operator changes by {change / largest:.1e} of its largest entry when context positions are permuted, so its "
                "eigenvalues form no multiplets: take those of operator.symmetrised(), or see multiplet_splittings."
            )


def _isotypic_bases(operator: DenseOperator) -> Iterator[tuple[Partition, np.ndarray]]:
    """Each irrep that occurs, with orthonormal functions (states, copies * dimension) that span all its copies.

    Contexts with the same counts are permuted among themselves, so the irreps of one such orbit are found at a time.
    """
    contexts = operator.contexts
    readouts = len(operator.states) // len(contexts)
    orbits = _orbits(contexts)
    pieces: dict[Partition, list[np.ndarray]] = defaultdict(list)
    for orbit in range(orbits.max() + 1):
        members = orbits == orbit
        projectors = isotypic_projectors(operator.length, action_on(contexts[members], operator.length))
        for irrep, projector in projectors.items():
            rank = round(np.trace(projector))
            piece = np.zeros((len(contexts), rank))
            piece[members] = np.linalg.eigh(projector)[1][:, -rank:]
            pieces[irrep].append(piece)
    for irrep in sorted(pieces, reverse=True):
        yield irrep, np.kron(np.hstack(pieces[irrep]), np.eye(readouts))


def _copies(irrep: Partition, eigenvalues: np.ndarray) -> list[float]:
    """One eigenvalue for each copy of the irrep, out of all in increasing order."""
    return eigenvalues.reshape(-1, irrep.dimension).mean(axis=1).tolist()


def _runs(values: list[float], tolerance: float) -> Iterator[tuple[int, int]]:
    """First and last (exclusive) of each run of increasing values that are equal within the tolerance."""
    ends = [place for place in range(1, len(values)) if values[place] - values[place - 1] > tolerance]
    return itertools.pairwise([0, *ends, len(values)])


def _orbits(contexts: np.ndarray) -> np.ndarray:
    """A number for each context, the same for those with the same counts."""
    return np.unique(np.sort(contexts, axis=1), axis=0, return_inverse=True)[1]


def _tables(contexts: np.ndarray) -> np.ndarray:
    """A number for each pair of contexts, the same for those with the same contingency table: their sorted pairs of tokens as digits."""
    count, length = contexts.shape
    vocab = int(contexts.max()) + 1
    digits = (vocab**2) ** np.arange(length)
    tables = np.empty((count, count), dtype=np.int64)
    step = max(1, _BLOCK // contexts.size)
    for start in range(0, count, step):
        pairs = contexts[start : start + step, None, :] * vocab + contexts[None, :, :]
        tables[start : start + step] = np.sort(pairs, axis=-1) @ digits
    return tables


def _means(classes: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Every value replaced by the mean of its class."""
    flat, counts = classes.ravel(), np.bincount(classes.ravel())
    any_of_class = np.zeros(len(counts))
    any_of_class[flat] = values.ravel()
    # Sums of differences: where all values of a class are equal, as they are for an invariant kernel, the mean is exact.
    sums = np.bincount(flat, values.ravel() - any_of_class[flat])
    return (any_of_class + sums / np.maximum(counts, 1))[classes]
