"""What the networks of these experiments learn: functions of fair coin flips, of which a few positions matter or all alike."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import xarray

import specht
from specht import nn
from specht.learning import adaptive

RIDGE = 0.1
"""Variance of label noise, in units of the squared labels."""
TARGETS = ("copy", "and", "level 2", "counts")
READS = {"copy": (0,), "and": (0, 1), "level 1": (0, 1, 2, 3), "level 2": (0, 1), "counts": ()}
"""Positions that each target singles out."""
_TEST, _TEST_SEED, _LAW, _LAW_SEED = 400, 7, 4000, 1


def labels(target: str, x: np.ndarray, length: int) -> np.ndarray:
    """The target at sequences of flips; its mean square is one."""
    signs = 2.0 * x[:, :length] - 1.0
    match target:
        case "copy":
            return signs[:, 0]
        case "and":
            return 2.0 * (x[:, 0] & x[:, 1]) - 1.0
        case "level 1":  # weights that fall off: many positions are read a little
            weights = 0.5 ** np.arange(4)
            return (2.0 * x[:, :4] - 1.0) @ weights / np.linalg.norm(weights)
        case "level 2":
            return signs[:, 0] * signs[:, 1]
        case _:
            return signs.sum(axis=1) / np.sqrt(length)


class Flips(NamedTuple):
    """A data set, fresh sequences, and the unit of the kernel."""

    arch: Any
    x: np.ndarray
    y: np.ndarray
    new: np.ndarray
    new_y: np.ndarray
    scale: float
    """E[k(x, x)] at infinite width, over sequences that are the same for all data sets."""

    def adapt(self, width: Any, **how: Any) -> Any:
        """The theory of finite width on these samples; `how` are further arguments of `specht.adapt`."""
        return specht.adapt(self.arch, self.x, self.y, width=width, ridge=RIDGE, scale=self.scale, **how)

    def sampled(self, width: Any, level: str, chains: int, burn_in: int, samples: int) -> Any:
        """The same by chains that sample all weights up to a level."""
        return self.adapt(
            width, chains=adaptive.Chains(chains=chains, burn_in=burn_in, samples=samples, kept=min(100, samples), level=level)
        )

    def loss(self, theory: Any) -> tuple[float, float]:
        """Test loss of a theory, with its standard error over chains."""
        return theory.mean_square_error(self.new, self.new_y)

    def infinite_loss(self) -> float:
        """Test loss at infinite width."""
        kernel = specht.Kernel(self.arch, heads=4096) if self.arch.attention == "softmax" else self.arch
        mean = specht.GP(kernel, ridge=RIDGE * self.scale).condition(self.x, self.y).predict(self.new).mean
        rows = len(self.new)
        return float(np.square(np.asarray(mean).reshape(rows, -1) - self.new_y.reshape(rows, -1)).sum(axis=1).mean())

    def networks(self, size: Any, chains: int, burn_in: int, samples: int) -> tuple[Any, float]:
        """Whole networks sampled from their posterior, and the unit of their outputs: labels are as large as random networks."""
        unit, length = math.sqrt(self.scale), nn.Trajectories(chains=chains, burn_in=burn_in, samples=samples, kept=min(100, samples))

        def start(key: Any) -> nn.Network:
            return nn.Network.init(self.arch, size, key=key)

        return nn.hamiltonian(start, self.x, unit * self.y, self.new, noise=RIDGE * self.scale, trajectories=length), unit

    def network_loss(self, size: Any, chains: int, burn_in: int, samples: int) -> tuple[float, float]:
        """Test loss of their posterior mean, the noise of sampling taken out, and its standard error over chains."""
        posterior, unit = self.networks(size, chains, burn_in, samples)
        loss, stderr = posterior.mean_square_error(unit * self.new_y)
        return loss / self.scale, stderr / self.scale


def flips(target: str, length: int, n: int, seed: int, **fields: Any) -> Flips:
    """N samples of a target, for an architecture with the given fields."""
    x, new, law = (
        np.random.default_rng(number).integers(0, 2, (rows, length + 1))
        for number, rows in ((100 + seed, n), (_TEST_SEED, _TEST), (_LAW_SEED, _LAW))
    )
    arch = specht.Architecture(vocab=2, length=length, **fields)
    if arch.activation != "linear":  # so that what enters the activation has variance one: sums over keys would saturate it
        arch = arch.replace(s_1=1.0 / _size(arch.replace(activation="linear"), law))
    return Flips(arch, x, labels(target, x, length), new, labels(target, new, length), _size(arch, law))


def _size(arch: Any, law: np.ndarray) -> float:
    """E[k(x, x)] at infinite width."""
    return float(np.mean(specht.Kernel(arch, heads=4096 if arch.attention == "softmax" else None).diagonal(law)))


def off_networks(point: xarray.Dataset) -> tuple[float, float]:
    """The relative difference of the loss at a point from that of networks, and its standard error."""
    ratio, stderr = over_networks(*(float(point[name]) for name in ("loss", "stderr", "networks", "networks_stderr")))
    return ratio - 1.0, stderr


def over_networks(loss: Any, stderr: Any, networks: Any, networks_stderr: Any) -> tuple[Any, Any]:
    """A loss over that of networks, number by number, and the standard error of the ratio from the sampling of both."""
    ratio = loss / networks
    return ratio, ratio * np.hypot(stderr / loss, networks_stderr / networks)
