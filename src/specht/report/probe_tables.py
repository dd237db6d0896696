"""What `specht probe` found as text, for the terminal and for the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specht.report.page import percent

LAYER_HEADER = ("layer", "what the readout sees", "residual", "level 0", "adjacency")
OUTPUT_HEADER = ("layer", "position", "what the output there sees")
MOST_ROWS = 60


def subtitle(result: Mapping[str, Any]) -> str:
    """What was probed, in one line."""
    if result["model"].startswith("V="):  # a notation, which says it all
        return result["model"]
    return f"{result['model']}   V={result['vocab']} L={result['length']}, readout {result['readout']}"


def layer_rows(result: Mapping[str, Any]) -> list[list[str]]:
    """One row a layer, the output last."""
    return [
        [
            layer["name"],
            layer["readout"]["words"],
            fraction(layer["readout"]["residual"]),
            "" if layer["profile"] is None else percent(1.0 - layer["profile"]["order"]["value"]),
            "" if layer["adjacency"] is None else f"{layer['adjacency']['value']:.2f} ± {layer['adjacency']['stderr']:.2f}",
        ]
        for layer in result["layers"]
    ]


def output_rows(result: Mapping[str, Any]) -> list[list[str]]:
    """One row an output position of every layer, as many as a table bears."""
    rows = []
    for layer in result["layers"]:
        own = [[layer["name"], str(view["position"]), view["words"]] for view in layer["positions"]]
        if own and all(words == f"reads {place} only" for _, place, words in own):  # an embedding
            own = [[layer["name"], "all", "reads its own position only"]]
        rows += own
    return rows[:MOST_ROWS]


def fraction(value: float) -> str:
    """A residual with two digits.

    >>> fraction(0.4321), fraction(4.04e-15), fraction(0.0)
    ('0.43', '4.0e-15', '0')
    """
    return f"{value:.2g}" if value >= 1e-3 or not value else f"{value:.1e}".replace("e-0", "e-")


def remarks(result: Mapping[str, Any]) -> list[str]:
    """What has to be known to read the numbers, one sentence or two each."""
    tolerance = result["tolerance"] / result["spread"] if result["spread"] else 0.0
    said = [
        f"The residual is the largest change of a layer at the readout under permutations of the {result['length']} context positions, "
        f"over its spread; up to {fraction(tolerance)} it would be rounding ({result['precision']}). "
        f"{result['sequences']} sequences, {result['exchanges']} exchanges, {result['evaluations']} evaluations."
    ]
    if any(layer["profile"] is not None for layer in result["layers"]):
        said.append("Level 0 is the share of the variance at the readout that ignores order.")
    if any(layer["adjacency"] is not None for layer in result["layers"]):
        said.append("Adjacency is how often the nearer of two positions has the more similar state; 0.5 is chance.")
    return [*said, *result["remarks"]]
