"""The kernels as pure functions of their variances: they compose with `jax.jit`, `jax.grad` and `jax.vmap`.

>>> import jax
>>> from specht import Architecture, Variances, nngp
>>> arch, x = Architecture(vocab=2, length=3), [[0, 1, 1, 0], [1, 0, 0, 1]]
>>> nngp(arch, x).round(4).tolist()
[[15.0, 6.0], [6.0, 15.0]]
>>> with jax.enable_x64(True):
...     float(jax.grad(lambda s_p: nngp(arch, x, variances=Variances(0.5, s_p))[0, 1])(1.0))
14.0
"""

from __future__ import annotations

from functools import partial
from typing import Any, SupportsIndex

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from specht.architecture import Architecture, Kind, check_architecture
from specht.checks import whole_number
from specht.errors import explains_calls
from specht.kernel.evaluation import exact_kernel
from specht.kernel.features import HEADS_STEP, whole_groups
from specht.kernel.forms import Form, choose_form, refuse_many_positions
from specht.kernel.joint import joint_kernel
from specht.kernel.model import KernelModel, model_of
from specht.kernel.one_block import kernel_of_heads
from specht.kernel.pairs import Sequences, both

_ENTRIES = 2**25
"""Entries of a covariance of all columns (256 MiB) that are worked on at a time, position by position."""


@explains_calls
def nngp(
    arch: Architecture,
    x: Any,
    y: Any = None,
    *,
    variances: Any = None,
    mask: Any = None,
    mask_y: Any = None,
    heads: SupportsIndex = 4 * HEADS_STEP,
    seed: SupportsIndex = 0,
) -> Float[Array, "n m"]:
    """Covariance E[f(x) f(y)] of the infinitely wide network at initialisation, as a function of its variances.

    Arguments:
        x: tokens (n, columns); known numbers, while `variances` may be traced.
        y: tokens (m, columns); x itself when left out.
        variances: `Variances` in place of the architecture's own; tokens and positions may have one each.
        mask: True for the real tokens of `x`, to pad sequences of unequal length; `mask_y` likewise.
        heads: drawn for softmax attention at scaling 1/sqrt(d). The same seed draws the same random numbers whatever the variances, so
            that derivatives exist; `Kernel` gives the standard error.

    Returns:
        float64 JAX array (n, m). Variances that JAX traces in float32 are rounded before they arrive here: trace them inside
        `with jax.enable_x64(True)`.
    """
    return _evaluate("nngp", arch, x, y, variances, mask, mask_y, heads, seed)


@explains_calls
def ntk(
    arch: Architecture,
    x: Any,
    y: Any = None,
    *,
    variances: Any = None,
    mask: Any = None,
    mask_y: Any = None,
    heads: SupportsIndex = 4 * HEADS_STEP,
    seed: SupportsIndex = 0,
) -> Float[Array, "n m"]:
    """Tangent kernel, the inner product of the gradients of f(x) and f(y), as a function of the variances; arguments as for `nngp`."""
    return _evaluate("ntk", arch, x, y, variances, mask, mask_y, heads, seed)


def _evaluate(kind: Kind, arch: Architecture, x, y, variances, mask, mask_y, heads: SupportsIndex, seed: SupportsIndex) -> Array:
    check_architecture(arch)
    return kernel_of_batches(arch, *both(arch, x, y, mask, mask_y), variances=variances, kind=kind, heads=heads, seed=seed)


def kernel_of_batches(
    arch: Architecture,
    x: Sequences,
    y: Sequences | None = None,
    *,
    variances: Any = None,
    kind: Kind = "nngp",
    heads: SupportsIndex = 4 * HEADS_STEP,
    seed: SupportsIndex = 0,
    symmetrise: bool = True,
) -> Float[Array, "n m"]:
    """The kernel of batches that are checked already (`specht.kernel.sequences`), which may be traced like the variances.

    As an argument of a compiled function a batch is no constant of it, so that all batches of one shape share a compilation.

    Arguments:
        symmetrise: make the Gram of one batch symmetric to the last bit, which callers who read one half of it can spare.
    """
    seed = whole_number("seed", seed, at_least=0, at_most=2**31 - 1)
    chunks = whole_groups(whole_number("heads", heads, at_least=1)) // HEADS_STEP
    with jax.enable_x64(True):
        model = model_of(arch, variances)
        form = choose_form(arch, kind, of_each=model.of_each)
        if form == "joint":
            refuse_many_positions(arch, len(x.symbols) + (0 if y is None else len(y.symbols)))
        value = _compiled(model, x, y, jnp.asarray(seed), kind=kind, form=form, chunks=chunks)
        return (value + value.T) / 2.0 if y is None and symmetrise else value  # a matrix product need not round (i, j) and (j, i) alike


@partial(jax.jit, static_argnames=("kind", "form", "chunks"))
def _compiled(model: KernelModel, x: Sequences, y: Sequences | None, seed: Array, *, kind: Kind, form: Form, chunks: int) -> Array:
    model, x, y = jax.tree.map(jnp.asarray, (model, x, y))
    same = y is None
    right = x if y is None else y
    match form:
        case "positions":
            return _by_rows(model, x, right, kind=kind)
        case "heads":
            return kernel_of_heads(model, x, right, seed=seed, chunks=chunks, kind=kind)
        case "joint":
            n = len(x.symbols)
            batch = x if same else jax.tree.map(lambda *parts: jnp.concatenate(parts), x, right)
            value = joint_kernel(model, batch, seed=seed, heads=chunks * HEADS_STEP, kind=kind)
            return value if same else value[:n, n:]
        case _:
            return exact_kernel(model, x, right, form=form, kind=kind, same=same)


def _by_rows(model: KernelModel, x: Sequences, y: Sequences, *, kind: Kind) -> Array:
    """Position by position, as many rows at a time as fit; derivatives compute them again."""
    entries = len(y.symbols) * model.arch.columns**2
    step = max(1, _ENTRIES // entries)
    if step >= len(x.symbols):
        return exact_kernel(model, x, y, form="positions", kind=kind)

    @jax.checkpoint
    def row(model: KernelModel, one: Sequences) -> Array:
        return exact_kernel(model, jax.tree.map(lambda part: part[None], one), y, form="positions", kind=kind)[0]

    return jax.lax.map(partial(row, model), x, batch_size=int(np.clip(step, 1, len(x.symbols))))
