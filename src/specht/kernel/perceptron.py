r"""The kernel of an infinitely wide multilayer perceptron on bits, beside those of transformers.

Bits enter as -1 and 1 with one over T as the variance of weights, and every hidden layer of ReLU keeps the scale (variance 2 over fan-in):

$$ K_0 = \frac{x \cdot y}{T}, \qquad K_{l+1} = 2 F(K_l), \qquad \Theta_0 = K_0, \quad \Theta_{l+1} = K_{l+1} + 2 \dot F(K_l)\, \Theta_l , $$

with the duals F of `specht.kernel.dual` (Jacot, Gabriel & Hongler 2018).
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from specht.architecture import Kind
from specht.checks import whole_number


def perceptron_gram(
    x: Int[np.ndarray, "n bits"], y: Int[np.ndarray, "m bits"] | None = None, *, kind: Kind = "nngp", depth: int = 2
) -> Float[np.ndarray, "n m"]:
    """The Gram matrix of bits 0 and 1, with `depth` hidden layers.

    >>> perceptron_gram(np.array([[0, 1, 1]]), np.array([[0, 1, 1], [1, 0, 0]])).round(3).tolist()
    [[1.0, 0.318]]
    """
    left = 2.0 * x - 1.0
    right = left if y is None else 2.0 * y - 1.0
    k = theta = np.clip(left @ right.T / x.shape[1], -1.0, 1.0)
    for _ in range(whole_number("depth", depth, at_least=1)):
        # All diagonals are one, so a dual is a function of the correlation alone; in NumPy no shape has to be compiled.
        angle = np.arccos(k)
        slope = 1.0 - angle / np.pi
        k = np.clip(np.sqrt(1.0 - k**2) / np.pi + slope * k, -1.0, 1.0)
        theta = k + slope * theta
    return theta if kind == "ntk" else k
