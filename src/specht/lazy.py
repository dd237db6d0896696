"""Modules whose names load when they are first used (PEP 562), so that importing one is quick and loads nothing else."""

from __future__ import annotations

import ast
import difflib
import importlib
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any


def lazy_names(
    module: str, *, own: Iterable[str] = (), elsewhere: Iterable[str] = ()
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """What a module sets as `__all__`, `__getattr__` and `__dir__`, so that it loads its public names late and shows nothing else.

    The names are those that the module imports under `if TYPE_CHECKING`, where type checkers find them as well: with `as` if they are for
    people, who may check types strictly, and without if they are for other rooms of this package.

    Arguments:
        module: name of the module, `__name__`.
        own: public names that the module defines itself.
        elsewhere: modules in whose `__all__` an unknown name is looked for, to say where it is.

    >>> names, load, show = lazy_names("specht.profiles")
    >>> "Profile" in names, load("Profile").__name__
    (True, 'Profile')
    >>> load("Profiel")
    Traceback (most recent call last):
        ...
    AttributeError: module 'specht.profiles' has no attribute 'Profiel': did you mean 'Profile'?
    """
    this = importlib.import_module(module)
    homes = imported_for_types(Path(str(this.__file__)).read_text(encoding="utf-8"))
    public = sorted([*homes, *own])

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}{_hint(name, public, elsewhere)}")
        value = _import(*homes[name], asking=module)
        if module in sys.modules:
            setattr(sys.modules[module], name, value)  # loaded without this function from now on
        return value

    return public, load, lambda: public


def imported_for_types(source: str) -> dict[str, tuple[str, str]]:
    """Names that a source imports under `if TYPE_CHECKING`, each with the module that it comes from and its name there.

    >>> imported_for_types("if TYPE_CHECKING:\\n    from specht.learning import exact as gp")
    {'gp': ('specht.learning', 'exact')}
    """
    blocks = [node.body for node in ast.parse(source).body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    imports = [node for block in blocks for node in block if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name: (str(node.module), alias.name) for node in imports for alias in node.names}


def _import(home: str, name: str, asking: str) -> Any:
    """What `from home import name` gives: a value of that module, or a module below it."""
    if home != asking:
        try:
            return getattr(importlib.import_module(home), name)
        except AttributeError:
            pass
    return importlib.import_module(f"{home}.{name}")


def _hint(name: str, names: Iterable[str], elsewhere: Iterable[str]) -> str:
    if name.startswith("_"):  # asked for by programs, not by people
        return ""
    for other in elsewhere:
        if name in importlib.import_module(other).__all__:
            return f": it is in {other}, so write {other}.{name}"
    near = difflib.get_close_matches(name, names, n=1)
    return f": did you mean {near[0]!r}?" if near else ""
