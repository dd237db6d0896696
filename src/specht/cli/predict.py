"""specht predict: what will be learnt from how many samples, before any training."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from specht.cli.run import Origin, Outcome, data_writers, run_command
from specht.commands.output import OutputFlags, ProgressBar, print_json, print_table
from specht.commands.workers import WorkFlags
from specht.errors import InputError
from specht.lab.predict_config import PredictConfig

if TYPE_CHECKING:
    from specht.lab.phase_job import Phases

FILES = {"report": "report.html", "data": "prediction.nc", "csv": "prediction.csv"}


def predict(
    *,
    config: Annotated[PredictConfig, Parameter(name="*")] = PredictConfig(),  # noqa: B008 -- frozen
    work: WorkFlags = WorkFlags(),  # noqa: B008 -- frozen
    output: OutputFlags = OutputFlags(),  # noqa: B008 -- frozen
    list_tasks: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> None:
    """The learning curve of a transformer before any training: test, train and out of distribution, and what each irrep costs.

    For example:

        specht predict
        specht predict --check gp
        specht predict --source uniform --target and --width 16 64 256
        specht predict --source uniform --target and --phases
        specht predict --check gp net --width 64
        specht predict --preset softmax --target level --support 1 --length 16
        specht predict --task sparse-parity --vocab 2 --activation erf
        specht predict --target next-token --ridge 0.2
        specht predict --target mytask:function --vocab 2 --source uniform
        specht predict --breaking 0 0.1 0.3 1

    With a table of your own sequences and labels the flags are others: specht predict --data FILE --help.

    Parameters
    ----------
    list_tasks
        Show the named tasks and stop.
    """
    if list_tasks:
        return _list_tasks(output.json)
    if work != WorkFlags() and not config.phases:
        raise InputError("--workers, --cluster, --slurm and --store say where phases are computed, and there are none: add --phases.")
    run_command("predict", config, output, FILES, lambda origin: _compute(config, work, output, origin), _print)


def _compute(config: PredictConfig, work: WorkFlags, output: OutputFlags, origin: Origin) -> Outcome:
    # Loaded now and not above, so that --help stays quick.
    from specht.lab.predict_job import run_predict
    from specht.report.predict import predict_report

    with ProgressBar("predict") as progress:
        run = run_predict(config, progress)
    if config.phases:
        run = dataclasses.replace(run, phases=_phases(config, work, output, origin))
    result = origin.heading | run.summary()
    report = predict_report(run.arch, result, reproduce=origin.reproduce, made_with=origin.made_with)
    return Outcome(result, report, data_writers(run, origin))


def _phases(config: PredictConfig, work: WorkFlags, output: OutputFlags, origin: Origin) -> Phases:
    from specht.lab import store
    from specht.lab.archive import Archive
    from specht.lab.phase_job import Phases, rows_of
    from specht.lab.sweep import sweep

    archive, rows = Archive(work.folder(output.out)), rows_of(config)
    with store.begun(origin.request, origin.folder), ProgressBar("phases") as progress:
        sweep([row.job for row in rows], archive, work.places(archive.folder), attempts=1, progress=progress).raise_failure()
    found = [(row, archive.load(row.job)) for row in rows]
    return Phases(config.widths[0], tuple((row, data) for row, data in found if data is not None))


def _list_tasks(as_json: bool) -> None:
    from specht.sequences.tasks import TASKS

    if as_json:
        return print_json({"command": "predict", "tasks": {name: preset.summary for name, preset in TASKS.items()}})
    print_table([[name, preset.summary] for name, preset in TASKS.items()])


def _print(result: dict[str, Any]) -> None:
    from specht.report.architecture import KERNEL_NAMES
    from specht.report.predict import answer
    from specht.report.predict_tables import (
        BREAKING_HEADER,
        FINITE_HEADER,
        NEED_HEADER,
        breaking_rows,
        curve_header,
        curve_rows,
        finite_rows,
        need_rows,
        net_header,
        net_rows,
    )

    source = f"{result['source']['name']} source"
    print(f"{result['architecture']}   {KERNEL_NAMES[result['kind']]}, {source}, target {result['target']['name']}\n")
    print_table(curve_rows(result), header=curve_header(result))
    print()
    if result["finite"]:
        print_table(finite_rows(result), header=FINITE_HEADER)
        print()
    print_table(need_rows(result), header=NEED_HEADER)
    if result["net"]:
        print()
        print_table(net_rows(result), header=net_header(result))
    if result["breaking"]:
        print()
        print_table(breaking_rows(result), header=BREAKING_HEADER)
    print("", *answer(result), sep="\n")
