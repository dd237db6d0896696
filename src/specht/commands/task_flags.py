"""Where sequences come from and what is to be learnt, as flags that commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from specht.callables import digest_of_code, load_callable
from specht.errors import InputError, unknown_choice
from specht.lab import Config

if TYPE_CHECKING:
    from specht.sequences import Source, Target

MODES = "modes"
TARGET_NAMES = (MODES, "counts", "next-token", "level", "and", "or", "majority", "parity")
SUPPORTED = {MODES: 1, "level": 1, "and": 2, "or": 2, "majority": 3, "parity": 2}
"""Targets that read a number of positions, and how many unless told."""
TOKENED = ("counts", "level", "and", "or", "majority", "parity")


class SourceFlags(Config):
    """A source of sequences: independent uniform tokens, or a mixture of hidden Markov models drawn at random.

    >>> SourceFlags(source="graded", epsilon=0.0).build(vocab=3, seed=0).is_exchangeable
    True
    """

    source: Literal["uniform", "mixture", "graded", "generic"] = "uniform"
    """Law of the sequences: uniform tokens; or hidden Markov models, exchangeable (mixture), order-broken (graded) or any (generic)."""
    epsilon: Annotated[float, Field(ge=0, le=1)] = 0.1
    """How much the order of tokens matters in --source graded, from 0 to 1."""
    components: Annotated[int, Field(gt=0)] = 4
    """Hidden Markov models in a mixture."""
    hidden: Annotated[int, Field(gt=0)] = 2
    """Hidden states of each of them."""

    @property
    def is_drawn(self) -> bool:
        """Whether the law itself depends on the seed."""
        return self.source != "uniform"

    def build(self, vocab: int, seed: int) -> Source:
        """The source that the flags describe."""
        from specht.sequences import sources  # loads SciPy, which help does not need

        if not self.is_drawn:
            return sources.uniform(vocab)
        if self.source == "graded":
            return sources.graded_mixture(self.epsilon, vocab, self.hidden, self.components, seed)
        make = sources.default_mixture if self.source == "mixture" else sources.generic_mixture
        return make(vocab, self.hidden, self.components, seed)

    def identity(self) -> dict[str, Any]:
        return {"source": self.source} | {name: getattr(self, name) for name in self._numbers()}

    def _numbers(self) -> list[str]:
        """The numbers that this kind of source has."""
        return ["components", "hidden"] * self.is_drawn + ["epsilon"] * (self.source == "graded")

    @model_validator(mode="after")
    def _no_number_of_another_source(self) -> Self:
        owners = {"components": "mixture, graded or generic", "hidden": "mixture, graded or generic", "epsilon": "graded"}
        for name, owner in owners.items():
            if name in self.model_fields_set and name not in self._numbers():
                value = getattr(self, name)
                raise InputError(f"--{name} {value} says nothing about --source {self.source}: leave it out, or add --source {owner}.")
        return self


class TargetFlags(Config):
    """A target by name, or a function of one's own.

    >>> TargetFlags(target="parity", support=3).identity()
    {'target': 'parity', 'support': 3, 'token': 1}
    """

    target: str = MODES
    """What is to be learnt: modes (leading eigenfunctions), counts, next-token, level, and, or, majority, parity, or module:function."""
    support: Annotated[int, Field(ge=0)] | None = None
    """Positions that and, or, majority and parity read; the level of level; the highest level of modes."""
    token: Annotated[int, Field(ge=0)] = 1
    """The token that a target looks for."""

    @property
    def is_callable(self) -> bool:
        """Whether the target is a function of one's own."""
        return ":" in self.target

    @property
    def number(self) -> int:
        """The support, or what it is unless given."""
        return SUPPORTED.get(self.target, 0) if self.support is None else self.support

    def build(self, source: Source, length: int) -> Target:
        """The target, unless it is made of eigenfunctions, which only a spectrum has."""
        from specht.sequences import Setting, target

        if self.is_callable:
            return _own_target(self.target, load_callable(self.target), source, length)
        return target(self.target, Setting(source, length, self.number, self.token))

    def identity(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"target": self.target}
        fields |= {"support": self.number} if self.target in SUPPORTED else {}
        fields |= {"token": self.token} if self.target in TOKENED else {}
        return fields | ({"code": digest_of_code(self.target)} if self.is_callable else {})

    @model_validator(mode="after")
    def _names_a_target(self) -> Self:
        if not self.is_callable and self.target not in TARGET_NAMES:
            raise unknown_choice("target", self.target, [*TARGET_NAMES, "module:function"])
        owners = {"support": tuple(SUPPORTED), "token": TOKENED}
        for name, targets in owners.items():
            if name in self.model_fields_set and self.target not in targets and getattr(self, name) is not None:
                raise InputError(
                    f"--{name} {getattr(self, name)} says nothing about --target {self.target}: leave it out, or choose one of "
                    f"{', '.join(targets)}."
                )
        return self


def _own_target(name: str, function: Any, source: Source, length: int) -> Target:
    """A user's function as a target; it is tried on a few sequences, which tells how many outputs it has."""
    from specht.arrays import as_numpy
    from specht.sequences import Target

    tried = source.sample(0, 4, length)
    try:
        values = as_numpy(function(tried), "what it returns")
    except Exception as error:  # a user's function may raise anything
        raise InputError(f"{name} failed on tokens of shape {tried.shape} ({type(error).__name__}: {error}): check the function.") from None
    outputs = values.shape[1] if values.ndim == 2 else 1
    if not outputs:
        raise InputError(f"{name} gave an array of shape {values.shape} for {len(tried)} sequences: give at least one value for each.")
    target = Target(name, function, outputs, reads=_declared(name, function, length))
    target(tried)  # complains about shapes and numbers
    return target


def _declared(name: str, function: Any, length: int) -> tuple[int, ...] | None:
    """The positions that a function says it singles out, as an attribute `reads`; None where it says nothing."""
    reads = getattr(function, "reads", None)
    if reads is None:
        return None
    if not isinstance(reads, tuple | list) or not all(type(place) is int and 0 <= place < length for place in reads):
        raise InputError(f"{name}.reads must be positions from 0 to {length - 1}, for example (0, 1), got {reads!r}.")
    return tuple(reads)
