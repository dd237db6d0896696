"""Sparse token selection: attention that averages the tokens which a query names (Wang, Wei, Hsu & Lee 2024)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.studies.selection.codes_theory import (
        best_share as best_share,
        check_code as check_code,
        code_needed as code_needed,
        draw_pool as draw_pool,
        pool_loss as pool_loss,
        smallest_code as smallest_code,
        stochastic_dynamics as stochastic_dynamics,
    )
    from specht.studies.selection.task import Selection as Selection
    from specht.studies.selection.theory import (
        asymptote as asymptote,
        one_hot_dynamics as one_hot_dynamics,
        phases as phases,
        time_of_loss as time_of_loss,
        width_bound as width_bound,
        width_needed as width_needed,
    )
    from specht.studies.selection.training import (
        MEASURES as MEASURES,
        SelectionTraining as SelectionTraining,
        train_selection as train_selection,
    )

__all__, __getattr__, __dir__ = lazy_names(__name__)
