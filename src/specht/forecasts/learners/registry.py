"""All learners by name, and which a forecast measures unless others are named."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from specht.errors import InputError
from specht.forecasts.contenders import CONTENDERS, choose_contenders
from specht.forecasts.learners.adapted import AdaptedLearner
from specht.forecasts.learners.exact import ExactLearner
from specht.forecasts.learners.learner import Learner
from specht.forecasts.learners.local import LocalLearner
from specht.forecasts.learners.logistic import LINEAR, has_scikit_learn, linear_learner
from specht.forecasts.learners.names import check_learner_names
from specht.forecasts.learners.transformer import TransformerLearner
from specht.forecasts.subsets import FOLDS
from specht.forecasts.table import SequenceTable

Make = Callable[[SequenceTable], Learner]
"""From a table to a learner for its sequences."""


@dataclasses.dataclass(frozen=True)
class LearnerEntry:
    """A learner on offer."""

    description: str
    make: Make
    needs_scikit_learn: bool = False
    """For classes; numbers need none."""


def _exact(name: str) -> LearnerEntry:
    description = CONTENDERS[name][0]

    def make(table: SequenceTable) -> Learner:
        arch = choose_contenders([name], len(table.vocabulary), table.tokens.shape[1])[name]
        return ExactLearner(name, description, arch, table.labels.shape[1], len(table) // FOLDS)

    return LearnerEntry(f"Exact inference with infinite width: {description}.", make)


def _local(table: SequenceTable) -> Learner:
    return LocalLearner(float(table.mask.sum() / len(table)), table.labels.shape[1], len(table) // FOLDS)


def _linear(name: str) -> LearnerEntry:
    return LearnerEntry(LINEAR[name][0], lambda table: linear_learner(name, table), needs_scikit_learn=True)


LEARNERS: dict[str, LearnerEntry] = {
    **{name: _exact(name) for name in CONTENDERS},
    "local": LearnerEntry(LocalLearner.description, _local),
    **{name: _linear(name) for name in LINEAR},
    "adapted": LearnerEntry(AdaptedLearner.description, lambda table: AdaptedLearner(len(table.vocabulary), table.tokens.shape[1])),
    "transformer": LearnerEntry(
        TransformerLearner.description, lambda table: TransformerLearner(len(table.vocabulary), table.tokens.shape[1])
    ),
}
"""What each is, and how it is made for a table."""
DEFAULT_LEARNERS = ("bag", "mean", "positions", "local", "ngrams", "places", "transformer")


def choose_learners(names: Sequence[str] | None, table: SequenceTable) -> list[Learner]:
    """The named learners for a table; the default ones, without those that need what is not installed, if none are named.

    Arguments:
        names: keys of `LEARNERS`; None for the default.
        table: all rows, whose vocabulary and number of columns decide sizes.
    """
    chosen = default_learners(table) if names is None else list(names)
    check_learner_names(chosen)
    for name in chosen:
        if not _usable(name, table):
            raise InputError(f"Learner {name!r} needs scikit-learn for classes: install it with `pip install 'specht[learners]'`.")
    return [LEARNERS[name].make(table) for name in chosen]


def default_learners(table: SequenceTable) -> list[str]:
    """Names of the default learners that can be used here."""
    return [name for name in DEFAULT_LEARNERS if _usable(name, table)]


def _usable(name: str, table: SequenceTable) -> bool:
    return not LEARNERS[name].needs_scikit_learn or table.task == "regression" or has_scikit_learn()
