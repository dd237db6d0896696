"""Where token sequences come from, and what counts as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.sequences.actions import (
        Residual as Residual,
        equivariance_residual as equivariance_residual,
        gram_residual as gram_residual,
        invariance_residual as invariance_residual,
        permute_context as permute_context,
    )
    from specht.sequences.law import Source as Source
    from specht.sequences.tasks import order_forgotten as order_forgotten, shifted as shifted, task as task
    from specht.sequences.tokens import check_batch as check_batch, check_tokens as check_tokens

__all__, __getattr__, __dir__ = lazy_names(__name__)
