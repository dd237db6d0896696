"""What will this transformer learn, and from how many samples? Answers before training.

>>> import specht
>>> arch = specht.preset("simplified", vocab=4, length=16)
>>> str(arch)
'V=4 L=16 | pos=learned(1.0) | linear/sqrt | linear | last'

Names load when they are first used, so `import specht` is quick and does not load JAX.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht import corpus as corpus, nn as nn, testing as testing
    from specht.activations import Activation as Activation, register_activation as register_activation
    from specht.architecture import Architecture as Architecture, Variances as Variances
    from specht.errors import InputError as InputError
    from specht.forecasts.own_data import forecast as forecast
    from specht.kernel.functions import nngp as nngp, ntk as ntk
    from specht.kernel.kernel import Kernel as Kernel
    from specht.learning import exact as gp
    from specht.learning.adaptive.adapt import adapt as adapt
    from specht.learning.complexity import sample_complexity as sample_complexity
    from specht.learning.gp.evidence import log_evidence as log_evidence
    from specht.learning.gp.gaussian_process import GP as GP
    from specht.learning.learning_curves import Eigenvalues as Eigenvalues, learning_curve as learning_curve
    from specht.presets import PRESETS as PRESETS, preset as preset
    from specht.probes.search import Probe as Probe, probe as probe
    from specht.profiles.result import Profile as Profile
    from specht.profiles.solve import profile as profile
    from specht.results import load as load
    from specht.sequences import sources as sources, targets as targets
    from specht.sequences.targets import Target as Target
    from specht.sequences.tasks import Task as Task
    from specht.spectra.result import Spectrum as Spectrum
    from specht.spectra.solve import spectrum as spectrum

__version__ = "0.1.0"

# What everyone needs. Networks are in `specht.nn`, and the rest in the rooms that are named after their subjects.
__all__, __getattr__, __dir__ = lazy_names(__name__, own=["__version__"], elsewhere=["specht.nn"])
