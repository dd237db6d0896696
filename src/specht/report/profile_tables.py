"""The numbers of `specht profile` as text, for the terminal and for the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LEVEL_HEADER = ("level", "weight", "interval", "share", "interval of the share", "share of the variance")
SHAPE_HEADER = ("irrep", "level", "weight", "interval")


def subtitle(result: Mapping[str, Any]) -> str:
    """What was profiled, in one line."""
    return f"{result['target']}   V={result['vocab']} L={result['length']}, {result['source']['name']} source"


def level_rows(result: Mapping[str, Any]) -> list[list[str]]:
    """One row a level, one for those above if there are any, and the total."""
    entries = zip(result["levels"], result["weights"], result["low"], result["high"], result["shares"], strict=True)
    rows = [
        [
            str(level),
            number(weight),
            between(low, high),
            percent(share["value"]),
            between(share["low"], share["high"], percent),
            percent(part),
        ]
        for (level, weight, low, high, share), part in zip(entries, result["variance_shares"], strict=True)
    ]
    above, total, variance = result["above"], result["total"], result["variance"]
    if above["high"] > 0.0:
        shares = [percent(above["value"] / total), between(above["low"] / total, min(above["high"] / total, 1.0), percent)]
        last = percent(above["value"] / variance) if variance > 0.0 else percent(0.0)
        rows.append([f"above {result['levels'][-1]}", number(above["value"]), between(above["low"], above["high"]), *shares, last])
    return [*rows, ["total", number(total), "", "", "", ""]]


def shape_rows(result: Mapping[str, Any]) -> list[list[str]]:
    """One row an irrep."""
    return [
        [shape["irrep"], str(shape["level"]), number(shape["weight"]), between(shape["low"], shape["high"])] for shape in result["shapes"]
    ]


def number(value: float) -> str:
    """Four digits, and plain zero for what is nothing against a weight.

    >>> number(0.43441), number(3e-17)
    ('0.4344', '0')
    """
    return "0" if abs(value) < 1e-12 else f"{value:.4g}"


def percent(value: float) -> str:
    """A share to a tenth of a per cent.

    >>> percent(0.1234), percent(-1e-9)
    ('12.3 %', '0.0 %')
    """
    return f"{100 * value:z.1f} %"


def between(low: float, high: float, write=number) -> str:
    """An interval.

    >>> between(0.1, 0.25), between(0.1, 0.25, percent)
    ('0.1 to 0.25', '10.0 to 25.0 %')
    """
    return f"{write(low).removesuffix(' %')} to {write(high)}"


def remarks(result: Mapping[str, Any]) -> list[str]:
    """What has to be known to read the numbers, one sentence or two each."""
    order, square = result["order"], result["mean_square"]
    said = [
        f"Of the variance {percent(order['value'])} needs order ({between(order['low'], order['high'], percent)}). "
        f"Level 0 ignores order; the constant part of it, E[f]², is {number(square['value'])}.",
        f"Intervals hold with {100 * result['confidence']:g} % confidence, each by itself; "
        f"{result['samples']} sequences, {result['evaluations']} evaluations.",
    ]
    if result["shuffled"] and result["gap"] is not None:
        gap = result["gap"]
        value = f"{gap['value']:.2g}" if gap["exact"] else f"{gap['value']:.2g} ± {gap['stderr']:.1g}"
        said.append(
            f"The source is not exchangeable: permuting {result['length']} positions changes its law by a total variation of {value}. "
            "Sequences were shuffled first, so this is the profile under shuffled sequences."
        )
    return said
