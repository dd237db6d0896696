"""Text of reports as Markdown, as it is read in a repository and on a site."""

from __future__ import annotations

import re

from specht.report.page import formula


def anchor(name: str) -> str:
    """The name of a claim as the target of a link.

    >>> anchor("infinity.f2-bound")
    'infinity-f2-bound'
    """
    return name.replace(".", "-")


def text(words: str) -> str:
    r"""Text and formulas in the notation of reports, for Markdown: nothing in them is taken for markup.

    >>> text("[L-1,1] | s_w")
    '\\[L-1,1\\] \\| s<sub>w</sub>'
    """
    return re.sub(r"([\\`*_\[\]|])", r"\\\1", str(formula(" ".join(words.split()))))
