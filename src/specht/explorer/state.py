"""What a page of the explorer shows: a few parameters, each one of a list, and the address that says them.

An address holds the name of the page and whatever is not at its default, so that a link restores what was seen and stays short.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from specht.commands import TARGET_NAMES, TOKENED
from specht.errors import InputError, unknown_choice

PAGE = "page"
"""The parameter of an address that names the page."""
VOCABULARIES = (2, 3, 4, 5, 6, 8)
LENGTHS = (4, 6, 8, 12, 16, 24, 32, 48, 64)
VARIANCES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
INFINITE = 0
WIDTHS = (INFINITE, 256, 128, 64, 32, 16)
"""Of networks; a slider has numbers only, so that zero stands for infinite width."""
SHARES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


def one_of(label: str, choices: tuple[Any, ...], default: Any) -> Any:
    """A parameter with its name on the page; numbers become sliders, words become lists."""
    return dataclasses.field(default=default, metadata={"label": label, "choices": choices})


OWN, SAMPLE = "own", "sample"
BUDGETS: tuple[str, ...] = ("10s", "2m", "10m", "1h")
"""CPU time for measuring one's own table: little at first, since somebody is waiting."""


@dataclasses.dataclass(frozen=True)
class DataPage:
    """The forecast for a table of one's own; the file and the names of its columns are not part of an address."""

    table: str = one_of("table", (OWN, SAMPLE), OWN)
    budget: str = one_of("budget", BUDGETS, BUDGETS[0])
    tokens: str = one_of("tokens", ("auto", "words", "characters"), "auto")
    task: str = one_of("task", ("auto", "regression", "classification"), "auto")


@dataclasses.dataclass(frozen=True)
class CurvePage:
    """Learning curves."""

    length: int = one_of("context length L", LENGTHS, 16)
    vocab: int = one_of("vocabulary V", VOCABULARIES, 4)
    width: int = one_of("width, 0 for infinite", WIDTHS, INFINITE)
    ridge: float = one_of("ridge, in E[k]", SHARES, 1.0)
    noise: float = one_of("variance of label noise", (0.0, *SHARES[:7]), 0.0)
    s_w: float = one_of("variance of tokens × V", VARIANCES, 1.0)
    s_p: float = one_of("variance of positions", VARIANCES, 1.0)
    s_1: float = one_of("variance of dense layer", VARIANCES, 1.0)
    s_2: float = one_of("variance of readout", VARIANCES, 1.0)
    target: str = one_of("target", TARGET_NAMES, "modes")
    attention: str = one_of("attention", ("linear", "softmax"), "linear")
    activation: str = one_of("activation", ("linear", "erf", "relu", "gelu"), "linear")
    kind: str = one_of("kernel", ("nngp", "ntk"), "nngp")
    shift: str = one_of("out of distribution", ("none", "reweighted", "redrawn", "order-broken"), "none")


@dataclasses.dataclass(frozen=True)
class SpectrumPage:
    """Eigenvalues by irrep against length."""

    longest: int = one_of("longest context L", (8, 16, 32, 64, 128, 256, 512, 1024), 64)
    vocab: int = one_of("vocabulary V", VOCABULARIES, 4)
    s_w: float = one_of("variance of tokens × V", VARIANCES, 1.0)
    s_p: float = one_of("variance of positions", VARIANCES, 1.0)
    attention: str = one_of("attention", ("linear", "softmax"), "linear")
    activation: str = one_of("activation", ("linear", "erf", "relu", "gelu"), "linear")
    source: str = one_of("source", ("uniform", "mixture"), "uniform")
    kind: str = one_of("kernel", ("nngp", "ntk"), "nngp")


@dataclasses.dataclass(frozen=True)
class TextPage:
    """The symmetry of text; what is pasted is not part of an address."""

    corpus: str = one_of("corpus", (), "pasted text")
    tokens: str = one_of("tokens", ("word", "char", "byte"), "word")
    length: int = one_of("window length L", (4, 8, 16, 32, 64), 16)
    vocab: int = one_of("types told apart V", (10, 20, 50, 100, 200, 500), 100)


@dataclasses.dataclass(frozen=True)
class TargetPage:
    """The symmetry profile of a target."""

    target: str = one_of("target", (*TOKENED, "next-token"), "parity")
    support: int = one_of("positions read, or level", (1, 2, 3, 4, 5), 3)
    length: int = one_of("context length L", (6, 8, 12, 16, 24, 32), 16)
    vocab: int = one_of("vocabulary V", VOCABULARIES, 2)
    samples: int = one_of("sequences drawn", (500, 1000, 2000, 4000, 8000), 2000)
    source: str = one_of("source", ("uniform", "mixture"), "uniform")


@dataclasses.dataclass(frozen=True)
class PapersPage:
    """The scorecard of a run of `specht reproduce`, and one experiment of it."""

    run: str = one_of("run", (), "")
    experiment: str = one_of("experiment", (), "")


Page = DataPage | CurvePage | SpectrumPage | TextPage | TargetPage | PapersPage
PAGES: dict[str, type[Page]] = {
    "data": DataPage,
    "curve": CurvePage,
    "spectrum": SpectrumPage,
    "text": TextPage,
    "profile": TargetPage,
    "papers": PapersPage,
}
"""The first one is seen where no address says another."""
TABS = {"data": "Your data", "curve": "Learning curve", "spectrum": "Spectrum", "text": "Text", "profile": "Profile", "papers": "Papers"}
"""Names of the pages, short enough for a telephone."""
TITLES = {
    "data": "Your own data",
    "curve": "Learning curve",
    "spectrum": "Spectrum by irrep",
    "text": "Symmetry of text",
    "profile": "Symmetry profile of a target",
    "papers": "What the papers claim",
}


def to_address(page: Page) -> dict[str, str]:
    """The parameters of the address of a page.

    >>> to_address(CurvePage(length=32, ridge=0.1))
    {'page': 'curve', 'length': '32', 'ridge': '0.1'}
    """
    name = next(name for name, kind in PAGES.items() if isinstance(page, kind))
    changed = {field.name: getattr(page, field.name) for field in dataclasses.fields(page) if getattr(page, field.name) != field.default}
    return {PAGE: name} | {parameter: _text(value) for parameter, value in changed.items()}


def from_address(address: Mapping[str, Any], present: Mapping[str, Sequence[str]] = MappingProxyType({})) -> tuple[Page, list[str]]:
    """The page of an address, and a sentence for each part of it that cannot be used and is at its default instead.

    Arguments:
        present: what there is to choose from on this machine, for parameters that have no list of their own.

    >>> from_address({"page": "curve", "length": "7"})[1]
    ["Unknown length '7' in the address. Choose from: 4, 6, 8, 12, 16, 24, 32, 48, 64."]
    """
    complaints: list[str] = []
    name = address.get(PAGE, next(iter(PAGES)))
    if not isinstance(name, str) or name not in PAGES:
        complaints.append(str(unknown_choice("page in the address", name, PAGES)))
        return DataPage(), complaints
    kind, values = PAGES[name], {}
    fields = {field.name: field for field in dataclasses.fields(kind)}
    for parameter, text in address.items():
        if parameter == PAGE:
            continue
        try:
            if parameter not in fields:
                raise unknown_choice("parameter in the address", parameter, fields)
            values[parameter] = _value(parameter, text, fields[parameter].metadata["choices"] or present.get(parameter, ()))
        except InputError as error:
            complaints.append(str(error))
    return kind(**values), complaints


def _value(name: str, text: Any, choices: Sequence[Any]) -> Any:
    for choice in choices:
        if text == _text(choice):
            return choice
    error = unknown_choice(name, text, map(_text, choices))
    raise InputError(str(error).replace(repr(text), f"{text!r} in the address", 1))


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
