"""Strict settings for every test: no silent promotion of types or ranks, compiled programs kept between runs."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import hypothesis


def pytest_configure(config):
    # Set before JAX is loaded, and inherited by the processes that tests start.
    cache = Path(config.rootpath) / ".pytest_cache" / "jax"
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.3")
    # Most of the time goes into compiling programs that run once, so they are optimised less.
    os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=1 --xla_cpu_use_fusion_emitters=false")

    import jax

    jax.config.update("jax_numpy_dtype_promotion", "strict")
    jax.config.update("jax_numpy_rank_promotion", "raise")

    # Compiling makes the first example slow, and the same examples every time make a failure repeatable.
    hypothesis.settings.register_profile("specht", deadline=None, derandomize=True, max_examples=40)
    hypothesis.settings.load_profile("specht")


def pytest_collection_finish():
    """What is there before the first test stays to the end: the garbage collector need not look through it again and again."""
    gc.collect()
    gc.freeze()
