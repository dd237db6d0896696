"""What will this transformer learn, and from how many samples? Answers before training.

>>> import specht
>>> arch = specht.preset("simplified", vocab=4, length=16)
>>> str(arch)
'V=4 L=16 | pos=learned(1.0) | linear/sqrt | linear | last'

Names load when they are first used, so `import specht` is quick and does not load JAX.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from specht import corpus as corpus
    from specht import testing as testing
    from specht.architecture import Architecture as Architecture
    from specht.errors import InputError as InputError
    from specht.kernel.kernel import Kernel as Kernel
    from specht.lab.checkpoint import Checkpoint as Checkpoint
    from specht.learning import gp as gp
    from specht.learning.complexity import sample_complexity as sample_complexity
    from specht.learning.eigenvalues import Eigenvalues as Eigenvalues
    from specht.learning.learning_curves import learning_curve as learning_curve
    from specht.nn.data import Fixed as Fixed
    from specht.nn.data import Fresh as Fresh
    from specht.nn.empirical import empirical_nngp as empirical_nngp
    from specht.nn.empirical import empirical_ntk as empirical_ntk
    from specht.nn.langevin import Sampling as Sampling
    from specht.nn.langevin import langevin as langevin
    from specht.nn.network import Network as Network
    from specht.nn.network import Size as Size
    from specht.nn.recipe import Recipe as Recipe
    from specht.nn.train import train as train
    from specht.presets import PRESETS as PRESETS
    from specht.presets import preset as preset
    from specht.results import load as load
    from specht.sequences import sources as sources
    from specht.sequences import targets as targets
    from specht.sequences.targets import Target as Target
    from specht.sequences.tasks import Task as Task
    from specht.symmetry.probe import Probe as Probe
    from specht.symmetry.probe import probe as probe
    from specht.symmetry.profile import Profile as Profile
    from specht.symmetry.profile import profile as profile
    from specht.symmetry.solve import spectrum as spectrum
    from specht.symmetry.spectrum import Spectrum as Spectrum

__version__ = "0.1.0"

_HOMES = {
    "Architecture": "specht.architecture",
    "Checkpoint": "specht.lab.checkpoint",
    "Eigenvalues": "specht.learning.eigenvalues",
    "Fixed": "specht.nn.data",
    "Fresh": "specht.nn.data",
    "InputError": "specht.errors",
    "Kernel": "specht.kernel.kernel",
    "Network": "specht.nn.network",
    "PRESETS": "specht.presets",
    "Probe": "specht.symmetry.probe",
    "Profile": "specht.symmetry.profile",
    "Recipe": "specht.nn.recipe",
    "Sampling": "specht.nn.langevin",
    "Size": "specht.nn.network",
    "Spectrum": "specht.symmetry.spectrum",
    "Target": "specht.sequences.targets",
    "Task": "specht.sequences.tasks",
    "empirical_nngp": "specht.nn.empirical",
    "empirical_ntk": "specht.nn.empirical",
    "langevin": "specht.nn.langevin",
    "learning_curve": "specht.learning.learning_curves",
    "load": "specht.results",
    "preset": "specht.presets",
    "probe": "specht.symmetry.probe",
    "profile": "specht.symmetry.profile",
    "sample_complexity": "specht.learning.complexity",
    "spectrum": "specht.symmetry.solve",
    "train": "specht.nn.train",
}
_MODULES = {
    "corpus": "specht.corpus",
    "gp": "specht.learning.gp",
    "sources": "specht.sequences.sources",
    "targets": "specht.sequences.targets",
    "testing": "specht.testing",
}

__all__ = [
    "PRESETS",
    "Architecture",
    "Checkpoint",
    "Eigenvalues",
    "Fixed",
    "Fresh",
    "InputError",
    "Kernel",
    "Network",
    "Probe",
    "Profile",
    "Recipe",
    "Sampling",
    "Size",
    "Spectrum",
    "Target",
    "Task",
    "__version__",
    "corpus",
    "empirical_nngp",
    "empirical_ntk",
    "gp",
    "langevin",
    "learning_curve",
    "load",
    "preset",
    "probe",
    "profile",
    "sample_complexity",
    "sources",
    "spectrum",
    "targets",
    "testing",
    "train",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name not in _HOMES:
        raise AttributeError(f"module 'specht' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
