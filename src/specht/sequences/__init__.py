"""Where token sequences come from, and what counts as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.sequences.law import Source as Source
    from specht.sequences.selection import Selection as Selection
    from specht.sequences.sparse import SparseFunction as SparseFunction
    from specht.sequences.sparse import sparse_function as sparse_function
    from specht.sequences.table import Table as Table
    from specht.sequences.table import TableOptions as TableOptions
    from specht.sequences.table import read_table as read_table
    from specht.sequences.tasks import order_forgotten as order_forgotten
    from specht.sequences.tasks import shifted as shifted
    from specht.sequences.tasks import task as task
    from specht.sequences.tokens import check_batch as check_batch
    from specht.sequences.tokens import check_tokens as check_tokens

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "specht.sequences.law": ["Source"],
        "specht.sequences.selection": ["Selection"],
        "specht.sequences.sparse": ["SparseFunction", "sparse_function"],
        "specht.sequences.table": ["Table", "TableOptions", "read_table"],
        "specht.sequences.tasks": ["order_forgotten", "shifted", "task"],
        "specht.sequences.tokens": ["check_batch", "check_tokens"],
    },
)
