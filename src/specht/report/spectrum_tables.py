"""The numbers of `specht spectrum` as text, for the terminal and for the report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

SHOWN_LEVEL = 3
"""Largest level in tables and curves; the files have all."""
TOP_HEADER = ("irrep", "degeneracy", "eigenvalue", "bound", "eigenvalue / bound")
EXPONENT_HEADER = ("exponent of L", "eigenvalue", "eigenvalue / E[k]", "bound / E[k]", "expected", "eigenvalue / E[k], local")
METHODS = {
    "linear": "by blocks whose size does not depend on the length",
    "two tokens": "by differences in the overlap of two sequences",
    "young": "by Young symmetrisers",
    "rayleigh": "by Rayleigh quotients of highest weight functions",
    "ritz": "by the Rayleigh-Ritz method on functions of second degree",
}


def shown(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The top eigenvalues of one length that tables and curves show."""
    return [top for top in entry["top"] if top["level"] <= SHOWN_LEVEL]


def top_rows(result: Mapping[str, Any]) -> list[list[str]]:
    """The top eigenvalue of each irrep at each length; what belongs to a length as a whole stands in the second column alone."""
    rows = []
    for entry in result["lengths"]:
        rows.append(
            [f"L = {entry['length']}", f"E[k] = {_with_error(entry['trace'], entry['trace_stderr'])}, {entry['method']}", "", "", ""]
        )
        for top in shown(entry):
            ratio = f"{top['ratio']:.3g}" if top["resolved"] else ""
            rows.append([top["irrep"], str(top["degeneracy"]), _eigenvalue(top, result), f"{top['bound']:.4g}", ratio])
    return rows


def _eigenvalue(top: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    if top["stderr"] is None and not top["resolved"]:
        return f"below {result['rounding']:.0e} E[k]"
    at_least = "≥ " if top["lower_bound"] else ""
    return at_least + _with_error(top["eigenvalue"], top["stderr"])


def _with_error(value: float, stderr: float | None) -> str:
    return f"{value:.4g}" if stderr is None else f"{value:.4g} ± {stderr:.1g}"


def exponent_rows(result: Mapping[str, Any]) -> list[list[str]]:
    """The fitted exponents, one row a family of irreps."""
    return [
        [
            fit["family"],
            exponent(fit["raw"]),
            exponent(fit["normalised"]),
            exponent(fit["bound"] | {"stderr": None}),
            str(fit["expected"]).replace("-", "−"),
            "  ".join(exponent(local["normalised"] | {"stderr": None}) for local in fit["local"]),
        ]
        for fit in result["exponents"]
        if fit["level"] <= SHOWN_LEVEL
    ]


def exponent(fit: Mapping[str, Any]) -> str:
    """An exponent with its error, if that is seen in two digits."""
    value = f"{fit['value']:.2f}".replace("-0.00", "0.00").replace("-", "−")
    return value if fit["stderr"] is None or fit["stderr"] < 0.005 else f"{value} ± {fit['stderr']:.2f}"


def remarks(result: Mapping[str, Any]) -> list[str]:
    """What has to be known to read the numbers, one sentence or two each."""
    said = _method_remarks(result) + _source_remarks(result) + _fit_remarks(result)
    return said + _crossover_remarks(result) + _missing_remarks(result["lengths"])


def _method_remarks(result: Mapping[str, Any]) -> list[str]:
    methods: dict[str, list[Mapping[str, Any]]] = {}
    for entry in result["lengths"]:
        methods.setdefault(entry["method"], []).append(entry)
    said = []
    for name, entries in methods.items():
        where = f" at L = {listed(entry['length'] for entry in entries)}" if len(methods) > 1 else ""
        sampled = any(row["stderr"] is not None for entry in entries for row in entry["rows"])
        said.append(f"Method {name}{where}: {'sampled' if sampled else 'exact'}, {METHODS[name]}.")
    rows = [row for entry in result["lengths"] for row in entry["rows"]]
    if any(row["lower_bound"] for row in rows):
        said.append("Values with ≥ are sampled lower bounds on the top eigenvalue of their irrep, with a standard error.")
    if result["source"]["exchangeable"] and any(row["stderr"] is not None and not row["lower_bound"] for row in rows):
        said.append(
            "Those with ± alone are eigenvalues of a kernel of sampled heads, with a standard error; where copies of an irrep are nearly "
            "equal, noise pushes them apart by one or two such errors, the top one upwards."
        )
    return said


def _fit_remarks(result: Mapping[str, Any]) -> list[str]:
    fits = result["exponents"]
    if not fits:
        return []
    said = ["Exponents are slopes of log eigenvalue against log length; local ones lie between neighbouring lengths."]
    if any(fit["raw"]["stderr"] is not None for fit in fits):
        said.append(
            "Their errors hold those of sampled values and the scatter around a straight line; for exact values, the scatter alone."
        )
    mixed = [fit["family"] for fit in fits if fit["mixed"] and fit["level"] <= SHOWN_LEVEL]
    if mixed:
        said.append(f"The fits of {listed(mixed)} run through eigenvalues at some lengths and lower bounds at others.")
    return said


def _crossover_remarks(result: Mapping[str, Any]) -> list[str]:
    crossover = result["crossover"]
    if crossover is None:
        return []
    places: dict[str, list[int]] = {}
    for entry in result["lengths"]:
        places.setdefault(entry["place"], []).append(entry["length"])
    where = "; ".join(f"L = {listed(lengths)} lie{'s' * (len(lengths) == 1)} {place} it" for place, lengths in places.items())
    law = "eigenvalue / E[k] of [L-1,1] falls as 1/L well below and as 1/L² well beyond"
    return [f"Crossover of the linear model at L* = {crossover:.4g}: {law}. {where}."]


def _source_remarks(result: Mapping[str, Any]) -> list[str]:
    if result["source"]["exchangeable"]:
        return []
    entry = result["lengths"][-1]
    gap = _with_error(entry["gap"]["value"], None if entry["gap"]["exact"] else entry["gap"]["stderr"])
    return [
        f"The source is not exchangeable: permuting {entry['length']} positions changes its law by a total variation of {gap}. Values are "
        "then Rayleigh quotients of functions with the symmetry of an irrep, sampled, with a standard error; they are no eigenvalues of "
        "the irrep, and E[k]/dim is a comparison, not a bound."
    ]


def _missing_remarks(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    rows = [row for entry in entries for row in entry["rows"]]
    said = []
    unresolved = sum(not row["resolved"] for row in rows)
    if unresolved:
        why = "below rounding" if all(row["stderr"] is None for row in rows) else "below rounding or within three standard errors of zero"
        said.append(f"Of {len(rows)} rows {unresolved} are {why}: they are neither drawn nor fitted.")
    if any(top["level"] > SHOWN_LEVEL for entry in entries for top in entry["top"]):
        said.append(f"Levels above {SHOWN_LEVEL} are in the files.")
    return said


def listed(words: Iterable[object]) -> str:
    """Words as a list in a sentence.

    >>> listed([4, 8, 16])
    '4, 8 and 16'
    """
    *most, last = [str(word) for word in words] or [""]
    return f"{', '.join(most)} and {last}" if most else last
