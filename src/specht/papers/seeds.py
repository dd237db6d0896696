"""The same measurement with other random numbers: what several runs say together.

A run gives one number, or one for each part of a claim: the mean over whatever it drew. Runs with other seeds are independent, so the
interval of their mean is Student's. Errors that a run states of itself are not used: they know nothing of what differs between runs.

>>> together = over_runs([Finding(1.0, 0.5), Finding(1.2, 0.5), Finding(1.1, 0.5)])
>>> round(together.value, 3), [round(end, 3) for end in together.interval]
(1.1, [0.931, 1.269])
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from specht.papers.criteria import CONFIDENCE, Answer, Finding, finding


def over_runs(answers: Sequence[Any]) -> Any:
    """The answers of several runs as one: every part by itself, and of parts with names those that all runs have.

    >>> over_runs([{8: 1.0, 16: 2.0}, {8: 1.0}]).keys()
    dict_keys([8])
    """
    first = answers[0]
    if len(answers) == 1:
        return first
    if isinstance(first, Mapping):
        shared = [name for name in first if all(name in answer for answer in answers)]
        return {name: over_runs([answer[name] for answer in answers]) for name in shared}
    if isinstance(first, Sequence):
        if len({len(answer) for answer in answers}) > 1:
            raise ValueError("runs give different numbers of parts: name them, so that those can be compared that all runs have")
        return [over_runs(parts) for parts in zip(*answers, strict=True)]
    return _mean([finding(answer) for answer in answers])


def is_random(answers: Sequence[Answer]) -> bool:
    """Whether runs differ in any number."""
    return len({str(_values(answer)) for answer in answers}) > 1


def _values(answer: Any) -> Any:
    if isinstance(answer, Mapping):
        return [_values(part) for part in answer.values()]
    return [_values(part) for part in answer] if isinstance(answer, Sequence) else finding(answer).value


def _mean(runs: Sequence[Finding]) -> Finding:
    """The mean with its interval; what does not differ between runs stays as it is."""
    from scipy import stats

    values = np.array([run.value for run in runs], dtype=float)
    if np.all(values == values[0]):
        return runs[0]
    stderr = float(values.std(ddof=1)) / math.sqrt(len(values))
    half = float(stats.t.ppf(0.5 + CONFIDENCE / 2, len(values) - 1)) * stderr
    mean = float(values.mean())
    shown = [run.shown[0] for run in runs if run.shown is not None]
    return Finding(
        mean,
        stderr,
        regime=runs[0].regime,
        interval=(mean - half, mean + half),
        shown=(float(np.mean(shown)), float(np.std(shown, ddof=1)) / math.sqrt(len(shown))) if len(shown) == len(runs) else None,
    )
