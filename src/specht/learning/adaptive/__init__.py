"""What a transformer of finite width learns: its embedding adapts to the data, and the symmetry of the kernel breaks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.learning.adaptive.collapsed import layer_gain as layer_gain
    from specht.learning.adaptive.curve import BROKEN as BROKEN, AdaptiveCurve as AdaptiveCurve
    from specht.learning.adaptive.needs import ComplexityByWidth as ComplexityByWidth
    from specht.learning.adaptive.one_over_width import FirstOrder as FirstOrder, first_order as first_order
    from specht.learning.adaptive.population import SEQUENCES as SEQUENCES, adaptive_curve as adaptive_curve, most_samples as most_samples
    from specht.learning.adaptive.problem import AdaptiveProblem as AdaptiveProblem, Widths as Widths
    from specht.learning.adaptive.saddle import Saddle as Saddle, nearest_minimum as nearest_minimum, variances_at as variances_at
    from specht.learning.adaptive.sampled import Adapted as Adapted, Chains as Chains

__all__, __getattr__, __dir__ = lazy_names(__name__)
