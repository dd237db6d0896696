"""Everything that decides what `specht probe` finds."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter
from pydantic import Field

from specht.architecture import Architecture
from specht.callables import digest_of_code, load_callable
from specht.errors import InputError, unknown_choice
from specht.lab.config import Config
from specht.presets import PRESETS, preset

DEFAULT_VOCAB, DEFAULT_LENGTH = 4, 8
_LARGEST = 2**30
"""Numbers of an embedding that are drawn at most."""


class WeightFlags(Config):
    """The network that a preset or a notation becomes."""

    width: Annotated[int, Field(gt=0, le=2**16)] = 64
    """Width of the network."""
    heads: Annotated[int, Field(gt=0, le=2**16)] = 4
    """Number of its heads."""
    head_size: Annotated[int, Field(gt=0, le=2**16)] = 16
    """Size of each of them."""
    weights: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """Seed of its random weights."""

    @property
    def size(self) -> tuple[int, int, int]:
        return self.width, self.heads, self.head_size


class ProbeFlags(Config):
    """How a model is probed."""

    network: Annotated[WeightFlags, Parameter(name="*", group=Group("Network of a preset or a notation", sort_key=1))] = WeightFlags()
    vocab: Annotated[int, Field(ge=2, lt=2**31)] | None = None
    """Number of tokens V, drawn uniformly from 0 to V - 1; 4 where nothing else says it."""
    length: Annotated[int, Field(ge=2, le=2**16)] | None = None
    """Number of context positions L, those that are permuted; 8 where nothing else says it."""
    readout: Literal["last", "mean"] | None = None
    """One more token, read at its own position (last, unless the model says otherwise), or none, and outputs are averaged (mean)."""
    sequences: Annotated[int, Field(ge=4, le=2**20)] = 32
    """Sequences that outputs are compared on; a difference that shows in few of them takes more."""
    permutations: Annotated[int, Field(gt=0, le=2**16)] = 64
    """Random permutations tried, of the context and in each group that should change nothing."""
    samples: Annotated[int, Field(ge=100)] = 400
    """Sequences drawn for the profiles."""
    max_level: Annotated[int, Field(ge=0, le=7)] = 3
    """Levels up to here are told apart in the profiles; one more doubles the work."""
    profile: bool = True
    """Whether to take the symmetry profile of every layer."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """Seed of sequences and permutations."""


class ProbeConfig(ProbeFlags):
    """The probe of one model: a preset, a line of notation, or `module:callable`.

    >>> ProbeConfig(model="transformer", length=6, profile=False).flags()
    ['transformer', '--length', '6', '--no-profile']
    """

    model: str

    def flags(self) -> list[str]:
        return [self.model, *super().flags()[:-2]]  # the model is the last field, and has no flag

    @property
    def is_own(self) -> bool:
        """Whether the model is one of the user's."""
        return ":" in self.model

    def architecture(self) -> Architecture:
        """The architecture that a preset or a notation names, and flags that say the same."""
        sizes = {"vocab": self.vocab or DEFAULT_VOCAB, "length": self.length or DEFAULT_LENGTH}
        if not self.model.strip():
            raise InputError("The name of the model is empty: name a preset, a line of notation, or module:callable.")
        if self.model in PRESETS:
            arch = preset(self.model, **sizes)
        elif any(sign in self.model for sign in " =/|"):
            words = self.model.replace("|", " ").split()
            missing = [f"{sign}={sizes[name]}" for sign, name in (("V", "vocab"), ("L", "length")) if not _has(words, sign)]
            arch = Architecture.parse(" ".join([self.model, *missing]))
        else:
            raise unknown_choice("model", self.model, [*PRESETS, "a line of notation", "module:callable"])
        own = {"vocab": arch.vocab, "length": arch.length, "readout": "mean" if arch.readout == "mean" else "last"}
        for name, value in own.items():
            given = getattr(self, name)
            if given not in (None, value):
                raise InputError(f"--{name} {given} contradicts {arch}, whose {name} is {value}: leave it out.")
        if arch.vocab * self.network.width > _LARGEST:
            raise InputError(f"{arch} has {arch.vocab} tokens of width {self.network.width}, too many numbers to draw: take fewer tokens.")
        if arch.vocab < 2 or arch.length < 2:
            raise InputError(f"{arch} has one token or one position, and nothing to exchange: write V and L of 2 or more.")
        return arch

    def settings(self) -> dict[str, Any]:
        """The arguments of `specht.probe`, the model included."""
        common = {"sequences": self.sequences, "permutations": self.permutations, "max_level": self.max_level, "seed": self.seed}
        common |= {"profile_samples": self.samples if self.profile else 0}
        if not self.is_own:
            return common | {"model": self.architecture(), "size": self.network.size, "weights": self.network.weights}
        sizes = {"vocab": self.vocab or DEFAULT_VOCAB, "length": self.length or DEFAULT_LENGTH, "readout": self.readout}
        return common | sizes | {"model": load_callable(self.model), "name": self.model}

    def identity(self) -> dict[str, Any]:
        fields = self.model_dump(include={"sequences", "permutations", "seed", "profile"})
        fields |= {"samples": self.samples, "max_level": self.max_level} if self.profile else {}
        if not self.is_own:
            return {"architecture": str(self.architecture())} | self.network.model_dump() | fields
        for name in WeightFlags.model_fields:
            if name in self.network.model_fields_set:
                flag = name.replace("_", "-")
                raise InputError(f"--{flag} {getattr(self.network, name)} says nothing about {self.model}: leave it out.")
        load_callable(self.model)
        sizes = {"vocab": self.vocab or DEFAULT_VOCAB, "length": self.length or DEFAULT_LENGTH, "readout": self.readout or "last"}
        return {"model": self.model, "code": digest_of_code(self.model)} | sizes | fields


def _has(words: list[str], sign: str) -> bool:
    return any(word.startswith(f"{sign}=") for word in words)
