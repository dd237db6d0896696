"""A training that is killed by tests: run as a script, it trains into a checkpoint and writes what came out."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from specht.architecture import Architecture
from specht.lab.checkpoint import Checkpoint
from specht.nn import training as train_module
from specht.nn.data import Fixed, Fresh
from specht.nn.network import Network, Size
from specht.nn.recipe import Recipe
from specht.nn.trained import Trained
from specht.nn.training import train

ARCH = Architecture(vocab=2, length=4, attention="softmax", activation="erf")


def draw(rng, n):
    x = rng.integers(2, size=(n, ARCH.columns))
    return x, x[:, 0] ^ x[:, 1]


def start(key):
    return Network.init(ARCH, Size(8, 2, 4), key=key)


RECIPES = {
    "full batch": Recipe(steps=400, learning_rate=0.01, optimiser="adam", records=12),
    "mini-batch": Recipe(steps=400, learning_rate=0.01, optimiser="momentum", batch=8, schedule="cosine", records=12),
    "fresh": Recipe(steps=400, learning_rate=0.01, optimiser="adam", batch=8, records=12),
    "patience": Recipe(steps=400, learning_rate=0.05, optimiser="adam", batch=8, patience=4, records=30),
}


def run(name: str, checkpoint, slice_work: float = 2e6) -> Trained:
    """Several runs in several slices each."""
    train_module._SLICE_WORK = slice_work
    recipe = RECIPES[name]
    data = Fresh(draw) if name == "fresh" else Fixed(*draw(np.random.default_rng(0), 32))
    test = {"validation": Fixed(*draw(np.random.default_rng(1), 64))}
    return train(start, data, recipe, seeds=range(3), evaluate=test, chunk=2 if name == "mini-batch" else 1, checkpoint=checkpoint)


def numbers(found: Trained) -> dict[str, np.ndarray]:
    """All that a training gives, by name."""
    import jax

    arrays = {f"loss {name}": values for name, values in found.losses.items()} | {"stopped": found.stopped_at}
    return arrays | {f"model {place}": leaf for place, leaf in enumerate(jax.tree.leaves(found.models))}


if __name__ == "__main__":
    path = Path(sys.argv[1])
    result = run("mini-batch", Checkpoint(path, every=0.0), slice_work=2e5)
    np.savez(path.with_name("result.npz"), **numbers(result))
