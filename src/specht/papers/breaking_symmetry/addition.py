r"""Sums of two numbers learnt by transformers with and without positions, causal masks and residual sums.

A network reads "a b c + d e f =" and names the digits of the sum at "=", by as many softmaxes of ten. What stands before "=" is a context
whose permutations some networks cannot see: without positions those without a mask, and those with a single causal layer. They are
bound by the loss of the best predictor that knows the multiset of the digits only (`multisets`); the others are not.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray

from specht.lab.jobs import Job
from specht.papers import common
from specht.papers.breaking_symmetry import sources
from specht.papers.breaking_symmetry.addition_figures import plots, tables
from specht.papers.breaking_symmetry.addition_runs import BOUND, TRAINED, Mean, Model, bound, difference, models, over_seeds, seeds, told
from specht.papers.breaking_symmetry.multisets import BASE, floor, sum_digits
from specht.papers.claims import Claim, Experiment, Results, Scale, Verdict, holds_if
from specht.report.html import Step

_HERE = f"{sources.PACKAGE}.addition"
PLUS, EQUALS = BASE, BASE + 1
"""Tokens after the digits."""
WIDTH, HEADS, BATCH, RATE, WARM = 64, 8, 64, 3e-3, 0.04
"""Of every network: width, heads, problems a step, largest learning rate, and the share of the steps over which it rises."""
DEVIATION = 0.02
"""Of all weights of networks with a norm, as language models begin; without one their variance is one over the numbers they add up."""
WATCHED, COMPARED, PROFILED = 2000, 500, 40
"""Problems on which losses are followed, whose hidden states are compared, and test problems for each one that a profile permutes."""
ABOVE, BELOW, SOLVED = 1.05, 0.8, 0.98
"""Limits on the loss over the bound, where order is ignored and where it is seen, and on the share of sums that positions get right."""
MODELS = (
    Model("none", causal=False, depth=2, residual=True),
    *(Model("none", causal=True, depth=depth, residual=residual) for depth in (1, 2) for residual in (True, False)),
    Model("learned", causal=True, depth=2, residual=True),
)
DEEP = tuple(Model("none", causal=True, depth=4, residual=residual) for residual in (True, False))


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


def measure_bound(digits: int, tests: int, seed: int) -> xarray.Dataset:
    """What predictors that ignore order can do at most, by listing all problems, and how much of each sum is at which level.

    `shares` are those of the variance of the right answer, written as ones and zeros, by the number of digits that must be singled out.
    """
    known = floor(digits)
    variables = {
        "loss": known.loss,
        "losses": ("place", known.losses),
        "accuracies": ("place", known.accuracies),
        "exact": known.exact,
    }
    return common.record(BOUND, variables | _profile(lambda x: np.eye(BASE)[sum_digits(x)], digits, tests // PROFILED, seed))


def measure_training(
    positions: str,
    causal: bool,
    depth: int,
    residual: bool,
    norm: str,
    digits: int,
    steps: int,
    tests: int,
    seed: int,
) -> xarray.Dataset:
    """A network trained on fresh problems.

    `curve` is the loss on some problems along the way, and `loss` the one at the end on `tests` others that it has not met, in nats a
    digit; `accuracies` are shares of right digits by their place and `exact` that of right sums. `slice_start` and `slice_end` compare
    each layer with the next, position by position, and `adjacency_start` and `adjacency_end` nearby positions with distant ones in each
    layer, the embedding first. `shares` of the variance of the logits are by the number of digits that are singled out, and `order` is
    what needs order at all.
    """
    import specht
    from specht.nn.data import Fixed, Fresh
    from specht.nn.recipe import Recipe
    from specht.nn.training import train

    fields: Any = {"positions": positions, "norm": norm, "s_w": 1.0}
    arch = specht.Architecture(
        vocab=BASE + 2,
        length=2 * digits + 1,
        attention="softmax",
        activation="gelu",
        causal=causal,
        depth=depth,
        residual=residual,
        **fields,
    )
    size, deviation = specht.nn.Size(WIDTH, HEADS, WIDTH // HEADS), None if norm == "none" else DEVIATION
    given: Any = {"parametrisation": "standard", "outputs": BASE * (digits + 1), "deviation": deviation}
    recipe = Recipe(
        steps=steps, learning_rate=RATE, optimiser="adam", batch=BATCH, loss="cross-entropy", schedule="cosine", warmup=int(WARM * steps)
    )
    watched, (x, y) = (draw(digits)(np.random.default_rng([seed, number]), n) for number, n in ((1, WATCHED), (2, tests)))
    found = train(
        lambda key: specht.nn.Network.init(arch, size, key=key, **given),
        Fresh(draw(digits)),
        recipe,
        seeds=[seed],
        evaluate={"watched": Fixed(*watched)},
    )
    outputs = found.function()
    losses, right = _judged(outputs(x), y)
    exact = float(right.all(axis=1).mean())
    states = {time: [np.asarray(layer) for layer in net.streams(x[:COMPARED])] for time, net in _ends(found).items()}
    return common.record(
        TRAINED,
        {
            "curve": ("step", found.losses["watched"][0, 0, 0].astype(np.float64)),
            "loss": losses.mean(),
            "loss_stderr": losses.mean(axis=1).std() / np.sqrt(tests),
            "losses": ("place", losses.mean(axis=0)),
            "accuracies": ("place", right.mean(axis=0)),
            "exact": exact,
            "exact_stderr": np.sqrt(exact * (1.0 - exact) / tests),
        }
        | _similarities(states)
        | _profile(lambda digits: _centred(outputs(problem(digits))), digits, tests // PROFILED, seed),
        {"step": found.steps},
    )


def _ends(found: Any) -> dict[str, Any]:
    return {"start": found.first_model(), "end": found.model()}


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
    from specht.probes.similarity import adjacency_score, self_cosines, slice_score

    found: dict[str, Any] = {}
    for time, layers in states.items():
        scores = [slice_score(one, other).score for one, other in itertools.pairwise(layers)]
        found[f"slice_{time}"] = ("pair", np.array(scores))
        found[f"adjacency_{time}"] = ("layer", np.array([adjacency_score(self_cosines(layer)) for layer in layers]))
    return found


def _profile(f: Callable[[np.ndarray], np.ndarray], digits: int, samples: int, seed: int) -> dict[str, Any]:
    """Shares by level of the variance of a function of the digits of both numbers."""
    from specht.profiles.profile import profile
    from specht.sequences.sources import uniform

    length = 2 * digits

    def flat(x: np.ndarray) -> np.ndarray:
        return f(x).reshape(len(x), -1)

    found = profile(flat, uniform(BASE), length, seed, samples=samples, max_level=length - 1, readout="mean")
    order = found.order
    return {"shares": ("level", found.variance_shares), "order": order.value, "order_low": order.low, "order_high": order.high}


def training(model: Model, **arguments: Any) -> Job:
    """The job that trains a network of a model."""
    return Job.of(f"{_HERE}:measure_training", **model._asdict(), **arguments)


def settings(scale: Scale) -> dict[str, int]:
    """What all trainings of a scale share."""
    return common.at_scale(
        scale,
        smoke={"digits": 2, "steps": 20, "tests": 4000},
        quick={"digits": 3, "steps": 5000, "tests": 20000},
        full={"digits": 3, "steps": 10000, "tests": 50000},
    )


def jobs(scale: Scale) -> list[Job]:
    """Those of which the residual sums are asked about have more seeds: without them trainings end far apart."""
    shared = settings(scale)
    few, many = common.at_scale(scale, smoke=(2, 2), quick=(3, 5), full=(3, 6))
    return [
        Job.of(f"{_HERE}:measure_bound", digits=shared["digits"], tests=shared["tests"], seed=0),
        *(
            training(model, **shared, seed=seed)
            for model in (*MODELS, *(DEEP if scale == "full" else ()))
            for seed in range(many if model.positions == "none" and model.causal and model.depth == 2 else few)
        ),
    ]


def _regime(results: Results) -> str:
    given = common.chosen(results, TRAINED)[0].arguments
    norm = "no norm" if given["norm"] == "none" else f"{given['norm']}-norm"
    return (
        f"Sums of two numbers of {given['digits']} digits, softmax attention + GELU, {norm}, width {WIDTH}, {HEADS} heads, "
        f"{given['steps']} steps of Adam with {BATCH} fresh problems each, {seeds(results)}, {given['tests']} test problems a seed."
    )


def ratios(results: Results, wanted: Callable[[Model], bool]) -> dict[Model, Mean]:
    """Losses at the end over the bound, of the models that are asked for."""
    limit = float(bound(results)["loss"])
    means = {model: over_seeds(runs, "loss") for model, runs in models(results).items() if wanted(model)}
    return {model: Mean(mean.value / limit, mean.stderr / limit) for model, mean in means.items()}


def _listed(found: dict[Model, Mean], digits: int = 3) -> str:
    return "; ".join(f"{model}: {told(mean, digits)}" for model, mean in found.items())


def judge_invariant(results: Results) -> Verdict:
    found = ratios(results, lambda model: model.is_invariant)
    inside = all(1.0 - 3.0 * mean.stderr <= mean.value <= ABOVE for mean in found.values())
    worst = max(found.values(), key=lambda mean: abs(mean.value - (1.0 + ABOVE) / 2))
    words = f"{_regime(results)} Loss over the bound of {float(bound(results)['loss']):.4f} nats a digit: {_listed(found)}."
    return holds_if(inside, *worst, regime=words)


def judge_causal(results: Results) -> Verdict:
    found = ratios(results, lambda model: model.positions == "none" and not model.is_invariant)
    worst = max(found.values(), key=lambda mean: mean.value)
    words = f"{_regime(results)} Loss over the bound of {float(bound(results)['loss']):.4f} nats a digit: {_listed(found)}."
    return holds_if(worst.value < BELOW, *worst, regime=words)


def judge_positions(results: Results) -> Verdict:
    found = {model: over_seeds(runs, "exact") for model, runs in models(results).items() if not model.is_invariant}
    worst = min((mean for model, mean in found.items() if model.positions != "none"), key=lambda mean: mean.value)
    return holds_if(worst.value > SOLVED, *worst, regime=f"{_regime(results)} Share of sums that are right: {_listed(found)}.")


def judge_residual(results: Results) -> Verdict:
    """By how much the loss at the end is lower with residual sums, at every depth at which order is seen."""
    groups = models(results, positions="none", causal=True)
    means = {model: over_seeds(runs, "loss") for model, runs in groups.items()}
    pairs = {model.depth: (mean, means[model._replace(residual=False)]) for model, mean in means.items() if model.residual}
    gains = {depth: difference(without, with_) for depth, (with_, without) in pairs.items()}
    seen = [gain for depth, gain in gains.items() if depth > 1]
    least = min(seen, key=lambda gain: gain.value - 2.0 * gain.stderr)
    each = "; ".join(
        f"{depth} layer{'s' * (depth > 1)} {told(pairs[depth][0])} with, {told(pairs[depth][1])} without, so {told(gain)} less"
        for depth, gain in gains.items()
    )
    words = (
        f"{_regime(results)} Losses: {each}. With one layer the bound decides. A residual block also has one more matrix, and other norms, "
        "starts and learning rates may turn the sign: depth and seeds are all that was varied."
    )
    return holds_if(all(gain.value > 2.0 * gain.stderr for gain in seen), *least, regime=words)


EXPERIMENT = Experiment(
    name="breaking.addition",
    title="Addition without positions",
    shown=(
        "Summary: transformers trained on three-digit addition, with and without residual connections, which improve convergence. "
        "Sizes and the format of problems are not known to us."
    ),
    claims=(
        Claim(
            "breaking.addition-invariant",
            "Networks that ignore order learn to add no better than the multiset of the digits allows, and come near to it.",
            sources.OURS,
            "mean loss from three standard errors below to 5 % above the exact loss of the best predictor that knows the multiset only",
            judge_invariant,
        ),
        Claim(
            "breaking.addition-causal",
            "A causal mask alone lets two layers or more use the order of the digits.",
            sources.ABSTRACT,
            "mean loss below 0.8 of the exact loss of the best predictor that knows the multiset only",
            judge_causal,
        ),
        Claim(
            "breaking.addition-positions",
            "With positions two causal layers learn to add.",
            sources.ABSTRACT,
            "more than 98 % of sums right, mean over seeds",
            judge_positions,
        ),
        Claim(
            "breaking.addition-residual",
            "Residual connections help causal networks without positions to learn to add.",
            sources.SUMMARY,
            "mean loss after as many steps lower with them by more than two standard errors, at every depth from two on",
            judge_residual,
        ),
    ),
    jobs=jobs,
    plots=plots,
    tables=tables,
    method=(
        Step("The digits are independent and uniform, every step has new problems, and what is read at “=” are the digits of the sum."),
        Step(
            "A network that permutations do not change knows the multiset M of the digits. All problems are listed for the law of each "
            "digit of the sum given M, and the least loss is the mean of its entropy:",
            ("bound = − (1/K) Σ_k Σ_M P(M) Σ_s p_k(s|M) log p_k(s|M)",),
        ),
        Step("Errors are over seeds, or those of the test problems where these are larger."),
    ),
)
