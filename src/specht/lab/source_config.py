"""Where sequences come from, as flags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from specht.errors import InputError
from specht.lab.config import Config

if TYPE_CHECKING:
    from specht.sequences.law import Source


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
                given = getattr(self, name)
                raise InputError(f"--{name} {given} says nothing about --source {self.source}: leave it out, or add --source {owner}.")
        return self
