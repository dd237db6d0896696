"""Put what `specht reproduce` found on record: its verdicts and numbers, beside the claims that they are verdicts on.

    specht reproduce --out run                      # all papers at quick scale
    python benchmarks/record.py run/scorecard.json  # writes src/specht/papers/*/record.json

Claims that the scorecard does not have keep what was on record. Claims that are no longer there go.
"""

import argparse
import importlib
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from specht.papers import papers
from specht.papers.load import RECORD

FIELDS = ("verdict", "measured", "interval", "seeds", "agreeing")
DIGITS = 6


def entry(claim: dict[str, Any]) -> dict[str, Any]:
    """What the record keeps of a judged claim: six digits of every number, and nothing that is not there."""
    kept = {name: claim[name] for name in FIELDS if claim[name] is not None}
    return {
        name: json.loads(json.dumps(value), parse_float=lambda digits: float(f"{float(digits):.{DIGITS}g}")) for name, value in kept.items()
    }


def written(record: dict[str, dict[str, Any]]) -> str:
    """One line a claim, so that a change is one line."""
    scales = [
        f' "{scale}": {{\n'
        + ",\n".join(f'  "{claim}": {json.dumps(fields, ensure_ascii=False)}' for claim, fields in claims.items())
        + "\n }"
        for scale, claims in record.items()
    ]
    return "{\n" + ",\n".join(scales) + "\n}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scorecard", type=Path, nargs="+", help="scorecard.json of a run, or of several")
    found: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    for path in parser.parse_args().scorecard:
        scorecard = json.loads(path.read_text(encoding="utf-8"))
        for claim in scorecard["claims"]:
            if not claim["missing"]:
                found[scorecard["config"]["scale"]][claim["id"]] = entry(claim)
    for paper in papers():
        module = next(name for name in _packages() if importlib.import_module(name).PAPER.id == paper.id)
        path = Path(importlib.import_module(module).__path__[0]) / RECORD
        before = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        names = [claim.id.partition(".")[2] for claim in paper.claims]
        record = {}
        for scale in ("smoke", "quick", "full"):
            kept = {name: found[scale].get(f"{paper.id}.{name}", before.get(scale, {}).get(name)) for name in names}
            record[scale] = {name: fields for name, fields in kept.items() if fields is not None}
        path.write_text(written(record), encoding="utf-8")
        print(f"{path}: {sum(claim.startswith(f'{paper.id}.') for claims in found.values() for claim in claims)} claims recorded anew")


def _packages() -> list[str]:
    """The packages that have a paper."""
    import pkgutil

    import specht.papers

    names = [f"specht.papers.{module.name}" for module in pkgutil.iter_modules(specht.papers.__path__)]
    return [name for name in names if hasattr(importlib.import_module(name), "PAPER")]


if __name__ == "__main__":
    main()
