"""From a spectrum or a Gram to what is learnt from N samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.learning.complexity import Need as Need
    from specht.learning.complexity import samples_for_error as samples_for_error
    from specht.learning.complexity import samples_from_profile as samples_from_profile
    from specht.learning.complexity import samples_to_learn as samples_to_learn
    from specht.learning.curves import Curve as Curve
    from specht.learning.flow import gradient_flow as gradient_flow
    from specht.learning.growth import fit_growth as fit_growth
    from specht.learning.iterative import regress_iteratively as regress_iteratively
    from specht.learning.regime import kernel_regime as kernel_regime
    from specht.learning.regression import regress as regress
    from specht.learning.regression import regress_features as regress_features
    from specht.learning.selection import one_hot_dynamics as one_hot_dynamics
    from specht.learning.selection import phases as phases
    from specht.learning.selection import width_bound as width_bound
    from specht.learning.selection import width_needed as width_needed
    from specht.learning.selection_codes import best_share as best_share
    from specht.learning.selection_codes import code_needed as code_needed
    from specht.learning.selection_codes import draw_pool as draw_pool
    from specht.learning.tally import MeasuredCurve as MeasuredCurve
    from specht.learning.threshold import Search as Search
    from specht.learning.threshold import Threshold as Threshold
    from specht.learning.threshold import find_threshold as find_threshold

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "specht.learning.complexity": ["Need", "samples_for_error", "samples_from_profile", "samples_to_learn"],
        "specht.learning.curves": ["Curve"],
        "specht.learning.flow": ["gradient_flow"],
        "specht.learning.growth": ["fit_growth"],
        "specht.learning.iterative": ["regress_iteratively"],
        "specht.learning.regime": ["kernel_regime"],
        "specht.learning.regression": ["regress", "regress_features"],
        "specht.learning.selection": ["one_hot_dynamics", "phases", "width_bound", "width_needed"],
        "specht.learning.selection_codes": ["best_share", "code_needed", "draw_pool"],
        "specht.learning.tally": ["MeasuredCurve"],
        "specht.learning.threshold": ["Search", "Threshold", "find_threshold"],
    },
)
