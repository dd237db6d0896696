"""Strict settings for every test: no silent promotion of types or ranks, compiled programs kept between runs."""

from __future__ import annotations

import gc
import os
import tomllib
from importlib.metadata import version
from pathlib import Path

import hypothesis
import numpy as np
import pytest

RUNS_LONG = {"runs_long", "networks", "slow"}
"""Marks of tests whose programs run for longer than they take to compile."""

ROOM = 4 * 2**30
"""Bytes of a worker beyond which it forgets compiled programs, and a quarter of the machine's memory where that is more."""


def pytest_configure(config):
    # Set before JAX is loaded, and inherited by the processes that tests start.
    cache = Path(config.rootpath) / ".pytest_cache" / "jax"
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.3")
    # Most of the time goes into compiling programs that run once, so they are optimised less; new emitters only compile for longer.
    flags = ["--xla_backend_optimization_level=1"]
    if tuple(map(int, version("jaxlib").split(".")[:2])) < (0, 12):  # later ones do not know it, and stop at what they do not know
        flags.append("--xla_cpu_use_fusion_emitters=false")
    os.environ.setdefault("XLA_FLAGS", " ".join(flags))

    import jax

    jax.config.update("jax_numpy_dtype_promotion", "strict")
    jax.config.update("jax_numpy_rank_promotion", "raise")

    # Compiling makes the first example slow, and the same examples every time make a failure repeatable.
    hypothesis.settings.register_profile(
        "specht", deadline=None, derandomize=True, max_examples=20 if "not whole" in config.option.markexpr else 40
    )
    hypothesis.settings.load_profile("specht")


WHOLE = Path(__file__).with_name("whole.toml")
"""Names tests that take long, with what the ordinary run has instead."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark the tests of whole.toml, before those with the mark are left out. A name that no test has is told where all are collected."""
    names = {name for group in tomllib.loads(WHOLE.read_text(encoding="utf-8"))["group"] for name in group["tests"]}
    seen = set()
    for item in items:
        name = {item.nodeid, item.nodeid.partition("[")[0]} & names
        if name:
            item.add_marker(pytest.mark.whole)
            seen |= name
    if not config.invocation_params.args or config.args == config.getini("testpaths"):
        gone = sorted(names - seen)
        if gone:
            raise pytest.UsageError(f"{WHOLE.name} names tests that are not there: {', '.join(gone)}")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Optimise programs hardly at all, which takes a third of the time, but for tests whose programs run for long.

    And let the random numbers of a test file begin anew, so that no test depends on which came before it in its worker.
    """
    import jax

    jax.config.update("jax_disable_most_optimizations", RUNS_LONG.isdisjoint(marker.name for marker in item.iter_markers()))
    module = getattr(item, "module", None)
    if hasattr(module, "RNG"):
        module.RNG = np.random.default_rng(0)


def pytest_collection_finish():
    """What is there before the first test stays to the end: the garbage collector looks elsewhere, and more seldom."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def pytest_runtest_teardown(item, nextitem):
    """Compiled programs are kept from file to file while there is room for them."""
    if (nextitem is None or nextitem.path != item.path) and _memory() > max(ROOM, _machine() // 4):
        import jax

        jax.clear_caches()
        gc.collect()


def _memory() -> int:
    """Bytes that this process holds, where the system tells."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _machine() -> int:
    """Bytes of memory that the machine has, where the system tells."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 0
