"""specht profile: how many positions a function singles out, level by level."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from specht.cli.run import Origin, Outcome, data_writers, run_command
from specht.commands.output import OutputFlags, ProgressBar, print_table
from specht.errors import InputError
from specht.lab.profile_config import ProfileConfig, ProfileFlags

FILES = {"report": "report.html", "data": "profile.nc", "csv": "profile.csv"}


def profile(
    target: str | None = None,
    *,
    flags: Annotated[ProfileFlags, Parameter(name="*")] = ProfileFlags(),  # noqa: B008 -- frozen
    output: OutputFlags = OutputFlags(),  # noqa: B008 -- frozen
) -> None:
    """The symmetry profile of a function: how much of it ignores order or singles out 1, 2, ... positions, hence what it costs to learn.

    For example:

        specht profile parity --support 3
        specht profile majority --support 5 --length 32
        specht profile next-token --source graded --epsilon 0.3 --vocab 4
        specht profile mine:score --vocab 50 --length 64
        specht profile level --support 2 --json

    Parameters
    ----------
    target
        A named function (and, counts, level, majority, next-token, or, parity), or module:function from what is installed or from the
        current folder: it takes tokens (n, columns) to values (n,) or (n, outputs).
    """
    if target is None:
        from specht.sequences.targets import TARGETS

        raise InputError(f"specht profile needs a function: one of {', '.join(sorted(TARGETS))}, or your own as module:function.")
    config = ProfileConfig(target=target, **{name: getattr(flags, name) for name in flags.model_fields_set})
    run_command("profile", config, output, FILES, lambda origin: _compute(config, origin), _print)


def _compute(config: ProfileConfig, origin: Origin) -> Outcome:
    # Loaded now and not above, so that --help stays quick.
    from specht.lab.profile_job import run_profile
    from specht.report.profile import profile_report

    with ProgressBar("profile") as progress:
        run = run_profile(config, progress)
    result = origin.heading | run.summary()
    report = profile_report(result, reproduce=origin.reproduce, made_with=origin.made_with)
    return Outcome(result, report, data_writers(run, origin))


def _print(result: dict[str, Any]) -> None:
    from specht.report.profile_tables import LEVEL_HEADER, level_rows, remarks, subtitle

    print(f"{subtitle(result)}\n")
    print_table(level_rows(result), header=LEVEL_HEADER)
    print("", *remarks(result), sep="\n")
