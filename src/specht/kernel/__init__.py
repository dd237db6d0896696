"""The kernel limit: a transformer of infinite width is a Gaussian process, and this is its covariance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.kernel.counts import CountedBatch as CountedBatch, PairCounts as PairCounts, kernel_of_counts as kernel_of_counts
    from specht.kernel.embedded import (
        Embedding as Embedding,
        Heads as Heads,
        attended as attended,
        by_position as by_position,
        embedded_diagonal as embedded_diagonal,
        embedded_kernel as embedded_kernel,
        streams as streams,
        why_not_embedded as why_not_embedded,
    )
    from specht.kernel.forms import (
        FORMS as FORMS,
        MAX_POSITIONS as MAX_POSITIONS,
        SAMPLED_FORMS as SAMPLED_FORMS,
        Form as Form,
        check_memory as check_memory,
        choose_form as choose_form,
        why_no_features as why_no_features,
    )
    from specht.kernel.functions import kernel_of_batches as kernel_of_batches
    from specht.kernel.gram import Combination as Combination, Gram as Gram
    from specht.kernel.kernel import Kernel as Kernel
    from specht.kernel.model import KernelModel as KernelModel, model_of as model_of
    from specht.kernel.pairs import Sequences as Sequences, outer as outer, sequences as sequences
    from specht.kernel.perceptron import perceptron_gram as perceptron_gram

__all__, __getattr__, __dir__ = lazy_names(__name__)
