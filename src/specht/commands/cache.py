"""Compiled programs kept between runs of the command line: compiling costs more than computing.

Only the command line does this. Importing the package sets nothing.
"""

from __future__ import annotations

import hashlib
import os
import platform
from pathlib import Path

CACHE_VARIABLE, THRESHOLD_VARIABLE = "JAX_COMPILATION_CACHE_DIR", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"


def use_compilation_cache() -> None:
    """Point JAX, not loaded yet, to the cache of this user and machine; one that the environment names already is left alone."""
    if CACHE_VARIABLE not in os.environ:
        folder = user_cache() / "jax" / machine_key()
        try:
            # Whoever can write there can run code as this user, so nobody else may.
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError:
            return  # a home that cannot be written to makes the command slower, not impossible
        os.environ[CACHE_VARIABLE] = str(folder)
    os.environ.setdefault(THRESHOLD_VARIABLE, "0")  # many small programs take as long to compile as one large


def user_cache() -> Path:
    """The folder for caches of this user on this system."""
    from platformdirs import user_cache_path

    return user_cache_path("specht", appauthor=False, opinion=False)


def machine_key() -> str:
    """Names the kind of processor: a program compiled for one may not run on another that shares the home folder."""
    facts = [platform.machine(), platform.processor()]
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        wanted = ("model name", "flags", "Features")
        facts += sorted({line for line in cpuinfo.read_text(errors="replace").splitlines() if line.startswith(wanted)})
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:12]
