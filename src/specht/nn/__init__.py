"""Networks of finite width: the same architectures as random, trained and sampled networks.

>>> import specht
>>> specht.nn.Size(width=64, heads=4, head_size=16)
Size(width=64, heads=4, head_size=16, embedding=None)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.lab import Checkpoint as Checkpoint
    from specht.nn.data import EVALUATED_TOGETHER as EVALUATED_TOGETHER, Draw as Draw, Fixed as Fixed, Fresh as Fresh
    from specht.nn.empirical import (
        Estimate as Estimate,
        empirical_nngp as empirical_nngp,
        empirical_ntk as empirical_ntk,
        feature_kernel as feature_kernel,
        tangent_kernel as tangent_kernel,
    )
    from specht.nn.fully_connected import FullyConnected as FullyConnected
    from specht.nn.network import Network as Network, Size as Size
    from specht.nn.posterior import SampledPosterior as SampledPosterior, diagnosed as diagnosed, square_of_mean as square_of_mean
    from specht.nn.recipe import Optimiser as Optimiser, RateSchedule as RateSchedule, Recipe as Recipe
    from specht.nn.sampling import Sampling as Sampling, StepSizeWarning as StepSizeWarning, langevin as langevin
    from specht.nn.trained import Keeper as Keeper, Trained as Trained
    from specht.nn.training import train as train
    from specht.nn.trajectories import (
        ChainState as ChainState,
        Schedule as Schedule,
        Trajectories as Trajectories,
        begin as begin,
        hamiltonian as hamiltonian,
        run as run,
    )

__all__, __getattr__, __dir__ = lazy_names(__name__)
