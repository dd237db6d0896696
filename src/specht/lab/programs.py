"""Compiled programs of a process that does many jobs: forgotten before there are too many of them.

Each program takes some memory maps, of which Linux allows a process 65530. The compiler ends the whole process when it gets no more.
"""

from __future__ import annotations

import gc
import sys
from pathlib import Path

SHARE = 0.5
"""Share of the memory maps that a process may hold when a job begins."""
_HELD, _ALLOWED = Path("/proc/self/maps"), Path("/proc/sys/vm/max_map_count")


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
