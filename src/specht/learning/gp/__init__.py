"""Gaussian process inference with the kernel of a transformer: posteriors, evidence, fitted variances, and several solvers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.learning.gp.evidence import log_evidence as log_evidence
    from specht.learning.gp.fit import (
        Fit as Fit,
        fit_architecture as fit_architecture,
        leading_gram as leading_gram,
    )
    from specht.learning.gp.gaussian_process import GP as GP
    from specht.learning.gp.iterative import regress_iteratively as regress_iteratively
    from specht.learning.gp.regression import regress as regress, regress_features as regress_features

__all__, __getattr__, __dir__ = lazy_names(__name__)
