"""The command line: one file or folder a command, which holds its configuration, its computation and its page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.commands.forecast import PROBLEM_COLUMNS, ForecastCommand, ForecastConfig, forecast_tree
    from specht.commands.predict import NetworkFlags, PredictCommand, PredictConfig, ShiftFlags
    from specht.commands.profile import ProfileCommand, ProfileConfig
    from specht.commands.spectrum import ScalableArchitecture, SpectrumCommand, SpectrumConfig
    from specht.commands.symmetry import SymmetryCommand, SymmetryConfig
    from specht.commands.symmetry.compute import symmetry_tree
    from specht.commands.task_flags import SUPPORTED, TARGET_NAMES, TOKENED, SourceFlags, TargetFlags

__all__, __getattr__, __dir__ = lazy_names(__name__)
