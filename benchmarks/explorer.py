"""Server time of the explorer when a slider moves: computing a report of theory and laying it out, per page.

    python benchmarks/explorer.py [--quick]

Of one's own data it is the time to a first answer and to the whole one on the sample, whose target is 5 s for the first. For sliders the
target is 300 ms of CPU time for linear models, whose spectra have closed forms. Nonlinear ones are shown for comparison: the page says
that it is busy. Each run moves a parameter, so that nothing is found again.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from common import measure, print_line, run

from specht.explorer import layout, own_data, reports
from specht.explorer.diagrams import legend
from specht.explorer.state import BUDGETS, SAMPLE, SHARES, CurvePage, DataPage, SpectrumPage, TargetPage

TARGET, FIRST_TARGET = 0.3, 5.0


def moved(make: Callable[[float], Any]) -> Callable[[], Any]:
    """A function that does its work for another value at every call."""
    values: Iterator[float] = itertools.cycle(SHARES)
    return lambda: make(next(values))


def curve(**fields: Any) -> Callable[[], Any]:
    return moved(lambda ridge: layout.report_view(reports.curve_report(CurvePage(**fields, ridge=ridge))))


def spectrum(**fields: Any) -> Callable[[], Any]:
    def make(variance: float) -> Any:
        shown = reports.length_report(SpectrumPage(**fields, s_p=variance))
        return layout.report_view(shown.report, legend(shown.irreps))

    return moved(make)


def profile(**fields: Any) -> Callable[[], Any]:
    return moved(lambda _: layout.report_view(reports.level_report(TargetPage(**fields))))


class FirstOnly:
    """A page that has enough when it has a first answer."""

    class Enough(Exception):
        """Ends the work."""

    def __call__(self, done: int, total: int, /) -> None: ...

    def first(self, result: Any) -> None:
        layout.result_view(result)
        raise self.Enough


class Patient(FirstOnly):
    """A page that waits for the whole answer."""

    def first(self, result: Any) -> None:
        layout.result_view(result)


def sample_answer(listener: FirstOnly) -> Any:
    """What the page shows of the sample, everything measured anew."""
    opened = own_data.opened(SAMPLE, [])
    assert opened is not None
    assert opened.guess is not None
    wish = own_data.Wish(opened.digest, opened.guess.target, opened.guess.sequence, "", (), DataPage(SAMPLE))
    try:
        return layout.result_view(own_data.data_answer(opened, wish, BUDGETS[0], own_data.Measurements(), listener))
    except FirstOnly.Enough:
        return None


QUICK = {
    "curve, linear, L = 16": curve(),
    "curve, linear, L = 64, V = 8": curve(length=64, vocab=8),
    "curve, linear, ntk": curve(kind="ntk"),
    "spectrum, linear, to L = 64": spectrum(),
    "spectrum, linear, to L = 1024": spectrum(longest=1024),
}
BUSY = {
    "curve, linear, parity": curve(target="parity"),
    "curve, erf, two tokens": curve(activation="erf", vocab=2),
    "profile of parity, 2000 sequences": profile(),
}


def report(quick: bool) -> None:
    for name, function in QUICK.items():
        seconds = measure(function, runs=3 if quick else 9).seconds
        print_line(name, seconds=seconds, met={"under 300 ms": seconds < TARGET})
    seconds = measure(lambda: sample_answer(FirstOnly()), runs=3).seconds
    print_line("own data, sample, first answer", seconds=seconds, met={"under 5 s": seconds < FIRST_TARGET})
    print_line("own data, sample, whole answer", seconds=measure(lambda: sample_answer(Patient()), runs=3).seconds)
    for name, function in ({} if quick else BUSY).items():
        print_line(name, seconds=measure(function, runs=3).seconds)


if __name__ == "__main__":
    raise SystemExit(run(report, __doc__))
