"""What a process that does many jobs keeps to: one thread a task, and not too many compiled programs.

One thread gives the same numbers to the bit on one machine, and workers that do not wait for each other. Each compiled program takes some
memory maps, of which Linux allows a process 65530; the compiler ends the whole process when it gets no more.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import sys
from pathlib import Path

from threadpoolctl import threadpool_limits

XLA_ONE_THREAD = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
"""JAX reads this when it is loaded, and at no other time."""
SHARE = 0.5
"""Share of the memory maps that a process may hold when a job begins."""
_HELD, _ALLOWED = Path("/proc/self/maps"), Path("/proc/sys/vm/max_map_count")


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


def one_thread() -> contextlib.AbstractContextManager[object]:
    """Linear algebra of NumPy and SciPy with one thread while the block lasts, whatever loaded them first."""
    return threadpool_limits(1)


def forget_programs_if_many(share: float = SHARE) -> bool:
    """Forget all compiled programs if this process holds more than a share of the memory maps that it may have, and say whether it did."""
    if "jax" not in sys.modules or not _holds_many(share):
        return False
    import jax

    jax.clear_caches()
    gc.collect()
    return True


def _holds_many(share: float) -> bool:
    try:
        with open(_HELD, "rb") as maps:
            return sum(1 for _ in maps) > share * int(_ALLOWED.read_text())
    except (OSError, ValueError):  # a system that counts them otherwise, or not at all
        return False
