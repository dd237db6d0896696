"""specht spectrum: eigenvalues of the kernel by irrep against length, how fast they fall, and what that costs."""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, cast

from cyclopts import Group, Parameter
from pydantic import Field, model_validator

from specht.architecture import Architecture, Kind
from specht.commands.command import Command, Many, command_line
from specht.commands.task_flags import SourceFlags
from specht.errors import InputError
from specht.kernel import SAMPLED_FORMS, choose_form
from specht.lab import ArchitectureFlags, Config
from specht.trees import facts, tree

if TYPE_CHECKING:
    import xarray

    from specht.report import Page
    from specht.spectra import IrrepFamily

DEFAULT_LENGTHS = (4, 8, 16, 32, 64)


class ScalableArchitecture(ArchitectureFlags):
    """An architecture as flags, whose length may be left open."""

    length: int | None = None
    """A single length of the context, instead of --lengths."""

    def at(self, length: int) -> Architecture:
        """The architecture at one length."""
        return self.model_copy(update={"length": length}).architecture()

    @property
    def own_length(self) -> int | None:
        """The length that the flags or the notation say."""
        noted = self.arch is not None and any(word.startswith("L=") for word in self.arch.replace("|", " ").split())
        return self.architecture().length if noted or self.length is not None else None


class SpectrumConfig(Config):
    """The spectra of one architecture at several lengths.

    >>> SpectrumConfig(lengths=(4, 8), source=SourceFlags(source="mixture")).flags()
    ['--source', 'mixture', '--lengths', '4', '8']
    """

    architecture: Annotated[ScalableArchitecture, Parameter(name="*", group=Group("Architecture", sort_key=1))] = ScalableArchitecture()
    source: Annotated[SourceFlags, Parameter(name="*", group=Group("Source", sort_key=1))] = SourceFlags()
    lengths: Annotated[tuple[Annotated[int, Field(gt=0)], ...], Many] | None = None
    """Lengths of the context, shortest first; 4 8 16 32 64 unless something says otherwise."""
    kind: Kind = "nngp"
    """Which kernel: nngp for Bayesian inference, ntk for gradient flow."""
    method: Literal["auto", "linear", "two-tokens", "young", "rayleigh", "ritz"] = "auto"
    """Exact for linear models (linear), two tokens, or few tokens and positions (young); sampled lower bounds (rayleigh, ritz)."""
    max_level: Annotated[int, Field(ge=0)] | None = None
    """Largest level, the number of positions that a function singles out; all of them unless that is too much."""
    heads: Annotated[int, Field(gt=0)] = 1024
    """Sampled heads of softmax attention in each of several independent sets."""
    sequences: Annotated[int, Field(gt=1)] = 192
    """Sequences in each of 16 batches of the methods rayleigh and ritz, permuted ones counted."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """Seed of whatever is sampled, and of a mixture."""

    def architectures(self) -> list[Architecture]:
        """The architecture at each length."""
        lengths = self.lengths
        if lengths is None:
            own = self.architecture.own_length
            lengths = DEFAULT_LENGTHS if own is None else (own,)
        return [self.architecture.at(length) for length in lengths]

    def methods(self) -> list[str]:
        """The method at each length, in the words of `specht.spectrum`."""
        from specht.spectra import choose_method  # loads JAX, which help does not need

        if self.method != "auto":
            return [self.method.replace("-", " ")] * len(self.architectures())
        source = self.source.build(self.architectures()[0].vocab, self.seed)
        return [choose_method(arch, source, self.kind, self.max_level) for arch in self.architectures()]

    def identity(self) -> dict[str, Any]:
        architectures, methods = self.architectures(), self.methods()
        heads = any(choose_form(arch, self.kind) in SAMPLED_FORMS for arch in architectures)
        sequences = bool({"rayleigh", "ritz"} & set(methods))
        fields: dict[str, Any] = {"architecture": without_length(architectures[0]), "lengths": [arch.length for arch in architectures]}
        fields |= self.source.identity() | {"kind": self.kind, "methods": methods}
        fields |= {"max_level": self.max_level} if self.max_level is not None else {}
        fields |= ({"heads": self.heads} if heads else {}) | ({"sequences": self.sequences} if sequences else {})
        return fields | ({"seed": self.seed} if heads or sequences or self.source.is_drawn else {})

    @model_validator(mode="after")
    def _lengths_are_said_once_and_increase(self) -> Self:
        if self.lengths is None:
            return self
        lengths = " ".join(map(str, self.lengths))
        if not self.lengths:
            raise InputError("--lengths is empty: write for example --lengths 4 8 16, or leave it out.")
        if self.architecture.length is not None:
            raise InputError(
                f"--length {self.architecture.length} and --lengths {lengths} both say how long the context is: give one of them."
            )
        if any(second <= first for first, second in itertools.pairwise(self.lengths)):
            raise InputError(f"--lengths must increase, got {lengths}: write each length once, shortest first.")
        return self


def without_length(arch: Architecture) -> str:
    """The notation of an architecture of any length.

    >>> without_length(Architecture(vocab=4, length=16))
    'V=4 | pos=learned(1.0) | linear/sqrt | linear | last'
    """
    return str(arch).replace(f" L={arch.length}", "", 1)


class SpectrumCommand(Command):
    """Eigenvalues of the kernel by irrep of the symmetric group, against length: what is learnt first, and how much later the rest.

    For example:

        specht spectrum
        specht spectrum --vocab 2 --activation erf --s-w 0.5 --lengths 8 16 32
        specht spectrum --preset softmax --lengths 8 16 32 --max-level 1
        specht spectrum --source graded --epsilon 0.2 --method rayleigh
        specht spectrum --vocab 2 --length 8 --activation erf --json
    """

    name = "spectrum"
    config = SpectrumConfig
    csv = "lengths/rows"

    def compute(self, config: SpectrumConfig, progress: Callable[[int, int], None] | None = None) -> xarray.DataTree:
        """Spectra at all lengths, their exponents, and how far from exchangeable the source is."""
        architectures, methods = config.architectures(), config.methods()
        source = config.source.build(architectures[0].vocab, config.seed)

        from specht.progress import report, stages
        from specht.sequences import exchangeability_gap  # loads SciPy
        from specht.spectra import ROUNDING, Method, Spectrum, crossover, scaling, spectrum, spectrum_entry  # loads JAX

        cpu, wall = time.process_time(), time.perf_counter()
        spectra: list[Spectrum] = []
        ordered = architectures if not source.is_exchangeable else []
        parts = stages(progress, [1.0] * len(architectures) + [0.1] * len(ordered))
        # Longest first: what is too long is refused before anybody has waited for the others.
        for arch, way, part in zip(reversed(architectures), reversed(methods), parts, strict=False):
            report(part, 0, 1)
            asked: dict[str, Any] = config.model_dump(include={"kind", "max_level", "heads", "sequences", "seed"})
            spectra.insert(0, spectrum(arch, source, method=cast(Method, way), **asked, progress=part))
        gaps: dict[int, dict[str, Any]] = {}
        for arch, part in zip(ordered, parts[len(architectures) :], strict=False):
            gap = exchangeability_gap(source, arch.length, readout=arch.readout, seed=config.seed, progress=part)
            gaps[arch.length] = dataclasses.asdict(gap)
            report(part, 1, 1)
        families, turn = scaling(spectra), crossover(architectures[-1], source, config.kind)
        costs = {"cpu_seconds": time.process_time() - cpu, "wall_seconds": time.perf_counter() - wall}

        def entry(spectrum: Spectrum) -> dict[str, Any]:
            length, values = spectrum.arch.length, spectrum_entry(spectrum, families)
            # Rows have their method too, since people take this table out alone.
            values["rows"] = [{"method": spectrum.method} | row for row in values["rows"]]
            return values | {"gap": gaps.get(length), "place": turn.place(length) if turn is not None else None}

        return tree(
            {
                "architecture": without_length(architectures[-1]),
                "kind": config.kind,
                "source": {"name": config.source.source, "exchangeable": source.is_exchangeable},
                "rounding": ROUNDING,
                **costs,
                "lengths": [entry(spectrum) for spectrum in spectra],
                "exponents": [_exponents(family) for family in families if family.raw is not None],
                "crossover": turn.length if turn is not None else None,
            }
        )

    def page(self, data: xarray.DataTree) -> Page:
        from specht.commands.spectrum.page import spectrum_page

        return spectrum_page(facts(data))


def _exponents(family: IrrepFamily) -> dict[str, Any]:
    return {
        "family": family.name,
        "level": family.level,
        "expected": family.expected,
        **{name: dataclasses.asdict(getattr(family, name)) for name in ("raw", "normalised", "bound")},
        "lengths": [point.length for point in family.resolved],
        "mixed": family.is_mixed,
        "local": [dataclasses.asdict(local) for local in family.local],
    }


spectrum = command_line(SpectrumCommand)
