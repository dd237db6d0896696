"""The report of `specht predict --data`: what more rows of one's own data will bring."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from specht.report.figures import Plot
from specht.report.forecast_figures import accuracy_plot, architectures_plot, curve_plot
from specht.report.forecast_tables import (
    ARCHITECTURE_HEADER,
    PROBLEM_HEADER,
    answer,
    architecture_rows,
    best,
    forecast_header,
    forecast_rows,
    headline,
    measured_rows,
    problem_rows,
    remarks,
    table_remarks,
)
from specht.report.html import Report, Step, Table

SHOWN_PROBLEMS = 40


def forecast_report(result: Mapping[str, Any], *, reproduce: str, made_with: Mapping[str, str]) -> Report:
    """The report on the result of one run."""
    one, table = best(result), result["table"]
    return Report(
        title="What more of your data will bring",
        subtitle=f"{Path(table['path']).name} · {table['target']} from {table['sequence']}, {result['rows']} rows · {one['description']}",
        question="How small will the error become with more rows like these, and how much of the labels depends on the order of tokens?",
        answer=answer(result),
        plots=_plots(result),
        tables=_tables(result),
        method=_method(result),
        reproduce=reproduce,
        made_with=made_with,
    )


def _plots(result: Mapping[str, Any]) -> list[Plot]:
    one = best(result)
    interval = f"{100 * result['confidence']:g} %"
    plots = [
        curve_plot(
            result,
            title="The learning curve, measured and to come",
            caption=f"Architecture {one['name']}, the one with the smallest error now. Points: held-out error of exact inference on random "
            f"subsets, bars are standard errors over repeats. Line and band: forecast from the spectrum of the {result['rows']} rows "
            f"(dotted upright line) and its {interval} interval. Dashed and dotted: a power law through the points, with its own.",
        ),
        architectures_plot(
            result,
            title="Architectures side by side",
            caption="Points: held-out errors on the same subsets for all. Lines: their forecasts. "
            + " ".join(f"{found['name']}: {found['description']}." for found in result["architectures"]),
        ),
    ]
    if result["majority"] is not None:
        plots.append(
            accuracy_plot(
                result,
                title="Accuracy",
                caption="Share of held-out rows whose class is named rightly, with standard errors over repeats; dashed, always naming the "
                "most frequent class.",
            )
        )
    return plots


def _tables(result: Mapping[str, Any]) -> list[Table]:
    at = headline(result)
    times = best(result)["forecast"]["n_train"][at] / result["rows"]
    header, rows = measured_rows(result)
    cell = "error ± standard error" + ("; accuracy" if result["majority"] is not None else "")
    tables = [
        Table(forecast_header(result), forecast_rows(result), note=" ".join(remarks(result)), title="Forecast"),
        Table(ARCHITECTURE_HEADER, architecture_rows(result), note=f"Forecast is that at {times:g} times the rows.", title="Architectures"),
        Table(header, rows, note=f"Each cell: {cell} on held-out rows.", title="Measured"),
    ]
    data = " ".join(table_remarks(result))
    problems = problem_rows(result, SHOWN_PROBLEMS) or [["none", "every row is as it should be", "", ""]]
    return [*tables, Table(PROBLEM_HEADER, problems, note=data, title="Rows of the file that were not as they should be")]


def _method(result: Mapping[str, Any]) -> list[Step]:
    known = result["constants"]
    return [
        Step(
            "Labels y are a draw of the infinitely wide network, plus noise. Its kernel k, in units of its mean k(x, x) and with an offset "
            "that all rows share, has the ratio of position to token variance, the ridge δ and the overall size a under which the labels "
            f"of {min(result['rows'], result['config']['fit_rows'])} rows are most likely; these then stay fixed at every number of rows:",
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
            f"leave-one-out residuals. Where S falls below {known['reach']:g} N, h and D_1 are continued as powers of κ, and "
            f"{known['continued']:g} of the continued log κ is added to the error in quadrature. More rows do no harm under a likely "
            "ridge, so the step from N to N' is cut off at zero:",
            ["Var log E(N) ≈ 2/S + (v − 2)/N", "Var log( E(N') / E(N) ) ≈ 2 Σ_i ( w'_i / Σw' − w_i / Σw )²", "E(N') ≤ E(N)"],
        ),
        Step(
            "Whether such errors are right is tried on the table itself: disjoint quarters of the rows forecast the error at all rows. "
            "The variance r of their misses, in units of what they state, is pooled with a prior of 1, and intervals are those of "
            f"Student's t with {known['prior'] + known['quarters']:g} degrees of freedom in log E. The theory errs by fluctuations of what "
            "is learnt, so their mean miss b, of squared noise s², is carried over in proportion c to the degrees of freedom D_1 that each "
            "row has to teach on the way:",
            [
                f"factor² = ({known['prior']:g} + {known['quarters']:g} r) / {known['prior'] + known['quarters']:g}",
                f"log E(N')  →  log E(N') + c b τ² / (τ² + s²),   error c τ s / √(τ² + s²),   τ = {known['drift']:g}",
            ],
        ),
        Step(
            "For comparison, a power law is fitted to the measured points by weighted least squares; its interval comes from resampled "
            "repeats and the error that all points share:",
            ["E(N) = a + b N^{−c},   a, b ≥ 0"],
        ),
    ]
