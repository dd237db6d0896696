"""The numbers of `specht predict --data` as text, for the terminal and for the report."""

from __future__ import annotations

import collections
import math
from collections.abc import Mapping
from typing import Any

ARCHITECTURE_HEADER = ("architecture", "error now", "forecast", "positions : tokens", "ridge", "log likelihood a row")
PROBLEM_HEADER = ("where", "what", "in the file", "row")
_WORDS = {"missing": "missing", "malformed": "malformed", "duplicate": "repeated", "conflict": "conflicting"}


def best(result: Mapping[str, Any]) -> dict[str, Any]:
    """The architecture that the answer speaks of."""
    return next(one for one in result["architectures"] if one["name"] == result["best"])


def headline(result: Mapping[str, Any]) -> int:
    """Index of the horizon that the answer speaks of: four times the rows, or the one nearest to it."""
    wanted = math.log(4 * result["rows"])
    horizons = best(result)["forecast"]["n_train"]
    return min(range(len(horizons)), key=lambda index: abs(math.log(horizons[index]) - wanted))


def answer(result: Mapping[str, Any]) -> str:
    """Two sentences: the error to come, and what order is worth."""
    one, at = best(result), headline(result)
    band = one["forecast"]
    times = band["n_train"][at] / result["rows"]
    first = (
        f"At {times:g} times your data ({_count(band['n_train'][at])} rows) the error will be about {share(band['value'][at])} of the "
        f"label variance ({_percent(result['confidence'])} interval {share(band['low'][at])} to {share(band['high'][at])}), and at the "
        f"{_count(result['rows'])} rows used it is {share(one['error'])} ± {share(one['stderr'])}."
    )
    return f"{first} {order_sentence(result)}"


def order_sentence(result: Mapping[str, Any]) -> str:
    """What order carries, or why it is not told."""
    order = result["order"]
    if order is None:
        return "What order is worth is not told, because no architecture with positions was compared to the bag of words."
    interval = f"{_percent(result['confidence'])} interval {_signed(order['low'])} to {_signed(order['high'])}"
    if order["low"] <= 0.0:
        return f"No order was found to be needed: positions explain {_signed(order['value'])} of the label variance more ({interval})."
    return f"Order carries {_signed(order['value'])} of the label variance ({interval})."


def forecast_header(result: Mapping[str, Any]) -> tuple[str, ...]:
    interval = f"{_percent(result['confidence'])} interval"
    unit = ("root mean square",) if result["task"] == "regression" else ()
    return ("rows", "error", interval, "R²", *unit, "power law", "its interval")


def forecast_rows(result: Mapping[str, Any]) -> list[list[str]]:
    """The forecast of the best architecture at every horizon."""
    one = best(result)
    rows = []
    for n, value, low, high, law, law_low, law_high in zip(
        *(one["forecast"][name] for name in ("n_train", "value", "low", "high")),
        *(one["power_law"][name] for name in ("value", "low", "high")),
        strict=True,
    ):
        unit = [f"{math.sqrt(value * result['label_variance']):.3g}"] if result["task"] == "regression" else []
        cells = [_count(n), share(value), f"{share(low)} to {share(high)}", f"{1 - value:.3f}", *unit]
        rows.append([*cells, share(law), f"{share(law_low)} to {share(law_high)}"])
    return rows


def architecture_rows(result: Mapping[str, Any]) -> list[list[str]]:
    """Every architecture, most accurate first."""
    at = headline(result)
    return [
        [
            one["name"],
            f"{share(one['error'])} ± {share(one['stderr'])}",
            f"{share(one['forecast']['value'][at])} ({share(one['forecast']['low'][at])} to {share(one['forecast']['high'][at])})",
            "" if one["ratio"] is None else f"{one['ratio']:g}",
            f"{one['ridge']:.2g}",
            f"{one['log_likelihood']:.3f}",
        ]
        for one in sorted(result["architectures"], key=lambda one: one["error"])
    ]


def measured_rows(result: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Header and rows of what was measured on held-out rows: errors, and accuracies where there are classes."""
    every = result["architectures"]
    header = ["rows for training", *(one["name"] for one in every)]
    rows = []
    for index, n in enumerate(every[0]["measured"]["n_train"]):
        rows.append([_count(n), *(_measured(one, index) for one in every)])
    return header, rows


def _measured(one: Mapping[str, Any], index: int) -> str:
    text = f"{share(one['measured']['value'][index])} ± {share(one['measured']['stderr'][index])}"
    if one["accuracy"] is None:
        return text
    return f"{text}; {100 * one['accuracy']['value'][index]:.1f} %"


def problem_rows(result: Mapping[str, Any], limit: int) -> list[list[str]]:
    """The first rows of the file that were not as they should be; the last line says how many there are more."""
    unit, problems = result["table"]["unit"], result["problems"]
    rows = [
        [f"{unit} {problem['line']}", _WORDS[problem["kind"]], problem["detail"], "kept" if problem["kept"] else "left out"]
        for problem in problems[:limit]
    ]
    if len(problems) > limit:
        rows.append(["…", f"and {len(problems) - limit} more in problems.csv and in the JSON object", "", ""])
    return rows


def remarks(result: Mapping[str, Any]) -> list[str]:
    """What has to be known to read the numbers."""
    one, at = best(result), headline(result)
    said = ["Errors are mean squared ones over the label variance: 1 is what the mean of all labels achieves."]
    if result["order"] is not None:
        said.append(
            f"Order is what {result['order']['with_order']}, the most likely architecture with positions, explains beyond the bag of "
            "words, row by row, each predicted from all other rows."
        )
    if one["forecast"]["continued"][at] > 0:
        said.append(
            f"At {_count(one['forecast']['n_train'][at])} rows the forecast lies beyond what the spectrum of the rows at hand tells, by a "
            f"factor {math.exp(one['forecast']['continued'][at]):.2g} of the effective ridge: there powers were continued, and the "
            "interval is wider."
        )
    trust, misses = one["calibration"]["trust"], one["calibration"]["misses"]
    said.append(
        f"Forecasts from quarters of the rows missed the error at all rows by {_signed(math.expm1(sum(misses) / len(misses)))} in the "
        f"mean; this corrects the forecast, and their scatter sets the width of its interval, stated errors times {trust['factor']:.2f}."
    )
    edges = [f"{name} of {found['name']}" for found in result["architectures"] for name in found["at_edge"]]
    if edges:
        said.append(f"The fit stopped at a bound, so do not trust its value: {', '.join(edges)}.")
    if result["majority"] is not None:
        said.append(
            f"Always naming the most frequent class is right in {100 * result['majority']:.1f} %. Accuracy is measured and not forecast."
        )
    return said


def table_remarks(result: Mapping[str, Any]) -> list[str]:
    """What was read, and what was done to it."""
    table = result["table"]
    unit = {"words": "words", "characters": "characters", "items": "items"}[table["cut_into"]]
    said = [
        f"Of {table['rows_read']} rows {table['rows_used']} are usable"
        + (f", and {result['rows']} of them, drawn at random, are used." if result["rows"] < table["rows_used"] else ".")
    ]
    span = f"{table['longest']}" if table["shortest"] == table["longest"] else f"{table['shortest']} to {table['longest']}"
    said.append(
        f"Sequences from {table['sequence']!r} have {span} {unit}, labels from {table['target']!r} are taken for {_labels(result)}."
    )
    if table["cut"]:
        said.append(f"{table['cut']} sequences were too long: their {table['kept_end']} tokens are kept.")
    if table["other_share"]:
        said.append(
            f"Of {table['types']} different tokens {table['vocabulary'] - 1} are told apart; all others, "
            f"{100 * table['other_share']:.1f} % of the text, are one symbol."
        )
    counts = collections.Counter((problem["kind"], problem["kept"]) for problem in result["problems"])
    said += [f"{number} {_WORDS[kind]}: {'kept' if kept else 'left out'}." for (kind, kept), number in sorted(counts.items())]
    return said


def _labels(result: Mapping[str, Any]) -> str:
    if result["task"] == "regression":
        return "numbers"
    classes = result["classes"]
    names = ", ".join(map(repr, classes[:5])) + (", …" if len(classes) > 5 else "")
    return f"{len(classes)} classes ({names})"


def share(value: float) -> str:
    """A share of the label variance, with more digits where it is small."""
    return f"{value:.3f}" if abs(value) >= 0.001 or value == 0.0 else f"{value:.1e}".replace("e-0", "e-")


def _signed(value: float) -> str:
    return f"{100 * value:z.1f} %".replace("-", "−")


def _percent(value: float) -> str:
    return f"{100 * value:g} %"


def _count(number: float) -> str:
    return f"{round(number)}"
