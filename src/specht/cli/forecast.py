"""specht predict --data: the learning curve of one's own data, measured and forecast."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from cyclopts import Parameter

from specht.cli.run import Origin, Outcome, data_writers, run_command
from specht.commands.output import OutputFlags, ProgressBar, print_table
from specht.lab.forecast_config import ForecastConfig

FILES = {"report": "report.html", "data": "forecast.nc", "csv": "forecast.csv", "rows": "problems.csv"}
SHOWN_PROBLEMS = 10


def forecast(
    *,
    config: Annotated[ForecastConfig, Parameter(name="*")],
    output: OutputFlags = OutputFlags(),  # noqa: B008 -- frozen
) -> None:
    """The learning curve of your own data, measured on part of it and forecast beyond, and how much of the labels needs order.

    For example:

        specht predict --data reviews.csv --target stars
        specht predict --data reviews.csv --target stars --sequence text --compare bag positions softmax
        specht predict --data reads.jsonl --target class --tokens characters --max-length 128 --horizons 4 16
    """
    run_command("predict", config, output, FILES, lambda origin: _compute(config, origin), _print)


def _compute(config: ForecastConfig, origin: Origin) -> Outcome:
    # Loaded now and not above, so that --help stays quick.
    from specht.lab import store
    from specht.lab.forecast_job import run_forecast
    from specht.report.forecast import forecast_report

    with ProgressBar("forecast") as progress:
        run = run_forecast(config, progress)
    result = origin.heading | run.summary()
    report = forecast_report(result, reproduce=origin.reproduce, made_with=origin.made_with)
    return Outcome(result, report, data_writers(run, origin) | {"rows": partial(store.save_text, run.problems_csv())})


def _print(result: dict[str, Any]) -> None:
    from specht.report.forecast_tables import (
        ARCHITECTURE_HEADER,
        PROBLEM_HEADER,
        answer,
        architecture_rows,
        forecast_header,
        forecast_rows,
        problem_rows,
        remarks,
        table_remarks,
    )

    print(answer(result) + "\n")
    print_table(forecast_rows(result), header=forecast_header(result))
    print()
    print_table(architecture_rows(result), header=ARCHITECTURE_HEADER)
    print("", *remarks(result), *table_remarks(result), sep="\n")
    if result["problems"]:
        print()
        print_table(problem_rows(result, SHOWN_PROBLEMS), header=PROBLEM_HEADER)
