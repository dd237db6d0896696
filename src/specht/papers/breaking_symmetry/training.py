r"""Transformers that learn to add, with and without positions, causal masks and residual sums: how they are trained, and their runs.

A network reads "a b c + d e f =" and names the digits of the sum at "=", by as many softmaxes of ten. What stands before "=" is a context
whose permutations some networks cannot see: without positions those without a mask, and those with a single causal layer. They are
bound by the loss of the best predictor that knows the multiset of the digits only (`multisets`); the others are not.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray

import specht
from specht import nn, probes
from specht.papers import Finding, Grid, Scale, common, points, present
from specht.papers.breaking_symmetry.invariance import is_invariant
from specht.papers.breaking_symmetry.multisets import BASE, sum_digits
from specht.report import points_of

PLUS, EQUALS = BASE, BASE + 1
"""Tokens after the digits."""
WIDTH, HEADS, BATCH, RATE, WARM = 64, 8, 64, 3e-3, 0.04
"""Of every network: width, heads, problems a step, largest learning rate, and the share of the steps over which it rises."""
DEVIATION = 0.02
"""Of all weights of networks with a norm, as language models begin; without one their variance is one over the numbers they add up."""
WATCHED, COMPARED, PROFILED = 2000, 500, 40
"""Problems on which losses are followed, whose hidden states are compared, and test problems for each one that a profile permutes."""


class Stack(NamedTuple):
    """What a network is made of; runs that agree in it differ by their seed."""

    positions: str
    causal: bool
    depth: int
    residual: bool
    norm: str = "none"

    @property
    def is_invariant(self) -> bool:
        return is_invariant(self.positions, self.causal, self.depth)

    def __str__(self) -> str:
        words = [
            "no positions" if self.positions == "none" else f"{self.positions} positions",
            "causal" if self.causal else "no mask",
            f"{self.depth} layer{'s' * (self.depth > 1)}",
            *["no residual sums"] * (not self.residual),
            *[f"{self.norm}-norm"] * (self.norm != "none"),
        ]
        return ", ".join(words)


MODELS = (
    Stack("none", causal=False, depth=2, residual=True),
    *(Stack("none", causal=True, depth=depth, residual=residual) for depth in (1, 2) for residual in (True, False)),
    Stack("learned", causal=True, depth=2, residual=True),
)
DEEP = tuple(Stack("none", causal=True, depth=4, residual=residual) for residual in (True, False))


def settings(scale: Scale) -> dict[str, int]:
    """What all trainings of a scale share."""
    return common.at_scale(
        scale,
        smoke={"digits": 2, "steps": 20, "tests": 4000},
        quick={"digits": 3, "steps": 5000, "tests": 20000},
        full={"digits": 3, "steps": 10000, "tests": 50000},
    )


def trainings(seeds: Mapping[Stack, int], **settings: int) -> Grid:
    """The points at which models are trained, from as many seeds each as are said."""
    return points(model._asdict() | settings | {"seed": seed} for model, count in seeds.items() for seed in range(count))


def problem(operands: np.ndarray) -> np.ndarray:
    """The tokens of problems, from the digits of both numbers (n, 2 digits).

    >>> problem(np.array([[1, 2, 3, 4]])).tolist()
    [[1, 2, 10, 3, 4, 11]]
    """
    first, second = np.split(operands, 2, axis=1)
    sign, end = (np.full((len(operands), 1), token) for token in (PLUS, EQUALS))
    return np.concatenate([first, sign, second, end], axis=1)


def draw(digits: int) -> Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]:
    """What draws n problems with numbers of so many digits, and the digits of their sums."""

    def drawn(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        operands = rng.integers(BASE, size=(n, 2 * digits))
        return problem(operands), sum_digits(operands)

    return drawn


def measure_training(
    positions: str, causal: bool, depth: int, residual: bool, norm: str, digits: int, steps: int, tests: int, seed: int
) -> xarray.Dataset:
    """A network trained on fresh problems.

    `curve` is the loss on some problems along the way, and `loss` the one at the end on `tests` others that it has not met, in nats a
    digit; `accuracies` are shares of right digits by their place and `exact` that of right sums. `slice_start` and `slice_end` compare
    each layer with the next, position by position, and `adjacency_start` and `adjacency_end` nearby positions with distant ones in each
    layer, the embedding first. `shares` of the variance of the logits are by the number of digits that are singled out, and `order` is
    what needs order at all.
    """
    fields: Any = {"positions": positions, "norm": norm, "s_w": 1.0}
    fields |= {"vocab": BASE + 2, "length": 2 * digits + 1, "attention": "softmax", "activation": "gelu"}
    arch = specht.Architecture(causal=causal, depth=depth, residual=residual, **fields)
    size, deviation = nn.Size(WIDTH, HEADS, WIDTH // HEADS), None if norm == "none" else DEVIATION
    start: Any = {"parametrisation": "standard", "outputs": BASE * (digits + 1), "deviation": deviation}
    recipe = nn.Recipe(
        steps=steps, learning_rate=RATE, optimiser="adam", batch=BATCH, loss="cross-entropy", schedule="cosine", warmup=int(WARM * steps)
    )
    watched, (x, y) = (draw(digits)(np.random.default_rng([seed, number]), n) for number, n in ((1, WATCHED), (2, tests)))
    trained = nn.train(
        lambda key: nn.Network.init(arch, size, key=key, **start),
        nn.Fresh(draw(digits)),
        recipe,
        seeds=[seed],
        evaluate={"watched": nn.Fixed(*watched)},
    )
    outputs = trained.function()
    losses, right = _judged(outputs(x), y)
    exact = float(right.all(axis=1).mean())
    ends = {"start": trained.first_model(), "end": trained.model()}
    states = {time: [np.asarray(layer) for layer in net.streams(x[:COMPARED])] for time, net in ends.items()}
    shares = profile_of(lambda digits: _centred(outputs(problem(digits))), digits, tests, seed)
    return xarray.Dataset(
        {
            "curve": ("step", trained.losses["watched"][0, 0, 0].astype(np.float64)),
            "loss": losses.mean(),
            "loss_stderr": losses.mean(axis=1).std() / np.sqrt(tests),
            "losses": ("place", losses.mean(axis=0)),
            "accuracies": ("place", right.mean(axis=0)),
            "exact": exact,
            "exact_stderr": np.sqrt(exact * (1.0 - exact) / tests),
        }
        | _similarities(states)
        | shares,
        {"step": trained.steps},
    )


def _judged(outputs: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cross-entropy of each digit of the sums, and whether it is right, (n, places)."""
    logits = outputs.astype(np.float64).reshape(*labels.shape, BASE)
    logits -= logits.max(axis=-1, keepdims=True)
    own = np.take_along_axis(logits, labels[..., None], axis=-1)[..., 0]
    return np.log(np.exp(logits).sum(axis=-1)) - own, logits.argmax(axis=-1) == labels


def _centred(outputs: np.ndarray) -> np.ndarray:
    """Logits less their mean over each digit's choices, which no prediction depends on."""
    logits = outputs.astype(np.float64).reshape(len(outputs), -1, BASE)
    return (logits - logits.mean(axis=-1, keepdims=True)).reshape(len(outputs), -1)


def _similarities(states: dict[str, list[np.ndarray]]) -> dict[str, Any]:
    """Scores of consecutive layers and of each layer, at the start and at the end."""
    scores_by_name: dict[str, Any] = {}
    for time, layers in states.items():
        scores = [probes.slice_score(one, other).score for one, other in itertools.pairwise(layers)]
        scores_by_name[f"slice_{time}"] = ("pair", np.array(scores))
        scores_by_name[f"adjacency_{time}"] = ("layer", np.array([probes.adjacency_score(probes.self_cosines(layer)) for layer in layers]))
    return scores_by_name


def profile_of(f: Callable[[np.ndarray], np.ndarray], digits: int, tests: int, seed: int) -> dict[str, Any]:
    """Shares by level of the variance of a function of the digits of both numbers."""
    length = 2 * digits

    def flat(x: np.ndarray) -> np.ndarray:
        return f(x).reshape(len(x), -1)

    profile = specht.profile(
        flat, specht.sources.uniform(BASE), length, seed, samples=tests // PROFILED, max_level=length - 1, readout="mean"
    )
    order = profile.order
    return {"shares": ("level", profile.variance_shares), "order": order.value, "order_low": order.low, "order_high": order.high}


def models(data: xarray.Dataset) -> dict[Stack, xarray.Dataset]:
    """The runs of each model, along `seed`, in the order of their lists and those with a norm last."""
    by_model = {}
    for runs in points_of(data, *(name for name in Stack._fields if name in data.dims)):
        model = Stack(*(runs[name].item() if name in runs.coords else runs.attrs[name] for name in Stack._fields))
        by_model[model] = present(runs)
    order = (model._replace(norm=norm) for norm in ("none", "pre") for model in (*MODELS, *DEEP))
    return {model: by_model[model] for model in order if model in by_model}


def over_seeds(runs: xarray.Dataset, name: str) -> Finding:
    """The mean of a scalar over seeds.

    Its standard error comes from the spread between them; where a few of them lie closer together than the problems on which they were
    tested let one know, it comes from these.
    """
    known = runs[f"{name}_stderr"].values if f"{name}_stderr" in runs else np.zeros(runs.sizes["seed"])
    return common.mean_of(runs[name].values, least=float(np.linalg.norm(known)) / len(known))


def difference(one: Finding, other: Finding) -> Finding:
    """Of two means over seeds of their own."""
    return Finding(one.value - other.value, float(np.hypot(one.stderr or 0.0, other.stderr or 0.0)))


def told(mean: Finding, digits: int = 3) -> str:
    """A mean in words.

    >>> told(Finding(1.70312, 0.0044)), told(Finding(1.0, 0.0))
    ('1.703 ± 0.004', '1.000')
    """
    return f"{mean.value:.{digits}f}" + (f" ± {mean.stderr:.1g}" if mean.stderr else "")


def seeds(data: xarray.Dataset) -> str:
    """How many seeds models had, in words."""
    return f"{common.span([runs.sizes['seed'] for runs in models(data).values()])} seeds"
