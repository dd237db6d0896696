"""The symmetry profile of any function: how much of it ignores order, and how much needs 1, 2, ... positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.profiles.result import Profile as Profile
    from specht.profiles.solve import LEAST_SAMPLES as LEAST_SAMPLES, profile as profile

__all__, __getattr__, __dir__ = lazy_names(__name__)
