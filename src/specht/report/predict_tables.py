"""The tables of `specht predict`, for the terminal and the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

LOSS_NAMES = {"test": "test", "train": "train", "ood": "out of distribution"}
NEED_HEADER = ("level", "irrep", "degeneracy", "eigenvalue / E[k]", "samples N*", "at least")
FINITE_HEADER = ("width", "samples for the error", "symmetry breaks from N", "how")
BREAKING_HEADER = ("ε", "gap", "theory off by")


def curve_header(result: Mapping[str, Any]) -> tuple[str, ...]:
    """Column names of the learning curve: finite widths first, with networks beside the width they have, then infinite width, with exact
    inference beside it where it was computed."""
    header = ["N"]
    for width in finite_widths(result):
        header += [f"test, width {width}"] + ["networks"] * (width == networks_beside(result))
    for loss in losses(result):
        infinite = "infinite: " if loss == "test" and finite_widths(result) else ""
        header += [f"{infinite}{LOSS_NAMES[loss]}"] + ["exact"] * (result["gp"] is not None)
    return (*header, "learnt")


def curve_rows(result: Mapping[str, Any]) -> list[list[str]]:
    """One row for each number of samples."""
    rows = []
    for index, n in enumerate(result["n_train"]):
        row = [str(n), *_finite_cells(result, index)]
        for loss in losses(result):
            row.append(_number(result["theory"][loss][index]))
            if result["gp"] is not None:
                row.append(_point(result["gp"], loss, index))
        learnt = result["theory"]["learned"][index]
        rows.append([*row, "" if learnt is None else f"{100 * learnt:.0f} %"])
    return rows


def _finite_cells(result: Mapping[str, Any], index: int) -> list[str]:
    """Test losses at finite widths, and of networks; empty where the theory does not reach."""
    cells = []
    for row, width in enumerate(finite_widths(result)):
        finite = result["finite"]
        cells.append(_number(finite["test"][row][index]) if index < len(finite["n_train"]) else "")
        if width == networks_beside(result):
            cells.append(_point(result["net"], "test", index))
    return cells


def finite_widths(result: Mapping[str, Any]) -> list[int]:
    """The finite widths that the theory has curves of, smallest first."""
    return result["finite"]["width"] if result.get("finite") else []


def networks_beside(result: Mapping[str, Any]) -> int | None:
    """The width of networks that were sampled, if the theory has a curve at the same width."""
    width = result["net"]["size"]["width"] if result["net"] and result["kind"] == "nngp" else None
    return width if width in finite_widths(result) else None


def finite_rows(result: Mapping[str, Any]) -> list[list[str]]:
    """One row for each width: samples that the asked error takes, and from where on positions are told apart."""
    finite, rows = result["finite"], []
    for width, needed, change in zip(finite["width"], finite["samples"], finite["transition"], strict=True):
        never = "never" if not finite["reads"] else f"not up to {finite['n_train'][-1]}"
        broken = never if change["samples"] is None else _bounded(change["samples"], finite["n_train"])
        rows.append([str(width), _bounded(needed, finite["n_train"]), broken, change["kind"] if change["samples"] is not None else ""])
    return [*rows, ["infinite", samples(result["error"]["samples"]), "never", ""]]


def _bounded(number: float | None, n_train: Sequence[int]) -> str:
    """A number of samples that was looked for among those of the curve."""
    if number is None:
        return f"more than {n_train[-1]}"
    return f"at most {n_train[0]}" if number <= n_train[0] else samples(number)


def finite_samples(result: Mapping[str, Any]) -> list[str]:
    """Samples that the asked error takes at each finite width, in words."""
    finite = result["finite"]
    return [_bounded(needed, finite["n_train"]) for needed in finite["samples"]]


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


def losses(result: Mapping[str, Any]) -> list[str]:
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


def _point(measured: Mapping[str, Any], loss: str, index: int) -> str:
    """What was measured at one number of samples, where that many were tried."""
    tried = index < len(measured["n_train"])
    return _measured(measured[loss][index], measured[f"{loss}_stderr"][index]) if tried else ""


def _measured(value: float | None, stderr: float | None) -> str:
    return "" if value is None or stderr is None else f"{value:.3g} ± {stderr:.1g}"
