"""The page *Learning curve*: theory at once, exact inference and finite networks when asked for."""

from __future__ import annotations

from typing import Any, Literal, cast

from specht.commands.predict import PredictCommand
from specht.commands.predict.config import NetworkFlags, PredictConfig, ShiftFlags
from specht.commands.task_flags import TargetFlags
from specht.explorer.state import CurvePage
from specht.lab.config import ArchitectureFlags
from specht.progress import Progress
from specht.report.html import Report

Check = Literal["gp", "net"]
DATASETS, CHECK_N = 8, 256
"""Of exact inference: less than the command line takes, since somebody is waiting."""
NET_N, NET_DATASETS, HEADS = 16, 2, 64
CHECKS: dict[Check, str] = {"gp": "Add exact GP points", "net": "Add trained networks"}
"""What the buttons say."""


class ChecksWanted:
    """The checks that buttons have asked for with the parameters on the page; when a parameter changes, there are none."""

    def __init__(self) -> None:
        self._page: CurvePage | None = None
        self._checks: set[Check] = set()

    def on(self, page: CurvePage, pressed: dict[Check, bool]) -> tuple[Check, ...]:
        """The checks of a page, with the buttons that were pressed just now."""
        if page != self._page:
            self._page, self._checks = page, set()
        self._checks |= {check for check, is_pressed in pressed.items() if is_pressed}
        return tuple(sorted(self._checks))

    def clear(self) -> None:
        self._checks = set()


def busy(checks: tuple[Check, ...]) -> str:
    """What is being computed, in words."""
    if "net" in checks:
        return "Training networks: this takes minutes."
    return "Inferring exactly on sampled data." if checks else "Computing the spectrum and the curve."


def curve_config(page: CurvePage, checks: tuple[Check, ...] = ()) -> PredictConfig:
    """The configuration of `specht predict` that a page stands for."""
    fields: dict[str, Any] = {"ridge": page.ridge, "noise": page.noise, "kind": page.kind, "check": checks}
    fields |= {"width": (page.width or "infinite",)}
    fields |= {"shift": ShiftFlags(shift=cast(Any, page.shift)), "target": TargetFlags(target=page.target)}
    fields |= {"heads": HEADS} if page.attention == "softmax" else {}
    fields |= {"datasets": DATASETS, "check_n": CHECK_N} if "gp" in checks else {}
    fields |= {"networks": NetworkFlags(net_n=NET_N, net_datasets=NET_DATASETS)} if "net" in checks else {}
    return PredictConfig(architecture=ArchitectureFlags(**architecture_fields(page)), **fields)


def architecture_fields(page: Any) -> dict[str, Any]:
    """The fields of an architecture that a page has; those at their defaults are left out, which keeps commands short."""
    names = ("length", "vocab", "s_p", "s_1", "s_2", "attention", "activation")
    fields = {name: getattr(page, name) for name in names if hasattr(page, name) and getattr(page, name) != getattr(type(page)(), name)}
    return fields | ({} if page.s_w == 1.0 else {"s_w": page.s_w / page.vocab})


def curve_report(page: CurvePage, checks: tuple[Check, ...] = (), progress: Progress | None = None) -> Report:
    """What `specht predict` reports."""
    config, command = curve_config(page, checks), PredictCommand()
    return command.report(config, command.compute(config, progress))
