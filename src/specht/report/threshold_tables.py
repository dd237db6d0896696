"""The numbers of `specht threshold` as text, for the terminal and for the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

POINT_HEADER = ("learner", "T", "threshold m", "trials", "networks trained")
FIT_HEADER = ("learner", "growth", "exponent", "R²: ln T · T", "AIC: log · power · linear")
BOUND_HEADER = ("T", "samples from which the bound is below 1/2", "norm of queries and keys in the head")
PROFILE_HEADER = ("level", "share of E[f²]", "interval", "share of the variance")
TRIED_HEADER = ("learner", "T", "m: successes of trials, in the order they were made")


def subtitle(result: Mapping[str, Any]) -> str:
    """What was asked, in one line."""
    config = result["config"]
    return (
        f"{result['function']}, P(bit = 1) = {result['probability']:.3g} · learnt: {100 * config['accuracy']:g} % of "
        f"{config['validation']} "
        f"validation samples right, in {100 * config['share']:g} % of trials"
    )


def answer(result: Mapping[str, Any]) -> str:
    """One sentence a learner."""
    return " ".join(_sentence(result, learner) for learner in result["config"]["learners"])


def _sentence(result: Mapping[str, Any], learner: str) -> str:
    points = [point for point in result["points"] if point["learner"] == learner]
    first, last, smallest = points[0], points[-1], result["config"]["smallest"]
    name = name_of(learner)
    missed = [point for point in points if not point["reached"]]
    if len(missed) == len(points):
        return f"{name} does not learn it at any T: {missed[0]['words']}."
    words = f"{name} learns it from m = {_short(first, smallest)} samples at T = {first['T']}" if first["reached"] else ""
    if not words:
        words = f"{name}: {first['words']} at T = {first['T']}"
    if len(points) > 1:
        words += f" and {_short(last, smallest)} at T = {last['T']}" if last["reached"] else f"; {last['words']} at T = {last['T']}"
    fit = result["fits"][learner]
    if not fit["verdict"]:
        return words + "."
    words += f"; growth: {fit['verdict']}."
    if missed:
        was = "was not reached and is" if len(missed) == 1 else "were not reached and are"
        words += f" T = {', '.join(str(point['T']) for point in missed)} {was} left out: growth is at least this."
    return words


NAMES: dict[str, str] = {
    "transformer": "The transformer",
    "perceptron": "The perceptron",
    "transformer-nngp": "The NNGP limit of a linear-attention block",
    "transformer-ntk": "The NTK limit of a linear-attention block",
    "perceptron-nngp": "The perceptron's NNGP limit",
    "perceptron-ntk": "The perceptron's NTK limit",
}
"""The kernels of the transformer are those of one block of linear attention and ReLU, without norm, residual stream or softmax."""
_FINITE = "transformer-width-"


def name_of(learner: str) -> str:
    """A learner as sentences call it.

    >>> name_of("perceptron"), name_of("transformer-width-16")
    ('The perceptron', 'The theory of a linear-attention block of width 16')
    """
    if learner.startswith(_FINITE):
        return f"The theory of a linear-attention block of width {learner.removeprefix(_FINITE)}"
    return NAMES[learner]


def _short(point: Mapping[str, Any], smallest: int) -> str:
    return f"at most {smallest}" if point["state"] == "below" else point["words"]


def plain(text: str) -> str:
    """Without the braces of exponents, for where they are not set.

    >>> plain("T^{0.7}")
    'T^0.7'
    """
    return text.replace("^{", "^").replace("}", "")


def point_rows(result: Mapping[str, Any]) -> list[list[str]]:
    """One row a threshold."""
    return [[p["learner"], str(p["T"]), p["words"], str(p["trials"]), str(p["runs"])] for p in result["points"]]


def fit_rows(result: Mapping[str, Any]) -> list[list[str]]:
    """One row a learner."""
    rows = []
    for learner, fit in result["fits"].items():
        if fit["verdict"] is None:
            rows.append([learner, "not fitted: fewer than three thresholds", "", "", ""])
            continue
        exponent = f"{fit['exponent']:.2f} ± {fit['exponent_stderr']:.2f}"
        criteria = " · ".join(f"{fit['laws'][name]['aic']:.1f}" for name in ("log", "power", "linear"))
        rows.append([learner, fit["verdict"], exponent, f"{fit['log_r_squared']:.3f} · {fit['linear_r_squared']:.3f}", criteria])
    return rows


def tried_rows(result: Mapping[str, Any]) -> list[list[str]]:
    """Every batch of trials."""
    return [
        [p["learner"], str(p["T"]), ", ".join(f"{each['m']}: {each['successes']}/{each['trials']}" for each in p["tried"])]
        for p in result["points"]
    ]


def bound_rows(result: Mapping[str, Any]) -> list[list[str]]:
    """What corollary 4.5 says, one row a T."""
    return [[str(b["T"]), f"{b['samples']:.2g}", f"{b['query_key_21']:.3g}"] for b in result["bounds"]]


def profile_rows(result: Mapping[str, Any]) -> list[list[str]]:
    """The symmetry profile of the function, one row a level."""
    found = result["profile"]
    return [
        [str(level), f"{100 * share['value']:.1f} %", f"{100 * share['low']:.1f} to {100 * share['high']:.1f} %", f"{100 * part:.1f} %"]
        for level, share, part in zip(found["levels"], found["shares"], found["variance_shares"], strict=True)
    ]


def remarks(result: Mapping[str, Any]) -> list[str]:
    """What has to be known to read the numbers."""
    config = result["config"]
    said = [f"Intervals hold with {100 * config['confidence']:g} % confidence. A trial is one set of samples."]
    if "restarts" in config:
        said[0] += f" Networks have {config['restarts']} start(s) of at most {config['steps']} steps in a trial."
    doubtful = [p for p in result["points"] if p["identified"] < 1.0]
    if doubtful:
        said.append(
            f"At T = {', '.join(sorted({str(p['T']) for p in doubtful}, key=int))} some sets of samples have more than one explanation, or "
            "could not be checked for it: those are counted as they came."
        )
    bound = result["bounds"][-1]
    said.append(
        f"The bound of corollary 4.5, for a head that averages the s bits at T = {bound['T']}, says something from {bound['samples']:.1g} "
        "samples on: far more than are needed, but with powers of log T."
    )
    return said
