"""specht predict --data: the learning curve of one's own data, measured and forecast."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from cyclopts import Parameter

from specht.cli.cache import use_compilation_cache
from specht.cli.output import OutputFlags, Progress, print_json, print_paths, print_table
from specht.cli.run import Origin, Outcome, find_or_compute
from specht.lab.forecast_config import ForecastConfig

FILES = {"report": "report.html", "data": "forecast.nc", "csv": "forecast.csv", "problems_csv": "problems.csv"}
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
    use_compilation_cache()
    result, folder = find_or_compute("predict", config, config.seed, output, list(FILES.values()), lambda origin: _compute(config, origin))
    paths = {name: str(folder / file) for name, file in FILES.items()}
    if output.json:
        return print_json(result | paths)
    _print(result)
    print_paths({name.replace("problems_csv", "rows"): path for name, path in paths.items()})


def _compute(config: ForecastConfig, origin: Origin) -> Outcome:
    # Loaded now and not above, so that --help stays quick.
    from specht.lab import store
    from specht.lab.forecast_job import run_forecast
    from specht.report.forecast import forecast_report

    with Progress("forecast") as progress:
        run = run_forecast(config, progress)
    result = origin.heading | run.summary()
    report = forecast_report(result, reproduce=origin.reproduce, made_with=origin.made_with)
    writers = {
        "data": partial(store.save_dataset, run.dataset(origin.record)),
        "csv": partial(store.save_text, run.csv()),
        "problems_csv": partial(store.save_text, run.problems_csv()),
    }
    return Outcome(result, report, {FILES[name]: write for name, write in writers.items()})


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
