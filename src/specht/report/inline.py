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

from markupsafe import Markup, escape

from specht.errors import InputError

ROWS = 12
"""Of a table that are shown."""
_numbers = itertools.count(1)
_PROGRAM = """
window.spechtPlotly = window.spechtPlotly || (async () => {
  if (window.Plotly) return window.Plotly;
  const bytes = Uint8Array.from(atob("%s"), letter => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(stream).text();
  document.head.appendChild(script);
  return window.Plotly;
})();
"""
_DRAW = """
window.spechtPlotly.then(plotly => {
  const place = document.getElementById("%s"), figure = %s;
  if (!place || !plotly) return;
  place.textContent = "";
  plotly.newPlot(place, figure.data, figure.layout, {responsive: true, displaylogo: false, displayModeBar: false});
}).catch(reason => { document.getElementById("%s").textContent = "The figure could not be drawn: " + reason; });
"""
_TABLE = Markup(
    '<div style="overflow-x:auto"><table style="border-collapse:collapse"><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>'
)
_SMALL = Markup("<p><small>{}</small></p>")
_CELL = "padding:0.15em 0.7em;text-align:right"


def fragment(result: Any) -> str:
    """The HTML of a result."""
    words = Markup("<p>{}</p>").format(Markup("<br>").join(repr(result).splitlines()))
    parts = [Markup('<div class="specht-result">'), words, table(result.to_dataframe()), _figure(result), Markup("</div>")]
    return str(Markup("").join(parts))


def _figure(result: Any) -> Markup:
    """The main figure with the program that draws it, or why there is none."""
    try:
        plot = result._plot()
    except InputError as reason:
        return _SMALL.format(reason)
    name = f"specht-{next(_numbers)}-{id(result):x}"
    figure = plot.figure.to_json().replace("<", "\\u003c")  # no word of a figure may end the script
    place = Markup('<div id="{}" style="width:100%;min-height:{}px">The figure needs a browser that runs scripts.</div>')
    script = Markup("<script>{}{}</script>").format(Markup(_PROGRAM % _packed()), Markup(_DRAW % (name, figure, name)))
    return place.format(name, int(plot.figure.layout.height or 400)) + _SMALL.format(plot.caption) + script


def table(frame: Any) -> Markup:
    """The first rows of a data frame."""
    shown = frame.head(ROWS)
    header = Markup("").join(Markup('<th style="{}">{}</th>').format(_CELL, name) for name in shown.columns)
    rows = [
        Markup("<tr>{}</tr>").format(Markup("").join(Markup('<td style="{}">{}</td>').format(_CELL, _word(value)) for value in row))
        for row in shown.itertuples(index=False)
    ]
    more = f"and {len(frame) - ROWS} more rows" if len(frame) > ROWS else ""
    return _TABLE.format(header, Markup("").join(rows)) + _SMALL.format(more) * bool(more)


def _word(value: Any) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.4g}"  # NaN stands for what there is not
    return str(escape(value))


@functools.cache
def _packed() -> str:
    """The plotting program in a third of its size."""
    from plotly.offline import get_plotlyjs

    return base64.b64encode(gzip.compress(get_plotlyjs().encode(), mtime=0)).decode()
