"""Modules whose names load when they are first used (PEP 562), so that importing one is quick and loads nothing else."""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any


def lazy_names(
    module: str,
    homes: Mapping[str, Iterable[str]],
    *,
    modules: Mapping[str, str] | None = None,
    own: Iterable[str] = (),
    elsewhere: Iterable[str] = (),
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """What a module sets as `__all__`, `__getattr__` and `__dir__`, so that it loads its public names late and shows nothing else.

    Type checkers do not read this, so the module imports the same names under `if TYPE_CHECKING`; a test compares the two.

    Arguments:
        module: name of the module, `__name__`.
        homes: modules that define public names, and these names.
        modules: public names that are modules, and what these are called in full.
        own: public names that the module defines itself.
        elsewhere: modules in whose `__all__` an unknown name is looked for, to say where it is.

    >>> names, load, show = lazy_names("specht.example", {"fractions": ["Fraction"]})
    >>> names, load("Fraction")(1, 2)
    (['Fraction'], Fraction(1, 2))
    >>> load("Fractoin")
    Traceback (most recent call last):
        ...
    AttributeError: module 'specht.example' has no attribute 'Fractoin': did you mean 'Fraction'?
    """
    inside = dict(modules or {})
    home_of = {name: home for home, names in homes.items() for name in names}
    public = sorted([*home_of, *inside, *own])

    def load(name: str) -> Any:
        if name in inside:
            return importlib.import_module(inside[name])
        if name not in home_of:
            raise AttributeError(f"module {module!r} has no attribute {name!r}{_hint(name, public, elsewhere)}")
        value = getattr(importlib.import_module(home_of[name]), name)
        if module in sys.modules:
            setattr(sys.modules[module], name, value)  # found without this function from now on
        return value

    return public, load, lambda: public


def _hint(name: str, names: Iterable[str], elsewhere: Iterable[str]) -> str:
    if name.startswith("_"):  # asked for by programs, not by people
        return ""
    for other in elsewhere:
        if name in importlib.import_module(other).__all__:
            return f": it is in {other}, so write {other}.{name}"
    near = difflib.get_close_matches(name, names, n=1)
    return f": did you mean {near[0]!r}?" if near else ""
