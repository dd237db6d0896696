"""What a forecast says: the answer, its tables and figures, how it is made, and the lines of the CSV file."""

from __future__ import annotations

import collections
import math
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from specht.report import Page, Plot, Step, Table, best, forecast_plot, learners_plot, literal, main_measure

PROBLEM_HEADER = ("where", "what", "in the file", "row")
WHERE_HEADER = ("what", "which", "variance over the median")
WHERE_NOTE = (
    "Variances of embeddings at the minimum of the free energy of a transformer of width 64, on up to 250 rows and the 100 most "
    "frequent tokens. Nothing stands out where all tokens and places count alike."
)
CURVE_COLUMNS = ("learner", "measure", "what", "n_train", "value", "low", "high", "stderr")
MEASURES = ("error", "error_rate")
SHOWN_PROBLEMS, LISTED_PROBLEMS = 10, 40
"""In the terminal, and in the report."""
_WORDS = {"missing": "missing", "malformed": "malformed", "duplicate": "repeated", "conflict": "conflicting"}


def forecast_page(result: SimpleNamespace) -> Page:
    table = result.table
    return Page(
        title="What more of your data will bring",
        subtitle=f"{Path(table.path).name} · {table.target} from {table.sequence}, {result.rows} rows · best learner: {result.best}",
        question="How good will predictions become with more rows like these, is it worth it, and does the order of tokens matter?",
        answer="\n".join(result.answer),
        plots=_plots(result),
        tables=_tables(result),
        method=_method(result),
    )


def curve_lines(result: SimpleNamespace) -> list[dict[str, Any]]:
    """Every number of every curve as a line of the CSV file."""
    return [dict(zip(CURVE_COLUMNS, line, strict=True)) for one in result.learners for line in _lines(one)]


def _lines(one: SimpleNamespace) -> Iterator[tuple[Any, ...]]:
    for measure in MEASURES:
        drawn = getattr(one, measure)
        if drawn is None:
            continue
        for what, band in (("forecast", drawn.forecast), ("curve", drawn.curve), ("power law", drawn.power_law)):
            for n_train, value, low, high in zip(band.n_train, band.value, band.low, band.high, strict=True):
                yield one.name, measure, what, n_train, value, low, high, None
        measured = drawn.measured
        for n_train, value, stderr in zip(measured.n_train, measured.value, measured.stderr, strict=True):
            yield one.name, measure, "measured", float(n_train), value, None, None, stderr


def forecast_header(result: SimpleNamespace) -> tuple[str, ...]:
    interval = f"{_percent(result.confidence)} interval"
    if result.majority is None:
        return ("rows", "R²", interval, "root mean square error", "R² by a power law", "its interval")
    return ("rows", "accuracy", interval, "error / label variance", "accuracy by a power law", "its interval")


def forecast_rows(result: SimpleNamespace) -> list[list[str]]:
    """The forecast of the best learner at every horizon."""
    one = best(result)
    main, error = getattr(one, main_measure(result)), one.error.forecast
    rows = []
    for at, n_train in enumerate(main.forecast.n_train):
        value, interval = quality(result, main.forecast.value[at]), _interval(result, main.forecast, at)
        beside = f"{math.sqrt(error.value[at] * result.label_variance):.3g}" if result.majority is None else share(error.value[at])
        law = [quality(result, main.power_law.value[at]), _interval(result, main.power_law, at)]
        rows.append([_count(n_train), value, interval, beside, *law])
    return rows


def learner_header(result: SimpleNamespace) -> tuple[str, ...]:
    measure = "R²" if result.majority is None else "accuracy"
    later = f"{measure} at {_count(best(result).error.forecast.n_train[-1])} rows"
    return (
        "learner",
        "rows for training",
        f"{measure} measured",
        later,
        f"{_percent(result.confidence)} interval",
        "repeats",
        "CPU seconds",
        "what it is",
    )


def learner_rows(result: SimpleNamespace) -> list[list[str]]:
    """Every learner, best first."""
    rows = []
    for one in result.learners:
        main = getattr(one, main_measure(result))
        now = f"{quality(result, main.measured.value[-1])} ± {_spread(result, main.measured.stderr[-1])}"
        later = quality(result, main.forecast.value[-1])
        cost = f"{one.seconds:.1f}"
        largest = _count(main.measured.n_train[-1])
        rows.append(
            [one.name, largest, now, later, _interval(result, main.forecast, -1), str(main.measured.repeats), cost, one.description]
        )
    return rows


def measured_rows(result: SimpleNamespace) -> tuple[list[str], list[list[str]]]:
    """Header and rows of what was measured on held-out rows, by number of rows for training."""
    measure = main_measure(result)
    columns = {one.name: getattr(one, measure).measured for one in result.learners}
    sizes = sorted({size for measured in columns.values() for size in measured.n_train})
    rows = []
    for size in sizes:
        cells = []
        for measured in columns.values():
            at = measured.n_train.index(size) if size in measured.n_train else None
            cells.append("" if at is None else f"{quality(result, measured.value[at])} ± {_spread(result, measured.stderr[at])}")
        rows.append([_count(size), *cells])
    return ["rows for training", *columns], rows


def quality(result: SimpleNamespace, error: float) -> str:
    """Accuracy for an error rate, R² for an error."""
    return f"{100 * (1.0 - error):.1f} %" if result.majority is not None else f"{1.0 - error:.3f}"


def _spread(result: SimpleNamespace, stderr: float) -> str:
    return f"{100 * stderr:.1f} %" if result.majority is not None else f"{stderr:.3f}"


def _interval(result: SimpleNamespace, band: SimpleNamespace, at: int) -> str:
    return f"{quality(result, band.high[at])} to {quality(result, band.low[at])}"


def where_rows(result: SimpleNamespace) -> list[list[str]]:
    """What a transformer of finite width singles out."""
    where = result.where
    if where is None:
        return []
    kinds = (("token", where.tokens), ("place", where.places))
    return [[what, literal(one.name), f"{one.ratio:.2f}"] for what, those in kinds for one in those]


def problem_rows(result: SimpleNamespace) -> list[list[str]]:
    """The first rows of the file that were not as they should be; the last line says how many there are more."""
    unit, problems = result.table.unit, result.problems
    rows = [
        [f"{unit} {problem.line}", _WORDS[problem.kind], problem.detail, "kept" if problem.kept else "left out"]
        for problem in problems[:LISTED_PROBLEMS]
    ]
    if len(problems) > LISTED_PROBLEMS:
        rows.append(["…", f"and {len(problems) - LISTED_PROBLEMS} more in problems.csv and in the JSON object", "", ""])
    return rows


def remarks(result: SimpleNamespace) -> list[str]:
    """What has to be known to read the numbers."""
    said = ["Errors are mean squared ones over the label variance: 1 is what the mean of all labels achieves, and R² is one minus that."]
    if result.majority is not None:
        said.append(f"Always naming the most frequent class is right in {100 * result.majority:.1f} %.")
    last = min(result.learners, key=lambda one: getattr(one, main_measure(result)).forecast.value[-1])
    if last.name != result.best:
        said.append(f"At {_count(last.error.forecast.n_train[-1])} rows the forecast of {last.name} is better than that of {result.best}.")
    if result.left_out:
        said.append(f"The budget had no room for {', '.join(result.left_out)}: a larger --budget measures more.")
    if result.rows < result.rows_available:
        said.append(f"Of your {result.rows_available:,} rows {result.rows:,} were used, drawn at random: --rows takes more of them.")
    used = result.budget
    said.append(f"Measuring took {used.spent:.0f} seconds of CPU time, of {used.seconds:g} allowed and {used.expected:.0f} expected.")
    return said


def table_remarks(result: SimpleNamespace) -> list[str]:
    """What was read, and what was done to it."""
    table = result.table
    unit = {"words": "words", "characters": "characters", "items": "items"}[table.cut_into]
    said = [
        f"Of {table.rows_read} rows {table.rows_used} are usable"
        + (f", and {result.rows} of them, drawn at random, are used." if result.rows < table.rows_used else ".")
    ]
    span = f"{table.longest}" if table.shortest == table.longest else f"{table.shortest} to {table.longest}"
    said.append(
        f"Sequences from {_quoted(table.sequence)} have {span} {unit}, labels from {_quoted(table.target)} are taken for {_labels(result)}."
    )
    if table.encoding not in (None, "utf-8"):
        said.append(f"The file was read as {table.encoding} and not as UTF-8: --encoding names another.")
    if table.cut:
        said.append(f"{table.cut} sequences were too long: their {table.kept_end} tokens are kept.")
    if table.other_share:
        said.append(
            f"Of {table.types} different tokens {table.vocabulary - 1} keep a symbol of their own; all others, "
            f"{100 * table.other_share:.1f} % of the text, are one symbol."
        )
    counts = collections.Counter((problem.kind, problem.kept) for problem in result.problems)
    said += [f"{number} {_WORDS[kind]}: {'kept' if kept else 'left out'}." for (kind, kept), number in sorted(counts.items())]
    return said


def _labels(result: SimpleNamespace) -> str:
    if result.task == "regression":
        return "numbers"
    classes = result.classes
    names = ", ".join(map(_quoted, classes[:5])) + (", …" if len(classes) > 5 else "")
    whole_numbers = all(name.removeprefix("-").isdecimal() for name in classes)
    return f"{len(classes)} classes ({names})" + ("; --task regression takes them for numbers" if whole_numbers else "")


def _quoted(word: str) -> str:
    """A word of the file, in which _ and ^ are no formula."""
    return literal(repr(word))


def share(value: float) -> str:
    """A share of the label variance, with more digits where it is small."""
    return f"{value:.3f}" if abs(value) >= 0.001 or value == 0.0 else f"{value:.1e}".replace("e-0", "e-")


def _percent(value: float) -> str:
    return f"{100 * value:g} %"


def _count(number: float) -> str:
    return f"{round(number):,}"


def _plots(result: SimpleNamespace) -> list[Plot]:
    measure = main_measure(result)
    drawn = getattr(best(result), measure).measured
    unit = "the share of held-out rows whose class is named rightly" if measure == "error_rate" else "held-out errors"
    lines = (
        "Upright dotted line: the rows at hand. Dashed level: always naming the most frequent class."
        if measure == "error_rate"
        else ("Upright dotted line: the rows at hand.")
    )
    plots = [
        forecast_plot(
            result,
            measure,
            title="The learning curve, measured and to come",
            caption=f"Learner {result.best}, the best one now. Points: {unit}, with standard errors over {drawn.repeats} repeats. Line and "
            f"band: the forecast and its {_percent(result.confidence)} interval. Dashed: a power law with an offset. {lines}",
        ),
        learners_plot(
            result,
            measure,
            title="Learners side by side",
            caption="Points: what was measured on the same subsets for all. Lines and bands: the forecasts. "
            + " ".join(f"{one.name}: {one.description.rstrip('.')}." for one in result.learners),
        ),
    ]
    if measure != "error":
        beside = "The same learners on the same subsets: the squared error tells them apart where nearly all classes are named rightly."
        plots.append(learners_plot(result, "error", title="Squared errors beside it", caption=beside))
    return plots


def _tables(result: SimpleNamespace) -> list[Table]:
    header, rows = measured_rows(result)
    looked = where_rows(result)
    where = [Table(WHERE_HEADER, looked, note=WHERE_NOTE, title="Where the labels look", brief=False)] if looked else []
    problems = problem_rows(result) or [["none", "every row is as it should be", "", ""]]
    faulty, read = "Rows of the file that were not as they should be", "\n".join(table_remarks(result))
    return [
        Table(forecast_header(result), forecast_rows(result), note="\n".join(remarks(result)), title="Forecast"),
        Table(learner_header(result), learner_rows(result), title="Learners"),
        Table(header, rows, note="Each cell: mean over repeats ± standard error, on held-out rows.", title="Measured", brief=False),
        *where,
        Table(PROBLEM_HEADER, problems, note=read, title=faulty, most=SHOWN_PROBLEMS, folded=True),
    ]


def _method(result: SimpleNamespace) -> list[Step]:
    return [
        Step(
            "Rows are cut into five folds. Each fold is held out once a round and judges the learners; the other rows, in random order, "
            "are added to the training rows step by step. Whatever a learner has to choose, it chooses from its training rows:",
            ["E = mean of (y − f(x))² / variance of y,   R² = 1 − E,   accuracy = share of rows whose class is named rightly"],
        ),
        Step(
            "Repeats share the rows of one table, so some noise does not average out. With s² the variance over R repeats, v that of one "
            "row, T rows in a fold and N in all, the points have errors of their own and one that all of them share:",
            ["stderr² = ( max(s² − v/T, 0) + v/(5 T) ) / R,   shared² = v/N"],
        ),
        Step(
            "The curve is continued by a mixture of shapes, with u the number of rows over the largest that was measured. How likely each "
            "shape is beforehand was learned from how 12,000 curves of other learners (LCDB 1.1) and those of 22 other tables went on; "
            "the measured points change these weights by Bayes' rule. The forecast is the median of the mixture:",
            ["log E = a + log( φ + (1 − φ) ((u^β + δ) / (1 + δ))^{−α/β} ) + deviation of size μ |log u|"],
        ),
        Step(
            "Order is tested by shuffling the tokens of every row, for training and test alike, and measuring the best learner that sees "
            "order again on the same folds. What it loses is stated against the best that is left: itself, or a learner that sees no "
            "order. It matters where squared errors of the same rows grow by more than happens by chance in one table of a hundred:",
            ["d = (y − f(shuffled x))² − (y − f(x))²,   t = mean of d / stderr of d"],
        ),
    ]
