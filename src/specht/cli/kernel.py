"""specht kernel: a Gram matrix, its summary, its picture, its file."""

from __future__ import annotations

import shlex
from typing import Annotated

from cyclopts import Parameter

from specht.cli.cache import use_compilation_cache
from specht.cli.output import OutputFlags, Progress, print_json, print_table
from specht.lab.config import KernelConfig

MADE_WITH = ("seed", "version", "python", "jax", "numpy", "platform", "time")


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
    use_compilation_cache()
    # Loaded now and not above, so that --help stays quick.
    from specht.lab import store
    from specht.lab.gram_job import run_gram
    from specht.report.html import render
    from specht.report.kernel import NAMES, kernel_report, summary_rows

    with store.results_folder("kernel", config, output.out) as folder:
        with Progress("kernel") as progress:
            run = run_gram(config, progress)
        summary, record = run.summary(), store.provenance("kernel", config, config.seed)
        report = kernel_report(
            run.architecture,
            summary,
            run.arrays(),
            reproduce=shlex.join(["specht", "kernel", *config.flags()]),
            made_with={name: str(record[name]) for name in MADE_WITH},
        )
        store.save_config("kernel", config, folder)
        store.save_dataset(run.dataset(record), folder / "kernel.nc")
        if npz:
            store.save_npz(run.arrays(), folder / "kernel.npz")
        store.save_text(render(report), folder / "report.html")

    paths = {"report": str(folder / "report.html"), "data": str(folder / "kernel.nc")}
    if output.json:
        identity = {"command": "kernel", "config": config.identity(), "seed": config.seed, "version": record["version"]}
        return print_json(identity | paths | summary)
    print_table(summary_rows(summary), header=["", *(NAMES[kind] for kind in summary["kernels"])])
    print(f"\nreport  {paths['report']}\ndata    {paths['data']}")


def _list_presets(as_json: bool) -> None:
    from specht.presets import PRESETS

    if as_json:
        return print_json({"command": "kernel", "presets": {name: preset.summary for name, preset in PRESETS.items()}})
    print_table([[name, preset.summary] for name, preset in PRESETS.items()])
