"""The kernel limit: a transformer of infinite width is a Gaussian process, and this is its covariance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.kernel.combination import Combination as Combination
    from specht.kernel.functions import kernel_of_batches as kernel_of_batches
    from specht.kernel.gram import Gram as Gram
    from specht.kernel.tables import PairCounts as PairCounts, kernel_of_counts as kernel_of_counts

__all__, __getattr__, __dir__ = lazy_names(__name__)
