"""What users see when an input cannot be used: one sentence that says what is wrong, what was given, what to do."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeVar

_Called = TypeVar("_Called")


class InputError(ValueError):
    """An argument, flag or file that cannot be used; the command line turns it into exit code 2."""


class NoLimitError(InputError):
    """An architecture whose infinite-width limit does not exist or is not known."""


class StorageError(Exception):
    """A disk that does not take a file; the command line says so and ends with code 1."""


class WorkError(Exception):
    """A job that failed through no fault of its input; the command line says so and ends with code 1."""


def in_one_line(error: BaseException) -> str:
    r"""The kind of an error and what it says, without line breaks.

    >>> in_one_line(ValueError("no\nsuch layer"))
    'ValueError: no such layer'
    """
    return " ".join(f"{type(error).__name__}: {error}".split())


def unknown_choice(what: str, given: object, choices: Iterable[str]) -> InputError:
    """The error for a name outside a list, with the nearest name suggested.

    >>> str(unknown_choice("preset", "sotfmax", ["simplified", "softmax"]))
    "Unknown preset 'sotfmax': did you mean 'softmax'? Choose from: simplified, softmax."
    """
    choices = list(choices)
    near = difflib.get_close_matches(str(given), choices, n=1)
    hint = f": did you mean {near[0]!r}?" if near else "."
    return InputError(f"Unknown {what} {given!r}{hint} Choose from: {', '.join(choices)}.")


def check_choice(what: str, given: object, choices: Collection[Any]) -> None:
    """Refuse what is not among the choices.

    >>> check_choice("preset", "softmax", ["simplified", "softmax"])
    """
    if given not in choices:
        raise unknown_choice(what, given, choices)


def explains_calls(called: _Called, also: Iterable[str] = ()) -> _Called:
    """Decorate a class or a function so that a call with a misspelt or missing argument gets a sentence instead of a `TypeError`.

    Of a class it is the constructor that is explained: the one of a dataclass, of a named tuple, or its own. `also` names the arguments
    that a function hands on as `**changes`.

    >>> @explains_calls
    ... def draw(length, seed=0): ...
    >>> draw(lenght=8)
    Traceback (most recent call last):
        ...
    specht.errors.InputError: Unknown argument 'lenght': did you mean 'length'? Choose from: length, seed.
    >>> draw()
    Traceback (most recent call last):
        ...
    specht.errors.InputError: draw needs length: write draw(length=...).
    """
    if isinstance(called, type):
        maker = "__init__" if "__init__" in vars(called) else "__new__"
        setattr(called, maker, _explained(vars(called)[maker], called.__name__, "field", ()))
        return called
    function: Any = called
    return _explained(function, function.__qualname__, "field" if also else "argument", tuple(also))


def _explained(function: Callable[..., Any], name: str, what: str, also: tuple[str, ...]) -> Any:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError:
            misuse = _misuse(inspect.signature(function), name, what, also, args, kwargs)
            if misuse is None:
                raise
            raise misuse from None

    return call


def _misuse(
    signature: inspect.Signature, name: str, what: str, also: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> InputError | None:
    """What is wrong with the names and the number of arguments, if anything is."""
    parameters = list(signature.parameters.values())
    bound = bool(parameters) and parameters[0].name in ("self", "cls", "_cls")
    parameters, args = parameters[bound:], args[bound:]
    fixed = [parameter for parameter in parameters if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)]
    names = list(dict.fromkeys([*(parameter.name for parameter in fixed), *also]))
    unknown = [key for key in kwargs if key not in names]
    if unknown and (also or not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)):
        return unknown_choice(what, unknown[0], names)
    in_order = [parameter.name for parameter in fixed if parameter.kind is not parameter.KEYWORD_ONLY]
    needed = [parameter.name for parameter in fixed if parameter.default is parameter.empty]
    missing = [key for key in needed if key not in kwargs and key not in in_order[: len(args)]]
    example = f"write {name}({', '.join(f'{key}=...' for key in needed or names[:1])})"
    if missing:
        return InputError(f"{name} needs {' and '.join(filter(None, [', '.join(missing[:-1]), missing[-1]]))}: {example}.")
    if len(args) > len(in_order) and not any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        named = [parameter.name for parameter in fixed if parameter.kind is parameter.KEYWORD_ONLY]
        place, cure = (" without a name", f"name the others, such as {named[0]}") if named else ("", example)
        return InputError(f"{name} takes {len(in_order) or 'no'} {what}s{place}, got {len(args)}: {cure}.")
    twice = [key for key in in_order[: len(args)] if key in kwargs]
    return InputError(f"{name} got {twice[0]} twice, by place and by name: leave one of the two out.") if twice else None
