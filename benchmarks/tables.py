"""Real tables of labelled sequences for testing forecasts, built from copies of public repositories, of which `tables.toml` is the list.

    python benchmarks/tables.py list
    python benchmarks/tables.py make --mirror FOLDER --out FOLDER             # half a minute; or only the tables named after that

A mirror holds git directories, bare or in clones, named owner+name/repo, owner+name or name. Nothing is read from the network: where
a repository is missing, the `git clone` that brings it is printed. Rows are `text,label`: no text occurs twice, no class has fewer than
LEAST rows, no table more than MOST, and the order is that of hashes, so neither the order in the source nor a generator matters. The
exit code is 1, after a sentence, when the bytes of a source or of a table are not those on record.
"""

import argparse
import csv
import io
import os
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import Any

from table_parsers import PARSERS, Rows, Source, hashed

CATALOGUE = Path(__file__).with_suffix(".toml")
SEED, MOST, LEAST = 0, 12_000, 50
TEST = 12
"""Least number of tables in the test."""


def table_of(rows: Rows, numbers: bool) -> list[tuple[str, str]]:
    """Rows in the order of their hashes, without repeated or empty texts and rare classes."""
    cleaned = ((" ".join(text.split()), label.strip()) for text, label in rows if text and label)
    found: dict[str, str] = {}
    for text, label in sorted(cleaned, key=lambda row: hashed(f"{SEED}\t{row[0]}\t{row[1]}")):
        if text and label:
            found.setdefault(text, label)
    counts = Counter(list(found.values())[:MOST])
    return [(text, label) for text, label in found.items() if numbers or counts[label] >= LEAST][:MOST]


def csv_of(rows: Sequence[tuple[str, str]]) -> bytes:
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(("text", "label"))
    writer.writerows(rows)
    return written.getvalue().encode()


def source_of(mirror: Path, table: dict[str, Any]) -> Source:
    """The files of a table in its repository; a path with a star stands for all that match."""
    name, commit = table["source"]["repository"], table["source"]["commit"]
    folder = repository_in(mirror, name)
    if folder is None:
        raise SystemExit(f"{mirror} has no copy of {name}")
    paths: list[str] = []
    for path in table["paths"]:
        if "*" in path:
            found = git(folder, "ls-tree", "-r", "-z", "--name-only", commit).decode().split("\0")
            paths += [each for each in found if Path(each).match(path)]
        else:
            paths.append(path)
    written = git(folder, "cat-file", "--batch", asked="".join(f"{commit}:{path}\n" for path in paths).encode())
    source, at = [], 0
    for path in paths:
        header, at = written[at : written.index(b"\n", at)], written.index(b"\n", at) + 1
        if header.endswith(b"missing"):
            raise SystemExit(f"{name} in the mirror lacks {path} at commit {commit}: clone it whole")
        size = int(header.split()[-1])
        source.append((path, written[at : at + size]))
        at += size + 1
    return source


def repository_in(mirror: Path, name: str) -> Path | None:
    owner, _, short = name.partition("/")
    for folder in (mirror / f"{owner}+{short}" / "repo", mirror / f"{owner}+{short}", mirror / short, mirror / f"{short}.git"):
        for place in (folder / ".git", folder):
            if (place / "HEAD").exists():
                return place
    return None


def git(folder: Path, *arguments: str, asked: bytes = b"") -> bytes:
    environment = {**os.environ, "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0"}
    done = subprocess.run(["git", f"--git-dir={folder}", *arguments], input=asked, capture_output=True, env=environment)
    if done.returncode:
        raise SystemExit(f"git cannot read {folder}: {done.stderr.decode().strip()}")
    return done.stdout


def digest(source: Source) -> str:
    """A hash of all files of a source, one after another."""
    return hashed(b"".join(content for _, content in source))


def build(source: Source, table: dict[str, Any]) -> list[tuple[str, str]]:
    return table_of(PARSERS[table["parse"]](source, **table.get("options", {})), table["what"]["task"] == "regression")


def split(kinds: dict[str, str]) -> dict[str, list[str]]:
    """What is test and what validation, by the rule at the head of the catalogue."""
    ranked = sorted(kinds, key=hashed)
    firsts = {next(name for name in ranked if kinds[name] == kind) for kind in kinds.values()}
    others = [name for name in ranked if name not in firsts]
    test = firsts | set(others[: max(TEST, ceil(len(ranked) / 2)) - len(firsts)])
    return {"test": [name for name in ranked if name in test], "validation": [name for name in ranked if name not in test]}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="print the tables")
    make = commands.add_parser("make", help="write the tables as CSV")
    make.add_argument("--mirror", type=Path, required=True, help="folder of git directories")
    make.add_argument("--out", type=Path, required=True, help="folder to write into")
    make.add_argument("names", nargs="*", help="of the tables to make (default: all)")
    given = parser.parse_args()
    catalogue = tomllib.loads(CATALOGUE.read_text())
    tables, parts = catalogue["tables"], {name: part for part, names in catalogue["split"].items() for name in names}
    by_rule = split({name: table["what"]["kind"] for name, table in tables.items()})
    if any(catalogue["split"][part] != names for part, names in by_rule.items()):
        raise SystemExit(f"the split in {CATALOGUE.name} is not the one its rule gives")
    if given.command == "list":
        for name, table in sorted(tables.items(), key=lambda each: (each[1]["what"]["kind"], each[0])):
            what, made = table["what"], table["made"]
            counts = f"{made['rows']:>6} {made.get('classes', '-'):>3}"
            about = f"{what['kind']:10} {what['task']:14} {counts} {parts[name]:10} {what['licence']:12}"
            print(f"{name:17} {about} {table['source']['repository']}")
        return
    if unknown := set(given.names) - set(tables):
        raise SystemExit(f"{CATALOGUE.name} has no table {', '.join(sorted(unknown))}: it has {', '.join(sorted(tables))}")
    chosen = {name: tables[name] for name in given.names or tables}
    repositories = {table["source"]["repository"] for table in chosen.values()}
    missing = sorted(each for each in repositories if repository_in(given.mirror, each) is None)
    if missing:
        clones = "\n".join(f"git clone https://github.com/{each} {given.mirror / each.replace('/', '+')}" for each in missing)
        raise SystemExit(f"{given.mirror} lacks {len(missing)} of the repositories: run\n{clones}")
    given.out.mkdir(parents=True, exist_ok=True)
    wrong = []
    for name, table in chosen.items():
        source = source_of(given.mirror, table)
        if digest(source) != table["sha256"]:
            wrong.append(f"{name}: the files in {table['source']['repository']} are not those on record (SHA-256 {digest(source)})")
            continue
        written = csv_of(build(source, table))
        if hashed(written) != table["made"]["sha256"]:
            wrong.append(f"{name}: the source is that on record but the table made from it is not (SHA-256 {hashed(written)})")
            continue
        (given.out / f"{name}.csv").write_bytes(written)
        print(f"{name}: {table['made']['rows']} rows", flush=True)
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
