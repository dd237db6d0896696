"""Workers forget compiled programs before the system's limit on memory maps is reached."""

from __future__ import annotations

import sys

import jax
import jax.numpy as jnp
import pytest

from specht.lab.threads import forget_programs_if_many


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits memory maps in this way")
def test_programs_are_forgotten_when_there_are_many():
    doubled = jax.jit(lambda x: 2.0 * x)
    assert doubled(jnp.ones(3)).tolist() == [2.0, 2.0, 2.0]
    assert not forget_programs_if_many(share=1.0)
    assert doubled._cache_size() == 1
    assert forget_programs_if_many(share=0.0)
    assert doubled._cache_size() == 0
    assert doubled(jnp.ones(3)).tolist() == [2.0, 2.0, 2.0]
