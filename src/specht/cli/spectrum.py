"""specht spectrum: eigenvalues by irrep against length, and how fast they fall."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from specht.cli.output import OutputFlags, print_table
from specht.cli.output import ProgressBar as Progress
from specht.cli.run import Origin, Outcome, data_writers, run_command
from specht.lab.spectrum_config import SpectrumConfig

FILES = {"report": "report.html", "data": "spectrum.nc", "csv": "spectrum.csv"}


def spectrum(
    *,
    config: Annotated[SpectrumConfig, Parameter(name="*")] = SpectrumConfig(),  # noqa: B008 -- frozen
    output: OutputFlags = OutputFlags(),  # noqa: B008 -- frozen
) -> None:
    """Eigenvalues of the kernel by irrep of the symmetric group, against length: what is learnt first, and how much later the rest.

    For example:

        specht spectrum
        specht spectrum --vocab 2 --activation erf --s-w 0.5 --lengths 8 16 32
        specht spectrum --preset softmax --lengths 8 16 32 --max-level 1
        specht spectrum --source graded --epsilon 0.2 --method rayleigh
        specht spectrum --vocab 2 --length 8 --activation erf --json
    """
    run_command("spectrum", config, output, FILES, lambda origin: _compute(config, origin), _print)


def _compute(config: SpectrumConfig, origin: Origin) -> Outcome:
    # Loaded now and not above, so that --help stays quick.
    from specht.lab.spectrum_job import run_spectrum
    from specht.report.spectrum import spectrum_report

    with Progress("spectrum") as progress:
        run = run_spectrum(config, progress)
    result = origin.heading | run.summary()
    report = spectrum_report(run.longest, result, reproduce=origin.reproduce, made_with=origin.made_with)
    return Outcome(result, report, data_writers(run, origin))


def _print(result: dict[str, Any]) -> None:
    from specht.report.architecture import KERNEL_NAMES
    from specht.report.spectrum_tables import EXPONENT_HEADER, TOP_HEADER, exponent_rows, remarks, top_rows

    print(f"{result['architecture']}   {KERNEL_NAMES[result['kind']]}, {result['source']['name']} source\n")
    print_table(top_rows(result), header=TOP_HEADER)
    exponents = exponent_rows(result)
    if exponents:
        print()
        print_table(exponents, header=EXPONENT_HEADER)
    print("", *remarks(result), sep="\n")
