"""The interactive explorer: theory that moves while one looks at it. `specht explore` serves it to a browser of this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.explorer.server import serve

__all__, __getattr__, __dir__ = lazy_names(__name__)
