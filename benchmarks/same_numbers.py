"""Whether a change of the sources leaves every number as it was: the JSON of all commands, recorded before and compared after.

    python benchmarks/same_numbers.py record FILE              # run every case on this tree, and keep what it printed
    python benchmarks/same_numbers.py compare FILE             # run every case again, and compare
    python benchmarks/same_numbers.py compare FILE --only kernel spectrum    # those whose names begin like this

Every case is a command line of a few seconds, in a process of its own that loads the sources beside this folder, and writes into a fresh
folder. `compare` prints one JSON object a case: `same` is "to the bit", "to 1e-12" or "differs", which comes with the first differences.
The exit code is 1 when a case differs, or when one on record is not run.

What is compared has no shape, so that a field may move. A JSON object becomes pairs of a name and a value, where the name is the last key
on the way to the value; the entries of a list go by the name of the list. Every number, word, truth value and null that a name had before
must be there again, as often as before. Numbers may be off by 1e-12 of themselves, whole ones and words not at all. A name may have more
values than before, and there may be more names. Of a command that is refused the exit code and the sentence are compared.
Times, versions, hashes and the places of files are left out (`NOT_COMPARED`, and words that hold the folder of the case).
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parents[1]
TOLERANCE = 1e-12
SHOWN = 5
"""Differences that a line lists."""
OUT = "results"
"""Where a case writes, in the folder that it runs in; words that hold it are places of files."""
NOT_COMPARED = {
    **dict.fromkeys(("version", "python", "jax", "numpy", "platform"), "versions"),
    **dict.fromkeys(("time", "changed", "seconds", "cpu_seconds", "wall_seconds", "duration", "train_seconds", "took"), "times"),
    **dict.fromkeys(("digest", "checksum", "hash"), "hashes"),
    "bytes": "sizes of files, which hold times and versions",
    "peak_memory_bytes": "what the process took depends on the machine and on what it compiles",
}
"""Names whose values are left out, and why."""


@dataclasses.dataclass(frozen=True)
class Case:
    """A command line, and those that have to run before it."""

    words: str
    before: tuple[str, ...] = ()
    refused: bool = False
    """Ends with exit code 2 and a sentence."""
    out: bool = True
    """Takes --out."""

    def arguments(self) -> list[str]:
        return [*self.words.split(), "--json", *(["--out", f"{OUT}/case"] if self.out else [])]


SMALL_TABLE = "--rows 64 --budget 5s"
SMOKE = "--scale smoke --workers 0"
CASES = {
    "predict": Case("predict"),
    "predict ntk": Case("predict --kind ntk --ridge 0.2 --n-train 8 64 512"),
    "predict widths": Case("predict --vocab 2 --length 8 --source uniform --target and --support 1 --ridge 0.1 --width 16 64"),
    "predict sampled widths": Case("predict --vocab 2 --length 4 --source uniform --target and --activation erf --n-train 8 --width 32"),
    "predict phases": Case("predict --vocab 2 --length 6 --source uniform --target and --n-train 8 32 --phases --workers 0"),
    "predict gp": Case("predict --vocab 3 --length 8 --check gp --check-n 64 --datasets 4 --n-train 8 16 32 64"),
    "predict net": Case("predict --vocab 2 --length 3 --check net --width 8 --n-train 4 --net-n 4 --net-datasets 2"),
    "predict net ntk": Case("predict --vocab 2 --length 3 --check net --width 8 --n-train 4 --net-n 4 --net-datasets 2 --kind ntk"),
    "predict breaking": Case("predict --vocab 2 --length 6 --breaking 0 0.3 --check-n 32 --datasets 4 --n-train 8 32"),
    "predict softmax": Case("predict --preset softmax --target level --support 1 --length 8 --heads 64 --sequences 96"),
    "predict task": Case("predict --task sparse-parity --vocab 2 --length 8 --activation erf"),
    "predict shift": Case("predict --target next-token --shift order-broken --shift-epsilon 0.3 --length 8"),
    "predict own function": Case("predict --target mine:score --vocab 2 --source uniform --length 6"),
    "predict tasks": Case("predict --list-tasks", out=False),
    "forecast classes": Case(f"forecast table.csv --target kind --learners bag local {SMALL_TABLE}"),
    "forecast numbers": Case(f"predict --data table.csv --target score --sequence text --learners bag erf {SMALL_TABLE}"),
    "forecast softmax": Case(f"forecast table.csv --target kind --learners bag softmax --tokens characters {SMALL_TABLE}"),
    "kernel": Case("kernel --n 50"),
    "kernel softmax erf": Case("kernel --preset lecun --length 8 --n 30 --heads 128 --kind both"),
    "kernel deep relu": Case("kernel --arch V=8|L=12|relu|depth=2|residual|norm=pre --n 40"),
    "kernel causal": Case("kernel --attention softmax --causal --positions none --activation gelu --length 6 --n 12 --heads 64"),
    "kernel presets": Case("kernel --list-presets", out=False),
    "spectrum": Case("spectrum"),
    "spectrum two tokens": Case("spectrum --vocab 2 --activation erf --s-w 0.5 --lengths 8 16"),
    "spectrum young": Case("spectrum --vocab 3 --activation relu --lengths 4 5 --kind ntk"),
    "spectrum rayleigh": Case("spectrum --source graded --epsilon 0.2 --method rayleigh --lengths 4 8 --max-level 1 --sequences 96"),
    "spectrum ritz": Case("spectrum --preset softmax --method ritz --lengths 4 8 --max-level 1 --sequences 96 --heads 128"),
    "profile parity": Case("profile parity --support 3 --samples 1000"),
    "profile source": Case("profile next-token --source graded --epsilon 0.3 --vocab 4 --length 8 --samples 1000 --max-level 2"),
    "profile own function": Case("profile mine:score --vocab 3 --length 8 --samples 1000 --max-level 2 --interval bootstrap"),
    "probe preset": Case("probe nope-causal-softmax --length 6 --samples 200 --permutations 16"),
    "probe own model": Case("probe mine:model --vocab 5 --length 6 --samples 200 --permutations 16"),
    "symmetry text": Case("symmetry words.txt char:words.txt --length 8 --lengths 4 --workers 0"),
    "symmetry exact third": Case("symmetry words.txt --length 8 --lengths 4 --method exact --third --no-nulls --workers 0"),
    "symmetry code": Case("symmetry code:json_sources --length 16 --vocab 100 --workers 0"),
    "symmetry names": Case("symmetry --list", out=False),
    "threshold": Case("threshold and --support 2 --lengths 6 --learners transformer perceptron --budget 16 --steps 25 --workers 0"),
    "threshold kernels": Case("threshold 0110 --lengths 6 10 --learners perceptron-ntk transformer-nngp --budget 24 --workers 0"),
    "threshold width": Case("threshold and --support 2 --lengths 6 --learners transformer-width-16 --budget 16 --largest 64 --workers 0"),
    "select": Case("select --length 10 --support 2 --steps 200 --seeds 2 --batch 64 --n-test 256 --code 16 --workers 0"),
    "select sgd": Case(
        "select --length 8 --support 2 --codes one-hot --optimiser sgd --steps 200 --seeds 1 --batch 64 --n-test 256 --workers 0"
    ),
    "reproduce claims": Case("reproduce --list", out=False),
    "reproduce infinity": Case(f"reproduce infinity.f0 infinity.f1 infinity.e2 infinity.q6 {SMOKE}"),
    "reproduce sparse": Case(f"reproduce sparse.theory sparse.profiles {SMOKE}"),
    "reproduce selection": Case(f"reproduce selection.theorem-1 selection.symmetry {SMOKE}"),
    "reproduce features": Case(f"reproduce features.symmetry features.growth {SMOKE}"),
    "runs": Case(f"runs --root {OUT}", before=(f"kernel --n 20 --out {OUT}/kernel-run", f"spectrum --out {OUT}/spectrum-run"), out=False),
    "runs show": Case(f"runs show kernel-run --root {OUT}", before=(f"kernel --n 20 --out {OUT}/kernel-run",), out=False),
    "refused ridge": Case("predict --width 64 --ridge 0", refused=True),
    "refused column": Case("forecast table.csv --target nothing", refused=True),
    "refused limit": Case("kernel --preset nowhere", refused=True),
}
"""All commands but `explore`, which serves pages, and `doctor`, which says what the machine is."""

OWN = """import numpy as np

def score(tokens):
    return (tokens[:, 0] == 1) + 0.5 * (tokens[:, 1] == tokens[:, 2])

def model(tokens):
    weights = np.random.default_rng(0).normal(size=(5, 4))
    return np.cumsum(weights[tokens], axis=1) / np.arange(1, tokens.shape[1] + 1)[None, :, None]
"""
"""A function and a model of somebody's own."""


def write_inputs(folder: Path) -> None:
    """A table, a text, some sources and a module, the same every time."""
    rng = np.random.default_rng(0)
    lines = ["text,kind,score"]
    for _ in range(96):
        words = rng.choice(["a", "bb", "c", "dd"], size=rng.integers(3, 7))
        lines.append(
            f"{' '.join(words)},{'first' if (words[0] == 'a') != (rng.random() < 0.1) else 'other'},{len(words) + rng.normal():.6f}"
        )
    (folder / "table.csv").write_text("\n".join([*lines, lines[1], "a bb,,1.0"]) + "\n", encoding="utf-8")
    moves, states = rng.random(6000) < 0.4, rng.integers(6, size=6000)
    for place in range(1, len(states)):  # a chain that likes to stay
        if not moves[place]:
            states[place] = states[place - 1]
    (folder / "words.txt").write_text(" ".join(f"word{state}" for state in states), encoding="utf-8")
    (folder / "mine.py").write_text(OWN, encoding="utf-8")
    shutil.copytree(Path(json.__file__).parent, folder / "json_sources", ignore=shutil.ignore_patterns("__pycache__"))


def run_case(case: Case, inputs: Path) -> dict[str, Any]:
    """Exit code, what was printed, and CPU seconds of a command in a fresh folder."""
    environment = os.environ | {"PYTHONPATH": str(HERE / "src"), "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "inputs"
        shutil.copytree(inputs, folder)
        options = {"cwd": folder, "env": environment, "capture_output": True, "text": True}
        for words in case.before:
            subprocess.run([sys.executable, "-m", "specht", *words.split()], check=True, **options)
        begin = time.perf_counter()
        done = subprocess.run([sys.executable, "-m", "specht", *_with_spaces(case.arguments())], **options)
        printed: dict[str, Any] = {"exit_code": done.returncode}
        if case.refused or not done.stdout.strip():
            printed["sentence"] = done.stderr.strip()
        else:
            printed["printed"] = json.loads(done.stdout)
    return printed | {"wall_seconds": round(time.perf_counter() - begin, 2)}


def _with_spaces(arguments: Sequence[str]) -> list[str]:
    """A line of notation has spaces, and words of a case do not: its bars are spaces, but for the first after the sizes."""
    return [_notation(word) if word.startswith("V=") else word for word in arguments]


def _notation(word: str) -> str:
    vocab, length, *rest = word.split("|")
    return f"{vocab} {length} | {' '.join(rest)}"


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Name and value of everything in a JSON object that is compared."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from leaves(part, key)
    elif isinstance(value, list):
        for part in value:
            yield from leaves(part, name)
    elif name not in NOT_COMPARED and not (isinstance(value, str) and f"{OUT}/" in value):
        yield name, value


def by_name(value: Any) -> dict[str, list[Any]]:
    collected: dict[str, list[Any]] = defaultdict(list)
    for name, leaf in leaves(value):
        collected[name].append(leaf)
    return dict(collected)


def missing(before: Sequence[Any], after: Sequence[Any]) -> tuple[list[Any], int]:
    """Values of a name that are gone, and how many are there again only within the tolerance."""
    left, there = Counter(map(_exactly, before)), Counter(map(_exactly, after))
    left, there = left - there, there - left
    gone = [value for kind, value in left.elements() if kind != "float"]
    candidates = sorted(value for kind, value in there.elements() if kind == "float")
    close = 0
    for value in sorted(value for kind, value in left.elements() if kind == "float"):
        while candidates and candidates[0] < value and not _is_close(candidates[0], value):
            candidates.pop(0)
        if candidates and _is_close(candidates[0], value):
            candidates.pop(0)
            close += 1
        else:
            gone.append(value)
    return gone, close


def _exactly(value: Any) -> tuple[str, Any]:
    """With its kind, since 1, 1.0 and true are equal in Python."""
    return type(value).__name__, value


def _is_close(first: float, second: float) -> bool:
    return math.isclose(first, second, rel_tol=TOLERANCE, abs_tol=0.0)


def compare_case(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a line."""
    old, new = by_name(before), by_name(after)
    differences, close, values = [], 0, 0
    for name, recorded in old.items():
        gone, within = missing(recorded, new.get(name, []))
        close += within
        values += len(recorded)
        if gone:
            now = [value for _, value in (Counter(map(_exactly, new.get(name, []))) - Counter(map(_exactly, recorded))).elements()]
            differences.append({"name": name, "missing": len(gone), "before": gone[:SHOWN], "now": now[:SHOWN]})
    same = "differs" if differences else "to 1e-12" if close else "to the bit"
    shown = {"differences": len(differences), "first": differences[:SHOWN]} if differences else {}
    return {"same": same, "values": values, "within_tolerance": close, "new_names": sorted(set(new) - set(old))} | shown


def chosen(only: Sequence[str]) -> dict[str, Case]:
    return {name: case for name, case in CASES.items() if not only or any(name.startswith(start) for start in only)}


def record(path: Path, cases: Mapping[str, Case]) -> int:
    """Run all cases and keep what they print; one that fails is no record."""
    kept, failed = {}, 0
    with tempfile.TemporaryDirectory() as folder:
        write_inputs(Path(folder))
        for name, case in cases.items():
            printed = run_case(case, Path(folder))
            as_meant = printed["exit_code"] == (2 if case.refused else 0)
            failed += not as_meant
            kept[name] = {"arguments": case.arguments(), **printed}
            line = {
                "benchmark": "same numbers",
                "case": name,
                "values": sum(1 for _ in leaves(printed)),
                "seconds": printed["wall_seconds"],
            }
            print(json.dumps(line | ({} if as_meant else {"failed": printed})), flush=True)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=HERE, capture_output=True, text=True).stdout.strip()
    path.write_text(json.dumps({"commit": commit, "machine": platform.platform(), "cases": kept}, indent=1) + "\n", encoding="utf-8")
    return 1 if failed else 0


def compare(path: Path, cases: Mapping[str, Case], all_of_them: bool) -> int:
    """Run all cases and print how they differ from the record."""
    baseline = json.loads(path.read_text(encoding="utf-8"))
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        write_inputs(Path(folder))
        for name, case in cases.items():
            if name not in baseline["cases"]:
                fields: dict[str, Any] = {"same": "not on record"}
            else:
                outcomes = ("exit_code", "sentence", "printed")
                before = {part: value for part, value in baseline["cases"][name].items() if part in outcomes}
                after = run_case(case, Path(folder))
                fields = compare_case(before, after) | {"seconds": after["wall_seconds"]}
            counts[fields["same"]] += 1
            print(json.dumps({"benchmark": "same numbers", "case": name, **fields}), flush=True)
    not_run = sorted(set(baseline["cases"]) - set(CASES)) if all_of_them else []
    print(json.dumps({"benchmark": "summary", "baseline": baseline["commit"], **counts, "not_run": not_run}), flush=True)
    return 1 if counts["differs"] or not_run else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("file", type=Path, help="where the record is, or will be")
    parser.add_argument("--only", nargs="+", default=[], help="cases whose names begin like one of these")
    options = parser.parse_args()
    cases = chosen(options.only)
    return record(options.file, cases) if options.action == "record" else compare(options.file, cases, not options.only)


if __name__ == "__main__":
    raise SystemExit(main())
