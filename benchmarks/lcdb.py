"""Learning curves of others, continued: LCDB 1.1 has 27 learners on 265 data sets, measured up to their last row.

    python benchmarks/lcdb.py validation FOLDER       # shapes beside four laws, on data sets that set no weight
    python benchmarks/lcdb.py test FOLDER             # the same on those that were kept for the end
    python benchmarks/lcdb.py learn FOLDER --tables train.jsonl validation.jsonl     # learn the weights of shapes anew

`learn` writes the weights into the package. It learns from the curves of LCDB that are for learning, and from those that `forecast.py
measure` has measured on tables for training and validation, a fifth of each batch.

FOLDER is `docs/data` of a clone of the public repository learning-curve-research/LCDB-1.1; the script checks its error rates by their
SHA-256. Data sets are split by the hash of their number before anything is fitted: six tenths for learning, two for validation, two for
the test. A case is a curve up to N rows, at half octaves over a factor of 32, and its error rate at 2 N, 4 N and 8 N. Curves that reach an
error rate of zero, where logarithms end, are left out. `median` and `rms` are those of |log(truth / forecast)|, `held` is the share of
90 % intervals that hold. Prints one JSON object a line; `met` says which targets are met, and the exit code is 1 when one is missed.
"""

from __future__ import annotations

from common import MISSED, print_line  # isort: skip -- first, because it sets the number of threads

import argparse
import csv
import dataclasses
import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from forecast import known_curves

from specht.forecasts.laws import fit_law
from specht.forecasts.shapes import ErrorCurve, KnownCurve, Shapes, every_shape, learn_weights, learned_shapes

CHECKSUM = "3f56184e27b6db906e5933fb8ed527894908d27b2d0df89e8e5c36f821325c01"
"""SHA-256 of all files of error rates, one after the other in the order of their names."""
SIZES = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
HORIZONS = (2, 4, 8)
LAWS = ("power", "pow3", "pow4", "mmf4")
LEAST, POINTS = 1e-3, 11
"""Error rates below are taken for zero; most points of a curve that are used."""
LEARNED_FROM, JUDGED = 12000, 1200
"""Cases drawn for learning and for a comparison; more of them change nothing that is seen."""
PRUNED = 9.0
"""Shapes whose weight is smaller than the largest by this factor in the logarithm are dropped."""


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """A curve up to N rows, and how it went on."""

    curve: ErrorCurve
    later: dict[int, tuple[float, float]]
    """By multiple of N: error rate and its standard error."""


def part_of(dataset: str) -> str:
    """learning, validation or test, for good."""
    tenth = int(hashlib.sha256(f"lcdb-{dataset}".encode()).hexdigest(), 16) % 10
    return "learning" if tenth < 6 else "validation" if tenth < 8 else "test"


def read_cases(folder: Path, part: str) -> Iterator[Case]:
    meta = json.loads((folder / "meta.json").read_text())
    files = sorted((folder / "er").glob("*.json"), key=lambda path: path.name)
    seen = hashlib.sha256()
    for path in files:
        seen.update(path.read_bytes())
    if seen.hexdigest() != CHECKSUM:
        sys.exit(f"lcdb: the error rates in {folder} are not those of LCDB 1.1 that this benchmark knows.")
    learners = [place for place, name in enumerate(meta["learners"]) if "Dummy" not in name]
    sizes = np.array(meta["anchors"], dtype=float)
    for path in (path for path in files if part_of(path.stem) == part):
        rates = np.array(json.loads(path.read_text()), dtype=float)[..., 2]  # on test rows
        for learner in learners:
            yield from _cases_of_curve(sizes, *rates[learner])


def _cases_of_curve(sizes: np.ndarray, error: np.ndarray, stderr: np.ndarray) -> Iterator[Case]:
    """One case a number of rows; sizes are eighths of octaves."""
    usable = np.isfinite(error) & np.isfinite(stderr) & (error > LEAST)
    for rows in SIZES:
        end = int(np.searchsorted(sizes, rows))
        points = np.arange(end % 4, end + 1, 4)[-POINTS:]
        if end >= len(sizes) or np.any(error[points] <= LEAST) or not usable[end]:
            continue
        points = points[usable[points]]
        ends = {2**octaves: end + 8 * octaves for octaves in (1, 2, 3)}
        later = {times: (error[at], stderr[at]) for times, at in ends.items() if at < len(sizes) and usable[at]}
        if len(points) >= 5 and later:
            yield Case(ErrorCurve(sizes[points], error[points], stderr[points]), later)


def draw(cases: list[Case], most: int, seed: int = 0) -> list[Case]:
    chosen = np.random.default_rng(seed).permutation(len(cases))[:most]
    return [cases[index] for index in chosen]


def learn(folder: Path, tables: list[Path]) -> None:
    """Weights of all shapes from the cases for learning, a random horizon of each, and from tables; likely ones go into the package."""
    rng = np.random.default_rng(0)
    known = []
    for case in draw(list(read_cases(folder, "learning")), LEARNED_FROM):
        times = int(rng.choice(list(case.later)))
        known.append(KnownCurve(case.curve, times * case.curve.n_train[-1], *case.later[times]))
    measured = [case for path in tables for text in path.read_text().splitlines() for case in known_curves(json.loads(text))]
    # As many copies as make a fifth of all.
    known += [measured[index] for index in rng.integers(len(measured), size=len(known) // 4)] if measured else []
    shapes = learn_weights(every_shape(), known)
    likely = shapes.log_weight > shapes.log_weight.max() - PRUNED
    columns = {field.name: getattr(shapes, field.name)[likely] for field in dataclasses.fields(Shapes)}
    path = Path(__file__).parents[1] / "src/specht/forecasts/shapes.csv"
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([f"{value:.5g}" for value in row] for row in zip(*columns.values(), strict=True))
    print_line("lcdb", part="learning", cases=len(known), of_tables=len(measured), shapes=len(shapes), kept=int(likely.sum()))


def compare(folder: Path, part: str) -> None:
    """Misses of shapes and of laws at every horizon."""
    cases = draw(list(read_cases(folder, part)), JUDGED)
    levels = np.array([0.05, 0.5, 0.95])
    misses: dict[tuple[str, int], list[float]] = {}
    held: dict[int, list[bool]] = {times: [] for times in HORIZONS}
    for case in cases:
        rows = case.curve.n_train[-1]
        forecast = learned_shapes().forecast(case.curve)
        laws = {name: fit_law(name, case.curve) for name in LAWS}
        for times, (truth, stderr) in case.later.items():
            low, middle, high = forecast.quantiles(times * rows, levels)
            spare = np.exp(1.645 * stderr / truth)  # of the truth, which is measured as well
            held[times].append(bool(low / spare <= truth <= high * spare))
            misses.setdefault(("shapes", times), []).append(np.log(truth / middle))
            for name, law in laws.items():
                misses.setdefault((name, times), []).append(np.log(truth / max(law(np.array([times * rows]))[0], LEAST)))
    for times in HORIZONS:
        line: dict[str, Any] = {"part": part, "times": times, "cases": len(held[times])}
        for name in ("shapes", *LAWS):
            miss = np.array(misses[name, times])
            line[name] = {"median": float(np.median(np.abs(miss))), "rms": float(np.sqrt(np.mean(miss**2))), "bias": float(np.mean(miss))}
        line["held"] = float(np.mean(held[times]))
        best_law = min(line["pow4"]["median"], line["mmf4"]["median"])
        met = {"median": line["shapes"]["median"] <= best_law, "held": 0.85 <= line["held"] <= 0.95}
        print_line("lcdb", **line, met=met)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("learn", "validation", "test"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tables", type=Path, nargs="*", default=[], help="lines of forecast.py measure, for learn")
    chosen = parser.parse_args()
    if chosen.what == "learn":
        learn(chosen.folder, chosen.tables)
    else:
        compare(chosen.folder, chosen.what)
    return 1 if MISSED else 0


if __name__ == "__main__":
    raise SystemExit(main())
