"""The command line: one file or folder a command, which holds its configuration, its computation and its page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.commands.predict import (
        NetworkFlags as NetworkFlags,
        PredictCommand as PredictCommand,
        PredictConfig as PredictConfig,
        ShiftFlags as ShiftFlags,
    )
    from specht.commands.profile import ProfileCommand as ProfileCommand, ProfileConfig as ProfileConfig
    from specht.commands.spectrum import (
        ScalableArchitecture as ScalableArchitecture,
        SpectrumCommand as SpectrumCommand,
        SpectrumConfig as SpectrumConfig,
    )
    from specht.commands.symmetry import SymmetryCommand as SymmetryCommand, SymmetryConfig as SymmetryConfig
    from specht.commands.symmetry.compute import symmetry_tree as symmetry_tree
    from specht.commands.task_flags import (
        SUPPORTED as SUPPORTED,
        TARGET_NAMES as TARGET_NAMES,
        TOKENED as TOKENED,
        SourceFlags as SourceFlags,
        TargetFlags as TargetFlags,
    )

__all__, __getattr__, __dir__ = lazy_names(__name__)
