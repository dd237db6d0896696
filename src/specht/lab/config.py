"""One frozen model a command: its fields are the flags, the file and the name of the results.

The command line shows the docstring below a field as the help of the flag.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from specht.architecture import Architecture, Attention, Norm, Positions, Readout, Scaling
from specht.callables import digest_of_code
from specht.errors import InputError
from specht.presets import preset

DEFAULT_PRESET, DEFAULT_VOCAB, DEFAULT_LENGTH = "simplified", 4, 16


class Config(BaseModel):
    """The base of every configuration: nothing unknown or infinite gets in, nothing changes afterwards."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)
    positional: ClassVar[str] = ""
    """The field that the command line takes without a flag, if there is one."""

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        super().__pydantic_init_subclass__(**options)
        for name, field in cls.model_fields.items():
            # Cyclopts reads both; help breaks its lines itself.
            field.kw_only = name != cls.positional
            field.description = field.description and " ".join(field.description.split())

    def identity(self) -> dict[str, Any]:
        """What decides the numbers. Two configurations with the same identity give the same results."""
        return self.model_dump(mode="json")

    def digest(self) -> str:
        """Twelve hexadecimal digits that name the results of this configuration."""
        return digest_of_identity(self.identity())

    def flags(self) -> list[str]:
        """The flags that give this configuration on the command line; what is at its default is left out.

        >>> ArchitectureFlags(preset="lecun", causal=False, length=50).flags()
        ['--preset', 'lecun', '--length', '50', '--no-causal']
        """
        flags: list[str] = []
        for name, field in type(self).model_fields.items():
            value, flag = getattr(self, name), name.replace("_", "-")
            if name == self.positional:
                flags = [*(map(str, value) if isinstance(value, tuple | list) else [str(value)]), *flags]
            elif isinstance(value, Config):
                flags += value.flags()
            elif value == field.default:
                continue
            elif isinstance(value, bool):
                flags.append(f"--{flag}" if value else f"--no-{flag}")
            elif isinstance(value, tuple | list):
                flags += [f"--{flag}", *map(str, value)]
            else:
                flags += [f"--{flag}", str(value)]
        return flags


def digest_of_identity(identity: dict[str, Any]) -> str:
    """Twelve hexadecimal digits that name what decides the numbers of a result."""
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


class ArchitectureFlags(Config):
    """An architecture as flags: a preset or a line of notation, and any field of it changed.

    >>> str(ArchitectureFlags(preset="softmax", length=8).architecture())
    'V=4 L=8 | pos=learned(1.0) | softmax/sqrt | linear | last'
    """

    preset: str | None = None
    """A named architecture (specht kernel --list-presets shows them); simplified unless --arch is given."""
    arch: str | None = None
    """A line of notation instead of a preset, for example "V=4 L=16 | softmax/sqrt | erf"."""
    vocab: int | None = None
    """Number of tokens V; 4 where nothing else says it."""
    length: int | None = None
    """Number of context positions L; 16 where nothing else says it."""
    attention: Attention | None = None
    """How scores become weights."""
    scaling: Scaling | None = None
    """Scores over sqrt(d), over d with tied queries and keys, or over d untied."""
    normalised: bool | None = None
    """Divide linear attention by the number of visible positions."""
    activation: str | None = None
    """Nonlinearity of the dense layer: linear, erf, relu, gelu, tanh, sine, softplus, or a function of your own, module:function."""
    depth: int | None = None
    """Number of blocks."""
    causal: bool | None = None
    """Each position sees itself and what came before."""
    residual: bool | None = None
    """Add the input of attention and of the dense layer to their output."""
    norm: Norm | None = None
    """Layer norm before the branches, after them, or nowhere."""
    readout: Readout | None = None
    """The last column, a class symbol in the last column, or the mean over columns."""
    extra_linear: bool | None = None
    """One more linear layer before the readout."""
    positions: Positions | None = None
    """How the network knows where a token stands."""
    values_see_positions: bool | None = None
    """Whether positions enter the values too, or only queries and keys."""
    s_w: float | None = None
    """Variance of the token embedding; 1/V unless given."""
    s_p: float | None = None
    """Variance of the positional encoding."""
    s_1: float | None = None
    """Weight variance of the dense layer."""
    s_2: float | None = None
    """Weight variance of the readout."""

    def architecture(self) -> Architecture:
        """The architecture that the flags describe together."""
        if self.arch is not None and not self.arch.strip():
            raise InputError('--arch is empty: write a line of notation such as "V=4 L=16 | softmax/sqrt | erf", or leave it out.')
        if self.preset is not None and self.arch is not None:
            raise InputError(f"--preset {self.preset} and --arch {self.arch!r} both describe the architecture: give one of them.")
        changes = self.model_dump(exclude={"preset", "arch"}, exclude_none=True)
        if self.arch is None:
            sizes = {"vocab": DEFAULT_VOCAB, "length": DEFAULT_LENGTH}
            return preset(DEFAULT_PRESET if self.preset is None else self.preset, **(sizes | changes))
        base = Architecture.parse(_with_sizes(self.arch))
        if base.s_w == 1 / base.vocab:
            changes = {"s_w": None} | changes  # the notation left s_w at 1/V, so it follows a changed V
        return base.replace(**changes)

    def identity(self) -> dict[str, Any]:
        arch = self.architecture()
        return {"architecture": str(arch)} | ({"activation code": digest_of_code(arch.activation)} if ":" in arch.activation else {})


def _with_sizes(notation: str) -> str:
    words = notation.replace("|", " ").split()
    for symbol, size in (("V", DEFAULT_VOCAB), ("L", DEFAULT_LENGTH)):
        if not any(word.startswith(f"{symbol}=") for word in words):
            notation += f" {symbol}={size}"
    return notation
