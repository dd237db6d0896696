"""How any model is called: a function from tokens (n, columns) to layers, in float64 where that is possible.

A model is an `Architecture` (with random weights), a `Network`, a PyTorch module, an Equinox module or another callable pytree, a function
that uses JAX or NumPy, or a class or a function without arguments that makes one of these. Nothing is imported for a kind of model that is
not at hand: an object that belongs to PyTorch has brought PyTorch along.

Several ways of calling a model may work, and the first that does not raise is kept: in float64 first, in the precision of the model if its
code does not take float64; with tokens as a NumPy array first, as a JAX array if that is what it wants.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from specht.architecture import Architecture
from specht.checks import whole_number
from specht.errors import InputError, in_one_line, unknown_choice
from specht.probes.outputs import Layers, name_layers, read_layers
from specht.probes.torch_models import is_torch_module, torch_ways

Readout = Literal["last", "mean"]
Way = Callable[[np.ndarray], Any]
"""From tokens to whatever the model returns."""
Opening = Callable[[], Way]
"""Makes a way, which may cost a copy of the model."""

ROWS = 256
"""Sequences of a call at most."""
_CALL_BYTES = 2**26
"""Outputs of a call at most."""
SIZE = (64, 4, 16)
"""Width, heads and head size of the network that an architecture becomes."""


class Frame(NamedTuple):
    """What a model is fed with."""

    vocab: int
    length: int
    """Number L of context positions."""
    readout: Readout
    """last: one more column, whose token stays in place; mean: none, and outputs of all positions are averaged."""

    @property
    def columns(self) -> int:
        return self.length + (self.readout == "last")


class OpenedModel:
    """A model that can be called: `model.blocks(tokens)` gives the layers of all sequences, some sequences at a time."""

    def __init__(
        self,
        name: str,
        openings: Sequence[Opening],
        frame: Frame,
        *,
        row_bytes: int | None = None,
        notes: Sequence[str] = (),
        hint: str = "",
    ) -> None:
        """Nothing is opened or called yet.

        Arguments:
            openings: ways of calling the model, the best one first.
            row_bytes: size of the outputs of one sequence, where it is known before the first call; only of models in JAX.
            notes: what has to be known of the model to read its numbers.
            hint: what to do if it raises, as the end of a sentence.
        """
        self.name, self.frame, self.notes, self._hint, self._openings = name, frame, tuple(notes), hint, openings
        self._way: Way | None = None
        self._rows = 0 if row_bytes is None else _rows(row_bytes)
        self._padded = row_bytes is not None
        self._shapes: dict[str, tuple[int, ...]] | None = None
        self.fed = 0
        """How many sequences it was called with so far."""

    def blocks(self, tokens: np.ndarray) -> Iterator[tuple[slice, Layers]]:
        """The layers of all sequences, as many sequences at a time as fit."""
        if not self._rows:
            self._measure(tokens)
        for start in range(0, len(tokens), self._rows):
            part = tokens[start : start + self._rows]
            yield slice(start, start + len(part)), self._layers(part)

    def _measure(self, tokens: np.ndarray) -> None:
        """Try a few sequences, and see how large the outputs of one are."""
        few = tokens[: 2 + (self.frame.columns == 2)]  # not as many as columns, so that axes cannot be mistaken
        layers = self._layers(few)
        self._rows = _rows(sum(values.array.nbytes for values in layers.values()) // len(few))

    def _layers(self, tokens: np.ndarray) -> Layers:
        n = len(tokens)
        if self._padded and n < self._rows:  # a compiled program is made for one number of rows
            tokens = np.concatenate([tokens, np.repeat(tokens[:1], self._rows - n, axis=0)])
        self.fed += n
        returned = self._call(tokens)
        layers = read_layers(returned, len(tokens), self.frame.columns, self.name)
        shapes = {name: values.array.shape[1:] for name, values in layers.items()}
        self._shapes = self._shapes or shapes
        if shapes != self._shapes:
            raise InputError(
                f"{self.name} returned layers of other names or shapes for {len(tokens)} sequences than before, {_listed(shapes)} instead "
                f"of {_listed(self._shapes)}: a sequence must give the same numbers whichever others it comes with."
            )
        return {name: values._replace(array=values.array[:n]) for name, values in layers.items()}

    def _call(self, tokens: np.ndarray) -> Any:
        if self._way is not None:
            return self._try(self._way, tokens)
        errors: list[InputError] = []
        for opening in self._openings:
            try:
                way = self._open(opening)
                returned = self._try(way, tokens)
            except InputError as error:
                errors.append(error)
                continue
            self._way, self._padded = way, _holds_jax(returned)
            return returned
        raise errors[-1]  # of the plainest way

    def _open(self, opening: Opening) -> Way:
        try:
            return opening()
        except (Exception, SystemExit) as error:
            raise InputError(f"{self.name} cannot be copied ({in_one_line(error)}): give a function that calls it.") from error

    def _try(self, way: Way, tokens: np.ndarray) -> Any:
        try:
            return way(tokens.copy())  # which it may write into
        except InputError:
            raise
        except (Exception, SystemExit) as error:  # the model of somebody else may raise anything
            shape = f"tokens of shape {tokens.shape} from 0 to {self.frame.vocab - 1}"
            what = f"{self.name} raised {in_one_line(error)} for {shape}"
            raise InputError(f"{what}: it must take arrays (n, columns){self._hint}.") from error


def _listed(shapes: dict[str, tuple[int, ...]]) -> str:
    return ", ".join(f"{name} {shape}" for name, shape in shapes.items())


def _rows(row_bytes: int) -> int:
    return max(1, min(ROWS, _CALL_BYTES // max(row_bytes, 1)))


def open_model(
    model: Any,
    vocab: int | None = None,
    length: int | None = None,
    readout: str | None = None,
    *,
    size: tuple[int, int, int] | None = None,
    weights: int | None = None,
    name: str | None = None,
) -> OpenedModel:
    """The model, ready to be called; an architecture or a network knows its vocabulary, length and readout itself."""
    model = _made(model, name)
    if isinstance(model, Architecture):
        frame = _frame_of(model, vocab, length, readout)
        return _network_model(_drawn(model, size or SIZE, weights or 0), frame, name or str(model))
    for what, value in (("size", size), ("weights", weights)):
        if value is not None:
            raise InputError(f"{what}={value} is for an architecture, and {_called(model, name)} has weights of its own: leave it out.")
    if _is_network(model):
        return _network_model(model, _frame_of(model.arch, vocab, length, readout), name or str(model.arch))
    if vocab is None or length is None:
        raise InputError(f"{_called(model, name)} does not say how many tokens it takes and how long sequences are: give vocab and length.")
    if readout not in (None, *get_args(Readout)):
        raise unknown_choice("readout", readout, get_args(Readout))
    frame = Frame(whole_number("vocab", vocab, 2), whole_number("length", length, 2), "mean" if readout == "mean" else "last")
    if is_torch_module(model):
        return OpenedModel(_called(model, name), torch_ways(model, frame.columns), frame)
    if not callable(model):
        raise InputError(
            f"{_called(model, name)} cannot be called: give a function of tokens, a Network, an Architecture or a PyTorch module."
        )
    hint = ", so wrap a model of one sequence in jax.vmap" if _is_pytree(model) else ""
    return OpenedModel(_called(model, name), _plain_ways(model), frame, hint=hint)


def _called(model: Any, name: str | None) -> str:
    """What a model is called in a sentence."""
    return name or getattr(model, "__name__", None) or type(model).__name__


def _made(model: Any, name: str | None) -> Any:
    """What a class or a function without arguments makes, or the model itself."""
    if is_torch_module(model) or _is_network(model) or not callable(model):
        return model
    try:
        parameters = inspect.signature(model).parameters.values()
    except (TypeError, ValueError):  # some that are written in C have none
        return model
    kind = inspect.Parameter
    fixed = [parameter for parameter in parameters if parameter.kind not in (kind.VAR_POSITIONAL, kind.VAR_KEYWORD)]
    required = [parameter.name for parameter in fixed if parameter.default is kind.empty]
    takes_tokens = any(parameter.kind not in (kind.KEYWORD_ONLY, kind.VAR_KEYWORD) for parameter in parameters)
    if required and inspect.isclass(model):
        raise InputError(
            f"{_called(model, name)} is a class that needs {', '.join(required)}: give an object of it, or a function without arguments "
            "that makes one."
        )
    if required or (takes_tokens and not inspect.isclass(model)):
        return model
    try:
        made = model()
    except (Exception, SystemExit) as error:
        what = f"{_called(model, name)} takes no arguments and raised {in_one_line(error)}"
        raise InputError(f"{what} when it was to make a model.") from error
    if not (callable(made) or isinstance(made, Architecture)):
        raise InputError(
            f"{_called(model, name)} takes no arguments and made a {type(made).__name__}: let it take tokens, or make a model that does."
        )
    return made


# Networks of this package


def _is_network(model: Any) -> bool:
    home = sys.modules.get("specht.nn.network")
    return home is not None and isinstance(model, home.Network)


def _drawn(arch: Architecture, size: tuple[int, int, int], weights: int) -> Any:
    import jax

    from specht.nn import Network, Size

    return Network.init(arch, Size(*size), key=jax.random.key(whole_number("weights", weights, 0, 2**31 - 1)))


def _frame_of(arch: Architecture, vocab: int | None, length: int | None, readout: str | None) -> Frame:
    own = "mean" if arch.readout == "mean" else "last"
    for what, value, has in (("vocab", vocab, arch.vocab), ("length", length, arch.length), ("readout", readout, own)):
        if value is not None and value != has and (what, value) != ("readout", arch.readout):
            raise InputError(f"{what} {value} contradicts {arch}, whose {what} is {has}: leave it out.")
    return Frame(whole_number("vocab", arch.vocab, 2), whole_number("length", arch.length, 2), own)


def _network_model(network: Any, frame: Frame, name: str) -> OpenedModel:
    import jax
    import jax.numpy as jnp

    stochastic = network.arch.positions == "stochastic"

    def opening() -> Way:
        with jax.enable_x64(True):
            double, key = network.in_double(), jax.random.key(0) if stochastic else None

        def call(tokens: np.ndarray) -> list[Any]:
            with jax.enable_x64(True):
                return _compiled_layers(stochastic)(double, jnp.asarray(tokens), key)

        return call

    note = "Its positions are drawn anew at every call in use; here they are drawn once, and the same for all sequences."
    row_bytes = 8 * (network.arch.depth + 1) * frame.columns * network.embedding.raw.shape[1]
    return OpenedModel(name, [opening], frame, row_bytes=row_bytes, notes=[note] if stochastic else [])


@functools.cache
def _compiled_layers(stochastic: bool) -> Callable[..., list[Any]]:
    """The streams and the output of a network, compiled once for all networks of one shape."""
    import jax

    def layers(network: Any, tokens: Any, key: Any) -> list[Any]:
        return [*network.streams(tokens, key=key), network(tokens, key=key)]

    def alone(network: Any, tokens: Any, key: Any) -> list[Any]:
        """One sequence by itself, so that all have the same positions."""
        return [layer[0] for layer in layers(network, tokens[None], key)]

    return jax.jit(jax.vmap(alone, in_axes=(None, 0, None)) if stochastic else layers)


# Functions and pytrees


def _plain_ways(model: Callable[..., Any]) -> list[Opening]:
    """In float64 and as it is, with NumPy's tokens and with JAX's."""
    jax = sys.modules.get("jax")
    if jax is None:
        return [lambda: model]

    def opening(double: bool, arrays: bool) -> Way:
        context = functools.partial(jax.enable_x64, True) if double else contextlib.nullcontext
        with context():
            called = _in_double(model) if double else model

        def call(tokens: np.ndarray) -> Any:
            with context():
                return called(jax.numpy.asarray(tokens) if arrays else tokens)

        return call

    return [functools.partial(opening, double, arrays) for double, arrays in ((True, False), (True, True), (False, True), (False, False))]


def _in_double(model: Any) -> Any:
    """A copy of a pytree with its floating-point leaves in float64; a function that was given arguments is one of these."""
    jax = sys.modules["jax"]
    if isinstance(model, functools.partial):
        function, arguments, keywords = jax.tree.map(_double_leaf, (model.func, model.args, model.keywords))
        return functools.partial(function, *arguments, **keywords)
    return jax.tree.map(_double_leaf, model) if _is_pytree(model) else model


def _double_leaf(leaf: Any) -> Any:
    kind = getattr(getattr(leaf, "dtype", None), "kind", "")
    if not (hasattr(leaf, "astype") and hasattr(leaf, "shape")) or (kind not in "fc" and str(leaf.dtype) != "bfloat16"):
        return leaf
    return leaf.astype("complex128" if kind == "c" else "float64")


def _is_pytree(model: Any) -> bool:
    """Whether a model is a container of arrays to JAX, and no leaf."""
    jax = sys.modules.get("jax")
    return jax is not None and not jax.tree_util.all_leaves([model])


def _holds_jax(returned: Any) -> bool:
    jax = sys.modules.get("jax")
    return jax is not None and any(isinstance(part, jax.Array) for part in name_layers(returned).values())
