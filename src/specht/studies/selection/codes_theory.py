r"""Sparse token selection with random codes: the dynamics of attention over a pool of draws, and how large codes must be.

With random signs as codes, drawn anew at every step, the expected gradient keeps $W_{22} = w I_m$ and $V_1 = v I_d$: signs and order of the
coordinates of codes may be changed without changing their law. With products $c_i = \langle e_i, e_y \rangle$ and
$p = \mathrm{softmax}(w c)$,

$$ L = \frac d2 \mathrm E \sum_i \Big( v p_i - \frac{1_{i \in y}}q \Big)^2 , \qquad
   \partial_v L = d\, \mathrm E \sum_i p_i \Big( v p_i - \frac{1_{i \in y}}q \Big) , \qquad
   \partial_w L = d\, v\, \mathrm E \sum_i \Big( v p_i - \frac{1_{i \in y}}q \Big) p_i (c_i - \langle c \rangle_p) , $$

of which $v$ takes the $d$-th part in a step, being on a diagonal of $d$ entries, and $w$ the $m$-th. Expectations are means over a pool of
draws of codes; by symmetry the first $q$ positions are those that are chosen.

Codes of dimension $m$ tell $q$ positions of $T$ apart where $m$ is a multiple of $q \log T$: products off the set have variance about
$q/m$, and the largest of $T - q$ must stay below the one that chosen positions have.

If the query is a key too, $\langle e_y, e_y \rangle \approx q$ is one more product. It has no content, and so no part in the sums over $i$
but that in the softmax and in $\langle c \rangle_p$.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize, special

from specht.checks import finite_number, whole_number
from specht.errors import InputError
from specht.sequences import dual_code
from specht.stats import standard_error
from specht.studies.selection.theory import Dynamics, checked_rate, recorded_steps, records_of

_AT_ONCE = 2**24
"""Signs that are drawn at once."""
LIMIT = 0.5
"""Products off the set that the theory of codes asks for: at most this, beside one on the set."""
USUAL = 0.05
"""Share of draws that may exceed it."""
_DRAWS = 400
"""By which that share is measured."""


@dataclasses.dataclass(frozen=True, eq=False)
class Pool:
    """Products of codes with the code of a set, in many independent draws."""

    products: np.ndarray
    """(draws, length), the chosen positions first."""
    support: int
    code: int
    own: np.ndarray | None = None
    """Products of the code of the set with itself, (draws,), where the query is a key too."""

    @property
    def keys(self) -> np.ndarray:
        """Products with all that is attended to: positions, then the query if it is a key."""
        return self.products if self.own is None else np.concatenate([self.products, self.own[:, None]], axis=1)

    def attention(self, score: float) -> np.ndarray:
        """On the positions, (draws, length), where scores are so many times the products."""
        return special.softmax(score * self.keys, axis=1)[:, : self.products.shape[1]]

    @property
    def largest(self) -> np.ndarray:
        """The largest product in size with a position that is not chosen, draw by draw."""
        return np.abs(self.products[:, self.support :]).max(axis=1)


def draw_pool(
    rng: np.random.Generator, length: int, support: int, code: int, draws: int = 1500, query: str = "dual", *, sees_query: bool = False
) -> Pool:
    """Products of random codes with that of a set, dual or the sum of its members, and of that with itself if the query is a key.

    >>> pool = draw_pool(np.random.default_rng(0), length=50, support=3, code=64, draws=200)
    >>> pool.products[:, :3].round(9).min(), pool.products.shape
    (np.float64(1.0), (200, 50))
    """
    T, q, m = whole_number("length", length, 2), whole_number("support", support, 1, length - 1), whole_number("code", code, 1)
    if m < q and query == "dual":
        raise InputError(
            f"Codes of dimension {m} cannot tell {q} chosen positions apart: take a dimension of at least {q}, better many times."
        )
    inside = _signs(rng, (draws, m, q), m)
    if query == "dual":
        inside = _redrawn(rng, inside)
        asked = np.stack([dual_code(codes, np.arange(q)) for codes in inside])
    else:
        asked = inside.sum(axis=-1)
    parts = max(1, math.ceil(draws * m * (T - q) / _AT_ONCE))
    outside = [np.einsum("sm,smt->st", part, _signs(rng, (len(part), m, T - q), m)) for part in np.array_split(asked, parts)]
    own = np.square(asked).sum(axis=1) if sees_query else None
    return Pool(np.concatenate([np.einsum("sm,smq->sq", asked, inside), np.concatenate(outside)], axis=1), q, m, own)


def _signs(rng: np.random.Generator, shape: tuple[int, ...], code: int) -> np.ndarray:
    """Random signs over the root of the dimension; a byte holds eight of them."""
    count = math.prod(shape)
    bits = np.unpackbits(np.frombuffer(rng.bytes(-(-count // 8)), np.uint8), count=count).reshape(shape)
    return (2.0 * bits - 1.0) / math.sqrt(code)


def _redrawn(rng: np.random.Generator, inside: np.ndarray) -> np.ndarray:
    """Codes of chosen positions, drawn again where they are dependent, which happens in small dimensions only."""
    for _ in range(1000):
        gram = np.swapaxes(inside, 1, 2) @ inside
        dependent = np.linalg.eigvalsh(gram)[:, 0] < 1e-6
        if not dependent.any():
            return inside
        inside = inside.copy()
        inside[dependent] = _signs(rng, (int(dependent.sum()), *inside.shape[1:]), inside.shape[1])
    raise InputError(f"Codes of dimension {inside.shape[1]} hardly ever tell {inside.shape[2]} positions apart: take a larger dimension.")


def stochastic_dynamics(pool: Pool, dimension: int, *, learning_rate: float, steps: int, records: int = 100, groups: int = 1) -> Dynamics:
    """Gradient descent on the population loss with random codes drawn anew at every step, from zero: two numbers, and a pool of draws.

    Args:
        groups: parts of the pool that go their own way; their means have standard errors.
    """
    d, steps = whole_number("dimension", dimension, 1), whole_number("steps", steps, 1)
    rate, groups = checked_rate(learning_rate, pool.support), whole_number("groups", groups, 1, len(pool.products))
    size = len(pool.products) // groups
    at = recorded_steps(steps, records)
    import jax

    with jax.enable_x64(True):
        keys = pool.keys[: size * groups].reshape(groups, size, -1)
        curves = _descend()(keys, np.float64(rate), np.float64(d), np.float64(pool.code), at, pool.support, pool.products.shape[1])
        score, value, loss = (np.asarray(part) for part in curves)  # (groups, records)
    errors = [standard_error(part) if groups > 1 else None for part in (score, value, loss)]
    return Dynamics(at, score.mean(axis=0), value.mean(axis=0), loss.mean(axis=0), *errors)


class Loss(NamedTuple):
    """A mean over a pool of draws."""

    mean: float
    stderr: float


def pool_loss(pool: Pool, dimension: int, score: float, value: float) -> Loss:
    """The loss of attention with these w and v, at the length and with the codes of the pool, whatever they were trained on."""
    attention = pool.attention(score)
    target = np.where(np.arange(attention.shape[1]) < pool.support, 1.0 / pool.support, 0.0)
    losses = dimension / 2 * np.square(value * attention - target).sum(axis=1)
    return Loss(float(losses.mean()), float(standard_error(losses)))


class Reach(NamedTuple):
    """What attention can do with codes of some dimension."""

    share: float
    """Least loss, as a share of that of the predictor zero, over all w and v."""
    score: float
    """The w that reaches it."""


def best_share(pool: Pool) -> Reach:
    """The loss to which gradient descent goes with stochastic codes: the least over w and v, as a share of the trivial one."""
    q = pool.support

    def share(log_score: float) -> float:
        p = pool.attention(math.exp(log_score))
        return 1.0 - float(p[:, :q].sum(axis=1).mean()) ** 2 / (q * float(np.square(p).sum(axis=1).mean()))

    minimum: Any = optimize.minimize_scalar(share, bounds=(math.log(0.1), math.log(200.0)), method="bounded", options={"xatol": 1e-3})
    return Reach(max(float(minimum.fun), 0.0), math.exp(float(minimum.x)))


def smallest_code(length: int, support: int, share: float, *, draws: int = 500, seed: int = 0) -> int:
    """The smallest dimension of stochastic codes with which the loss gets below a share of the trivial one, by bisection over pools.

    >>> smallest_code(20, 2, 0.02, draws=200)
    20
    """
    share = finite_number("share", share, above=0.0, below=1.0)

    def reached(code: int) -> bool:
        return best_share(draw_pool(np.random.default_rng([seed, code]), length, support, code, draws)).share <= share

    return _smallest(reached, support)


def coherence(length: int, support: int, code: int, *, draws: int = _DRAWS, seed: int = 0) -> float:
    """How often the largest product off the set reaches one half."""
    rng = np.random.default_rng([seed, length, support, code])
    return float((draw_pool(rng, length, support, code, draws).largest >= LIMIT).mean())


def code_needed(length: int, support: int, *, share: float = USUAL, seed: int = 0) -> int:
    """The smallest dimension at which the largest product off the set reaches one half in no more than this share of draws.

    >>> code_needed(20, 2)
    72
    """
    return _smallest(lambda code: coherence(length, support, code, seed=seed) <= share, support)


def check_code(length: int, support: int, code: int, *, share: float = 0.95, seed: int = 0) -> None:
    """Refuse codes whose products off the set reach one half in almost all draws."""
    if code >= support and (reached := coherence(length, support, code, seed=seed)) <= share:
        return
    often = "always" if code < support else f"in {reached:.0%} of draws"
    raise InputError(
        f"Codes of dimension {code} are too small for {support} of {length} positions: the largest product off the set reaches 1/2 "
        f"{often}, beside 1 on the set. A dimension of {code_needed(length, support, seed=seed)} brings that down to {USUAL:.0%}."
    )


def _smallest(reached: Any, least: int) -> int:
    low, high = least, 2 * least
    while not reached(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


@functools.cache
def _descend() -> Any:
    import jax

    return jax.jit(_recursion, static_argnums=(5, 6))


def _recursion(keys: Any, rate: Any, d: Any, code: Any, at: Any, q: int, length: int) -> Any:
    import jax
    import jax.numpy as jnp

    place = jnp.arange(keys.shape[-1])
    target, has_content = jnp.where(place < q, 1.0 / q, 0.0), place < length

    def attention(c: Any, w: Any) -> Any:
        return jax.nn.softmax(w * c, axis=-1)

    def course(c: Any) -> Any:
        def step(_: Any, state: Any) -> Any:
            w, v = state
            p = attention(c, w)
            off = jnp.where(has_content[None], (v * p - target[None]) * p, 0.0)
            centred = c - (p * c).sum(axis=-1, keepdims=True)
            return w - rate * d / code * v * (off * centred).sum(axis=-1).mean(), v - rate * off.sum(axis=-1).mean()

        def shown(state: Any) -> Any:
            w, v = state
            away = jnp.where(has_content[None], v * attention(c, w) - target[None], 0.0)
            return w, v, d / 2 * jnp.square(away).sum(axis=-1).mean()

        return records_of(step, (jnp.zeros(()), jnp.zeros(())), at, shown)

    return jax.lax.map(course, keys)
