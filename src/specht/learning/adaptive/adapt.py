r"""What a transformer of finite width learns from samples, before training it.

At infinite width the kernel is fixed before it sees data. A network of width d moves its embedding towards the target: d counts as that
many observations of "nothing special" against N samples. `adapt` gives the posterior of such a network with most layers integrated out:
by sampling what is left (`method="sample"`), by short chains that begin at a minimum of its free energy (`method="fast"`), or at that
minimum alone (`method="saddle"`).
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from functools import partial
from typing import Any, Literal, TypedDict, Unpack, get_args, overload

import jax
import numpy as np
from jax.flatten_util import ravel_pytree

from specht.errors import InputError, explains_calls, unknown_choice
from specht.files import write_atomically
from specht.kernel import by_position, model_of
from specht.learning.adaptive.collapsed import Collapsed, Level, Weights
from specht.learning.adaptive.problem import MAX_ENTRIES, AdaptiveProblem, Widths, widths_of
from specht.learning.adaptive.saddle import LocalMinimum, Saddle, saddle
from specht.learning.adaptive.sampled import Adapted, Chains, LogPosterior, draws_of
from specht.nn import ChainState, begin, run
from specht.progress import Progress

Method = Literal["sample", "fast", "saddle"]
_AVERAGED = 5
"""Numbers of the step's adaptation that a checkpoint holds."""
SHORT: dict[str, Any] = {"chains": 4, "burn_in": 40, "samples": 60, "kept": 60}
"""Chains that begin at a minimum: what they have to find are the inner products of different vectors, which the minimum leaves out."""


class _AdaptSettings(TypedDict, total=False):
    width: Any
    ridge: Any
    mask: Any
    scale: Any
    chains: Chains | Any
    progress: Progress | None


@overload
def adapt(arch: Any, x: Any, y: Any, *, method: Literal["sample", "fast"] = "sample", **settings: Unpack[_AdaptSettings]) -> Adapted: ...
@overload
def adapt(arch: Any, x: Any, y: Any, *, method: Literal["saddle"], **settings: Unpack[_AdaptSettings]) -> Saddle: ...
@explains_calls
def adapt(
    arch: Any,
    x: Any,
    y: Any,
    *,
    width: Any = 64,
    ridge: Any = 0.1,
    method: Any = "sample",
    mask: Any = None,
    scale: Any = None,
    chains: Chains | Any = None,
    progress: Progress | None = None,
) -> Any:
    """The posterior of a transformer of finite width, given samples.

    >>> import specht
    >>> import numpy as np
    >>> x = np.random.default_rng(101).integers(0, 2, (48, 17))
    >>> adapted = adapt(specht.Architecture(vocab=2, length=16), x, 2.0 * x[:, 0] - 1.0, width=16, method="saddle")
    >>> adapted.singled_out.nonzero()[0].tolist(), adapted.symmetry
    ([0], 'S_15, of S_16')

    Arguments:
        arch: the network.
        x: tokens (N, columns).
        y: labels (N,) or (N, K). The prior has mean zero and variance one in units of `scale`, so give labels of that size.
        width: width of embedding and layers behind attention, with half as many heads of size 4; or `Widths`, for each part its own.
        ridge: variance of label noise, in units of the squared labels.
        method: "sample" is exact up to the error it states; "fast" is the same by short chains from the saddle; "saddle" is quicker still,
            for thousands of samples too, and too sure of itself where tokens and positions are not few beside the width.
        mask: True for the real tokens, to pad sequences of unequal length.
        scale: what the kernel is divided by: the mean of k(x, x) over the samples unless given.
        chains: how long to sample, what, with which seed, and to which file.
        progress: called as progress(done, total).
    """
    if method not in get_args(Method):
        raise unknown_choice("method", method, get_args(Method))
    problem, widths = AdaptiveProblem.of(arch, x, y, mask, ridge, scale), widths_of(width)
    if method == "saddle":
        return saddle(problem, widths, progress=progress)
    if chains is None:
        chains = Chains(**SHORT) if method == "fast" else Chains()
    if not isinstance(chains, Chains):
        raise InputError(f"chains must be a Chains(chains=, burn_in=, samples=, kept=), got {type(chains).__name__}.")
    level = level_of(problem, widths, chains.level)
    _refuse_large(problem)
    near = saddle(problem, widths).lowest if method == "fast" else None
    return _sampled(problem, widths, level, chains, near, progress)


def _sampled(
    problem: AdaptiveProblem, widths: Widths, level: Level, chains: Chains, near: LocalMinimum | None, progress: Progress | None
) -> Adapted:
    collapsed, state, keep = Collapsed(problem.arch, widths, level, problem.outputs), None, None
    if chains.checkpoint is not None:
        owner = _fingerprint(problem, widths, level, chains, near is not None)
        state, keep = _load(chains.checkpoint, owner), partial(_save, chains.checkpoint, owner)
    with jax.enable_x64(True), jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        posterior = LogPosterior(collapsed, model_of(problem.arch), problem.data(), draws_of(collapsed, chains.seed))
        state = begin(_start(collapsed, chains, near)) if state is None else state
        state = run(posterior, state, chains, save=keep, progress=progress)
    trace, acceptance = state.trace[:, chains.burn_in :], float(state.acceptance[chains.burn_in :].mean())
    return Adapted(problem, widths, level, chains, state.kept, trace, acceptance)


def _start(collapsed: Collapsed, chains: Chains, near: LocalMinimum | None) -> np.ndarray:
    """Weights of the prior, or near a minimum (chains, parameters)."""
    keys = jax.random.split(jax.random.fold_in(jax.random.key(chains.seed), 0), chains.chains)
    drawn = [collapsed.draw(key) for key in keys]
    if near is not None:
        drawn = [_moved(weights, near) for weights in drawn]
    return np.stack([np.asarray(ravel_pytree(weights)[0]) for weights in drawn])


def _moved(weights: Weights, near: LocalMinimum) -> Weights:
    """Weights of the prior with the variances of a minimum."""
    moved = {"tokens": np.sqrt(near.tokens)[:, None] * weights.tokens}
    if weights.positions is not None:
        moved["positions"] = np.sqrt(near.positions)[:, None] * weights.positions
    if weights.scales is not None and len(near.layers):
        moved["scales"] = weights.scales + np.log(near.layers)[:, None]
    return weights._replace(**moved)


def level_of(problem: AdaptiveProblem, widths: Widths, level: Any) -> Level:
    """The level that is asked for, if it is possible; without one, the first that leaves nothing out, or else the deepest."""
    arch = problem.arch
    one_block = not by_position(arch)
    possible: dict[Level, bool] = {
        "embedding": True,
        "layers": widths.hidden is not None,
        "heads": one_block and widths.heads is not None,
        "readout": one_block and None not in widths and arch.norm == "none" and not arch.residual and not arch.extra_linear,
    }
    if level is None:
        # Linear layers are a number, for one output. Anything else is exact only where it is sampled.
        one_number = arch.activation == "linear" and problem.outputs == 1
        deepest: tuple[Level, ...] = ("heads", "layers", "embedding") if one_number else ("readout", "heads", "layers", "embedding")
        return next(candidate for candidate in deepest if possible[candidate])
    if level not in possible:
        raise unknown_choice("level", level, possible)
    if not possible[level]:
        raise InputError(
            f"Level {level!r} is not possible for {arch} with {widths.describe()}: it needs finite sizes, and heads and readout need one "
            "block; leave level out, or give Widths with all sizes."
        )
    return level


def _refuse_large(problem: AdaptiveProblem) -> None:
    entries = (problem.rows * problem.arch.columns) ** 2
    if by_position(problem.arch) and entries > MAX_ENTRIES:
        most = int(MAX_ENTRIES**0.5) // problem.arch.columns
        raise InputError(
            f"{problem.arch} is followed position by position, and {problem.rows} sequences of {problem.arch.columns} columns have "
            f"{entries:.1e} pairs of them: give at most {most} sequences, or use one block with readout 'last'."
        )


def _fingerprint(problem: AdaptiveProblem, widths: Widths, level: str, chains: Chains, at_saddle: bool) -> str:
    """What a checkpoint belongs to: samples, network and settings."""
    digest = hashlib.sha256()
    for array in (problem.x, problem.visible, problem.y):
        digest.update(np.ascontiguousarray(array).tobytes())
    settings = (chains.chains, chains.burn_in, chains.samples, chains.kept, chains.seed)
    digest.update(repr((problem.arch, problem.ridge, problem.scale, tuple(widths), level, settings, at_saddle)).encode())
    return digest.hexdigest()


def _save(path: str | os.PathLike[str], owner: str, state: ChainState) -> None:
    """Write the state to a file, whole or not at all."""
    arrays: dict[str, Any] = {name: getattr(state, name) for name in ("position", "kept", "trace", "acceptance")}
    with write_atomically(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, owner=np.array(owner), done=np.array(state.done), averaging=np.array(state.averaging), **arrays)


def _load(path: str | os.PathLike[str], owner: str) -> ChainState | None:
    """The state in a file; None where there is no such file."""
    if not os.path.exists(path):
        return None
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        written_for = str(arrays["owner"])
        averaging = tuple(np.asarray(number) for number in arrays["averaging"])
        if len(averaging) != _AVERAGED:
            raise ValueError(f"{len(averaging)} numbers")
        state = ChainState(int(arrays["done"]), arrays["position"], averaging, arrays["kept"], arrays["trace"], arrays["acceptance"])
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        raise InputError(f"{os.fspath(path)} is no checkpoint of `adapt`, or is damaged: give another path, or delete the file.") from None
    if written_for != owner:
        raise InputError(
            f"{os.fspath(path)} belongs to other samples, another network or other settings: give another path, or delete the file."
        )
    return state
