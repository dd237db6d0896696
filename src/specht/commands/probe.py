"""specht probe: which permutations of the tokens a model ignores, layer by layer. Positions are counted from 1 here."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter
from pydantic import Field

from specht.architecture import Architecture
from specht.callables import digest_of_code, load_callable
from specht.commands.command import Command, Writer, command_line
from specht.errors import InputError, unknown_choice
from specht.files import csv_text
from specht.lab import Config
from specht.presets import PRESETS, preset
from specht.report import Column, Page, Step, Table, literal, percent
from specht.trees import along, facts, tree

if TYPE_CHECKING:
    import xarray

    from specht.probes import Probe
    from specht.progress import Progress
    from specht.report import Plot

OUTPUT_HEADER = ("layer", "position", "what the output there sees")
CSV_COLUMNS = ("layer", "output", "ignores", "invariant_under", "rotation", "reversal", "change", "spread", "residual", "inside")
MOST_ROWS, MOST_MATRICES = 60, 6
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


class ProbeConfig(Config):
    """The probe of one model: a preset, a line of notation, or `module:callable`.

    >>> ProbeConfig(model="transformer", length=6, profile=False).flags()
    ['transformer', '--length', '6', '--no-profile']
    """

    positional = "model"

    model: Annotated[str, Parameter(show_default=False)] = ""
    """A preset (specht kernel --list-presets shows them), a line of notation, or module:callable from what is installed or from the
    current folder: it takes tokens (n, columns) to (n, outputs) or (n, columns, width), or is a PyTorch module, or makes one."""
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
    """Levels up to here are measured one by one in the profiles; one more doubles the work."""
    profile: bool = True
    """Whether to take the symmetry profile of every layer."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """Seed of sequences and permutations."""

    @property
    def is_own(self) -> bool:
        """Whether the model is one of the user's."""
        return ":" in self.model

    @property
    def sizes(self) -> dict[str, int]:
        """Vocabulary and length where the model does not say them."""
        return {"vocab": self.vocab or 4, "length": self.length or 8}

    def architecture(self) -> Architecture:
        """The architecture that a preset or a notation names; flags may repeat what it says, but not contradict it."""
        if not self.model.strip():
            raise InputError("The name of the model is empty: name a preset, a line of notation, or module:callable.")
        if self.model in PRESETS:
            arch = preset(self.model, **self.sizes)
        elif any(sign in self.model for sign in " =/|"):
            words = self.model.replace("|", " ").split()
            sizes = {"V=": self.sizes["vocab"], "L=": self.sizes["length"]}
            missing = [f"{sign}{size}" for sign, size in sizes.items() if not any(word.startswith(sign) for word in words)]
            arch = Architecture.parse(" ".join([self.model, *missing]))
        else:
            raise unknown_choice("model", self.model, [*PRESETS, "a line of notation", "module:callable"])
        own = {"vocab": arch.vocab, "length": arch.length, "readout": "mean" if arch.readout == "mean" else "last"}
        for name, value in own.items():
            flag = getattr(self, name)
            if flag not in (None, value):
                raise InputError(f"--{name} {flag} contradicts {arch}, whose {name} is {value}: leave it out.")
        if arch.vocab * self.network.width > _LARGEST:
            raise InputError(f"{arch} has {arch.vocab} tokens of width {self.network.width}, too many numbers to draw: take fewer tokens.")
        if arch.vocab < 2 or arch.length < 2:
            raise InputError(f"{arch} has one token or one position, and nothing to exchange: write V and L of 2 or more.")
        return arch

    def settings(self) -> dict[str, Any]:
        """The arguments of `specht.probe`, the model included."""
        common = self.model_dump(include={"sequences", "permutations", "max_level", "seed"})
        common |= {"profile_samples": self.samples if self.profile else 0}
        if self.is_own:
            return common | self.sizes | {"readout": self.readout, "model": load_callable(self.model), "name": self.model}
        network = self.network
        size = (network.width, network.heads, network.head_size)
        return common | {"model": self.architecture(), "size": size, "weights": network.weights}

    def identity(self) -> dict[str, Any]:
        if not self.model:
            raise InputError(
                f"specht probe needs a model: one of {', '.join(PRESETS)}, a line of notation, or your own as module:callable."
            )
        fields = self.model_dump(include={"sequences", "permutations", "seed", "profile"})
        fields |= {"samples": self.samples, "max_level": self.max_level} if self.profile else {}
        if not self.is_own:
            return {"architecture": str(self.architecture())} | self.network.model_dump() | fields
        for name in WeightFlags.model_fields:
            if name in self.network.model_fields_set:
                flag = name.replace("_", "-")
                raise InputError(f"--{flag} {getattr(self.network, name)} says nothing about {self.model}: leave it out.")
        return {"model": self.model, "code": digest_of_code(self.model)} | self.sizes | {"readout": self.readout or "last"} | fields


class ProbeCommand(Command):
    """Does a model see the order of its tokens? Which permutations it ignores, at every position of every layer, and from where on it sees.

    For example:

        specht probe nope-causal-softmax
        specht probe transformer --length 16 --width 128
        specht probe "V=4 L=8 | pos=none | softmax/sqrt | gelu | causal"
        specht probe mine:model --vocab 1000 --length 32
        specht probe mine:Model --readout mean --json
    """

    name = "probe"
    config = ProbeConfig

    def compute(self, config: ProbeConfig, progress: Progress | None = None) -> xarray.DataTree:
        from specht.probes import probe  # loads SciPy, which help does not need

        settings = config.settings()
        cpu, wall = time.process_time(), time.perf_counter()
        result = probe(settings.pop("model"), **settings, progress=progress)
        costs = {"cpu_seconds": time.process_time() - cpu, "wall_seconds": time.perf_counter() - wall}
        return tree_of(result, costs)

    def page(self, data: xarray.DataTree) -> Page:
        result = facts(data)
        rows = output_rows(result)
        note = f"The first {MOST_ROWS} rows; the CSV file has all." if len(rows) == MOST_ROWS else ""
        tables = [layer_table(result)]
        tables += [Table(OUTPUT_HEADER, rows, note=note, title="Position by position", brief=False)] if rows else []
        return Page(
            title="Which permutations a model ignores",
            subtitle=subtitle(result),
            question="Does this model see the order of its tokens, and where in it does order appear?",
            answer=literal(" ".join([result.verdict, *result.remarks])),
            plots=[*_matrices(result), *_by_layer(result)],
            tables=tables,
            method=_method(result),
        )

    def more_files(self, data: xarray.DataTree) -> Mapping[str, tuple[str, Writer]]:
        from specht.lab import save_text

        return {"csv": ("probe.csv", lambda path: save_text(csv_text(CSV_COLUMNS, csv_lines(facts(data))), path))}


def tree_of(result: Probe, costs: dict[str, float]) -> xarray.DataTree:
    """What every layer makes of positions; the array "class" has the class of each input position for each output."""
    numbers, arrays = result.summary(), result.to_xarray()
    if numbers["profile"] is not None:
        numbers["profile"] = along("levels", numbers["profile"])
    names = [name for name in ("layer", "output", "position", "class", "level", "share") if name in arrays]
    return tree(numbers | costs | {name: (arrays[name].dims, arrays[name].values) for name in names})


def csv_lines(result: SimpleNamespace) -> list[dict[str, Any]]:
    """One line an output of every layer, and one for what the readout sees of it."""
    lines = []
    for layer in result.layers:
        for output, view in [*((str(view.position), view) for view in layer.positions), ("readout", layer.readout)]:
            line = {name: getattr(view, name, None) for name in CSV_COLUMNS}
            words = {"ignores": _words([view.ignores]), "invariant_under": _words(view.invariant_under)}
            lines.append(line | {"layer": layer.name, "output": output} | words)
    return lines


def _words(classes: Sequence[Sequence[int]]) -> str:
    return "; ".join(" ".join(map(str, positions)) for positions in classes)


def subtitle(result: SimpleNamespace) -> str:
    """What was probed, in one line."""
    if result.model.startswith("V="):  # a notation, which says it all
        return result.model
    return f"{result.model}   V={result.vocab} L={result.length}, readout {result.readout}"


def layer_table(result: SimpleNamespace) -> Table:
    """One row a layer, the output last."""

    def adjacency(layer: SimpleNamespace) -> str:
        return "" if layer.adjacency is None else f"{layer.adjacency.value:.2f} ± {layer.adjacency.stderr:.2f}"

    columns: dict[str, Column] = {
        "layer": "name",
        "what the readout sees": lambda layer: layer.readout.words,
        "residual": lambda layer: _fraction(layer.readout.residual),
        "level 0": lambda layer: "" if layer.profile is None else percent(1.0 - layer.profile.order.value),
        "adjacency": adjacency,
    }
    return Table.of(result.layers, columns, note=literal("\n".join(notes(result))), title="Layer by layer")


def output_rows(result: SimpleNamespace) -> list[list[str]]:
    """One row an output position of every layer, as many as a table bears."""
    rows = []
    for layer in result.layers:
        own = [[layer.name, str(view.position), view.words] for view in layer.positions]
        if own and all(words == f"reads {place} only" for _, place, words in own):  # an embedding
            own = [[layer.name, "all", "reads its own position only"]]
        rows += own
    return rows[:MOST_ROWS]


def notes(result: SimpleNamespace) -> list[str]:
    """What the columns of the table of layers are, one sentence or two each."""
    tolerance = result.tolerance / result.spread if result.spread else 0.0
    lines = [
        f"The residual is the largest change of a layer at the readout under permutations of the {result.length} context positions, "
        f"over its spread; up to {_fraction(tolerance)} it would be rounding ({result.precision}). "
        f"{result.sequences} sequences, {result.exchanges} exchanges, {result.evaluations} evaluations."
    ]
    if _some_layer_has(result, "profile"):
        lines.append("Level 0 is the share of the variance at the readout that ignores order.")
    if _some_layer_has(result, "adjacency"):
        lines.append("Adjacency is how often the nearer of two positions has the more similar state; 0.5 is chance.")
    return lines


def _fraction(value: float) -> str:
    from specht.probes import fraction

    return fraction(value, digits=1)


def _some_layer_has(result: SimpleNamespace, what: str) -> bool:
    return any(getattr(layer, what) is not None for layer in result.layers)


def _matrices(result: SimpleNamespace) -> Iterator[Plot]:
    """One picture for neighbouring layers that make the same of positions."""
    from specht.report import class_plot

    output = result.layers[-1]
    layers = [(layer.name, layer.positions) for layer in result.layers if layer.positions] or [(output.name, [output.readout])]
    groups = [list(group) for _, group in groupby(layers, key=lambda layer: [view.classes for view in layer[1]])]
    for number, group in enumerate(groups[:MOST_MATRICES]):
        names = group[0][0] if len(group) == 1 else f"{group[0][0]} to {group[-1][0]}"
        how = (
            "Down: where the output is. Across: where the token is. Exchanging the tokens at two positions of one bright colour does not "
            "change the output; a cross marks tokens that it does not read."
        )
        yield class_plot(group[0][1], title=f"What {names} makes of each position", caption="Colours as before." if number else how)


def _by_layer(result: SimpleNamespace) -> Iterator[Plot]:
    from specht.report import adjacency_plot, profile_plot, residual_plot

    yield residual_plot(result)
    if _some_layer_has(result, "profile"):
        yield profile_plot(result)
    if _some_layer_has(result, "adjacency"):
        caption = "How often the nearer of two positions on one side has the more similar state, with standard errors over sequences."
        yield adjacency_plot(result, caption=caption)


def _method(result: SimpleNamespace) -> list[Step]:
    steps = [
        Step(
            "Two positions are alike for an output if exchanging their tokens does not change it, for any sequence. That is an "
            "equivalence, because two exchanges make a third; the permutations within its classes A, B, … are the largest group of this "
            "kind that leaves the output unchanged. Only one position of each class has to be exchanged with the others:",
            ["(i k) = (i j)(j k)(i j),   S_A × S_B × … ⊆ Stab f"],
        ),
        Step(
            "Positions that are not read at all are found by replacing their tokens, and form one of the classes. The classes are "
            f"confirmed with {result.permutations} random members of each group, and the context as a whole with as many random "
            "permutations, its reversal and its rotation.",
        ),
        Step(
            "A change counts if it is larger than rounding makes it, with ε the precision of the output; what is shown is the change as a "
            f"fraction of the spread of the output over {result.sequences} random sequences in all orders that were tried:",
            ["max |f(g x) − f(x)| > ε^{2/3} max |f(x)|"],
        ),
    ]
    if _some_layer_has(result, "profile"):
        steps.append(Step("Profiles are those of specht profile, with uniform tokens, of what the readout sees of each layer."))
    return steps


probe = command_line(ProbeCommand)
