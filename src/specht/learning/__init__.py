"""From a spectrum or a Gram to what is learnt from N samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.learning import adaptive as adaptive, exact as exact, networks as networks
    from specht.learning.complexity import (
        Need as Need,
        sample_complexity as sample_complexity,
        samples_for_error as samples_for_error,
        samples_from_profile as samples_from_profile,
        samples_to_learn as samples_to_learn,
    )
    from specht.learning.curves import Curve as Curve, theory_curve as theory_curve
    from specht.learning.flow import gradient_flow as gradient_flow
    from specht.learning.learning_curves import spectrum_for_curves as spectrum_for_curves
    from specht.learning.networks import Networks as Networks
    from specht.learning.regime import Regime as Regime, kernel_regime as kernel_regime
    from specht.learning.tally import LOSSES as LOSSES, MeasuredCurve as MeasuredCurve
    from specht.learning.target_content import content as content, leading_modes as leading_modes

__all__, __getattr__, __dir__ = lazy_names(__name__)
