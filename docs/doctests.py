"""For the reference: doctests as blocks of code. The package writes them without the heading that readers of docstrings look for."""

from __future__ import annotations

import re
from typing import Any

import griffe

_DOCTEST = re.compile(r"^( *)>>> .*\n?(?:^ *\S.*\n?)*", re.MULTILINE)


class FencedDoctests(griffe.Extension):
    """Puts a fence around every doctest."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for each object whose docstring has been read."""
        if obj.docstring is not None:
            obj.docstring.value = _DOCTEST.sub(
                lambda found: f"\n{found[1]}```pycon\n{found[0].rstrip()}\n{found[1]}```\n", obj.docstring.value
            )
