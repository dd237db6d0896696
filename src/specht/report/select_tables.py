"""The numbers of `specht select` as text, for the terminal and for the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_LEARNT = 0.05
"""Share of the trivial loss below which a task counts as learnt in a sentence."""


def subtitle(result: Mapping[str, Any]) -> str:
    """What was trained, in one line."""
    code = "" if result["code"] is None else f", codes of dimension {result['code']}"
    seeds = f"{result['seeds']} seed{'s' * (result['seeds'] > 1)}"
    return f"{result['task']}{code}   {result['optimiser']} at {result['learning_rate']:g}, {result['train'][-1]['step']} steps, {seeds}"


def header(result: Mapping[str, Any]) -> list[str]:
    return ["test", *(f"{kind} codes" for kind in result["codes"]), "answering zero"]


def rows(result: Mapping[str, Any]) -> list[list[str]]:
    """One row a test: the task itself, then other lengths, then other supports."""
    own = _row(result, "as trained", result["train"][-1], result["trivial"])
    longer = [_row(result, f"T = {entry['T_test']}", entry, result["trivial"]) for entry in result["lengths"]]
    denser = [_row(result, f"q = {entry['q_test']}", entry, entry["trivial"]) for entry in result["supports"]]
    return [own, *longer, *denser]


def _row(result: Mapping[str, Any], name: str, entry: Mapping[str, Any], trivial: float) -> list[str]:
    return [name, *(loss(entry, kind) for kind in result["codes"]), f"{trivial:.3g}"]


def loss(entry: Mapping[str, Any], kind: str) -> str:
    """A mean with its standard error; nothing where a kind of codes is not tested.

    >>> loss({"fixed": 0.1234, "stderr": {"fixed": 0.02}}, "fixed"), loss({"fixed": 0.5, "stderr": {"fixed": None}}, "fixed")
    ('0.123 ± 0.02', '0.5')
    """
    if kind not in entry:
        return ""
    error = entry["stderr"][kind]
    return f"{entry[kind]:.3g}" + ("" if error is None else f" ± {error:.1g}")


MATRIX_HEADER = ("codes", "cosine of W", "cosine of V", "off the blocks")


def matrix_rows(result: Mapping[str, Any]) -> list[list[str]]:
    """How near both matrices are to the ground truth."""
    return [
        [kind, f"{found['keys_cosine']:.4f}", f"{found['values_cosine']:.4f}", percent(found["off_block"])]
        for kind, found in result["matrices"].items()
    ]


def answer(result: Mapping[str, Any]) -> list[str]:
    """What came out, in sentences."""
    said = [_learnt(result, kind) for kind in result["codes"]]
    needed = (
        f"Whatever it computes, a fully connected network needs {result['network_width']} units in its first layer to get below "
        f"{result['network_share']:.0%} of the loss of answering zero"
    )
    gets_there = [kind for kind in result["codes"] if result["train"][-1][kind] < result["network_share"] * result["trivial"]]
    if result["attention_width"] is not None and any(kind != "one-hot" for kind in gets_there):
        needed += f"; this attention got there with a width of {result['attention_width']}"
    return [*said, f"{needed}."]


def _learnt(result: Mapping[str, Any], kind: str) -> str:
    share = result["train"][-1][kind] / result["trivial"]
    verb = "learns" if share < _LEARNT else "has not learnt"
    text = f"With {kind} codes attention {verb} the task: {percent(share)} of the loss of answering zero"
    tested = [entry for entry in result["lengths"] if kind in entry]
    if not tested:
        return f"{text}."
    far = tested[-1]
    return f"{text}, and {percent(far[kind] / result['trivial'])} at length {far['T_test']}."


def percent(share: float) -> str:
    """A share to a tenth of a per cent.

    >>> percent(0.0123), percent(1e-4)
    ('1.2 %', 'less than 0.1 %')
    """
    return f"{100 * share:.1f} %" if share >= 0.001 else "less than 0.1 %"
