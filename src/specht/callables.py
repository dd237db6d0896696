"""A user's own function by its name, `module:function`."""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from specht.errors import InputError, in_one_line


def load_callable(name: str, allow: type | None = None) -> Any:
    """The function behind `module:function`, where the module may lie in the current folder; `allow` names a class that will do, too.

    >>> load_callable("math:sqrt")(4.0)
    2.0
    """
    module_name, colon, path = name.partition(":")
    if not (colon and module_name and path):
        raise InputError(f"{name!r} names no function: write module:function, for example mytask:target for the file mytask.py.")
    with _current_folder_first():
        try:
            value: Any = importlib.import_module(module_name)
        except (Exception, SystemExit) as error:  # a user's module may raise anything while it loads, and a script may end
            raise InputError(f"Module {module_name!r} cannot be imported ({in_one_line(error)}): check its name.") from None
    for part in path.split("."):
        if not hasattr(value, part):
            raise InputError(f"Module {module_name!r} has no {path!r}: check the name after the colon.")
        value = getattr(value, part)
    if not callable(value) and not (allow is not None and isinstance(value, allow)):
        raise InputError(f"{name!r} is a {type(value).__name__} and no function: name one that takes tokens.")
    return value


def digest_of_code(name: str) -> str:
    """Digest of the file that a function comes from: another function under the same name is another configuration."""
    load_callable(name)
    file = getattr(sys.modules[name.partition(":")[0]], "__file__", None)
    return "" if file is None else hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16]


@contextmanager
def _current_folder_first() -> Iterator[None]:
    """Look for modules in the current folder too, as `python -m` does, and leave the path as it was."""
    before = list(sys.path)
    sys.path.insert(0, str(Path.cwd()))
    try:
        yield
    finally:
        sys.path[:] = before
