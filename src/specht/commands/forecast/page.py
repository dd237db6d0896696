"""What a forecast says: the answer, its tables and figures, how it is made, and the lines of the CSV file."""

from __future__ import annotations

import collections
import math
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from specht.report import Page, Plot, Step, Table, accuracy_plot, architectures_plot, best, forecast_plot, literal

ARCHITECTURE_HEADER = ("architecture", "error now", "forecast", "positions : tokens", "ridge", "log likelihood a row")
PROBLEM_HEADER = ("where", "what", "in the file", "row")
CURVE_COLUMNS = ("architecture", "what", "n_train", "value", "low", "high", "stderr")
SHOWN_PROBLEMS, LISTED_PROBLEMS = 10, 40
"""In the terminal, and in the report."""
_WORDS = {"missing": "missing", "malformed": "malformed", "duplicate": "repeated", "conflict": "conflicting"}


def forecast_page(result: SimpleNamespace) -> Page:
    leading, table = best(result), result.table
    return Page(
        title="What more of your data will bring",
        subtitle=f"{Path(table.path).name} · {table.target} from {table.sequence}, {result.rows} rows · {leading.description}",
        question="How small will the error become with more rows like these, and how much of the labels depends on the order of tokens?",
        answer=answer(result),
        plots=_plots(result),
        tables=_tables(result),
        method=_method(result),
    )


def curve_lines(result: SimpleNamespace) -> list[dict[str, Any]]:
    """Every number of every curve as a line of the CSV file."""
    return [dict(zip(CURVE_COLUMNS, line, strict=True)) for one in result.architectures for line in _lines(one, result.rows)]


def _lines(one: SimpleNamespace, rows: int) -> Iterator[tuple[Any, ...]]:
    bands = {"forecast": one.forecast, "curve": one.curve, "power law": one.power_law, "power law curve": one.power_law_curve}
    for what, band in bands.items():
        for n_train, value, low, high in zip(band.n_train, band.value, band.low, band.high, strict=True):
            yield one.name, what, n_train, value, low, high, None
    for what, measured in (("measured", one.measured), ("accuracy", one.accuracy)):
        if measured is not None:
            for n_train, value, stderr in zip(one.measured.n_train, measured.value, measured.stderr, strict=True):
                yield one.name, what, float(n_train), value, None, None, stderr
    yield one.name, "leave one out", float(rows), one.error, None, None, one.stderr


def headline(result: SimpleNamespace) -> int:
    """Index of the horizon that the answer speaks of: four times the rows, or the one nearest to it."""
    wanted = math.log(4 * result.rows)
    horizons = best(result).forecast.n_train
    return min(range(len(horizons)), key=lambda index: abs(math.log(horizons[index]) - wanted))


def answer(result: SimpleNamespace) -> str:
    """Two sentences: the error to come, and what order is worth."""
    leading, at = best(result), headline(result)
    band = leading.forecast
    times = band.n_train[at] / result.rows
    first = (
        f"At {times:g} times your data ({_count(band.n_train[at])} rows) the error will be about {share(band.value[at])} of the "
        f"label variance ({_percent(result.confidence)} interval {share(band.low[at])} to {share(band.high[at])}), and at the "
        f"{_count(result.rows)} rows used it is {share(leading.error)} ± {share(leading.stderr)}."
    )
    return f"{first} {order_sentence(result)}"


def order_sentence(result: SimpleNamespace) -> str:
    """What order carries, or why it is not told."""
    order = result.order
    if order is None:
        return "What order is worth is not told, because no architecture with positions was compared to the bag of words."
    interval = f"{_percent(result.confidence)} interval {_signed(order.low)} to {_signed(order.high)}"
    if order.low <= 0.0:
        return f"No order was found to be needed: positions explain {_signed(order.value)} of the label variance more ({interval})."
    return f"Order carries {_signed(order.value)} of the label variance ({interval})."


def forecast_header(result: SimpleNamespace) -> tuple[str, ...]:
    interval = f"{_percent(result.confidence)} interval"
    unit = ("root mean square",) if result.task == "regression" else ()
    return ("rows", "error", interval, "R²", *unit, "power law", "its interval")


def forecast_rows(result: SimpleNamespace) -> list[list[str]]:
    """The forecast of the best architecture at every horizon."""
    one = best(result)
    rows = []
    for n, value, low, high, law, law_low, law_high in zip(
        *(getattr(one.forecast, name) for name in ("n_train", "value", "low", "high")),
        *(getattr(one.power_law, name) for name in ("value", "low", "high")),
        strict=True,
    ):
        unit = [f"{math.sqrt(value * result.label_variance):.3g}"] if result.task == "regression" else []
        cells = [_count(n), share(value), f"{share(low)} to {share(high)}", f"{1 - value:.3f}", *unit]
        rows.append([*cells, share(law), f"{share(law_low)} to {share(law_high)}"])
    return rows


def architecture_rows(result: SimpleNamespace) -> list[list[str]]:
    """Every architecture, most accurate first."""
    at = headline(result)
    return [
        [
            one.name,
            f"{share(one.error)} ± {share(one.stderr)}",
            f"{share(one.forecast.value[at])} ({share(one.forecast.low[at])} to {share(one.forecast.high[at])})",
            "" if one.ratio is None else f"{one.ratio:g}",
            f"{one.ridge:.2g}",
            f"{one.log_likelihood:.3f}",
        ]
        for one in sorted(result.architectures, key=lambda one: one.error)
    ]


def measured_rows(result: SimpleNamespace) -> tuple[list[str], list[list[str]]]:
    """Header and rows of what was measured on held-out rows: errors, and accuracies where there are classes."""
    header = ["rows for training", *(one.name for one in result.architectures)]
    sizes = enumerate(result.n_train)
    return header, [[_count(n_train), *(_measured(one, index) for one in result.architectures)] for index, n_train in sizes]


def _measured(one: SimpleNamespace, index: int) -> str:
    text = f"{share(one.measured.value[index])} ± {share(one.measured.stderr[index])}"
    if one.accuracy is None:
        return text
    return f"{text}; {100 * one.accuracy.value[index]:.1f} %"


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
    one, at = best(result), headline(result)
    said = ["Errors are mean squared ones over the label variance: 1 is what the mean of all labels achieves."]
    if result.order is not None:
        said.append(
            f"Order is what {result.order.with_order}, the most likely architecture with positions, explains beyond the bag of "
            "words, row by row, each predicted from all other rows."
        )
    if one.forecast.continued[at] > 0:
        said.append(
            f"At {_count(one.forecast.n_train[at])} rows the forecast lies beyond what the spectrum of the rows at hand tells, by a "
            f"factor {math.exp(one.forecast.continued[at]):.2g} of the effective ridge: there powers were continued, and the "
            "interval is wider."
        )
    trust, misses = one.calibration.trust, one.calibration.misses
    said.append(
        f"Forecasts from quarters of the rows missed the error at all rows by {_signed(math.expm1(sum(misses) / len(misses)))} in the "
        f"mean; this corrects the forecast, and their scatter sets the width of its interval, stated errors times {trust.factor:.2f}."
    )
    edges = [f"{name} of {found.name}" for found in result.architectures for name in found.at_edge]
    if edges:
        said.append(f"The fit stopped at a bound, so do not trust its value: {', '.join(edges)}.")
    if result.majority is not None:
        said.append(
            f"Always naming the most frequent class is right in {100 * result.majority:.1f} %. Accuracy is measured and not forecast."
        )
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


def _signed(value: float) -> str:
    return f"{100 * value:z.1f} %".replace("-", "−")


def _percent(value: float) -> str:
    return f"{100 * value:g} %"


def _count(number: float) -> str:
    return f"{round(number)}"


def _plots(result: SimpleNamespace) -> list[Plot]:
    plots = [
        forecast_plot(
            result,
            title="The learning curve, measured and to come",
            caption=f"Architecture {result.best}, the one with the smallest error now. Points: held-out error of exact inference on random "
            f"subsets, bars are standard errors over repeats. Line and band: forecast from the spectrum of the {result.rows} rows "
            f"(dotted upright line) and its {_percent(result.confidence)} interval. Dashed and dotted: a power law through the points, "
            "with its own.",
        ),
        architectures_plot(
            result,
            title="Architectures side by side",
            caption="Points: held-out errors on the same subsets for all. Lines: their forecasts. "
            + " ".join(f"{one.name}: {one.description}." for one in result.architectures),
        ),
    ]
    if result.majority is not None:
        plots.append(
            accuracy_plot(
                result,
                title="Accuracy",
                caption="Share of held-out rows whose class is named rightly, with standard errors over repeats; dashed, always naming the "
                "most frequent class.",
            )
        )
    return plots


def _tables(result: SimpleNamespace) -> list[Table]:
    at = headline(result)
    times = best(result).forecast.n_train[at] / result.rows
    header, rows = measured_rows(result)
    cell = "error ± standard error" + ("; accuracy" if result.majority is not None else "")
    ahead = f"Forecast is that at {times:g} times the rows."
    problems = problem_rows(result) or [["none", "every row is as it should be", "", ""]]
    faulty, read = "Rows of the file that were not as they should be", "\n".join(table_remarks(result))
    return [
        Table(forecast_header(result), forecast_rows(result), note="\n".join(remarks(result)), title="Forecast"),
        Table(ARCHITECTURE_HEADER, architecture_rows(result), note=ahead, title="Architectures"),
        Table(header, rows, note=f"Each cell: {cell} on held-out rows.", title="Measured", brief=False),
        Table(PROBLEM_HEADER, problems, note=read, title=faulty, most=SHOWN_PROBLEMS),
    ]


def _method(result: SimpleNamespace) -> list[Step]:
    known = result.constants
    return [
        Step(
            "Labels y are a draw of the infinitely wide network, plus noise. Its kernel k, in units of its mean k(x, x) and with an offset "
            "that all rows share, has the ratio of position to token variance, the ridge δ and the overall size a under which the labels "
            f"of {result.fit_rows} rows are most likely; these then stay fixed at every number of rows:",
            ["K = k / E[ k(x, x) ] + 1", "y ~ N(0, a (K + δ))", "f(x) = k(x, X) (K + δ)^{−1} y"],
        ),
        Step(
            "Samples and ridge act through one number, the effective ridge κ. All that the error at N' samples depends on is a function of "
            "κ, with λ and g the eigenvalues of the kernel and the target's coefficients, and σ² the label noise:",
            ["N' = D_1 + δ/κ,   D_p = Σ_i (λ_i / (λ_i + κ))^p", "E(N') = N' / (N' − D_2) · h,   h = Σ_i (κ / (λ_i + κ))² g_i² + σ²"],
        ),
        Step(
            "None of the λ and g is needed. The Gram of the N rows at hand has eigenvalues μ and labels with coefficients c on its "
            "eigenvectors, and turning its ridge from δ to δ' reaches the κ of N' samples; at N' = N this is generalised cross-validation:",
            [
                "δ' = δ − (N' − N) κ,   1/κ = Σ_i 1 / (μ_i + δ')",
                "h = Σ_i w_i c_i² / Σ_i w_i,   w_i = (μ_i + δ')^{−2},   N − D_2 = 1 / (κ² Σ_i w_i)",
            ],
        ),
        Step(
            "The average h rests on S = (Σw)²/Σw² eigenvectors, which gives its error, with v the relative variance of the squared "
            f"leave-one-out residuals. Where S falls below {known.reach:g} N, h and D_1 are continued as powers of κ, and "
            f"{known.continued:g} of the continued log κ is added to the error in quadrature. More rows do no harm under a likely "
            "ridge, so the step from N to N' is cut off at zero:",
            ["Var log E(N) ≈ 2/S + (v − 2)/N", "Var log( E(N') / E(N) ) ≈ 2 Σ_i ( w'_i / Σw' − w_i / Σw )²", "E(N') ≤ E(N)"],
        ),
        Step(
            "Whether such errors are right is tried on the table itself: disjoint quarters of the rows forecast the error at all rows. "
            "The variance r of their misses, in units of what they state, is pooled with a prior of 1, and intervals are those of "
            f"Student's t with {known.prior + known.quarters:g} degrees of freedom in log E. The theory errs by fluctuations of what "
            "is learnt, so their mean miss b, of squared noise s², is carried over in proportion c to the degrees of freedom D_1 that each "
            "row has to teach on the way:",
            [
                f"factor² = ({known.prior:g} + {known.quarters:g} r) / {known.prior + known.quarters:g}",
                f"log E(N')  →  log E(N') + c b τ² / (τ² + s²),   error c τ s / √(τ² + s²),   τ = {known.drift:g}",
            ],
        ),
        Step(
            "For comparison, a power law is fitted to the measured points by weighted least squares; its interval comes from resampled "
            "repeats and the error that all points share:",
            ["E(N) = a + b N^{−c},   a, b ≥ 0"],
        ),
    ]
