r"""Sparse token selection, exactly: the dynamics of attention with one-hot codes, and what fully connected networks cannot do.

Let one layer of attention (`specht.studies.selection.model`) be trained from zero by gradient descent on the population loss
$L = \frac12 \mathrm E \|f - \mathrm{STS}_q\|^2$. With one-hot codes every step keeps $W_{22} = \alpha (I - \mathbf 1 \mathbf 1^T / T)$
between codes and $V_1 = v I_d$ on contents, and all else zero: by the symmetry $x \to -x$ and that of permuting positions. With the
attention $A = q e^\alpha / (q e^\alpha + T - q)$ on the chosen tokens,

$$ L = \frac d2 \Big[ \frac{(vA - 1)^2}{q} + \frac{v^2 (1 - A)^2}{T - q} \Big] , \qquad
   v \leftarrow v - \eta \Big[ \frac{A (vA - 1)}{q} + \frac{v (1 - A)^2}{T - q} \Big] , \qquad
   \alpha \leftarrow \alpha - \frac{\eta d}{T - 1} A (1 - A) v \Big[ \frac{vA - 1}{q} - \frac{v (1 - A)}{T - q} \Big] . $$

First $v$ goes to one in a time $T/\eta$; then attention finds the tokens, while $v$ follows it; then $L \to (T - 1) / 4 \eta t$. While $v$
has the value that is best for $A$, time and loss are explicit functions of $A$, with $D = A^2 (T - q) + q (1 - A)^2$,

$$ L = \frac{d (1 - A)^2}{2 D} , \qquad
   t = \frac T\eta + \frac{T - 1}{\eta d (T - q)} \Big[ \frac{(T - q)^2 (2A - 1)}{2 (1 - A)^2} + 2 q (T - q) \log\frac{A}{1 - A}
   + \frac{q^2 (2A - 1)}{2 A^2} \Big]_{q/T}^{A} , $$

which is exact for long sequences. The paper proves a rate of $\log t / t$ (Wang, Wei, Hsu & Lee 2024, theorem 1); the recursion, its
phases and the width bound below were derived here. Lengths may be arrays in every function of this file, up to a million and more.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from specht.checks import finite_number, whole_number
from specht.errors import InputError


@dataclasses.dataclass(frozen=True, eq=False)
class Dynamics:
    """A course of gradient descent at some of its steps; the last axis of everything but `steps` is theirs."""

    steps: np.ndarray
    score: np.ndarray
    """α of one-hot codes, or w of random ones: by how much the score of chosen tokens is above, per unit of the product of codes."""
    value: np.ndarray
    """v, what attended contents are multiplied by."""
    loss: np.ndarray
    score_stderr: np.ndarray | None = None
    """Where the dynamics were averaged over draws of codes."""
    value_stderr: np.ndarray | None = None
    loss_stderr: np.ndarray | None = None


class Phases(NamedTuple):
    """When the three phases of one-hot dynamics end, in steps."""

    value: Any
    """v is at 1 - 1/e of where it goes while attention is uniform."""
    attention: Any
    """Half of the attention is on the chosen tokens."""
    tail: Any
    """The loss is within a tenth of its asymptote."""


def attention_mass(score: Any, length: Any, support: Any) -> np.ndarray:
    r"""The share of attention on the chosen tokens, $q e^\alpha / (q e^\alpha + T - q)$."""
    from scipy.special import expit

    q, rest = np.asarray(support, float), np.asarray(length, float) - support
    return expit(np.asarray(score) + np.log(q / rest))


def population_loss(score: Any, value: Any, length: Any, support: Any, dimension: Any) -> np.ndarray:
    """The loss of one-hot codes where scores are `score` higher on the chosen tokens and attended contents multiplied by `value`."""
    A, v = attention_mass(score, length, support), np.asarray(value)
    return dimension / 2 * ((v * A - 1) ** 2 / support + (v * (1 - A)) ** 2 / (np.asarray(length) - support))


def one_hot_dynamics(length: Any, support: int, dimension: int, *, learning_rate: float, steps: int, records: int = 100) -> Dynamics:
    """Gradient descent on the population loss with one-hot codes, from zero: two numbers, whatever the length.

    >>> dynamics = one_hot_dynamics([10, 1000], 2, 3, learning_rate=0.3, steps=3000, records=4)
    >>> dynamics.steps.tolist(), dynamics.loss.round(4).tolist()
    ([0, 1, 14, 208, 3000], [[0.75, 0.7411, 0.6619, 0.0966, 0.0027], [0.75, 0.75, 0.75, 0.7498, 0.7487]])
    """
    length, q, d = _sizes(length, support, dimension)
    rate, steps = checked_rate(learning_rate, q), whole_number("steps", steps, 1)
    at = recorded_steps(steps, records)
    import jax

    with jax.enable_x64(True):
        arrays = [np.asarray(array, np.float64) for array in np.broadcast_arrays(length, rate, q, d)]
        score, value = (np.moveaxis(np.asarray(course), 0, -1) for course in _descend()(*arrays, at))
    return Dynamics(at, score, value, population_loss(score, value, length[..., None], q, d))


def best_loss(mass: Any, length: Any, support: Any, dimension: Any) -> np.ndarray:
    """The loss with the v that is best for a share of attention on the chosen tokens."""
    A, rest = np.asarray(mass, float), np.asarray(length, float) - support
    return dimension / 2 * (1 - A) ** 2 / (A**2 * rest + support * (1 - A) ** 2)


def time_of_mass(mass: Any, length: Any, support: Any, dimension: Any, learning_rate: float) -> np.ndarray:
    """Steps until so much attention is on the chosen tokens, by the closed form for long sequences.

    >>> float(np.round(time_of_mass(0.5, 10**6, 3, 5, learning_rate=1.0) / 1e10, 3))
    20.002
    """
    T, q, A = np.asarray(length, float), np.asarray(support, float), np.asarray(mass, float)
    if np.any(q / T * (1 - 1e-12) > A) or np.any(A >= 1):
        raise InputError(f"mass must lie from q/T, where attention begins, to below one, got {mass!r}.")

    def passed(A: Any) -> Any:
        outer = (T - q) ** 2 * (2 * A - 1) / (2 * (1 - A) ** 2)
        return outer + 2 * q * (T - q) * np.log(A / (1 - A)) + q**2 * (2 * A - 1) / (2 * A**2)

    slow = (T - 1) / (learning_rate * np.asarray(dimension, float) * (T - q)) * (passed(A) - passed(q / T))
    return T / learning_rate + slow


def time_of_loss(loss: Any, length: Any, support: Any, dimension: Any, learning_rate: float) -> np.ndarray:
    """Steps until the loss is this small, by the same closed form."""
    T, q, r = np.asarray(length, float), np.asarray(support, float), 2 * np.asarray(loss, float) / dimension
    if np.any(r * q > (1 - q / T) * (1 + 1e-12)) or np.any(r <= 0):
        raise InputError(f"loss must lie between 0 and the least one of uniform attention, d(T - q)/2qT, got {loss!r}.")
    ratio = np.sqrt(r * (T - q) / (1 - r * q))  # (1 - A) / A
    return time_of_mass(1 / (1 + ratio), length, support, dimension, learning_rate)


def phases(length: Any, support: int, dimension: int, learning_rate: float) -> Phases:
    """When the phases end, by closed forms for long sequences.

    >>> [float(f"{time:.3g}") for time in phases(10**6, 3, 5, learning_rate=1.0)]
    [1000000.0, 200000000000.0, 1100000000000.0]
    """
    T, q, d = _sizes(length, support, dimension)
    rate = finite_number("learning_rate", learning_rate, above=0.0)
    setting = (T, q, d, rate)
    # The tail is reached where t L = (T - 1) / 4 eta to a tenth; t L falls towards it, so one bisection in log(1 - A) finds it.
    low, high = np.full(T.shape, -40.0), np.log(np.minimum(0.5, 1 - q / T))
    for _ in range(80):
        middle = (low + high) / 2
        mass = -np.expm1(middle)
        far = time_of_mass(mass, *setting) * best_loss(mass, T, q, d) > 1.1 * asymptote(1.0, T, rate)
        low, high = np.where(far, low, middle), np.where(far, middle, high)
    return Phases(T / rate, time_of_mass(np.maximum(0.5, q / T), *setting), time_of_mass(-np.expm1(low), *setting))


def asymptote(step: Any, length: Any, learning_rate: float) -> np.ndarray:
    r"""What the loss becomes in the end, $(T - 1) / 4 \eta t$, whatever the support and the dimension."""
    return (np.asarray(length, float) - 1) / (4 * learning_rate * np.asarray(step, float))


def width_bound(width: Any, length: Any, support: Any, dimension: Any) -> np.ndarray:
    r"""The least mean squared error of any function of the set and of `width` linear functions of the sequence: of any fully connected net.

    Given the set $y$ a network whose first layer has $m$ units knows $m$ linear functions of the Gaussian sequence. What they leave of the
    target, averaged over sets, is at least the sum of all but the $m$ largest eigenvalues of $\mathrm E[\mathbf 1_y \mathbf 1_y^T] \otimes
    I_d / q^2$: $1/T$, $d$ times, and $(T - q) / q T (T - 1)$, $(T - 1) d$ times. It is zero from $m = T d$ on.

    >>> width_bound([2, 6, 10], 10, 2, 1).round(3).tolist()
    [0.356, 0.178, 0.0]
    """
    m, T, q, d = (np.asarray(size, float) for size in (width, length, support, dimension))
    small = np.maximum(T * d - np.maximum(m, d), 0) * (T - q) / (q * T * (T - 1))
    return small + np.maximum(d - m, 0) / T


def width_needed(share: float, length: Any, support: Any, dimension: Any) -> np.ndarray:
    """The least width of the first layer whose bound is this share of the error of the predictor zero."""
    share = finite_number("share", share, at_least=0.0, below=1.0)
    T, q, d = (np.asarray(size, float) for size in (length, support, dimension))
    many = np.ceil(T * d - share * d * T * (T - 1) / (T - q) - 1e-9)
    return np.where(many >= d, np.maximum(many, 0), np.ceil(d * T * (1 - share) / q - 1e-9))


def recorded_steps(steps: int, records: int) -> np.ndarray:
    """Zero, then about so many steps evenly on a logarithmic scale."""
    grid = np.unique(np.rint(np.geomspace(1, steps, whole_number("records", records, 1) + (steps > 1 and records == 1))).astype(int))
    return np.concatenate([[0], grid])


def checked_rate(learning_rate: float, support: int) -> float:
    """A learning rate at which gradient descent can come to rest: the curvature along the values rises to 1/q."""
    rate, edge = finite_number("learning_rate", learning_rate, above=0.0), 2 * support
    if rate >= edge:
        raise InputError(
            f"At learning rate {rate:g} gradient descent does not come to rest: the curvature along the values rises to 1/q as attention "
            f"finds the tokens, so take a rate below 2q = {edge}."
        )
    return rate


def _sizes(length: Any, support: Any, dimension: Any) -> tuple[np.ndarray, int, int]:
    q, d = whole_number("support", support, 1), whole_number("dimension", dimension, 1)
    T = np.asarray(length, float)
    if T.size == 0 or not (q < T).all():
        raise InputError(f"length must be above the support {q}, got {_shown(length)}: select fewer positions.")
    return T, q, d


def _shown(values: Any) -> str:
    return ", ".join(f"{value:g}" for value in np.ravel(values)[:5])


@functools.cache
def _descend() -> Any:
    """The compiled recursion; made when it is first needed, so that closed forms load no JAX."""
    import jax

    return jax.jit(_recursion)


def _recursion(T: Any, rate: Any, q: Any, d: Any, at: Any) -> Any:
    import jax
    import jax.numpy as jnp

    def step(_: Any, state: Any) -> Any:
        score, v = state
        A = jax.nn.sigmoid(score + jnp.log(q / (T - q)))
        off, rest = (v * A - 1) / q, v * (1 - A) / (T - q)
        return score - rate * d / (T - 1) * A * (1 - A) * v * (off - rest), v - rate * (A * off + (1 - A) * rest)

    return records_of(step, (jnp.zeros_like(T), jnp.zeros_like(T)), at, lambda state: state)


def records_of(step: Callable[[Any, Any], Any], start: Any, at: Any, shown: Callable[[Any], Any]) -> Any:
    """What is shown of the state of a recursion at some of its steps."""
    import jax
    import jax.numpy as jnp

    def span(state: Any, ends: Any) -> Any:
        state = jax.lax.fori_loop(ends[0], ends[1], step, state)
        return state, shown(state)

    return jax.lax.scan(span, start, jnp.stack([jnp.concatenate([at[:1], at[:-1]]), at], axis=1))[1]
