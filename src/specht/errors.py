"""What users see when an input cannot be used: one sentence that says what is wrong, what was given, what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """An argument, flag or file that cannot be used; the command line turns it into exit code 2."""


class NoLimitError(InputError):
    """An architecture whose infinite-width limit does not exist or is not known."""


def unknown_choice(what: str, given: object, choices: Iterable[str]) -> InputError:
    """The error for a name outside a list, with the nearest name suggested.

    >>> str(unknown_choice("preset", "sotfmax", ["simplified", "softmax"]))
    "Unknown preset 'sotfmax': did you mean 'softmax'? Choose from: simplified, softmax."
    """
    choices = list(choices)
    near = difflib.get_close_matches(str(given), choices, n=1)
    hint = f": did you mean {near[0]!r}?" if near else "."
    return InputError(f"Unknown {what} {given!r}{hint} Choose from: {', '.join(choices)}.")
