"""The report of `specht select`: whether attention learns to select tokens, at which lengths, and what its matrices become."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from specht.report.figures import Plot
from specht.report.html import Report, Step, Table
from specht.report.select_figures import length_plot, matrix_plot, time_plot
from specht.report.select_tables import MATRIX_HEADER, answer, header, matrix_rows, rows, subtitle


class Trainings(Protocol):
    """A run whose matrices are drawn."""

    @property
    def trainings(self) -> Mapping[str, Any]: ...


def select_report(result: Mapping[str, Any], run: Trainings, *, reproduce: str, made_with: Mapping[str, str]) -> Report:
    """The report on the result of one run."""
    several = "Means over seeds with standard errors." if result["seeds"] > 1 else "One seed, so without errors."
    exact = f" The dashed line is gradient descent on two numbers{_over(result['theory'])}." if result["theory"] else ""
    plots = [time_plot(result, inverse=False, title="Loss", caption=f"On fresh samples of the length of training. {several}{exact}")]
    if result["optimiser"] == "sgd":
        words = f"A straight line is a loss that falls as one over time.{exact}"
        plots.append(time_plot(result, inverse=True, title="Inverse loss", caption=words))
    if result["lengths"]:
        words = f"At the end of training, at lengths that were never seen. {several}"
        plots.append(length_plot(result, title="Other lengths", caption=words))
    plots += _matrices(result, run)
    tests = Table(header(result), rows(result), "Half the mean squared error, with standard errors over seeds.", "Losses")
    note = "The ground truth is the identity between codes for W and on contents for V; last, the larger share of squares elsewhere."
    return Report(
        title="Sparse token selection",
        subtitle=subtitle(result),
        question="Does attention learn to average the tokens that a query names, and at lengths it has never seen?",
        answer=" ".join(answer(result)),
        plots=plots,
        tables=[tests, Table(MATRIX_HEADER, matrix_rows(result), note, "Matrices")],
        method=_method(result),
        reproduce=reproduce,
        made_with=made_with,
    )


def _over(theory: Mapping[str, Any]) -> str:
    """What the two numbers were averaged over, with the scatter that it leaves."""
    if theory["stderr"] is None:
        return ", exactly"
    return f" over a pool of draws of codes, to {theory['stderr'][-1] / theory['loss'][-1]:.1%} of the loss at the end"


def _matrices(result: Mapping[str, Any], run: Trainings) -> list[Plot]:
    """W and V of the first kind of codes and the first seed; from zero there is nothing to see at the start."""
    kind = result["codes"][0]
    data = run.trainings[kind][0]
    plots = []
    for name, symbol in (("keys", "W"), ("values", "V")):
        for when in ("start", "end"):
            matrix = np.asarray(data[f"{name}_{when}"])
            if matrix.any():
                caption = f"Rows and columns: contents first, then codes. {kind.capitalize()} codes, first seed."
                plots.append(matrix_plot(matrix, title=f"{symbol} at the {when}", caption=caption))
    return plots


def _method(result: Mapping[str, Any]) -> list[Step]:
    steps = [
        Step(
            "T vectors of d standard normal numbers and a uniformly random set y of q positions; the answer is their mean:",
            ["STS_q(x, y) = (1/q) Σ_{i∈y} x_i,   L = ½ E‖f − STS_q‖²"],
        ),
        Step(
            "One layer of attention over tokens with codes of their positions, both matrices trained as a whole; the query holds the code "
            "of the set, which unless said otherwise has product one with each of its members:",
            ["z_i = (x_i; e_i),   z_y = (0; e_y),   f = V Z softmax(Z^T W z_y)", "e_y = E_y (E_y^T E_y)^{−1} 1"],
        ),
        Step(
            "The first layer of a fully connected network knows as many linear functions of the sequence as it has units:",
            ["E‖f − STS_q‖² ≥ (Td − m)_+ (T − q) / (qT(T − 1))   for m ≥ d"],
        ),
    ]
    if result["theory"] and result["theory"]["codes"] == "one-hot":
        steps.append(Step("With one-hot codes gradient descent from zero stays on two numbers, and in the end", ["L = (T − 1) / (4ηt)"]))
    elif result["theory"]:
        steps.append(
            Step(
                "With codes drawn anew at every step W stays a multiple of the identity between codes on average, and V one on contents; "
                "the two numbers are followed over a pool of draws."
            )
        )
    return steps
