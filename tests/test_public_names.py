"""Every public module shows its public names and nothing else, and each of them says what it is."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import types
import typing
from pathlib import Path

import pytest

import specht

PACKAGE = Path(specht.__file__).parent


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {module_name(path): path for path in PACKAGE.rglob("*.py") if re.search(r"^__all__\b", path.read_text(), re.MULTILINE)}
"""Modules that say what is public."""
LAZY = [name for name, path in SOURCES.items() if "= lazy_names(" in path.read_text()]
NAMES = [(module, name) for module in SOURCES for name in dir(importlib.import_module(module))]
PROMISED = (
    "nn",
    "kernel",
    "corpus",
    "groups",
    "spectra",
    "profiles",
    "probes",
    "studies.sparse",
    "studies.selection",
    "forecasts",
    "sequences",
    "learning",
    "testing",
    "sequences.sources",
    "sequences.targets",
    "learning.exact",
    "learning.gp",
)


def test_all_modules_that_people_use_say_what_is_public():
    assert {"specht", *(f"specht.{name}" for name in PROMISED)} <= set(SOURCES)


@pytest.mark.parametrize("module", SOURCES)
def test_a_module_shows_its_public_names_and_nothing_else(module):
    shown = dir(importlib.import_module(module))
    assert shown == sorted(importlib.import_module(module).__all__)
    assert len(shown) == len(set(shown)) > 0


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_a_public_name_is_ours_and_says_what_it_is(module, name):
    value = getattr(importlib.import_module(module), name)
    if typing.get_origin(value) is not None:
        assert name[0].isupper()  # the name of a type
        return
    if isinstance(value, types.ModuleType):
        assert value.__name__.startswith("specht.")
    elif inspect.isclass(value) or callable(value):
        assert value.__module__.startswith("specht.")
    else:
        assert name.isupper() or name == "__version__"  # a table, or a number
        return
    assert value.__doc__
    assert not value.__doc__.startswith(f"{name}(")  # what a dataclass says if nobody has written anything


@pytest.mark.parametrize("module", LAZY)
def test_type_checkers_and_programs_find_the_same_names(module):
    loaded = importlib.import_module(module)
    blocks = [node for node in ast.parse(SOURCES[module].read_text()).body if isinstance(node, ast.If)]
    (imports,) = [block.body for block in blocks if isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"]
    sources = [(node.module, alias) for node in imports if isinstance(node, ast.ImportFrom) for alias in node.names]
    homes = {alias.asname or alias.name: (module, alias.name) for module, alias in sources}
    assert {*homes} == {name for name in loaded.__all__ if name != "__version__"}
    for name, (home, original) in homes.items():
        importlib.import_module(home)
        value = getattr(loaded, name)
        assert value is getattr(importlib.import_module(home), original)


@pytest.mark.parametrize("module", LAZY)
def test_no_module_hides_a_function_of_its_name(module):
    modules = {path.stem for path in SOURCES[module].parent.iterdir()}
    values = {name: getattr(importlib.import_module(module), name) for name in dir(importlib.import_module(module))}
    assert not [name for name in modules & {*values} if not isinstance(values[name], types.ModuleType)]


def test_the_top_holds_what_everyone_needs_and_no_networks():
    assert {"Architecture", "Kernel", "Task", "learning_curve", "nn", "preset", "probe", "profile", "spectrum"} <= set(dir(specht))
    assert not set(dir(specht)) & {*dir(specht.nn), "np", "annotations", "TYPE_CHECKING", "lazy_names"}
    assert {"Network", "Size", "train", "Recipe", "Fixed", "Fresh", "langevin", "Sampling", "Checkpoint"} <= set(dir(specht.nn))
