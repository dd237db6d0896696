"""From the configuration of `specht predict` to what is learnt: a spectrum, and a task that may be made of its eigenfunctions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.learning.learning_curves import spectrum_for_curves
from specht.learning.modes import leading_modes

if TYPE_CHECKING:
    from specht.architecture import Architecture
    from specht.lab.predict_config import PredictConfig
    from specht.progress import Progress
    from specht.sequences.law import Source
    from specht.sequences.tasks import Task
    from specht.spectra.spectrum import Spectrum


def spectrum_of(config: PredictConfig, arch: Architecture, source: Source, progress: Progress | None = None) -> Spectrum:
    """The spectrum that a configuration asks for."""
    return spectrum_for_curves(
        arch,
        source,
        kind=config.kind,
        max_level=config.max_level,
        heads=config.heads,
        sequences=config.sequences,
        seed=config.seed,
        progress=progress,
    )


def task_of(config: PredictConfig, arch: Architecture, found: Spectrum | None = None) -> Task:
    """The task of a configuration; the spectrum is computed where eigenfunctions are the target and it is not known."""
    source = config.build_source(arch)
    return config.build_task(arch, lambda: leading_modes(found or spectrum_of(config, arch, source), range(config.target.number + 1)))
