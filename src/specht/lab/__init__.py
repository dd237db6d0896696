"""Running things: configurations, jobs, and where their results are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.lab.checkpoint import Checkpoint as Checkpoint

__all__, __getattr__, __dir__ = lazy_names(__name__)
