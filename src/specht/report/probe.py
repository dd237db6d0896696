"""The report of `specht probe`: whether a model sees the order of its tokens, and where in it order appears."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from specht.report.figures import Plot
from specht.report.html import Report, Step, Table
from specht.report.maths import literal
from specht.report.probe_figures import adjacency_plot, class_plot, profile_plot, residual_plot
from specht.report.probe_tables import LAYER_HEADER, MOST_ROWS, OUTPUT_HEADER, layer_rows, output_rows, remarks, subtitle

MOST_MATRICES = 6


def probe_report(result: Mapping[str, Any], *, reproduce: str, made_with: Mapping[str, str]) -> Report:
    """The report on the result of one run."""
    rows = output_rows(result)
    note = f"The first {MOST_ROWS} rows; the CSV file has all." if len(rows) == MOST_ROWS else ""
    tables = [Table(LAYER_HEADER, layer_rows(result), note=literal(" ".join(remarks(result))), title="Layer by layer")]
    tables += [Table(OUTPUT_HEADER, rows, note=note, title="Position by position")] if rows else []
    return Report(
        title="Which permutations a model ignores",
        subtitle=subtitle(result),
        question="Does this model see the order of its tokens, and where in it does order appear?",
        answer=literal(" ".join([result["verdict"], *result["remarks"]])),
        plots=[*_matrices(result), *_by_layer(result)],
        tables=tables,
        method=_method(result),
        reproduce=reproduce,
        made_with=made_with,
    )


def _matrices(result: Mapping[str, Any]) -> Iterator[Plot]:
    """One picture for neighbouring layers that make the same of positions."""
    layers = [(layer["name"], layer["positions"]) for layer in result["layers"] if layer["positions"]]
    if not layers:
        layers = [(result["layers"][-1]["name"], [result["layers"][-1]["readout"]])]
    groups = [list(group) for _, group in groupby(layers, key=lambda layer: [view["classes"] for view in layer[1]])]
    for number, group in enumerate(groups[:MOST_MATRICES]):
        names = group[0][0] if len(group) == 1 else f"{group[0][0]} to {group[-1][0]}"
        how = (
            "Down: where the output is. Across: where the token is. Exchanging the tokens at two positions of one bright colour does not "
            "change the output; a cross marks tokens that it does not read."
        )
        yield class_plot(group[0][1], title=f"What {names} makes of each position", caption="Colours as before." if number else how)


def _by_layer(result: Mapping[str, Any]) -> Iterator[Plot]:
    yield residual_plot(
        result,
        title="How much permuting the context changes each layer",
        caption="Largest change at the readout over its spread. Zero is drawn at the lower edge.",
    )
    if any(layer["profile"] is not None for layer in result["layers"]):
        yield profile_plot(
            result,
            title="How much of each layer needs order",
            caption="The variance at the readout by level, under uniform tokens. Level 0 ignores order, level m singles out m positions.",
        )
    if any(layer["adjacency"] is not None for layer in result["layers"]):
        yield adjacency_plot(
            result,
            title="Whether nearby positions look alike",
            caption="How often the nearer of two positions on one side has the more similar state, with standard errors over sequences.",
        )


def _method(result: Mapping[str, Any]) -> list[Step]:
    steps = [
        Step(
            "Two positions are alike for an output if exchanging their tokens does not change it, for any sequence. That is an "
            "equivalence, because two exchanges make a third; the permutations within its classes A, B, … are the largest group of this "
            "kind that leaves the output unchanged. Only one position of each class has to be exchanged with the others:",
            ["(i k) = (i j)(j k)(i j),   S_A × S_B × … ⊆ Stab f"],
        ),
        Step(
            "Positions that are not read at all are found by replacing their tokens, and form one of the classes. The classes are "
            f"confirmed with {result['permutations']} random members of each group, and the context as a whole with as many random "
            "permutations, its reversal and its rotation.",
        ),
        Step(
            "A change counts if it is larger than rounding makes it, with ε the precision of the output; what is shown is the change as a "
            f"fraction of the spread of the output over {result['sequences']} random sequences in all orders that were tried:",
            ["max |f(g x) − f(x)| > ε^{2/3} max |f(x)|"],
        ),
    ]
    if any(layer["profile"] is not None for layer in result["layers"]):
        steps.append(Step("Profiles are those of specht profile, with uniform tokens, of what the readout sees of each layer."))
    return steps
