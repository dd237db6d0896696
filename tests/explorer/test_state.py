"""Addresses of pages: they restore what was seen, and say what in them cannot be used."""

from __future__ import annotations

import dataclasses

import pytest

from specht.explorer.state import PAGES, TABS, TITLES, CurvePage, DataPage, PapersPage, SpectrumPage, TextPage, from_address, to_address

PRESENT = {"corpus": ["pasted text", "stdlib"], "run": ["reproduce-1"], "experiment": ["infinity.q5"]}
FIELDS = [(name, field) for name, kind in PAGES.items() for field in dataclasses.fields(kind)]


@pytest.mark.parametrize(("name", "field"), FIELDS, ids=lambda value: getattr(value, "name", value))
def test_every_value_of_every_parameter_returns(name, field):
    for choice in field.metadata["choices"] or PRESENT[field.name]:
        page = PAGES[name](**{field.name: choice})
        assert from_address(to_address(page), PRESENT) == (page, [])


def test_defaults_are_among_the_choices():
    for _, field in FIELDS:
        assert not field.metadata["choices"] or field.default in field.metadata["choices"]


def test_addresses_are_short():
    assert to_address(CurvePage()) == {"page": "curve"}
    assert to_address(DataPage(table="sample", budget="2m")) == {"page": "data", "table": "sample", "budget": "2m"}
    assert to_address(SpectrumPage(longest=256, s_p=0.5)) == {"page": "spectrum", "longest": "256", "s_p": "0.5"}
    assert list(PAGES) == list(TITLES) == list(TABS)


def test_no_address_is_the_first_page():
    assert from_address({}) == (DataPage(), [])


@pytest.mark.parametrize(
    ("address", "page", "sentence"),
    [
        ({"page": "crve"}, DataPage(), "Unknown page in the address 'crve': did you mean 'curve'? Choose from: data, curve, spectrum"),
        ({"page": "curve", "length": "banana"}, CurvePage(), "Unknown length 'banana' in the address. Choose from: 4, 6, 8"),
        ({"page": "curve", "ridge": ["1", "3"]}, CurvePage(), "Unknown ridge ['1', '3'] in the address. Choose from: 0.001,"),
        ({"page": "curve", "lenght": "8"}, CurvePage(), "Unknown parameter in the address 'lenght': did you mean 'length'?"),
        (
            {"page": "text", "corpus": "/etc/passwd"},
            TextPage(),
            "Unknown corpus '/etc/passwd' in the address. Choose from: pasted text, stdlib.",
        ),
        ({"page": "papers", "run": "../x"}, PapersPage(), "Unknown run '../x' in the address. Choose from: reproduce-1."),
    ],
)
def test_what_cannot_be_used_is_said_and_left_at_its_default(address, page, sentence):
    found, said = from_address(address, PRESENT)
    assert found == page
    assert len(said) == 1
    assert said[0].startswith(sentence)


def test_the_rest_of_a_bad_address_is_used():
    page, said = from_address({"page": "curve", "length": "8", "vocab": "1"})
    assert page == CurvePage(length=8)
    assert len(said) == 1
