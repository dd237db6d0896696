r"""What a linear layer of finite width does to a kernel: it multiplies it by a number that the labels choose.

A hidden layer of width $d'$ without activation between features of kernel $K$ and one output multiplies the kernel by $u$, with free energy

$$ S(u) = \frac{d'}2 (u - \ln u) + \tfrac12 \log\det(u K + \delta) + \tfrac12 y^T (u K + \delta)^{-1} y . $$

Without ridge its minimum is the positive root of $u^2 + (a - 1) u - a\, y^T K^{-1} y / N = 0$ with $a = N / d'$ (Li & Sompolinsky 2021;
Pacelli et al. 2023). Labels larger than the kernel expects raise it, smaller ones lower it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import brentq

from specht.checks import finite_number, not_negative, whole_number
from specht.errors import InputError
from specht.learning.checks import labels, square_gram


def gain_without_ridge(gram: Any, y: Any, width: int) -> float:
    """u of one linear layer at zero ridge, in closed form.

    >>> gain_without_ridge(np.eye(4), np.ones((4, 1)), width=10**6)
    1.0
    """
    gram = square_gram(gram)
    outputs, width = labels(y, len(gram)), whole_number("width", width, at_least=1)
    if outputs.shape[1] != 1:
        raise InputError(f"The gain of a layer is one number for one output, got {outputs.shape[1]} outputs: give one of them.")
    energy = float(np.vdot(outputs, np.linalg.solve(gram, outputs)))
    share = len(gram) / width
    half = (1.0 - share) / 2.0
    product = share * energy / len(gram)
    # the root without a difference of nearly equal numbers
    return half + math.hypot(half, math.sqrt(product)) if half >= 0 else product / (math.hypot(half, math.sqrt(product)) - half)


def layer_gain(gram: Any, y: Any, width: int, *, ridge: float) -> float:
    """u of one linear layer: where the slope of S in ln u crosses zero, found from the eigenvalues of the Gram."""
    ridge = not_negative("ridge", ridge)
    if ridge == 0.0:
        return gain_without_ridge(gram, y, width)
    gram = square_gram(gram)
    outputs, width = labels(y, len(gram)), whole_number("width", width, at_least=1)
    eigenvalues, vectors = np.linalg.eigh(gram)
    eigenvalues = np.maximum(eigenvalues, 0.0)
    squares = np.square(vectors.T @ outputs).sum(axis=1)

    def slope(logarithm: float) -> float:
        part = math.exp(logarithm) * eigenvalues
        return width * (math.exp(logarithm) - 1.0) + float(np.sum(part / (part + ridge) - squares * part / (part + ridge) ** 2))

    largest = finite_number("labels", float(squares.sum()), at_least=0.0)
    root: Any = brentq(slope, -60.0, 2.0 + math.log1p(largest / ridge), xtol=1e-15)
    return math.exp(root)
