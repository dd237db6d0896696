"""The tables of `specht predict`, for the terminal and the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

LOSS_NAMES = {"test": "test", "train": "train", "ood": "out of distribution"}
NEED_HEADER = ("level", "irrep", "degeneracy", "eigenvalue / E[k]", "samples N*", "at least")
BREAKING_HEADER = ("ε", "gap", "theory off by")


def curve_header(result: Mapping[str, Any]) -> tuple[str, ...]:
    """Column names of the learning curve: theory, and exact inference beside it where it was computed."""
    header = ["N"]
    for loss in losses(result):
        header += [LOSS_NAMES[loss]] + ["exact"] * (result["gp"] is not None)
    return (*header, "learnt")


def curve_rows(result: Mapping[str, Any]) -> list[list[str]]:
    """One row for each number of samples."""
    rows = []
    for index, n in enumerate(result["n_train"]):
        row = [str(n)]
        for loss in losses(result):
            row.append(_number(result["theory"][loss][index]))
            if result["gp"] is not None:
                measured = index < len(result["gp"]["n_train"])
                row.append(_measured(result["gp"][loss][index], result["gp"][f"{loss}_stderr"][index]) if measured else "")
        learnt = result["theory"]["learned"][index]
        rows.append([*row, "" if learnt is None else f"{100 * learnt:.0f} %"])
    return rows


def need_rows(result: Mapping[str, Any]) -> list[list[str]]:
    """One row for each irrep: what half of its leading function costs."""
    return [
        [
            str(need["level"]),
            need["irrep"],
            str(need["degeneracy"]),
            f"{'≥ ' if need['lower_bound'] else ''}{need['eigenvalue']:.3g}",
            f"{'≤ ' if need['lower_bound'] else ''}{samples(need['samples'])}",
            samples(need["bound"]),
        ]
        for need in result["complexity"]
    ]


def net_header(result: Mapping[str, Any]) -> tuple[str, ...]:
    """Column names of the table of finite networks."""
    return ("N", "networks", "exact, same data", "difference", *(["R-hat", "effective samples"] if result["net"]["r_hat"] else []))


def net_rows(result: Mapping[str, Any]) -> list[list[str]]:
    """One row for each number of samples that networks were trained on: their test loss beside exact inference."""
    net, rows = result["net"], []
    for index, n in enumerate(net["n_train"]):
        excess, error = net["excess"][index], net["excess_stderr"][index]
        apart = "" if excess is None else f"{100 * excess:+.0f} ± {100 * error:.0f} %"
        row = [str(n), _measured(net["test"][index], net["test_stderr"][index]), _number(net["exact_test"][index]), apart]
        if net["r_hat"]:
            row += [f"{net['r_hat'][index]:.3f}", f"{net['effective_samples'][index]:.0f}"]
        rows.append(row)
    return rows


def breaking_rows(result: Mapping[str, Any]) -> list[list[str]]:
    """One row for each degree to which order was broken."""
    return [
        [f"{each['epsilon']:g}", f"{each['gap']['value']:.2g}", f"{100 * each['error']:+.1f} ± {100 * each['stderr']:.1f} %"]
        for each in result["breaking"]
    ]


def losses(result: Mapping[str, Any]) -> Sequence[str]:
    """The losses that there are, by theory or by what was measured in its place."""
    known = next(result[part] for part in ("theory", "gp", "net") if result[part] is not None)
    return [loss for loss in LOSS_NAMES if known[loss] is not None]


def samples(number: float | None) -> str:
    """A number of samples to three digits."""
    if number is None:
        return "∞"
    if number >= 1e6:
        return f"{number:.2e}"
    return f"{number:.1f}" if number < 10 else f"{float(f'{number:.3g}'):.0f}"


def _number(value: float | None) -> str:
    return "∞" if value is None else f"{value:.3g}"


def _measured(value: float | None, stderr: float | None) -> str:
    return "" if value is None or stderr is None else f"{value:.3g} ± {stderr:.1g}"
