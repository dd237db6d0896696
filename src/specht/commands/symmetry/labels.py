"""Short names for corpora, each another one."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from types import SimpleNamespace

WIDEST = 24
"""Characters of the name of a corpus in tables and figures."""


def labels(corpora: Sequence[SimpleNamespace]) -> list[str]:
    """What corpora are called: the last part of a path, or as much of it as no other one has.

    >>> labels([SimpleNamespace(name="char:/a/x.txt", tokens="char"), SimpleNamespace(name="/a/x.txt", tokens="word")])
    ['char:x.txt', 'x.txt']
    >>> labels([SimpleNamespace(name=f"/{folder}/x.txt", tokens="word") for folder in "ab"])
    ['a/x.txt', 'b/x.txt']
    """
    names = [_parts(corpus) for corpus in corpora]
    depths = [2 if re.search(r"[*?\[]", steps[-1]) else 1 for _, steps in names]

    def short() -> list[str]:
        return [before + "/".join(steps[-depth:]) for (before, steps), depth in zip(names, depths, strict=True)]

    for _ in range(max(len(steps) for _, steps in names)):
        found = short()
        depths = [depth + (found.count(name) > 1) for name, depth in zip(found, depths, strict=True)]
    found = _clipped(short())
    return [name if found.count(name) == 1 else f"{name} {found[: place + 1].count(name)}" for place, name in enumerate(found)]


def _parts(corpus: SimpleNamespace) -> tuple[str, list[str]]:
    """The tokenisation that stands before a name, and the steps of its path."""
    before = f"{corpus.tokens}:"
    path = corpus.name.removeprefix(before)
    steps = [step for step in re.split(r"[/\\]", path) if step] or [path]
    return before if path != corpus.name else "", ["standard input"] if path == "-" else steps


def _clipped(names: Sequence[str]) -> list[str]:
    """Long names without their middle, or, if that is where they differ, without their beginning.

    >>> _clipped(["x", *(f"a_very_long_beginning_{number}_of_a_name.txt" for number in (1, 2))])
    ['x', '…inning_1_of_a_name.txt', '…inning_2_of_a_name.txt']
    """
    half = WIDEST // 2
    found = [name if len(name) <= WIDEST else f"{name[: half - 1]}…{name[-half:]}" for name in names]
    for clash in {name for name in found if found.count(name) > 1}:
        places = [place for place, name in enumerate(found) if name == clash]
        letters = zip(*(names[place] for place in places), strict=False)
        common = sum(1 for _ in itertools.takewhile(lambda column: len(set(column)) == 1, letters))
        begin = max(common - 7, 0)
        for place in places:
            rest = names[place][begin:]
            found[place] = f"…{rest}" if len(rest) < WIDEST else f"…{rest[: WIDEST - 2]}…"
    return found
