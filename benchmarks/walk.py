"""How far one reads to follow a call: the functions, files and rooms of the package that it walks through.

    python benchmarks/walk.py                   # all four calls, and the lines of every room
    python benchmarks/walk.py kernel spectrum   # some of them

The calls are `specht predict`, a forecast for one's own table (`specht forecast FILE --target COLUMN`), `Kernel(arch)(x)` and
`spectrum(arch, source)`, each in a process of its own, so that nothing is loaded or kept from another one.

A walk is the sequence in which functions of the package are entered for the first time. A function is a code object of a file under
src/specht that has a name: lambdas, comprehensions and generator expressions belong to the function around them, and the bodies of modules
and classes are none. What runs while a module of the package is imported (decorators, tables) is left out unless it runs again later.
A file switch is a step of the walk from one file to another one, and a room switch a step from one room to another one, where a room is
the first folder below src/specht, or the file for modules at the top. A return is no step: who reads has seen that place before.

Prints one JSON object a call: `functions`, `files` and `rooms` that differ, `file_switches`, `room_switches`, and the functions that are
entered in every room; then `rooms`: lines of source a room, and in all.
"""

from common import print_line  # isort: skip -- first, because it sets the number of threads

import argparse
import contextlib
import inspect
import io
import itertools
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

SOURCE = Path(__file__).resolve().parents[1] / "src"
PACKAGE = SOURCE / "specht"


class Walk:
    """The functions of the package in the order in which they are first entered, while it is active."""

    def __init__(self) -> None:
        self.visited: dict[CodeType, None] = {}
        self._folder = f"{PACKAGE}{os.sep}"

    def __enter__(self) -> "Walk":
        sys.setprofile(self._on_event)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _on_event(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code not in self.visited and self._is_function(code) and not self._is_importing(frame):
            self.visited[code] = None

    def _is_function(self, code: CodeType) -> bool:
        named = not code.co_name.startswith("<") and bool(code.co_flags & inspect.CO_OPTIMIZED)  # bodies of classes are not optimised
        return named and code.co_filename.startswith(self._folder)

    def _is_importing(self, frame: FrameType | None) -> bool:
        while frame is not None:
            if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(self._folder):
                return True
            frame = frame.f_back
        return False

    def counts(self) -> dict[str, Any]:
        files = [Path(code.co_filename).relative_to(PACKAGE) for code in self.visited]
        rooms = [room_of(file) for file in files]
        return {
            "functions": len(files),
            "files": len(set(files)),
            "rooms": len(set(rooms)),
            "file_switches": switches(files),
            "room_switches": switches(rooms),
            "functions_by_room": dict(Counter(rooms).most_common()),
        }


def room_of(file: Path) -> str:
    """The first folder below the package, or the module's own name at the top."""
    return file.parts[0].removesuffix(".py")


def switches(places: list[Any]) -> int:
    return sum(before != after for before, after in itertools.pairwise(places))


def lines_by_room() -> dict[str, int]:
    lines: Counter[str] = Counter()
    for path in PACKAGE.rglob("*.py"):
        lines[room_of(path.relative_to(PACKAGE))] += len(path.read_text(encoding="utf-8").splitlines())
    return dict(lines.most_common())


def walk_predict(folder: Path) -> Callable[[], object]:
    from specht.__main__ import main

    return lambda: main(["predict", "--json", "--out", str(folder / "out")])


def walk_forecast(folder: Path) -> Callable[[], object]:
    from specht.__main__ import main

    rng, table = np.random.default_rng(0), folder / "table.csv"
    lines = ["text,kind"]
    for _ in range(96):
        words = rng.choice(["a", "b", "c"], size=5)
        lines.append(f"{' '.join(words)},{'first' if words[0] == 'a' else 'other'}")
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return lambda: main(["forecast", str(table), "--target", "kind", "--json", "--out", str(folder / "out")])


def walk_kernel(_: Path) -> Callable[[], object]:
    import specht

    arch, x = specht.preset("simplified", vocab=4, length=16), np.random.default_rng(0).integers(4, size=(10, 17))
    return lambda: specht.Kernel(arch)(x)


def walk_spectrum(_: Path) -> Callable[[], object]:
    import specht

    arch, source = specht.preset("simplified", vocab=4, length=16), specht.sources.uniform(4)
    return lambda: specht.spectrum(arch, source)


CALLS = {"predict": walk_predict, "forecast": walk_forecast, "kernel": walk_kernel, "spectrum": walk_spectrum}


def walk(name: str) -> None:
    """Trace one call in this process, and print its line."""
    with tempfile.TemporaryDirectory() as folder:
        call = CALLS[name](Path(folder))
        with contextlib.redirect_stdout(io.StringIO()), Walk() as steps:
            code = call()
    if isinstance(code, int) and code != 0:
        raise SystemExit(f"{name} ended with exit code {code}, so its walk says nothing.")
    print_line("walk", call=name, **steps.counts())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("calls", nargs="*", default=list(CALLS), help=f"of {', '.join(CALLS)}; all unless given")
    parser.add_argument("--here", action="store_true", help="trace in this process, which has loaded nothing yet")
    options = parser.parse_args()
    if unknown := sorted({*options.calls} - {*CALLS}):
        parser.error(f"unknown call {unknown[0]!r}: choose from {', '.join(CALLS)}")
    if options.here:
        for name in options.calls:
            walk(name)
        return 0
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    for name in options.calls:
        subprocess.run([sys.executable, __file__, name, "--here"], check=True, env=environment)
    lines = lines_by_room()
    print_line("rooms", lines=lines, in_all=sum(lines.values()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
