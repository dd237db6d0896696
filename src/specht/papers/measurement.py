"""What a paper's claims rest on: functions that measure something, with the arguments that they are called with at each scale.

A measurement is a function that returns a dataset. Each combination of arguments is a job of its own, so that a sweep can be stopped,
resumed and spread. Whoever reads the results gets them as one dataset, whose dimensions are the arguments that vary.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import xarray

from specht.lab import Job
from specht.papers.claims import SCALES, JobResult, Results, Scale, Verdict, lacking
from specht.papers.criteria import Criterion
from specht.papers.gather import axes_of, gather
from specht.papers.seeds import is_random, over_runs


class Grid:
    """Points at which a function is called: dictionaries of its arguments. `+` puts grids behind each other, `*` combines all their points.

    >>> list(grid(length=[8, 16], seed=0) + grid(length=32, seed=1))
    [{'length': 8, 'seed': 0}, {'length': 16, 'seed': 0}, {'length': 32, 'seed': 1}]
    >>> len((grid(length=8, steps=100) + grid(length=16, steps=200)) * grid(seed=range(5)))
    10

    It can be made of points that are no product, one by one; its other name is `points`.

    >>> len(points([{"side": "below", "m": 25}, {"side": "above", "m": 120}]) * grid(seed=range(3)))
    6
    """

    def __init__(self, places: Iterable[Mapping[str, Any]]) -> None:
        self._places = [dict(place) for place in places]

    def __iter__(self):
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __add__(self, other: Grid) -> Grid:
        return Grid([*self, *other])

    def __mul__(self, other: Grid) -> Grid:
        return Grid(one | another for one, another in itertools.product(self, other))


class fixed(list):
    """A list that is one value of an argument, and no list of values.

    >>> list(grid(lengths=fixed([15, 18]), seed=range(2)))
    [{'lengths': [15, 18], 'seed': 0}, {'lengths': [15, 18], 'seed': 1}]
    """


def grid(**arguments: Any) -> Grid:
    """Every combination of the values of some arguments: a list or a range holds several, anything else is one. The last varies fastest."""
    lists = [[list(value)] if isinstance(value, fixed) else value for value in arguments.values()]
    several = [value if isinstance(value, list | tuple | range) else [value] for value in lists]
    return Grid(dict(zip(arguments, row, strict=True)) for row in itertools.product(*several))


points = Grid
LookUp = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""From a point to arguments that are known when its job is made."""


def rows(names: Sequence[str], *values: Sequence[Any]) -> Grid:
    """Points one by one as in a table: the names of the arguments, and a row of values for each point.

    >>> list(rows(("side", "m"), ("below", 25), ("above", 120)))
    [{'side': 'below', 'm': 25}, {'side': 'above', 'm': 120}]
    """
    return points(dict(zip(names, row, strict=True)) for row in values)


class Measurement:
    """A function that measures something, with its points at each scale, and everything that reads what it found.

    Calling it calls the function. Its jobs carry the name of the function, so that equal jobs of two experiments are computed once.
    """

    def __init__(self, function: Callable[..., xarray.Dataset], grids: Mapping[Scale, Grid], look_up: LookUp | None = None) -> None:
        functools.update_wrapper(self, function)
        self.name = f"{function.__module__}:{function.__name__}"
        self._function, self._grids, self._look_up = function, grids, look_up
        self._axes = axes_of([list(points) for points in grids.values()])
        self.claims: dict[str, Reader] = {}
        self.figures: list[Reader] = []
        self.tables: list[Reader] = []

    def __call__(self, *values: Any, **arguments: Any) -> xarray.Dataset:
        return self._function(*values, **arguments)

    def jobs(self, scale: Scale) -> list[Job]:
        """One job a point."""
        look_up = self._look_up or (lambda point: {})
        return [Job.of(self.name, **point, **look_up(point)) for point in self._grids[scale]]

    def data(self, results: Results) -> xarray.Dataset:
        """Its results as one dataset, whose dimensions are the arguments that vary."""
        own = [result for result in results if result.function == self.name]
        absent = [result.data["missing"].item() for result in own if "missing" in result.data.coords]
        if absent:
            raise NothingToJudge(lacking(absent[0]))
        if not own:
            raise NothingToJudge(Verdict("not tested", regime=f"Nothing of {self.name.partition(':')[2]} is measured at this scale."))
        return gather(own, self._axes)

    def result(self, variables: Mapping[str, Any], coords: Mapping[str, Any] | None = None, **arguments: Any) -> JobResult:
        """A result with made-up numbers, for the tests of its claims."""
        return JobResult(arguments, xarray.Dataset(variables, coords), self.name)

    def claim(
        self, name: str, criterion: Criterion, /, *, null: Any, beside: Sequence[Measurement] = (), **arguments: Any
    ) -> Callable[[_Function], _Function]:
        """Bind a claim of claims.toml to a criterion, and to the function that gives the number that it judges.

        `null` is the number, or one for each part of the criterion, that would be measured if the claim were false. The function gets the
        dataset of this measurement, and of those `beside` it, and any further arguments: several claims can share it.
        """

        def bind(function: _Function) -> _Function:
            if name in self.claims:
                raise ValueError(f"Two functions judge the claim {name!r}.")
            self.claims[name] = Reader(functools.partial(function, **arguments), (self, *beside), criterion, null)
            return function

        return bind

    def figure(self, *beside: Measurement) -> Callable[[_Function], _Function]:
        """A function from the dataset to a `Plot` or a list of them."""
        return lambda function: self._read(self.figures, function, beside)

    def table(self, *beside: Measurement) -> Callable[[_Function], _Function]:
        """A function from the dataset to a `Table` or a list of them."""
        return lambda function: self._read(self.tables, function, beside)

    def _read(self, readers: list[Reader], function: _Function, beside: Sequence[Measurement]) -> _Function:
        readers.append(Reader(function, (self, *beside)))
        return function


_Function = TypeVar("_Function", bound=Callable[..., Any])


def measure(
    at: Callable[[Scale], Grid] | None = None,
    *,
    smoke: Grid | None = None,
    quick: Grid | None = None,
    full: Grid | None = None,
    look_up: LookUp | None = None,
) -> Callable[..., Measurement]:
    """Make a function a measurement, with its points at each scale; a scale without a grid has that of the next smaller one.

    Instead of grids, `at` is a function from the scale to its grid. `look_up` gives each point arguments that are known only when its job
    is made, such as the digest of a file.

    >>> from specht.lab.threshold_job import measure_threshold
    >>> measurement = measure(smoke=grid(length=8, seed=0), quick=grid(length=[8, 16], seed=range(2)))(measure_threshold)
    >>> len(measurement.jobs("smoke")), len(measurement.jobs("full"))
    (1, 4)
    """
    if at is not None:
        smoke, quick, full = (at(scale) for scale in SCALES)
    smoke = grid() if smoke is None else smoke
    quick = smoke if quick is None else quick
    return lambda function: Measurement(function, {"smoke": smoke, "quick": quick, "full": quick if full is None else full}, look_up)


class NothingToJudge(Exception):
    """There are no numbers, and so a verdict without one."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.regime)
        self.verdict = verdict


def missing(reason: str) -> xarray.Dataset:
    """What a measurement returns where the data that it reads are not on this machine."""
    return xarray.Dataset(coords={"missing": reason})


class Reader(NamedTuple):
    """A function that reads datasets, and the criterion for what it gives if it is that of a claim."""

    function: Callable[..., Any]
    measurements: tuple[Measurement, ...]
    criterion: Criterion | None = None
    null: Any = None

    def read(self, results: Results) -> Any:
        """What the function makes of the results."""
        return self.function(*(measurement.data(results) for measurement in self.measurements))

    def judge(self, *runs: Results) -> Verdict:
        """The verdict of the criterion on one run, or on several with other random numbers.

        Where the function says nothing about the regime, the settings of the measurement are the regime.
        """
        assert self.criterion is not None
        answers, judged = [], []
        nothing: Verdict | None = None
        for results in runs:
            try:
                answers.append(self.read(results))
            except NothingToJudge as reason:
                nothing = nothing or reason.verdict
            else:
                judged.append(results)
        if not answers:
            assert nothing is not None
            return nothing
        verdict = self.criterion.judge(over_runs(answers))
        if not verdict.regime:
            verdict = dataclasses.replace(verdict, regime=settings(self.measurements[0].data(judged[0])))
        if nothing is not None:
            verdict = dataclasses.replace(verdict, regime=f"{verdict.regime} {len(answers)} of {len(runs)} seeds: {nothing.regime}")
        if not is_random(answers):
            return verdict
        agreeing = sum(self.criterion.judge(answer).outcome == verdict.outcome for answer in answers)
        return dataclasses.replace(verdict, seeds=len(answers), agreeing=agreeing)

    def draw(self, results: Results) -> list[Any]:
        """Figures or tables; none where there are no numbers."""
        try:
            drawn = self.read(results)
        except NothingToJudge:
            return []
        return drawn if isinstance(drawn, list) else [drawn]


def settings(data: xarray.Dataset) -> str:
    """The arguments of a measurement in words, but for the numbers that random ones are drawn from.

    >>> settings(xarray.Dataset(coords={"length": [8, 16], "seed": [0]}, attrs={"samples": 100}))
    'Length 8, 16, samples 100.'
    """
    values = {str(name): data[name].values.tolist() for name in data.dims if name in data.coords} | {
        name: [value] for name, value in data.attrs.items()
    }
    values = {name: value for name, value in values.items() if name not in ("seed", "seeds")} or values
    words = ", ".join(f"{name} {', '.join(map(str, row))}" for name, row in values.items())
    return f"{words[:1].upper()}{words[1:]}."


def present(data: Any) -> Any:
    """An array or dataset without the labels at which there is nothing.

    >>> import math
    >>> losses = xarray.DataArray([[1.0, math.nan], [2.0, math.nan]], dims=("seed", "length"), coords={"length": [8, 16]})
    >>> present(losses).length.values
    array([8])
    """
    for name in data.dims:
        data = data.dropna(name, how="all")
    return data
