"""specht kernel: a Gram matrix, its summary, its picture, its file."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

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
    from specht.report.kernel import NAMES, summary_rows

    files = ["kernel.nc", "report.html"] + ["kernel.npz"] * npz
    with store.results_folder("kernel", config, output.out) as folder:
        result = store.finished_result(folder, files)
        if result is not None:
            output.say("computed before; remove the folder to compute it again")
        else:
            result = _compute(config, folder, files)
    paths = {"report": str(folder / "report.html"), "data": str(folder / "kernel.nc")}
    if output.json:
        return print_json(result | paths)
    print_table(summary_rows(result), header=["", *(NAMES[kind] for kind in result["kernels"])])
    print("", *(f"{name:6}  {path}" for name, path in paths.items()), sep="\n")


def _compute(config: KernelConfig, folder: Path, files: list[str]) -> dict[str, Any]:
    from specht.lab import store
    from specht.lab.gram_job import run_gram
    from specht.report.html import render
    from specht.report.kernel import kernel_report

    with Progress("kernel") as progress:
        run = run_gram(config, progress)
    record = store.provenance("kernel", config, config.seed)
    identity = {"command": "kernel", "config": config.identity(), "seed": config.seed, "version": record["version"]}
    result = identity | run.summary()
    report = kernel_report(
        run.architecture,
        result,
        run.arrays(),
        reproduce=shlex.join(["specht", "kernel", *config.flags()]),
        made_with={name: str(record[name]) for name in MADE_WITH},
    )
    store.save_config("kernel", config, folder)
    store.save_dataset(run.dataset(record), folder / "kernel.nc")
    store.save_text(render(report), folder / "report.html")
    if "kernel.npz" in files:
        store.save_npz(run.arrays(), folder / "kernel.npz")
    store.save_result(result, folder, files)
    return result


def _list_presets(as_json: bool) -> None:
    from specht.presets import PRESETS

    if as_json:
        return print_json({"command": "kernel", "presets": {name: preset.summary for name, preset in PRESETS.items()}})
    print_table([[name, preset.summary] for name, preset in PRESETS.items()])
