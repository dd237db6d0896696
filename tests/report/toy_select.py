"""Results of `specht select` made up in no time, for tests of its page."""

from __future__ import annotations

import numpy as np
import xarray

from specht.trees import tree


def entry(stochastic, fixed, error=0.01, **named):
    return named | {"stochastic": stochastic, "fixed": fixed, "stderr": {"stochastic": error, "fixed": error}}


def result(**changes):
    base = {
        "task": "T=50 q=3 d=5",
        "length": 50,
        "code": 64,
        "trivial": 5 / 6,
        "train": [entry(0.83, 0.83, step=0), entry(0.1, 0.05, step=100), entry(0.01, 0.009, step=2000)],
        "lengths": [entry(0.015, 0.2, T_test=75), entry(0.03, 0.3, T_test=100)],
        "supports": [entry(0.02, 0.04, q_test=8, trivial=5 / 16)],
        "matrices": {kind: {"keys_cosine": 0.99, "values_cosine": 0.98, "off_block": 0.001} for kind in ("stochastic", "fixed")},
        "theory": None,
        "network_width": 245,
        "network_share": 0.02,
        "attention_width": 69,
        "seeds": 3,
        "codes": ["stochastic", "fixed"],
        "optimiser": "adam",
        "learning_rate": 0.01,
    }
    return base | changes


def tree_of(start=0.1, **changes) -> xarray.DataTree:
    values = result(**changes)
    matrices = {
        "keys_start": np.full((6, 6), start),
        "keys_end": np.eye(6),
        "values_start": np.full((2, 6), start),
        "values_end": np.eye(2, 6),
    }
    kept = {f"{name}_{kind}": ((f"{name}_0", f"{name}_1"), matrix) for name, matrix in matrices.items() for kind in values["codes"]}
    return tree(values | {"trainings": kept})
