"""One thread a task: the same numbers to the bit on one machine, and workers that do not wait for each other."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator

from threadpoolctl import threadpool_limits

XLA_ONE_THREAD = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
"""JAX reads this when it is loaded, and at no other time."""


def ask_for_one_thread() -> None:
    """Have JAX, if it is not loaded yet, and every process started from now on compute with one thread."""
    flags = os.environ.get("XLA_FLAGS", "")
    if XLA_ONE_THREAD not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {XLA_ONE_THREAD}".strip()
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"


@functools.cache
def one_thread_for_good() -> None:
    """One thread in this process from now on: for a worker, which has nothing else to do."""
    ask_for_one_thread()
    threadpool_limits(1)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Linear algebra of NumPy and SciPy with one thread while the block lasts, whatever loaded them first."""
    with threadpool_limits(1):
        yield
