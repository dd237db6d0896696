"""specht kernel: a Gram matrix, its summary, its picture, its file."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from cyclopts import Parameter

from specht.cli.output import OutputFlags, print_json, print_table
from specht.cli.output import ProgressBar as Progress
from specht.cli.run import Origin, Outcome, run_command
from specht.lab.config import KernelConfig


def kernel(
    *,
    config: Annotated[KernelConfig, Parameter(name="*")] = KernelConfig(),  # noqa: B008 -- frozen
    output: OutputFlags = OutputFlags(),  # noqa: B008 -- frozen
    npz: Annotated[bool, Parameter(negative="", group="Output", show_default=False)] = False,
    list_presets: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> None:
    """The infinite-width kernel of a transformer: a summary, a report and the Gram matrix as a file.

    Examples:

        specht kernel
        specht kernel --preset softmax --length 64 --n 500 --relative-error 0.02
        specht kernel --arch "V=8 L=32 | relu depth=2 residual norm=pre" --kind nngp
        specht kernel --tokens mine.npy --vocab 50 --length 31 --json

    Parameters
    ----------
    npz
        Write kernel.npz as well, for programs that do not read netCDF.
    list_presets
        Show the named architectures and stop.
    """
    if list_presets:
        return _list_presets(output.json)
    files = {"report": "report.html", "data": "kernel.nc"} | ({"npz": "kernel.npz"} if npz else {})
    run_command("kernel", config, output, files, lambda origin: _compute(config, origin, npz), _print)


def _compute(config: KernelConfig, origin: Origin, npz: bool) -> Outcome:
    # Loaded now and not above, so that --help stays quick.
    from specht.lab import store
    from specht.lab.gram_job import run_gram
    from specht.report.kernel import kernel_report

    with Progress("kernel") as progress:
        run = run_gram(config, progress)
    result = origin.heading | run.summary()
    report = kernel_report(run.architecture, result, run.arrays(), reproduce=origin.reproduce, made_with=origin.made_with)
    writers = {"data": partial(store.save_dataset, run.dataset(origin.record))}
    return Outcome(result, report, writers | ({"npz": partial(store.save_npz, run.arrays())} if npz else {}))


def _print(result: dict[str, Any]) -> None:
    from specht.report.architecture import KERNEL_NAMES
    from specht.report.kernel import summary_rows

    print_table(summary_rows(result), header=["", *(KERNEL_NAMES[kind] for kind in result["kernels"])])


def _list_presets(as_json: bool) -> None:
    from specht.presets import PRESETS

    if as_json:
        return print_json({"command": "kernel", "presets": {name: preset.summary for name, preset in PRESETS.items()}})
    print_table([[name, preset.summary] for name, preset in PRESETS.items()])
