"""Formulas as HTML, so that a report needs no typesetting program."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

_RAISED = re.compile(r"\\([_^])|([_^])(?:\{([^{}]*)\}|([^\s{}]))")


def formula(text: str) -> Markup:
    r"""Unicode mathematics with `_` and `^` for one character or a group in braces; after a backslash they stand for themselves.

    >>> str(formula(r"K_{ab} = s_w² + x^2 in my\_file"))
    'K<sub>ab</sub> = s<sub>w</sub>² + x<sup>2</sup> in my_file'
    """

    def raised(match: re.Match[str]) -> str:
        if match[1]:
            return match[1]
        tag = "sub" if match[2] == "_" else "sup"
        return f"<{tag}>{match[3] if match[3] is not None else match[4]}</{tag}>"

    return Markup(_RAISED.sub(raised, str(escape(text))))


def literal(text: str) -> str:
    r"""Text that `formula` leaves as it is, such as names of files.

    >>> str(formula(literal("my_file^2")))
    'my_file^2'
    """
    return re.sub(r"([_^])", r"\\\1", text)


def in_terminal(text: str) -> str:
    r"""The same formulas where nothing can be raised or lowered: braces go where a single word stands in them.

    >>> in_terminal(r"L^{−1.23} for x_{a b}, 10^{9} in my\_file")
    'L^−1.23 for x_{a b}, 10^9 in my_file'
    """
    return re.sub(r"\\([_^])|([_^])\{([^{}\s]*)\}", lambda match: match[1] or match[2] + match[3], text)
