"""Subjects of their own, each with its task, model, theory and measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.studies import selection as selection, sparse as sparse

__all__, __getattr__, __dir__ = lazy_names(__name__)
