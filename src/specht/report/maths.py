"""Formulas as HTML, so that a report needs no typesetting program."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

_RAISED = re.compile(r"([_^])(?:\{([^{}]*)\}|([^\s{}]))")


def formula(text: str) -> Markup:
    """Unicode mathematics with `_` and `^` for one character or a group in braces.

    >>> str(formula("K_{ab} = s_w² + x^2"))
    'K<sub>ab</sub> = s<sub>w</sub>² + x<sup>2</sup>'
    """

    def raised(match: re.Match[str]) -> str:
        tag = "sub" if match[1] == "_" else "sup"
        return f"<{tag}>{match[2] if match[2] is not None else match[3]}</{tag}>"

    return Markup(_RAISED.sub(raised, str(escape(text))))
