"""From a spectrum or a Gram to what is learnt from N samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.learning.complexity import (
        Need as Need,
        samples_for_error as samples_for_error,
        samples_from_profile as samples_from_profile,
        samples_to_learn as samples_to_learn,
    )
    from specht.learning.curves import Curve as Curve
    from specht.learning.flow import gradient_flow as gradient_flow
    from specht.learning.regime import kernel_regime as kernel_regime
    from specht.learning.tally import MeasuredCurve as MeasuredCurve

__all__, __getattr__, __dir__ = lazy_names(__name__)
