"""A paper from its `claims.toml` and the modules beside it.

The file holds what is said: titles, sentences, citations, methods. The modules hold what is measured and the criteria. Each experiment of
the file names its module in `code`, and each claim is bound there to a measurement by `@measurement.claim(name, criterion)`. What came out
at each scale is in `record.json`, which `benchmarks/record.py` writes. `[[contents]]` lists what the paper holds, tested or not; results of
this project have no such list, for there is no other text that they could leave something out of.
"""

from __future__ import annotations

import datetime
import importlib
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from specht.lab import Job
from specht.papers.claims import Change, Claim, Experiment, Paper, Recorded, Results, Scale
from specht.papers.measurement import Measurement, Reader
from specht.report import ContentsEntry, Step

CLAIMS, RECORD = "claims.toml", "record.json"
OURS = "Specht: what no paper shows"
"""The citation of claims that are ours, unless they have one of their own."""
_KINDS = ("paper", "question", "ours", "check")
_PAPER = {"id", "title", "citation", "summary", "short", "label", "source", "in_full", "contents"}
_EXPERIMENT = {"title", "code", "shown", "method", "claims"}
_CLAIM = {"sentence", "citation", "kind", "since", "untested", "changed"}
_CONTENT = {"part", "says", "covered_by", "command", "not_covered"}


def load_paper(package: str) -> Paper:
    """The paper of a package: `PAPER = load_paper(__name__)`."""
    written = tomllib.loads(resources.files(package).joinpath(CLAIMS).read_text(encoding="utf-8"))
    experiments = {name: part for name, part in written.items() if isinstance(part, dict)}
    _check("the paper", set(written) - set(experiments), _PAPER)
    record = _record(package)
    modules = {part["code"]: importlib.import_module(f"{package}.{part['code']}") for part in experiments.values()}
    bound = {code: [value for value in vars(module).values() if isinstance(value, Measurement)] for code, module in modules.items()}
    judged = {claim for measurements in bound.values() for measurement in measurements for claim in measurement.claims}
    known = {claim for part in experiments.values() for claim in part["claims"]}
    if judged - known:
        raise ValueError(f"{CLAIMS} of {package} does not have the claim {sorted(judged - known)[0]!r}, which the code judges.")
    return Paper(
        id=written["id"],
        title=_line(written["title"]),
        citation=_line(written["citation"]),
        summary=_line(written["summary"]),
        experiments=tuple(_experiment(written, name, part, bound[part["code"]], record) for name, part in experiments.items()),
        label=written.get("label", Paper.label),
        source=_line(written.get("source", "")),
        in_full=written.get("in_full", False),
        contents=tuple(_content(written["id"], experiments, entry) for entry in written.get("contents", ())),
    )


def _record(package: str) -> Mapping[str, Mapping[str, Recorded]]:
    """What is on record for each claim, by scale; nothing for a paper that was never recorded."""
    file = resources.files(package).joinpath(RECORD)
    scales = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    claims: dict[str, dict[str, Recorded]] = {}
    for scale, outcomes in scales.items():
        for claim, fields in outcomes.items():
            interval = fields.pop("interval", None)
            claims.setdefault(claim, {})[scale] = Recorded(**fields, interval=interval and (interval[0], interval[1]))
    return claims


def _experiment(
    written: Mapping[str, Any],
    name: str,
    part: Mapping[str, Any],
    measurements: Sequence[Measurement],
    record: Mapping[str, Mapping[str, Recorded]],
) -> Experiment:
    _check(name, set(part), _EXPERIMENT)
    own = [measurement for measurement in measurements if part["claims"].keys() & measurement.claims]
    strangers = {claim for measurement in own for claim in measurement.claims} - part["claims"].keys()
    if strangers:
        raise ValueError(
            f"{sorted(strangers)[0]!r} is not in [{name}] of {CLAIMS}: measure once for each experiment, `measure(...)(function)`."
        )
    judges = {claim: reader for measurement in own for claim, reader in measurement.claims.items()}
    figures = [reader for measurement in own for reader in measurement.figures]
    tables = [reader for measurement in own for reader in measurement.tables]
    beside = [measurement for reader in (*judges.values(), *figures, *tables) for measurement in reader.measurements]
    read = list(dict.fromkeys([*own, *beside]))
    if len({measurement.name for measurement in read}) < len(read):
        raise ValueError(f"Two measurements of [{name}] in {CLAIMS} call the same function, so that their results cannot be told apart.")

    def jobs(scale: Scale) -> list[Job]:
        return [job for measurement in read for job in measurement.jobs(scale)]

    def drawn(readers: Sequence[Reader], results: Results) -> list[Any]:
        return [item for reader in readers for item in reader.draw(results)]

    return Experiment(
        name=f"{written['id']}.{name}",
        title=_line(part["title"]),
        shown=_line(part["shown"]),
        claims=tuple(_claim(written, claim, text, judges.get(claim), record.get(claim, {})) for claim, text in part["claims"].items()),
        jobs=jobs,
        plots=lambda results: drawn(figures, results),
        tables=lambda results: drawn(tables, results),
        method=steps(part.get("method", "")),
    )


def _content(paper: str, experiments: Mapping[str, Any], entry: Mapping[str, Any]) -> ContentsEntry:
    part = entry["part"]
    _check(part, set(entry), _CONTENT)
    covered, lost = entry.get("covered_by", []), _line(entry.get("not_covered", ""))
    if bool(covered) == bool(lost):
        raise ValueError(f"{part!r} in the contents of {CLAIMS} needs either experiments in `covered_by` or a sentence `not_covered`.")
    for name in covered:
        if name not in experiments:
            raise ValueError(f"{part!r} in the contents of {CLAIMS} is covered by {name!r}, which is no experiment of the file.")
    names = [f"{paper}.{name}" for name in covered]
    return ContentsEntry(part, _line(entry["says"]), names, entry.get("command", ""), lost)


def _claim(written: Mapping[str, Any], name: str, text: Mapping[str, Any], reader: Reader | None, record: Mapping[str, Recorded]) -> Claim:
    _check(name, set(text), _CLAIM)
    kind, since, untested = text["kind"], text["since"], text.get("untested", "")
    if kind not in _KINDS or not isinstance(since, datetime.date):
        raise ValueError(f"{name!r} in {CLAIMS} needs a kind, one of {', '.join(_KINDS)}, and `since = YYYY-MM-DD`.")
    if (reader is None) == (not untested):
        raise ValueError(f"{name!r} in {CLAIMS} needs either a function that judges it or a sentence `untested`.")
    place = _line(text.get("citation", ""))
    citation = f"{written['short']}, {place}" if kind == "paper" and "short" in written else place or OURS
    if reader is None or reader.criterion is None:
        criterion, refuses_null, judge = untested, None, None
    else:
        criterion, judge = reader.criterion.text, reader.judge
        refuses_null = reader.criterion.says_no_to(reader.null)
    claim = f"{written['id']}.{name}"
    changes = [Change(change["on"], _line(change["before"]), _line(change["why"])) for change in text.get("changed", ())]
    return Claim(claim, _line(text["sentence"]), citation, criterion, judge, untested, kind, since, changes, record, refuses_null)


def steps(text: str) -> list[Step]:
    r"""The steps of a method: paragraphs, and under each the lines that are indented by four spaces, which are formulas.

    >>> steps("Draw and\naverage:\n\n    m = Σ x_i / n\n\nThen stop.")
    [Step(text='Draw and average:', formulas=['m = Σ x_i / n']), Step(text='Then stop.', formulas=())]
    """
    method: list[Step] = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        if block.startswith("    "):
            method[-1] = Step(method[-1].text, [line.strip() for line in block.splitlines()])
        elif block.strip():
            method.append(Step(_line(block)))
    return method


def _line(text: str) -> str:
    """Text that may be wrapped in the file, on one line."""
    return " ".join(text.split())


def _check(where: str, names: set[str], known: set[str]) -> None:
    if names - known:
        raise ValueError(f"{sorted(names - known)[0]!r} of {where} in {CLAIMS} is unknown: it may have {', '.join(sorted(known))}.")
