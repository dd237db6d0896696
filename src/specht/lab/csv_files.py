"""Tables as the text of a CSV file."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any


def csv_text(columns: Sequence[str], lines: Sequence[Mapping[str, Any]]) -> str:
    r"""Lines under the names of their columns.

    >>> csv_text(["n", "loss"], [{"n": 16, "loss": 0.5}])
    'n,loss\n16,0.5\n'
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()
