"""How much memory the machine has: asked before anything large is computed, and without loading JAX."""

from __future__ import annotations

import os


def available_memory() -> int | None:
    """Bytes that can be had without swapping, or None where the system does not say."""
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None
