"""A result inside a notebook or another page: what it is, its table and its figure, with nothing from outside.

Each piece carries the plotting program, packed, so that it works by itself, and the first one on a page unpacks it for all: others find
it there. Where scripts do not run, the words and the table are still to be read.
"""

from __future__ import annotations

import base64
import functools
import gzip
import itertools
from typing import Any

from specht.errors import InputError
from specht.report.html import fill

ROWS = 12
"""Of a table that are shown."""
_numbers = itertools.count(1)


def fragment(result: Any) -> str:
    """The HTML of a result; where it has no figure, it says why."""
    frame = result.to_dataframe()
    rows = [[_word(value) for value in row] for row in frame.head(ROWS).itertuples(index=False)]
    table = {"lines": repr(result).splitlines(), "columns": frame.columns, "rows": rows, "more": len(frame) - ROWS}
    try:
        plot = result._plot()
    except InputError as reason:
        return fill("inline.html.jinja", **table, figure="", caption=reason)
    figure = {
        "figure": plot.figure.to_json().replace("<", "\\u003c"),  # no word of a figure may end the script
        "name": f"specht-{next(_numbers)}-{id(result):x}",
        "height": int(plot.figure.layout.height or 400),
        "program": _packed(),
    }
    return fill("inline.html.jinja", **table, **figure, caption=plot.caption)


def _word(value: Any) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.4g}"  # NaN stands for what there is not
    return str(value)


@functools.cache
def _packed() -> str:
    """The plotting program in a third of its size."""
    from plotly.offline import get_plotlyjs

    return base64.b64encode(gzip.compress(get_plotlyjs().encode(), mtime=0)).decode()
