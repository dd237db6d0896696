"""What users see when an input cannot be used: one sentence that says what is wrong, what was given, what to do."""

from __future__ import annotations

import difflib
import math
import operator
from collections.abc import Iterable
from typing import Any


class InputError(ValueError):
    """An argument, flag or file that cannot be used; the command line turns it into exit code 2."""


class NoLimitError(InputError):
    """An architecture whose infinite-width limit does not exist or is not known."""


class StorageError(Exception):
    """A disk that does not take a file; the command line says so and ends with code 1."""


class WorkError(Exception):
    """A job that failed through no fault of its input; the command line says so and ends with code 1."""


def unknown_choice(what: str, given: object, choices: Iterable[str]) -> InputError:
    """The error for a name outside a list, with the nearest name suggested.

    >>> str(unknown_choice("preset", "sotfmax", ["simplified", "softmax"]))
    "Unknown preset 'sotfmax': did you mean 'softmax'? Choose from: simplified, softmax."
    """
    choices = list(choices)
    near = difflib.get_close_matches(str(given), choices, n=1)
    hint = f": did you mean {near[0]!r}?" if near else "."
    return InputError(f"Unknown {what} {given!r}{hint} Choose from: {', '.join(choices)}.")


def finite_number(name: str, value: Any, above: float | None = None, at_least: float | None = None, below: float | None = None) -> float:
    """The value as a `float`, or the error for one that is no finite number in the range.

    >>> finite_number("step", 1, above=0)
    1.0
    """
    limits = [f"{word} {limit:g}" for word, limit in (("above", above), ("of at least", at_least), ("below", below)) if limit is not None]
    wrong = InputError(f"{name} must be a finite number {' and '.join(limits)}".rstrip() + f", got {value!r}.")
    if isinstance(value, (bool, str)) or value is None:
        raise wrong
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise wrong from None
    inside = (above is None or number > above) and (at_least is None or number >= at_least) and (below is None or number < below)
    if not math.isfinite(number) or not inside:
        raise wrong
    return number


def whole_number(name: str, value: Any, at_least: int = 0, at_most: int | None = None) -> int:
    """The value as an `int`, whichever library it comes from, or the error for one that is no whole number in the range.

    >>> whole_number("depth", 3, at_least=1)
    3
    """
    range_ = f"of at least {at_least}" if at_most is None else f"from {at_least} to {at_most}"
    wrong = InputError(f"{name} must be a whole number {range_}, got {value!r}.")
    if isinstance(value, bool):
        raise wrong
    try:
        number = operator.index(value)
    except TypeError:
        raise wrong from None
    if number < at_least or (at_most is not None and number > at_most):
        raise wrong
    return number
