"""Where token sequences come from, and what counts as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.sequences import sources as sources
    from specht.sequences.actions import (
        Residual as Residual,
        action_on as action_on,
        equivariance_residual as equivariance_residual,
        generators as generators,
        gram_matrix as gram_matrix,
        gram_residual as gram_residual,
        invariance_residual as invariance_residual,
        permute_context as permute_context,
        random_permutations as random_permutations,
        spread_of as spread_of,
    )
    from specht.sequences.codes import dual_code as dual_code, random_codes as random_codes
    from specht.sequences.exchangeability import exchangeability_gap as exchangeability_gap, require_exchangeable as require_exchangeable
    from specht.sequences.law import Exchangeable as Exchangeable, Source as Source, cumulative as cumulative, pick as pick
    from specht.sequences.sources import iid as iid, order_broken as order_broken, uniform as uniform
    from specht.sequences.targets import TARGETS as TARGETS, Setting as Setting, Target as Target, target as target
    from specht.sequences.tasks import (
        TASKS as TASKS,
        Task as Task,
        check_task as check_task,
        order_forgotten as order_forgotten,
        shifted as shifted,
        task as task,
    )
    from specht.sequences.tokens import (
        booleans as booleans,
        check_batch as check_batch,
        check_tokens as check_tokens,
        every_sequence as every_sequence,
        input_array as input_array,
        split_batch as split_batch,
        whole_numbers as whole_numbers,
    )

__all__, __getattr__, __dir__ = lazy_names(__name__)
