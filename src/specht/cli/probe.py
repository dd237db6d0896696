"""specht probe: which permutations of the tokens a model ignores, layer by layer."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from specht.cli.run import Origin, Outcome, data_writers, run_command
from specht.commands.output import OutputFlags, ProgressBar, print_table
from specht.errors import InputError
from specht.lab.probe_config import ProbeConfig, ProbeFlags

FILES = {"report": "report.html", "data": "probe.nc", "csv": "probe.csv"}


def probe(
    model: str | None = None,
    *,
    flags: Annotated[ProbeFlags, Parameter(name="*")] = ProbeFlags(),  # noqa: B008 -- frozen
    output: OutputFlags = OutputFlags(),  # noqa: B008 -- frozen
) -> None:
    """Does a model see the order of its tokens? Which permutations it ignores, at every position of every layer, and from where on it sees.

    For example:

        specht probe nope-causal-softmax
        specht probe transformer --length 16 --width 128
        specht probe "V=4 L=8 | pos=none | softmax/sqrt | gelu | causal"
        specht probe mine:model --vocab 1000 --length 32
        specht probe mine:Model --readout mean --json

    Parameters
    ----------
    model
        A preset (specht kernel --list-presets shows them), a line of notation, or module:callable from what is installed or from the
        current folder: it takes tokens (n, columns) to (n, outputs) or (n, columns, width), or is a PyTorch module, or makes one.
    """
    if model is None:
        from specht.presets import PRESETS

        raise InputError(f"specht probe needs a model: one of {', '.join(PRESETS)}, a line of notation, or your own as module:callable.")
    config = ProbeConfig(model=model, **{name: getattr(flags, name) for name in flags.model_fields_set})
    run_command("probe", config, output, FILES, lambda origin: _compute(config, origin), _print)


def _compute(config: ProbeConfig, origin: Origin) -> Outcome:
    # Loaded now and not above, so that --help stays quick.
    from specht.lab.probe_job import run_probe
    from specht.report.probe import probe_report

    with ProgressBar("probe") as progress:
        run = run_probe(config, progress)
    result = origin.heading | run.summary()
    report = probe_report(result, reproduce=origin.reproduce, made_with=origin.made_with)
    return Outcome(result, report, data_writers(run, origin))


def _print(result: dict[str, Any]) -> None:
    from specht.report.probe_tables import LAYER_HEADER, layer_rows, remarks, subtitle

    print(f"{subtitle(result)}\n")
    print_table(layer_rows(result), header=LAYER_HEADER)
    print("", result["verdict"], *remarks(result), sep="\n")
