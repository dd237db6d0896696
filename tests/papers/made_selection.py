"""Made-up results of the experiments of the paper on token selection: those for which its claims hold, unless a fault is asked for."""

from __future__ import annotations

import numpy as np

from specht.papers.token_selection import convergence, dynamics, perceptrons, separation, sink, stopping, symmetry, training

STEPS = np.array([0, 10, 100, 500, 1000, 2000, 2400, 3000, 4000, 5000, 6000])
LENGTHS, SUPPORTS = [62, 75, 87, 100], [2, 5, 8]


def full(apart=1e-15, slope=1.0, ratio=1.0, end=0.001):
    """Theorem 1: full matrices beside the recursion, and the recursion at two lengths and at two rates."""
    found = [dynamics.measure_full.result({"apart": ("step", [0.0, apart])}, length=10, support=2, dimension=3, rate=0.3, steps=100)]
    for length in (50, 4000):
        numbers = {"slope": slope if length == 50 else 1.0, "tenth": 1000.0, "predicted": 1000.0 * (ratio if length == 4000 else 0.9)}
        found.append(dynamics.measure_recursion.result(numbers, length=length, rate=1.0, durations=60.0))
    for length in (16, 50):
        numbers = {"slope": slope if length == 50 else 1.0, "loss": ("step", [training.trivial(), end * training.trivial()])}
        found.append(dynamics.measure_small_rate.result(numbers, {"step": [0, length]}, length=length, rate=0.002, durations=60.0))
    return found


def rise(length, far):
    """How many times the loss at T = 50 that at another length is, if it is `far` times at T = 100."""
    return 1 + (far - 1) * (length / 50 - 1)


def trained(
    optimiser="sgd",
    loss=1.0,
    bend=0.0,
    cosine=0.999,
    fixed_cosine=0.8,
    off=0.01,
    unlike=0.01,
    far=3.0,
    falls=1.0,
    floor=0.2,
    near=0.17,
    order=1.0,
    own_score=1.0,
    slower=1.25,
    course=None,
    rng=None,
):
    """Trainings whose losses fall as one over time; fixed codes stay at a floor away from the length of training.

    Fixed codes take as many times the steps as `slower` says. Losses take another `course` over the steps where one is given, those of
    fixed codes too where `floor` is None, and have a noise of their own where there are random numbers.
    """
    falling = 1 / (1.2 + 0.02 * STEPS * (1 + bend * np.sin(STEPS / 700.0))) if course is None else course
    found = []
    for codes in training.CODES:
        is_fixed = codes == "fixed"
        own = loss * (1 / (1.2 + 0.02 * STEPS / slower) if is_fixed and course is None else falling)
        # With `falls` below one, losses at other lengths stop where they are at a third of the steps.
        others = falling if falls == 1.0 else np.maximum(falling, falling[5])
        is_level = is_fixed and floor is not None
        level = {
            length: np.full(len(STEPS), floor if length > 70 else near) if is_level else rise(length, far) * others for length in LENGTHS
        }
        support = {q: falling * (1 + (q - 2) * order * is_fixed) for q in SUPPORTS}
        rows = np.array([own, *level.values(), *support.values()])
        rows = rows if rng is None else rows * np.exp(0.02 * rng.normal(size=rows.shape))
        numbers = {
            "loss": (("set", "step"), rows),
            "keys_cosine": ("step", np.full(len(STEPS), fixed_cosine if is_fixed else cosine)),
            "values_cosine": ("step", np.full(len(STEPS), 0.9999)),
            "keys_off": off,
            "values_off": 0.01,
            "unlike": unlike,
            "score": own_score,
            "value": 1.0,
        }
        names = ["validation", *(f"T={length}" for length in LENGTHS), *(f"q={q}" for q in SUPPORTS)]
        given = {"codes": codes, "optimiser": optimiser, "length": 50, "code": 64, "steps": 6000, "rate": 1.0}
        given |= {"lengths": LENGTHS, "supports": SUPPORTS, "seed": 0}
        found.append(convergence.both_codes.result(numbers, {"set": names, "step": STEPS}, **given))
    return found


def numbers(value, **arguments):
    scatter = np.array([-0.001, 0.0, 0.001])
    fields = dict.fromkeys(("score", "loss"), ("run", 1.0 + scatter)) | {"value": ("run", value + scatter)}
    exact = {f"exact_{name}{error}": 0.0005 if error else 1.0 for name in ("score", "value", "loss") for error in ("", "_stderr")}
    return convergence.measure_noise.result(fields | exact, length=50, code=64, steps=100, draws=100, runs=3, seed=0, **arguments)


def two_numbers(query, end, others=1.0):
    """The reduced dynamics, which at other lengths end with the losses of the trainings unless said otherwise."""
    curves = {"loss": ("step", [0.8, end])} | {f"{name}_stderr": ("step", [0.008, 0.01 * end]) for name in ("score", "value", "loss")}
    curves |= {name: ("step", [0.0, 1.0]) for name in ("score", "value")}
    curves["other"] = ("length", others * np.array([rise(length, 3.0) for length in LENGTHS]) / (1.2 + 0.02 * STEPS[-1]))
    curves["other_stderr"] = ("length", [1e-4] * len(LENGTHS))
    given = {"query": query, "length": 50, "code": 64, "steps": 100, "rate": 1.0, "draws": 100, "seed": 0}
    return convergence.measure_dynamics.result(curves, {"step": [0, 100], "length": LENGTHS}, **given)


def of_stochastic_codes(results):
    return [result for result in results if result.arguments["codes"] == "stochastic"]


def longer(others=1.0, **given):
    return [*of_stochastic_codes(trained(**given)), two_numbers("dual", 0.01, others)]


def reduced(value=1.0, plateau=0.2, power=1.3, own=1.0, **given):
    """Trainings with the reduced dynamics beside them: `value` is the v of trainings where that of the recursion is one."""
    found = of_stochastic_codes(trained(**given, own_score=own))
    found += [two_numbers("dual", 0.01), two_numbers("sum", plateau)]
    noise = [numbers(value + 0.1 * rate**power, rate=rate) for rate in (1.0, 0.5, 0.25)]
    return [*found, *noise, numbers(value, rate=1e-3)]


def nets(excess=1.02, least=1.01, wide=0.001):
    found = []
    for width, bound in ((2, 0.356), (8, 0.089), (10, 0.0), (15, 0.0)):
        error = bound * (least if width == 2 else excess) if bound else wide
        fields = {"error": error, "stderr": 0.001, "bound": bound}
        found.append(perceptrons.measure_perceptron.result(fields, width=width, steps=100, batch=16, seed=0))
    return found


def codes(power=0.0, factor=5.5, growth=1.0, larger=0.01, smaller=0.1, lengths=(25, 100, 400, 1600)):
    found = []
    for length in lengths:
        size = (15 + factor * np.log(length)) * (length / 25) ** power
        found.append(separation.measure_smallest.result({"code": size, "width": 4.9 * length**growth}, length=length, draws=10, seed=0))
    for times, share in ((1.5, larger), (0.7, smaller)):
        numbers = {"code": 40.0, "share": share, "least": share}
        found.append(separation.measure_reached.result(numbers, length=50, factor=times, draws=10, steps=10, seed=0))
    return found


def profiles(apart=0.01, model=0.02, start=0.1):
    expected, shift = np.array([0.15, 0.85, 0.0, 0.0]), np.array([1.0, -1.0, 0.0, 0.0])
    share = expected + apart * shift
    fields = {"share": share, "low": share - 0.02, "high": share + 0.02, "expected": expected}
    arrays = {name: ("level", values) for name, values in fields.items()}
    level = {"level": ["level 0", "level 1", "level 2", "above"]}
    found = [symmetry.measure_target.result(arrays, level, length=20, support=3, samples=100, seed=0)]
    arrays["share"] = ("level", expected + model * shift)
    arrays |= {"start": ("level", [1 - start, start, 0.0, 0.0]), "loss": 0.01}
    given = {"codes": "fixed", "length": 20, "code": 64, "steps": 100, "samples": 100, "seed": 0}
    return [*found, symmetry.measure_model.result(arrays, level, **given)]


def sinks(loss=0.4, alone=0.02, falls=1.0, on_query=0.8, least=0.38):
    """Trainings with the query among the keys and without it; `falls` is the loss at half of the steps over that at the end, less one."""
    found = []
    for keys, end in (("all", loss), ("tokens", alone)):
        course = [1.0, (falls if keys == "all" else 2.0) * end, end]
        numbers = {
            "loss": ("step", course),
            "reduced": ("step", course),
            "least": least,
            "on_query": on_query * (keys == "all"),
            "value": 5.0,
        }
        given = {"keys": keys, "length": 20, "code": 64, "steps": 100, "rate": 1.0, "draws": 10, "seed": 0}
        found.append(sink.measure_sink.result(numbers, {"step": [0, 50, 100]}, **given))
    return found


def stopped(loss=0.02, fixed=0.2, near=0.17):
    """Adam stopped early, with losses of stochastic and fixed codes at other lengths with an unseen number of chosen positions."""
    found = []
    for codes, level in (("stochastic", [loss] * 5), ("fixed", [0.01, near, fixed, fixed, fixed])):
        numbers = {"loss": ("tested", level), "own": 0.01, "stop": 80.0}
        given = {"codes": codes, "length": 50, "code": 96, "steps": 100, "rate": 0.01, "patience": 5, "seed": 0}
        found.append(stopping.measure_stopped.result(numbers, {"tested": [50, 62, 75, 88, 100]}, **given))
    return found


def by_adam(**given):
    return trained(optimiser="adam", **given)


def matrices_by_adam(**given):
    return of_stochastic_codes(by_adam(**given))


def many_chosen(stay_up=False):
    """Trainings whose losses with eight chosen positions may stay where they are."""
    results = trained()
    for result in results if stay_up else []:
        place = list(result.data["set"].values).index("q=8")
        result.data["loss"].values[place] = 0.1
    return results
