r"""One layer of softmax attention that selects tokens by the codes of their positions.

Tokens are $z_i = (x_i; e_i)$ with a code $e_i$ of dimension $m$, and the query $z_y = (0; e_y)$ holds the code of the set. With merged
matrices $W$ of keys and queries and $V$ of values, both of which are trained as a whole from wherever they begin,

$$ f(x, y) = V Z \,\mathrm{softmax}(Z^T W z_y) , \qquad W^* \propto \mathrm{diag}(0_d, I_m), \quad V^* = [I_d, 0] $$

(Wang, Wei, Hsu & Lee 2024). The query is no key unless it is asked for: as one it draws attention, since $\langle e_y, e_y \rangle$ is the
largest of all products. Codes are one-hot; random signs drawn once; or random signs drawn anew for every batch, which its samples share.

Inputs of training are rows of numbers: tokens, then the chosen positions, filled up with −1, then the number of the draw of codes, by
which samples that are evaluated in several blocks see several draws.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from specht.checks import whole_number
from specht.errors import InputError, unknown_choice
from specht.nn import EVALUATED_TOGETHER, Draw, Fixed
from specht.studies.selection.task import Selection

Codes = Literal["one-hot", "fixed", "stochastic"]
Query = Literal["dual", "sum"]
NOBODY = -1
"""In place of a position, where a set has fewer than there is room for."""
_RIDGE = 1e-5
"""Added to the diagonal, which is one, of products of codes."""
_Rows: TypeAlias = Float[Array, "n columns"]


class ReadTokens(NamedTuple):
    """What rows attend to, and how much."""

    tokens: Float[Array, "n length d"]
    codes: Float[Array, "code length"]
    asked: Float[Array, "n code"]
    """The code of each query."""
    attention: Float[Array, "n length"]
    on_query: Float[Array, " n"]
    """What is left of it for the query itself; none where that is no key."""


class SelectionModel(eqx.Module):
    """Attention with merged matrices; called with rows of numbers and a random key, from which stochastic codes are drawn."""

    keys: Float[Array, "stream stream"]
    """W: from queries to what keys are compared with."""
    values: Float[Array, "dimension stream"]
    """V: from what attention finds to the output."""
    signs: Int[Array, "code longest"] | None
    """Fixed codes, as whole numbers, which are not trained."""
    codes: str = eqx.field(static=True)
    query: str = eqx.field(static=True)
    room: int = eqx.field(static=True)
    """Positions that a set may have at most."""
    sees_query: bool = eqx.field(static=True)
    """Whether the query is a key too, beside the tokens."""

    @classmethod
    def init(
        cls,
        task: Selection,
        code: int | None = None,
        *,
        key: Any,
        codes: Codes | str = "stochastic",
        query: Query | str = "dual",
        scale: float = 0.0,
        longest: int | None = None,
        room: int | None = None,
        sees_query: bool = False,
    ) -> SelectionModel:
        """A model at the start: matrices zero, or normal with a standard deviation.

        >>> model = SelectionModel.init(Selection(6, 2, 3), 16, key=jax.random.key(0), scale=0.1)
        >>> model.keys.shape, model.values.shape
        ((19, 19), (3, 19))

        Args:
            code: dimension of the codes; the length for one-hot codes.
            scale: standard deviation of the entries.
            longest: most positions that fixed codes are drawn for; those of the task unless given.
            room: most positions that are selected, where that is more than the support of the task.
            sees_query: whether the query is a key too.
        """
        for name, value, choices in (("codes", codes, get_args(Codes)), ("query", query, get_args(Query))):
            if value not in choices:
                raise unknown_choice(name, value, choices)
        if codes == "one-hot" and code not in (None, task.length):
            raise InputError(f"One-hot codes of {task.length} positions have that dimension, got {code}: leave it out.")
        if codes != "one-hot" and code is None:
            raise InputError(f"{codes.capitalize()} codes need a dimension: give code, for example 64.")
        m = task.length if code is None else whole_number("code", code, 1)
        first, second, third = jax.random.split(key, 3)
        d, stream = task.dimension, task.dimension + m
        longest = task.length if longest is None else max(longest, task.length)
        return cls(
            keys=scale * jax.random.normal(first, (stream, stream)),
            values=scale * jax.random.normal(second, (d, stream)),
            signs=jax.random.rademacher(third, (m, longest), jnp.int8) if codes == "fixed" else None,
            codes=codes,
            query=query,
            room=task.support if room is None else max(room, task.support),
            sees_query=sees_query,
        )

    def __call__(self, rows: _Rows, key: Any = None) -> Float[Array, "n dimension"]:
        seen = self.attend(rows, key)
        d = len(self.values)
        contents = jnp.einsum("ntd,nt->nd", seen.tokens, seen.attention)
        places = seen.attention @ seen.codes.T
        if self.sees_query:
            places = places + seen.on_query[:, None] * seen.asked  # the query has no content
        return contents @ self.values[:, :d].T + places @ self.values[:, d:].T

    def attend(self, rows: _Rows, key: Any = None) -> ReadTokens:
        """What each row attends to."""
        d, length = len(self.values), self.length_of(rows)
        tokens = rows[:, : length * d].reshape(len(rows), length, d)
        chosen = rows[:, length * d : -1].astype(jnp.int32)
        codes = self.position_codes(length, key, rows[0, -1].astype(jnp.int32))
        asked = query_codes(codes, chosen, self.query if self.codes != "one-hot" else "sum")
        sought = asked @ self.keys[:, d:].T  # what the query has beside its code is zero
        scores = jnp.einsum("ntd,nd->nt", tokens, sought[:, :d]) + sought[:, d:] @ codes
        if not self.sees_query:
            return ReadTokens(tokens, codes, asked, jax.nn.softmax(scores, axis=-1), jnp.zeros(len(rows)))
        own = (sought[:, d:] * asked).sum(axis=-1, keepdims=True)
        attention = jax.nn.softmax(jnp.concatenate([scores, own], axis=-1), axis=-1)
        return ReadTokens(tokens, codes, asked, attention[:, :-1], attention[:, -1])

    def length_of(self, rows: Any) -> int:
        """How many tokens a row holds."""
        return (rows.shape[-1] - self.room - 1) // len(self.values)

    def position_codes(self, length: int, key: Any, draw: Any = 0) -> Float[Array, "code length"]:
        """Codes of so many positions."""
        m = self.keys.shape[0] - len(self.values)
        if self.codes == "one-hot":
            return jnp.eye(m)
        if self.signs is not None:
            signs = self.signs[:, :length]
        else:
            signs = jax.random.rademacher(jax.random.fold_in(key, draw), (m, length), jnp.int8)
        return signs.astype(jnp.float32) / np.float32(np.sqrt(m))

    @property
    def longest(self) -> int | None:
        """Most positions that there are codes for; stochastic ones are drawn for as many as it takes."""
        if self.codes == "one-hot":
            return self.keys.shape[0] - len(self.values)
        return None if self.signs is None else self.signs.shape[1]

    @property
    def multiplications(self) -> int:
        """For one sample, about: what a training is cut into slices by."""
        return self.keys.size * 4


def query_codes(codes: Float[Array, "code length"], chosen: Int[Array, "n room"], query: str = "dual") -> Float[Array, "n code"]:
    """The codes of sets: dual ones, with product one with every member, or the sum of those of the members."""
    member = chosen != NOBODY
    codes_of_members = jnp.where(member[..., None], codes.T[jnp.maximum(chosen, 0)], 0)  # (n, room, code)
    if query == "sum":
        return codes_of_members.sum(axis=1)
    room = chosen.shape[1]
    gram = jnp.einsum("nim,njm->nij", codes_of_members, codes_of_members)
    # Where nobody is, the diagonal is one and the right side zero, so that nothing comes of it; elsewhere it is a little more than it was,
    # for codes of small dimensions that happen to be the same.
    gram = gram + jnp.where(member[:, :, None], _RIDGE, 1) * jnp.eye(room)[None]
    return jnp.einsum("nim,ni->nm", codes_of_members, _solve(gram, member.astype(jnp.float32)))


def _solve(gram: Float[Array, "n room room"], right: Float[Array, "n room"]) -> Float[Array, "n room"]:
    """Small positive systems by elimination, all at once: a library call for each of them would take longer than the attention."""
    table = jnp.concatenate([gram, right[..., None]], axis=-1)
    for row in range(gram.shape[-1]):
        pivot = table[:, row] / table[:, row, row][:, None]
        table = (table - table[:, :, row][..., None] * pivot[:, None, :]).at[:, row].set(pivot)
    return table[..., -1]


def rows_of(tokens: np.ndarray, chosen: np.ndarray, room: int | None = None, draws: Any = 0) -> np.ndarray:
    """Sequences (n, T, d) and sets (n, q) as rows of numbers (n, columns), the inputs of a model with room for so many positions.

    >>> rows_of(np.ones((1, 2, 1)), np.array([[1]]), room=2).tolist()
    [[1.0, 1.0, 1.0, -1.0, 0.0]]
    """
    (n, q), numbers = chosen.shape, math.prod(tokens.shape[1:])
    if room is not None and q > room:
        raise InputError(f"The model has room for {room} chosen positions, and {q} were given: choose fewer, or train with more room.")
    rows = np.full((n, numbers + (q if room is None else room) + 1), NOBODY, np.float32)
    rows[:, :numbers], rows[:, numbers : numbers + q], rows[:, -1] = tokens.reshape(n, -1), chosen, draws
    return rows


def drawing(task: Selection, room: int | None = None) -> Draw:
    """Fresh samples of the task for training; each batch has one draw of codes."""

    def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        tokens, chosen = task.draw(rng, n)
        return rows_of(tokens, chosen, room), task.target(tokens, chosen)

    return draw


def held_out(task: Selection, n: int, seed: int, room: int | None = None) -> Fixed:
    """Samples to test with; every block of them that is evaluated together has a draw of codes of its own."""
    tokens, chosen = task.draw(np.random.default_rng([seed, task.length, task.support]), n)
    draws = 1 + np.arange(n) // EVALUATED_TOGETHER
    return Fixed(rows_of(tokens, chosen, room, draws), task.target(tokens, chosen))


def selection_forward(model: SelectionModel, rows: Any, key: Any) -> Any:
    """How `train` calls the model."""
    return model(rows, key)


def keys_cosine(model: SelectionModel) -> Float[Array, ""]:
    """Of W and its ground truth, the identity between codes."""
    d = len(model.values)
    return _cosine(model.keys, model.keys[d:, d:])


def values_cosine(model: SelectionModel) -> Float[Array, ""]:
    """Of V and its ground truth, the identity between contents."""
    return _cosine(model.values, model.values[:, : len(model.values)])


def off_block_share(model: SelectionModel) -> Float[Array, ""]:
    """The larger share of the squares of W or V that lies outside the block of codes, or of contents."""
    d = len(model.values)
    inside = (jnp.square(model.keys[d:, d:]).sum(), jnp.square(model.values[:, :d]).sum())
    whole = (jnp.square(matrix).sum() + np.float32(1e-30) for matrix in (model.keys, model.values))
    return jnp.maximum(*(1 - within / total for within, total in zip(inside, whole, strict=True)))


def _cosine(matrix: Any, block: Any) -> Any:
    """Of a matrix and the identity in one of its blocks."""
    norm = jnp.maximum(jnp.linalg.norm(matrix), 1e-30)  # before the first step there may be nothing
    return jnp.trace(block) / (norm * np.float32(np.sqrt(len(block))))
