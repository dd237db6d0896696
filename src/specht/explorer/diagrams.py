"""Young diagrams as pictures: the labels of irreps, which say by their boxes below the first row what a function singles out."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from specht.groups import Partition

BOX = 10
SHOWN = 5
"""Boxes of the first row that are drawn; of a longer one the last is dotted."""
CANVAS = (SHOWN, 3)


def young_svg(shape: Partition, colour: str = "currentColor", canvas: tuple[int, int] | None = None) -> str:
    """The diagram of a partition as an SVG picture, as large as it is or in the middle of a canvas of so many columns and rows.

    >>> young_svg(Partition((3, 1))).count("<rect")
    4
    >>> young_svg(Partition((62, 2))).count("<rect")  # five boxes of the first row, two of the second
    7
    """
    columns, rows = _drawn(shape), len(shape.parts)
    across, down = (columns, rows) if canvas is None else (max(columns, canvas[0]), max(rows, canvas[1]))
    width, height, top = BOX * across + 2, BOX * down + 2, BOX * (rows - down) // 2
    # A figure may give it more room than it needs: then it stands at the left.
    place = f'viewBox="0 {top} {width} {height}" width="{width}" height="{height}" preserveAspectRatio="xMinYMid"'
    ink = f'fill="{colour}" fill-opacity="0.22" stroke="{colour}" stroke-width="1"'
    label = f'role="img" aria-label="Young diagram {shape}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {place} {label} {ink}>{"".join(_boxes(shape))}</svg>'


def _drawn(shape: Partition) -> int:
    """Boxes of the first row that are drawn."""
    return min(shape.parts[0], max(SHOWN, *shape.parts[1:], 0)) if shape.parts else 0


def _boxes(shape: Partition) -> Iterator[str]:
    for row, part in enumerate(shape.parts):
        drawn = part if row else _drawn(shape)
        for column in range(drawn):
            x, y = 1 + BOX * column, 1 + BOX * row
            dotted = ' stroke-dasharray="1.5 1.5" fill-opacity="0"' if not row and part > drawn and column == drawn - 1 else ""
            yield f'<rect x="{x}" y="{y}" width="{BOX}" height="{BOX}"{dotted}/>'


def young_image(shape: Partition, colour: str) -> str:
    """The same as an address that a figure can hold, on a canvas that all labels share, so that their boxes are of one size."""
    return "data:image/svg+xml;base64," + base64.b64encode(young_svg(shape, colour, CANVAS).encode()).decode()


def label_curves(figure: Any, ends: list[tuple[Partition, str, float]]) -> None:
    """Draw the diagrams of irreps beside the ends of their curves, on a figure whose vertical axis is logarithmic.

    Arguments:
        ends: of each curve the irrep, the colour, and the decimal logarithm of the last value.
    """
    if not ends:
        return
    heights = [end for *_, end in ends]
    span = max(max(heights) - min(heights), 1.0)
    step, places = span / 9.0, {}
    lowest = float("inf")
    for place, (_, _, end) in sorted(enumerate(ends), key=lambda item: -item[1][2]):  # from the top, each below the one before
        places[place] = lowest = min(end, lowest - step)
    for place, (shape, colour, _) in enumerate(ends):
        size = {"sizex": 0.2, "sizey": 0.9 * step, "sizing": "contain", "xanchor": "left", "yanchor": "middle"}
        figure.add_layout_image(source=young_image(shape, colour), xref="paper", yref="y", x=1.01, y=places[place], layer="above", **size)
    figure.update_layout(margin={"r": 64})


def legend(irreps: list[tuple[Partition, str]]) -> str:
    """Diagrams in a row with names and dimensions, in the colours of the curves."""
    entries = (f"<span>{young_svg(shape, colour)} {shape} <small>dimension {shape.dimension:,}</small></span>" for shape, colour in irreps)
    return f'<div class="specht diagrams">{"".join(entries)}</div>'
