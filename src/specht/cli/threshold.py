"""specht threshold: how many samples it takes to learn a sparse function."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from specht.cli.run import Origin, Outcome, data_writers, run_command
from specht.commands.output import OutputFlags, ProgressBar, print_table
from specht.commands.workers import WorkFlags
from specht.lab.threshold_config import ThresholdConfig, ThresholdFlags

FILES = {"report": "report.html", "data": "threshold.nc", "csv": "threshold.csv"}


def threshold(
    function: str = "and",
    *,
    flags: Annotated[ThresholdFlags, Parameter(name="*")] = ThresholdFlags(),  # noqa: B008 -- frozen
    work: WorkFlags = WorkFlags(),  # noqa: B008 -- frozen
    output: OutputFlags = OutputFlags(),  # noqa: B008 -- frozen
) -> None:
    """The smallest number of samples that learns a sparse Boolean function, and how it grows with the number of bits.

    Of T random bits the label depends on the first s. At each T the number of samples m is searched at which a share of trials succeeds,
    with an interval, and the growth with T is compared with a logarithm, a power and a line. A search that was finished is not made again.
    For example:

        specht threshold
        specht threshold and --lengths 25 50 100 200 --learners transformer perceptron
        specht threshold parity --support 2 --lengths 8 12 16 --steps 500
        specht threshold 0110 --lengths 10 20 --learners perceptron-ntk
        specht threshold and --lengths 25 50 --learners transformer-width-16 transformer-width-64 transformer-nngp
        specht threshold threshold --support 4 --at-least 2 --budget 80 --json

    Parameters
    ----------
    function
        and, or, majority, threshold (with --at-least), parity; or the table of a function of s bits as 2^s zeros and ones: 0110.
    """
    config = ThresholdConfig(function=function, **{name: getattr(flags, name) for name in flags.model_fields_set})
    run_command("threshold", config, output, FILES, lambda origin: _compute(config, work, output, origin), _print)


def _compute(config: ThresholdConfig, work: WorkFlags, output: OutputFlags, origin: Origin) -> Outcome:
    # Loaded now and not above, so that --help stays quick.
    from specht.lab import store
    from specht.lab.archive import Archive
    from specht.lab.sweep import sweep
    from specht.lab.threshold_job import ThresholdRun, jobs_of
    from specht.report.threshold import threshold_report

    archive = Archive(work.folder(output.out))
    jobs = jobs_of(config)
    with store.begun(origin.request, origin.folder), ProgressBar("threshold") as progress:
        sweep(jobs, archive, work.places(archive.folder), attempts=1, progress=progress).raise_failure()
    found = {(job.arguments["learner"], job.arguments["length"]): archive.load(job) for job in jobs}
    order = [(learner, length) for learner in config.learners for length in sorted(config.lengths)]
    run = ThresholdRun(config, [(*key, data) for key in order if (data := found[key]) is not None])
    result = origin.heading | run.summary()
    report = threshold_report(result, reproduce=origin.reproduce, made_with=origin.made_with)
    return Outcome(result, report, data_writers(run, origin))


def _print(result: dict[str, Any]) -> None:
    from specht.report.threshold_tables import FIT_HEADER, POINT_HEADER, answer, fit_rows, plain, point_rows, remarks, subtitle

    print(f"{subtitle(result)}\n\n{plain(answer(result))}\n")
    print_table(point_rows(result), header=POINT_HEADER)
    print()
    print_table([[plain(cell) for cell in row] for row in fit_rows(result)], header=FIT_HEADER)
    print("", *remarks(result), sep="\n")
