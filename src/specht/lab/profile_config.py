"""Everything that decides the profile of `specht profile`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter
from pydantic import Field

from specht.callables import digest_of_code, load_callable
from specht.errors import InputError
from specht.lab.config import Config
from specht.lab.source_config import SourceFlags
from specht.lab.target_config import SUPPORTED, TOKENED

if TYPE_CHECKING:
    from specht.sequences.law import Source


class ProfileFlags(Config):
    """How a function is profiled."""

    source: Annotated[SourceFlags, Parameter(name="*", group=Group("Source", sort_key=1))] = SourceFlags()
    vocab: Annotated[int, Field(gt=0)] = 2
    """Number of tokens V."""
    length: Annotated[int, Field(gt=0)] = 16
    """Number of context positions L, those that are shuffled."""
    readout: Literal["last", "mean"] = "last"
    """One more token that stays in place (last), or none (mean)."""
    support: Annotated[int, Field(ge=0)] | None = None
    """Positions that and, or, majority and parity read (2, of majority 3, unless given); the level of level (1)."""
    token: Annotated[int, Field(ge=0)] = 1
    """Token that a named target looks for."""
    samples: Annotated[int, Field(ge=100)] = 4000
    """Sequences drawn; errors fall as one over the root of it."""
    max_level: Annotated[int, Field(ge=0, le=7)] = 4
    """Levels up to here are told apart, higher ones are pooled; one more doubles the work."""
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.95
    """Of the intervals."""
    interval: Literal["likelihood", "bootstrap"] = "likelihood"
    """All weights that fit (likelihood), or percentiles over sequences drawn again (bootstrap), narrower and somewhat less reliable."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """Seed of sequences and shuffles, and of a mixture."""


class ProfileConfig(ProfileFlags):
    """The profile of one function: a named target, or `module:function`.

    >>> ProfileConfig(target="parity", support=3).flags()
    ['parity', '--support', '3']
    """

    target: str

    def flags(self) -> list[str]:
        return [self.target, *super().flags()[:-2]]  # the target is the last field, and has no flag

    def build_source(self) -> Source:
        return self.source.build(self.vocab, self.seed)

    def build_function(self, source: Source) -> tuple[str, Callable[..., Any]]:
        """The function, and what it is called in a sentence."""
        from specht.sequences.targets import Setting, target  # loads SciPy, which help does not need

        if self.is_own:
            return self.target, load_callable(self.target)
        found = target(self.target, Setting(source, self.length, self.number, self.token))
        return found.name, found

    def identity(self) -> dict[str, Any]:
        self._refuse_flags_of_another_target()
        fields = {
            name: getattr(self, name) for name in ("target", "vocab", "length", "readout", "samples", "max_level", "confidence", "seed")
        }
        fields |= {} if self.interval == "likelihood" else {"interval": self.interval}  # added later: old results keep their names
        fields |= {"support": self.number} if self.target in SUPPORTED else {}
        fields |= {"token": self.token} if self.target in TOKENED else {}
        return self.source.identity() | fields | ({"code": self._code()} if self.is_own else {})

    @property
    def is_own(self) -> bool:
        """Whether the function is one of the user's."""
        return ":" in self.target

    @property
    def number(self) -> int:
        """The support, or what it is unless given."""
        return SUPPORTED.get(self.target, 0) if self.support is None else self.support

    def _code(self) -> str:
        """Digest of the file that the function comes from: another function under the same name is another configuration."""
        load_callable(self.target)
        return digest_of_code(self.target)

    def _refuse_flags_of_another_target(self) -> None:
        known = self.is_own or self.target in (*TOKENED, "next-token")  # a name that is not gets a sentence of its own
        for name, targets in (("support", tuple(SUPPORTED)), ("token", TOKENED)):
            given = getattr(self, name)
            if known and self.target not in targets and given != type(self).model_fields[name].default:
                raise InputError(f"--{name} {given} says nothing about {self.target}: leave it out.")
