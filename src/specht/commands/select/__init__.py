"""specht select: attention that learns to select tokens, tested at lengths it has never seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from specht.commands.command import Command, Many, command_line
from specht.commands.workers import STORE, WorkFlags, removed_if_bad
from specht.errors import InputError
from specht.lab import Config
from specht.studies import selection

if TYPE_CHECKING:
    import xarray

    from specht.report import Page
    from specht.studies.selection import Selection


_RATES = {"sgd": 1.0, "adam": 0.01}
_SCHEDULES = {"sgd": "constant", "adam": "cosine"}


class SelectConfig(Config):
    """A task of token selection, how attention is trained on it, and where it is tested.

    >>> SelectConfig(length=20, optimiser="sgd", test_lengths=(30,)).flags()
    ['--length', '20', '--optimiser', 'sgd', '--test-lengths', '30']
    """

    length: Annotated[int, Field(ge=2)] = 50
    """Tokens of a sequence T in training."""
    support: Annotated[int, Field(ge=1)] = 3
    """Positions q that are chosen and averaged."""
    dimension: Annotated[int, Field(ge=1)] = 5
    """Numbers d in a token."""
    codes: Annotated[tuple[Literal["stochastic", "fixed", "one-hot"], ...], Many] = ("stochastic", "fixed")
    """Codes of positions, one training each: random signs drawn anew every step (stochastic) or once (fixed), or one-hot."""
    code: Annotated[int, Field(ge=1)] | None = None
    """Dimension of random codes; unless given, one at which products off the set reach 1/2 in at most 5 % of draws at the longest test."""
    query: Literal["dual", "sum"] = "dual"
    """The code of a set: product one with each of its members (dual), or their sum."""
    optimiser: Literal["adam", "sgd"] = "adam"
    """sgd begins from zero and follows the exact dynamics, adam is faster and begins from small random numbers."""
    learning_rate: Annotated[float, Field(gt=0)] | None = None
    """0.01 for adam, falling to zero; 1 for sgd, constant; unless given."""
    schedule: Literal["constant", "cosine"] | None = None
    """Of the learning rate: constant for sgd and cosine for adam unless given."""
    steps: Annotated[int, Field(ge=1)] = 2000
    """Steps of training, each with a fresh batch."""
    batch: Annotated[int, Field(ge=1)] = 256
    """Samples of a batch."""
    test_lengths: Annotated[tuple[Annotated[int, Field(ge=2)], ...], Many] | None = None
    """Other lengths to test at; 1.25, 1.5, 1.75 and 2 times that of training unless given."""
    test_supports: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Many] = ()
    """Other numbers of chosen positions to test with."""
    n_test: Annotated[int, Field(ge=2)] = 1024
    """Samples of a test."""
    seeds: Annotated[int, Field(ge=1)] = 3
    """Trainings of each kind, from which standard errors come."""
    seed: Annotated[int, Field(ge=0, lt=2**31 - 1000)] = 0
    """The first of their seeds."""

    @property
    def task(self) -> Selection:
        return selection.Selection(self.length, self.support, self.dimension)

    @property
    def lengths(self) -> tuple[int, ...]:
        """Test lengths, in increasing order; one-hot codes know none but their own."""
        if self.test_lengths is not None:
            return tuple(sorted(set(self.test_lengths) - {self.length}))
        usual = {self.length * part // 4 for part in (5, 6, 7, 8)} if self.has_random_codes else set()
        return tuple(sorted(usual - {self.length}))

    @property
    def supports(self) -> tuple[int, ...]:
        """Test supports, in increasing order."""
        return tuple(sorted(set(self.test_supports) - {self.support}))

    @property
    def has_random_codes(self) -> bool:
        return any(kind != "one-hot" for kind in self.codes)

    @property
    def rate(self) -> float:
        return _RATES[self.optimiser] if self.learning_rate is None else self.learning_rate

    @property
    def shape(self) -> str:
        return _SCHEDULES[self.optimiser] if self.schedule is None else self.schedule

    def code_dimension(self) -> int | None:
        """That of random codes, checked; None if there are none."""
        if not self.has_random_codes:
            return None
        longest, most = max(self.length, *self.lengths, 0), max(self.support, *self.test_supports, 0)
        if self.code is None:
            return max(selection.code_needed(longest, self.support), most)
        if self.code < most:
            raise InputError(f"--code {self.code} is less than the {most} positions that are chosen at once: take a larger dimension.")
        selection.check_code(self.length, self.support, self.code)
        return self.code

    def settings(self) -> list[dict[str, Any]]:
        """Of the trainings, one for every kind of codes, as JSON holds them."""
        common = {"length": self.length, "support": self.support, "dimension": self.dimension, "query": self.query}
        common |= {"optimiser": self.optimiser, "learning_rate": self.rate, "schedule": self.shape, "steps": self.steps}
        common |= {"batch": self.batch, "n_test": self.n_test, "supports": [*self.supports]}
        random = {"code": self.code_dimension(), "lengths": [*self.lengths]}
        return [common | {"codes": kind} | ({"code": None, "lengths": []} if kind == "one-hot" else random) for kind in self.codes]

    def identity(self) -> dict[str, Any]:
        return {"settings": self.settings(), "seeds": self.seeds, "seed": self.seed}

    @model_validator(mode="after")
    def _sizes_make_a_task(self) -> Self:
        for length, support, flags in (
            (self.length, self.support, f"--length {self.length} and --support {self.support}"),
            *((length, self.support, f"--test-lengths {length} and --support {self.support}") for length in self.test_lengths or ()),
            *((self.length, support, f"--length {self.length} and --test-supports {support}") for support in self.test_supports),
        ):
            if support >= length:
                raise InputError(f"{flags} leave nothing to select from: choose fewer positions than there are.")
        if not self.codes or len(set(self.codes)) < len(self.codes):
            raise InputError(f"--codes must name kinds of codes once each, got {' '.join(self.codes) or 'none'}.")
        if not self.has_random_codes and (self.code is not None or self.test_lengths):
            name = "--code" if self.code is not None else "--test-lengths"
            raise InputError(f"{name} says nothing about one-hot codes, which have one dimension for every position: leave it out.")
        return self


class SelectCommand(Command):
    """Does attention learn to average the tokens that a query names, and at lengths it has not seen? Training with codes of positions.

    The task: T Gaussian vectors and a set of q positions, whose mean is the answer. Losses are half the mean squared error; that of
    answering zero is d/2q. A run that was stopped goes on when the same command is given again. For example:

        specht select
        specht select --length 20 --support 2 --steps 1000 --seeds 2
        specht select --optimiser sgd --steps 6000 --code 64
        specht select --codes one-hot --optimiser sgd --length 20 --learning-rate 2
        specht select --test-lengths 75 100 200 --test-supports 2 5 8
        specht select --query sum --codes stochastic --json
    """

    name = "select"
    config = SelectConfig
    options = WorkFlags
    stem = "selection"
    csv = "losses"
    resumes = True

    def compute(self, config: SelectConfig, progress: Callable[[int, int], None] | None = None) -> xarray.DataTree:
        # Loaded now and not above, so that --help stays quick.
        from specht.commands.select.compute import theory_of, trainings_of, values_of
        from specht.lab import Archive, this_process
        from specht.trees import tree

        work: WorkFlags = self.chosen
        folder = work.store or (STORE if self.folder is None else self.folder / "jobs")
        # A process of its own compiles its own programs, so several kinds of codes are worth one each and seeds are not.
        places = work.places(folder) if work.is_asked else this_process
        # Trainings that have come to their end stay even where another one was refused.
        with removed_if_bad(lambda: {folder} if folder.exists() and not any(folder.glob("*.json")) else set()):
            theory = theory_of(config)  # it refuses what cannot be trained, before hours of training
            return tree(values_of(config, trainings_of(config, Archive(folder), places, progress), theory))

    def page(self, data: xarray.DataTree) -> Page:
        from specht.commands.select.page import select_page

        return select_page(data)


select = command_line(SelectCommand)
