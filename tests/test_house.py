"""The rules of the house: one name for one thing, short files, no dead module, typed reports, rooms with a front door.

Every rule is a function from a tree to the sentences that say what breaks it. After files have moved

    python tests/test_house.py

prints what breaks a rule.
"""

from __future__ import annotations

import ast
import functools
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from specht.lazy import imported_for_types

ROOT = Path(__file__).resolve().parents[1]
MOST_LINES = 400
ENTRY_POINTS = ("__main__",)
FRONT = ("__init__", "__main__")
"""Modules at the top that are no rooms: they say where the public names are, and start the commands."""
_NAMED = re.compile(r"""["']specht\.([a-z_0-9.]+)["':]""")
_PREFIX = re.compile(r"""f["']specht\.([a-z_0-9.]+)\.\{""")
_WORD = re.compile(r"""["'](\w+)["']""")
_FILE = re.compile(r"""["'](\w+)\.py["']""")


class Tree:
    """Sources of a package called specht by their paths, each read once."""

    def __init__(self, sources: dict[str, str], claims: dict[str, str] | None = None) -> None:
        self.sources = dict(sorted(sources.items()))
        self.claims = claims or {}
        """The text of `claims.toml` by its path."""
        self._parsed: dict[str, ast.Module] = {}
        self.module_of = {path: _module(path) for path in self.sources}
        self.path_of = {module: path for path, module in self.module_of.items()}

    @classmethod
    def of_folder(cls, folder: Path) -> Tree:
        sources, claims = (
            {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in folder.rglob(name)}
            for name in ("*.py", "claims.toml")
        )
        return cls(sources, claims)

    def parsed(self, path: str) -> ast.Module:
        if path not in self._parsed:
            self._parsed[path] = ast.parse(self.sources[path])
        return self._parsed[path]

    def is_room(self, name: str) -> bool:
        """Whether it is a folder at the top."""
        return f"{name}/__init__.py" in self.sources

    def has_front_door(self, module: str) -> bool:
        """Whether it is a room, or a folder in one that says what is public."""
        start = f"{module.replace('.', '/')}/__init__.py"
        return (self.is_room(module) and "." not in module) or "__all__" in self.sources.get(start, "")

    def imports(self, path: str) -> Iterator[tuple[str, str | None]]:
        """What a file imports from the package, at the top or later: a module without `specht.`, and a name in it if there is one."""
        for statement in statements(self.parsed(path)):
            if isinstance(statement, ast.Import):
                for alias in statement.names:
                    if alias.name.startswith("specht."):
                        yield alias.name.removeprefix("specht."), None
            elif isinstance(statement, ast.ImportFrom):
                for alias in statement.names:
                    module = self._absolute(path, statement)
                    if module == "specht":  # `from specht import kernel` names a room or a public name
                        yield alias.name, None
                    elif module.startswith("specht."):
                        yield module.removeprefix("specht."), alias.name

    def _absolute(self, path: str, statement: ast.ImportFrom) -> str:
        if not statement.level:
            return statement.module or ""
        folders = ["specht", *path.split("/")[:-1]]
        return ".".join([*folders[: len(folders) - statement.level + 1], *filter(None, [statement.module])])

    def public_names(self, room: str) -> set[str]:
        """What stands in `__all__`, written as a list or made by `lazy_names`."""
        start = f"{room.replace('.', '/')}/__init__.py"
        for statement in self.parsed(start).body:
            targets = statement.targets if isinstance(statement, ast.Assign) else []
            names = [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
            if "__all__" in names and isinstance(statement, ast.Assign):
                lazy = isinstance(statement.value, ast.Call)
                return {*imported_for_types(self.sources[start])} if lazy else set(ast.literal_eval(statement.value))
        return set()


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def statements(parent: ast.AST) -> Iterator[ast.stmt]:
    """All statements, however deep; expressions hold none, so they are not looked into."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(parent, field, ()):
            if isinstance(child, ast.stmt):
                yield child
            yield from statements(child)


def classes_with_one_name(tree: Tree) -> list[str]:
    """No class name is defined twice."""
    places = defaultdict(list)
    for path in tree.sources:
        for statement in statements(tree.parsed(path)):
            if isinstance(statement, ast.ClassDef):
                places[statement.name].append(path)
    return [f"{name} is in {', '.join(paths)}" for name, paths in places.items() if len(paths) > 1]


def long_files(tree: Tree) -> list[str]:
    """No file has more than 400 lines."""
    return [path for path, source in tree.sources.items() if len(source.splitlines()) > MOST_LINES]


def dead_modules(tree: Tree) -> list[str]:
    """Every module is reached from a folder's public names, an entry point or another module that is reached.

    A module is reached by an import, by its full name in a string (lazy names, jobs, records), by its name in a table beside an f-string
    that begins with its folder, by the name of its file in a string of a file beside it, or as the code of an experiment in the
    `claims.toml` of a paper that is loaded.
    """
    reached: set[str] = set()
    waiting = [path for path in tree.sources if path.endswith("__init__.py") or tree.module_of[path] in ENTRY_POINTS]
    while waiting:
        path = waiting.pop()
        if path not in reached:
            reached.add(path)
            waiting += [tree.path_of[module] for module in _mentioned(tree, path) if module in tree.path_of]
    return [path for path in tree.sources if path not in reached]


def _mentioned(tree: Tree, path: str) -> Iterator[str]:
    for module, name in tree.imports(path):
        yield module
        if name is not None:
            yield f"{module}.{name}"
    source = tree.sources[path]
    yield from _NAMED.findall(source)
    for prefix in _PREFIX.findall(source):
        yield from (f"{prefix}.{word}" for word in set(_WORD.findall(source)))
    folder = ".".join(path.split("/")[:-1])
    yield from (f"{folder}.{name}" if folder else name for name in _FILE.findall(source))
    if path.endswith("__init__.py") and "load_paper(__name__)" in source:
        experiments = tomllib.loads(tree.claims.get(path.replace("__init__.py", "claims.toml"), "")).values()
        yield from (f"{folder}.{experiment['code']}" for experiment in experiments if isinstance(experiment, dict))


def loose_mappings(tree: Tree) -> list[str]:
    """No report takes `Mapping[str, Any]`: it reads named variables."""
    places = set()
    for path in tree.sources:
        if path.startswith("report/"):
            for name, part in _parts(tree.parsed(path)):
                inside = ast.walk(part)
                if any(isinstance(node, ast.Subscript) and ast.unparse(node).endswith("Mapping[str, Any]") for node in inside):
                    places.add(f"{path}: {name}")
    return sorted(places)


def _parts(module: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """Functions, those of classes too, and other statements at the top, by name."""
    for statement in module.body:
        if isinstance(statement, ast.ClassDef):
            for inner in statement.body:
                yield f"{statement.name}.{getattr(inner, 'name', 'fields')}", inner
        else:
            yield getattr(statement, "name", "top"), statement


def side_doors(tree: Tree) -> list[str]:
    """A room imports another one only through its public names, or those of a folder in it that has some."""
    used = set()
    for path in tree.sources:
        here = path.split("/")[0].removesuffix(".py")
        if here in FRONT:
            continue
        for module, name in tree.imports(path):
            room = module.split(".")[0]
            if room == here or not tree.is_room(room) or (name is None and module == room):
                continue
            if not tree.has_front_door(module):
                used.add(f"{here} imports {module}")
            elif name is not None and name not in _public_names(tree, module):
                used.add(f"{here} imports {module}.{name}")
    return sorted(used)


@functools.cache
def _public_names(tree: Tree, room: str) -> set[str]:
    return tree.public_names(room)


RULES: dict[str, Callable[[Tree], list[str]]] = {
    "classes_with_one_name": classes_with_one_name,
    "long_files": long_files,
    "dead_modules": dead_modules,
    "loose_mappings": loose_mappings,
    "side_doors": side_doors,
}


@pytest.fixture(scope="module")
def tree() -> Tree:
    return Tree.of_folder(ROOT / "src" / "specht")


@pytest.mark.parametrize("rule", RULES)
def test_the_house_keeps_its_rules(rule, tree):
    assert RULES[rule](tree) == []


ROOMS = {
    "__init__.py": "",
    "kernel/__init__.py": "__all__ = ['Kernel']\nfrom specht.kernel.kernel import Kernel",
    "kernel/kernel.py": "class Kernel: ...",
    "nn/__init__.py": (
        "if TYPE_CHECKING:\n    from specht.nn import data\n    from specht.nn.train import train\n__all__, __dir__ = lazy_names(__name__)"
    ),
    "nn/train.py": "",
    "nn/data.py": "",
}
"""A small house that keeps all rules."""


def broken(rule: str, **changes: str) -> list[str]:
    """What breaks a rule in the small house after changes; `__` in a name is `/`."""
    return RULES[rule](Tree(ROOMS | {f"{name.replace('__', '/')}.py": source for name, source in changes.items()}))


@pytest.mark.parametrize("rule", RULES)
def test_a_house_may_keep_a_rule(rule):
    assert broken(rule) == []


def test_a_class_name_that_is_there_twice():
    twice = "if True:\n    class Other: ...\nclass Kernel: ..."
    assert broken("classes_with_one_name", nn__train=twice) == ["Kernel is in kernel/kernel.py, nn/train.py"]
    assert broken("classes_with_one_name", nn__data="class A:\n    class B: ...\nclass B: ...") == ["B is in nn/data.py, nn/data.py"]


def test_a_file_that_is_too_long():
    assert broken("long_files", nn__train="x = 1\n" * 400) == []
    assert broken("long_files", nn__train="x = 1\n" * 401) == ["nn/train.py"]


def test_a_module_that_nothing_reaches():
    assert broken("dead_modules", nn__dead="") == ["nn/dead.py"]
    assert broken("dead_modules", nn__dead="from specht.nn import other", nn__other="from specht.nn import dead") == [
        "nn/dead.py",
        "nn/other.py",
    ]


@pytest.mark.parametrize(
    "source",
    [
        "from specht.nn import job",
        "from . import job",
        "from .job import run",
        "def later():\n    import specht.nn.job",
        "JOB = 'specht.nn.job:run'",
        "JOBS = {'job': 1}\nfor name in JOBS:\n    load(f'specht.nn.{name}')",
        "SERVED = 'job.py'",
    ],
)
def test_a_module_is_reached_by_what_names_it(source):
    assert broken("dead_modules", nn__train=source, nn__job="") == []


def test_a_module_is_reached_by_the_claims_of_a_paper():
    claims = {"nn/claims.toml": "id = 'paper'\n[first]\ncode = 'job'"}
    for loaded, dead in (("PAPER = load_paper(__name__)", ["nn/other.py"]), ("", ["nn/job.py", "nn/other.py"])):
        sources = {**ROOMS, "nn/__init__.py": f"{ROOMS['nn/__init__.py']}\n{loaded}", "nn/job.py": "", "nn/other.py": ""}
        assert dead_modules(Tree(sources, claims)) == dead


def test_a_report_that_takes_anything():
    source = (
        "from typing import Any\ndef page(data: Mapping[str, Any]): ...\nclass Page:\n    def table(self) -> list[Mapping[str, Any]]: ..."
    )
    assert broken("loose_mappings", report____init__="", report__page=source) == ["report/page.py: Page.table", "report/page.py: page"]
    assert broken("loose_mappings", report____init__="", report__page="def page(data: Mapping[str, float]): ...") == []
    assert broken("loose_mappings", nn__data=source) == []


@pytest.mark.parametrize(
    ("source", "doors"),
    [
        ("from specht.kernel import Kernel", []),
        ("from specht import kernel", []),
        ("from specht.nn.data import anything", []),
        ("from specht.kernel.kernel import Kernel", ["nn imports kernel.kernel"]),
        ("def later():\n    import specht.kernel.kernel as inner", ["nn imports kernel.kernel"]),
        ("from specht.kernel import kernel", ["nn imports kernel.kernel"]),
        ("from ..kernel import hidden", ["nn imports kernel.hidden"]),
        ("from specht.kernel.closed import Form", []),
        ("from specht.kernel.closed import hidden", ["nn imports kernel.closed.hidden"]),
        ("from specht.kernel.closed.form import Form", ["nn imports kernel.closed.form"]),
    ],
)
def test_a_room_is_entered_by_its_front_door(source, doors):
    inner = {
        "kernel/closed/__init__.py": "__all__ = ['Form']\nfrom specht.kernel.closed.form import Form",
        "kernel/closed/form.py": "class Form: ...",
        "nn/train.py": source,
    }
    assert side_doors(Tree(ROOMS | inner)) == doors


def test_lazy_names_are_public():
    assert broken("side_doors", kernel__kernel="from specht.nn import data, train") == []


if __name__ == "__main__":
    house = Tree.of_folder(ROOT / "src" / "specht")
    broken_rules = [f"{name}: {sentence}" for name, rule in RULES.items() for sentence in rule(house)]
    print(*broken_rules or ["All rules are kept."], sep="\n")
    sys.exit(bool(broken_rules))
