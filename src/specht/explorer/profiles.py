"""The page *Symmetry profile*: how many positions a target singles out, level by level."""

from __future__ import annotations

from typing import Any, cast

from specht.commands.profile import ProfileCommand, ProfileConfig
from specht.commands.task_flags import SUPPORTED, SourceFlags
from specht.explorer.state import TargetPage
from specht.progress import Progress
from specht.report.page import Report


def profile_config(page: TargetPage) -> ProfileConfig:
    """The configuration of `specht profile` that a page stands for; a target that reads all positions has no support."""
    return ProfileConfig(
        target=page.target,
        support=page.support if page.target in SUPPORTED else None,
        length=page.length,
        vocab=page.vocab,
        samples=page.samples,
        source=SourceFlags(source=cast(Any, page.source)),
    )


def level_report(page: TargetPage, progress: Progress | None = None) -> Report:
    """What `specht profile` reports."""
    config, command = profile_config(page), ProfileCommand()
    return command.report(config, command.compute(config, progress))
