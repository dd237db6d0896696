"""The answer in plain words: how good now, how good with more rows, whether they are worth it, and whether order matters."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from specht.forecasts.verdicts import WITHIN_REACH, WORTH_TIMES

if TYPE_CHECKING:
    from specht.forecasts.curves import Band
    from specht.forecasts.forecast import Forecast
    from specht.forecasts.where import WhereItLooks


def answer_sentences(forecast: Forecast) -> list[str]:
    """One or two sentences a question."""
    sentences = [_now(forecast), _later(forecast), _worth(forecast), _order(forecast)]
    if forecast.where is not None and (forecast.where.places or forecast.where.tokens):
        sentences.append(_where(forecast.where))
    if forecast.goal is not None:
        sentences.insert(2, _goal(forecast))
    return sentences


def quality(forecast: Forecast, error: float) -> str:
    """An error as people read it: accuracy for classes, R² for numbers."""
    return percent(1.0 - error) if forecast.majority is not None else f"{1.0 - error:z.2f}".replace("-", "−")


def percent(share: float) -> str:
    """With one digit behind the point near all and nothing."""
    digits = 1 if 0.0 < abs(share) < 0.1 or 0.9 < share < 1.0 else 0
    return f"{100 * share:z.{digits}f} %".replace("-", "−")


def count(number: float) -> str:
    """Three significant digits above a thousand, with commas.

    >>> count(812), count(20343)
    ('812', '20,300')
    """
    if number < 1000:
        return f"{round(number)}"
    step = 10 ** (math.floor(math.log10(number)) - 2)
    return f"{step * round(number / step):,}"


def _rows(forecast: Forecast, *, its_number: bool = False) -> str:
    """What horizons are multiples of."""
    if forecast.rows < forecast.rows_available:
        return f"the {count(forecast.rows)} rows used"
    return f"your {count(forecast.rows)} rows" if its_number else "your rows"


def _interval(forecast: Forecast, band: Band, at: int) -> str:
    return f"{quality(forecast, band.high[at])} to {quality(forecast, band.low[at])}"


def _now(forecast: Forecast) -> str:
    best, confidence = forecast.best, percent(forecast.settings.confidence)
    band = best.main.curve
    at = int(abs(band.n_train - best.main.measured.n_train[-1]).argmin())
    value, interval = quality(forecast, band.value[at]), _interval(forecast, band, at)
    rows = f"trained on {count(best.main.measured.n_train[-1])} of {_rows(forecast, its_number=True)}"
    if forecast.majority is None:
        return f"Now: R² is about {value} on rows held out ({confidence} interval {interval}), by {best.name} {rows}."
    usual = f"naming the most frequent class always gives {percent(forecast.majority)}"
    return f"Now: about {value} of held-out rows are right ({confidence} interval {interval}), by {best.name} {rows}; {usual}."


def _later(forecast: Forecast) -> str:
    band = forecast.best.main.horizons
    what = "R²" if forecast.majority is None else "accuracy"
    parts = [
        f"{quality(forecast, value)} with {times:g} times {_rows(forecast)} ({_interval(forecast, band, at)})"
        for at, (times, value) in enumerate(zip(forecast.settings.horizons, band.value, strict=True))
        if times != 1.0
    ]
    return f"With more rows like these, {what} will be about {', '.join(parts)}." if parts else "No larger number of rows was asked for."


def _goal(forecast: Forecast) -> str:
    goal = forecast.goal
    assert goal is not None
    target = f"{goal.goal.measure} {percent(goal.goal.value) if goal.goal.measure == 'accuracy' else f'{goal.goal.value:g}'}"
    if math.isinf(goal.value):
        beyond = (
            f"The goal, {target}, is not within reach: it takes more than {WITHIN_REACH:g} times {_rows(forecast)}, or no number of them"
        )
        return f"{beyond}." if math.isinf(goal.low) else f"{beyond}; at the hopeful end of the interval it takes {count(goal.low)}."
    high = f"{count(goal.high)}" if math.isfinite(goal.high) else f"more than {count(WITHIN_REACH * forecast.rows)}"
    interval = f"{percent(forecast.settings.confidence)} interval {count(goal.low)} to {high}"
    return f"The goal, {target}, takes about {count(goal.value)} rows ({interval})."


def _worth(forecast: Forecast) -> str:
    worth = forecast.worth
    what = "error" if forecast.majority is None else "share of wrong rows"
    interval = f"{percent(forecast.settings.confidence)} interval {percent(worth.low)} to {percent(worth.high)}"
    word = {"yes": "Yes", "no": "No", "unclear": "Unclear"}[worth.verdict]
    cut = f"{WORTH_TIMES:g} times the rows cut the {what} by about {percent(worth.cut)}"
    return f"Is more data worth collecting? {word}: {cut} ({interval})."


def _order(forecast: Forecast) -> str:
    order = forecast.order
    if order is None:
        why = (
            "the budget had no room for it"
            if any(one.sees_order for one in forecast.learners)
            else "no learner that sees order was measured"
        )
        return f"Does order matter? Not tested: {why}."
    if order.is_accuracy:
        size = f"{percent(order.value)} ({percent(order.low)} to {percent(order.high)}) of accuracy"
    else:
        size = f"{order.value:.3f} ({order.low:.3f} to {order.high:.3f}) of R²"
    best, left = order.measured_by, order.left_with
    if best == left:
        lost = f"with the tokens of every row shuffled, {best} loses {size}"
    else:
        lost = f"{best} gains {size} over {left}, which sees no order and is the best with the tokens of every row shuffled"
    if order.only_less_sure:
        less_sure = f"predictions get less sure (squared errors grow by {percent(order.error_gained)} of the label variance)"
        unseen = f"accuracy changes by less than can be measured ({percent(order.value)}, {percent(order.low)} to {percent(order.high)})"
        return f"Does order matter? Yes, a little: with the tokens of every row shuffled, {less_sure}, but {unseen}."
    if order.verdict == "yes":
        return f"Does order matter? Yes: {lost}."
    return f"Does order matter? No sign of it: {lost}, within chance."


def _where(where: WhereItLooks) -> str:
    tokens = f"the token{'s' * (len(where.tokens) > 1)} {', '.join(repr(one.name) for one in where.tokens)}"
    places = f"what stands at {', '.join(one.name for one in where.places)}"
    named = [words for words, those in ((tokens, where.tokens), (places, where.places)) if those]
    return f"What do the labels depend on? A transformer of width {where.width} gives more weight to {' and '.join(named)} than to others."
