"""What learners are called; on its own, so that help loads nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from specht.errors import InputError, unknown_choice

LEARNER_NAMES = ("bag", "last", "positions", "mean", "erf", "softmax", "local", "ngrams", "places", "adapted", "transformer")


def check_learner_names(names: Sequence[str]) -> None:
    """Refuse names that no learner has, and names that are given twice."""
    if not names:
        raise InputError(f"No learner is named: choose from {', '.join(LEARNER_NAMES)}.")
    for name in names:
        if name not in LEARNER_NAMES:
            raise unknown_choice("learner", name, LEARNER_NAMES)
        if list(names).count(name) > 1:
            raise InputError(f"Learner {name!r} is named twice: name it once.")
