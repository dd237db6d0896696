"""How long measuring may take, as people write it."""

from __future__ import annotations

import re

from specht.errors import InputError


def seconds_of(duration: str | float) -> float:
    """The seconds of a duration.

    >>> seconds_of("90"), seconds_of("2m"), seconds_of("1.5h")
    (90.0, 120.0, 5400.0)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|m|h|)\s*", str(duration))
    seconds = float(match[1]) * {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}[match[2]] if match else 0.0
    if seconds < 1.0:
        raise InputError(f"The budget must be a time of at least one second, got {duration!r}: for example 30s, 2m or 1h.")
    return seconds
