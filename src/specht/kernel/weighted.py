r"""One block of linear attention when tokens and positions have variances of their own: counts, weighted.

With $K_{ab} = w_{x_a} [x_a = y_b] + p_a [a = b]$ and $r_a$ what a norm before attention multiplies column a by (one without a norm), the
sum over all pairs of columns that attention takes is made of weighted counts,

$$ \sum_{ab} K_{ab}^2 = \sum_v w_v^2 \sum_{a: x_a = v} r_a^2 \sum_{b: y_b = v} {r'_b}^2
   + 2 \sum_a p_a w_{x_a} [x_a = y_a]\, r_a^2 {r'_a}^2 + \sum_a p_a^2\, r_a^2 {r'_a}^2 , $$

where the second term counts once and without the squares, and the third not at all, if values do not see positions.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from specht.kernel.heads import ColumnStrengths
from specht.kernel.model import KernelModel
from specht.kernel.pairs import Sequences, matching_columns
from specht.kernel.products import outer, rows


def attention_sum(
    model: KernelModel, x: Sequences, y: Sequences | None, reads: tuple[ColumnStrengths, ColumnStrengths]
) -> Float[Array, "..."]:
    """The sum over pairs of columns, of all pairs of sequences (n, m), or of each sequence with itself (`y=None`)."""
    other, read = x if y is None else y, reads[0]
    product = rows if y is None else outer
    tokens, positions = model.by_token, model.by_position
    squares_x, squares_y = (_squares(of_batch, batch) for of_batch, batch in zip(reads, (x, other), strict=True))
    if read.inverse is None:
        tally_x, tally_y = (batch.tally(model.arch.symbols).astype(jnp.float64) for batch in (x, other))
    else:
        tally_x, tally_y = (_tally(model, batch, squares) for batch, squares in ((x, squares_x), (other, squares_y)))
    total = product(tokens[None, :] ** 2 * tally_x, tally_y)
    if read.has_positions:
        once_x, once_y = (squares_x, squares_y) if read.in_stream else (jnp.sqrt(squares_x), jnp.sqrt(squares_y))
        weights = (2.0 if read.in_stream else 1.0) * positions[None, :] * tokens[x.symbols] * once_x
        if y is None:
            total = total + rows(weights, once_y)  # every column matches itself
        else:
            total = total + matching_columns(x, y, weights, None if read.inverse is None else once_y)
        if read.in_stream:
            everywhere = jnp.all(x.visible) & jnp.all(other.visible) if read.inverse is None else False
            total = total + jax.lax.cond(
                everywhere,
                lambda: jnp.full(total.shape, jnp.sum(positions**2)),
                lambda: product(positions[None, :] ** 2 * squares_x, squares_y),
            )
    if not model.arch.normalised:
        return total
    return total / product(x.sizes()[:, None], other.sizes()[:, None])


def _tally(model: KernelModel, batch: Sequences, weights: Float[Array, "n columns"]) -> Float[Array, "n symbols"]:
    """How often each token occurs, with the weight of its column."""
    return jnp.einsum("nav,na->nv", batch.one_hot(model.arch.symbols, jnp.float64), weights)


def _squares(read: ColumnStrengths, batch: Sequences) -> Float[Array, "n columns"]:
    """r^2 of the real columns, and zero for the others."""
    visible = batch.visible.astype(jnp.float64)
    return visible if read.inverse is None else visible * read.inverse**2
