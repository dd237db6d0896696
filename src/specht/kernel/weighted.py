r"""One block of linear attention when tokens and positions have variances of their own: counts, weighted.

With $K_{ab} = w_{x_a} [x_a = y_b] + p_a [a = b]$ and $r_a$ what a norm before attention multiplies column a by (one without a norm), the
sum over all pairs of columns that attention takes is three matrix products of weighted counts,

$$ \sum_{ab} K_{ab}^2 = \sum_v w_v^2 \sum_{a: x_a = v} r_a^2 \sum_{b: y_b = v} {r'_b}^2
   + 2 \sum_a p_a w_{x_a} [x_a = y_a]\, r_a^2 {r'_a}^2 + \sum_a p_a^2\, r_a^2 {r'_a}^2 , $$

where the second term counts once and without the squares, and the third not at all, if values do not see positions.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from specht.kernel.heads import Reading
from specht.kernel.model import Model
from specht.kernel.pairs import Sequences
from specht.kernel.products import outer, rows


def attention_sum(model: Model, x: Sequences, y: Sequences | None, reads: tuple[Reading, Reading]) -> Float[Array, "..."]:
    """The sum over pairs of columns, of all pairs of sequences (n, m), or of each sequence with itself (`y=None`)."""
    product, other = (rows, x) if y is None else (outer, y)
    symbols, tokens, positions = model.arch.symbols, model.by_token, model.by_position
    hot_x, hot_y = x.one_hot(symbols, jnp.float64), other.one_hot(symbols, jnp.float64)
    squares_x, squares_y = (_squares(read, batch) for read, batch in zip(reads, (x, other), strict=True))
    tally_x = jnp.einsum("nav,na->nv", hot_x, squares_x) * tokens[None, :] ** 2
    if y is None:  # pairs of columns of one sequence
        total = rows(tally_x, jnp.einsum("nav,na->nv", hot_x, squares_x))
    else:
        total = outer(tally_x, jnp.einsum("nav,na->nv", hot_y, squares_y))
    if reads[0].has_positions:
        in_values = reads[0].in_stream
        once_x, once_y = (squares_x, squares_y) if in_values else (jnp.sqrt(squares_x), jnp.sqrt(squares_y))
        weight = (2.0 if in_values else 1.0) * positions[:, None] * tokens[None, :]
        left = hot_x * (once_x[:, :, None] * weight[None])
        right = hot_y if reads[0].inverse is None else hot_y * once_y[:, :, None]
        total = total + product(left.reshape(len(left), -1), right.reshape(len(right), -1))
        if in_values:
            total = total + product(positions[None, :] ** 2 * squares_x, squares_y)
    if not model.arch.normalised:
        return total
    return total / (x.sizes() ** 2 if y is None else x.sizes()[:, None] * other.sizes()[None, :])


def _squares(read: Reading, batch: Sequences) -> Float[Array, "n columns"]:
    """r^2 of the real columns, and zero for the others."""
    visible = batch.visible.astype(jnp.float64)
    return visible if read.inverse is None else visible * read.inverse**2
