"""Configurations: frozen, named by what decides the numbers, and the same as flags."""

from __future__ import annotations

import pydantic
import pytest

from specht.architecture import Architecture
from specht.errors import InputError
from specht.lab.config import ArchitectureFlags
from specht.presets import PRESETS, preset


def test_nothing_unknown_and_nothing_changed():
    with pytest.raises(pydantic.ValidationError):
        ArchitectureFlags.model_validate({"unknown": 1})
    with pytest.raises(pydantic.ValidationError):
        ArchitectureFlags().depth = 3  # type: ignore[misc]


def test_defaults():
    assert ArchitectureFlags().architecture() == preset("simplified", vocab=4, length=16)


def test_every_field_of_the_architecture_has_a_flag():
    assert set(ArchitectureFlags.model_fields) == {"preset", "arch", *Architecture.__dataclass_fields__}


@pytest.mark.parametrize("name", PRESETS)
def test_preset_with_a_changed_field(name):
    assert ArchitectureFlags(preset=name, vocab=3, s_p=0.5).architecture() == preset(name, vocab=3, length=16, s_p=0.5)


def test_notation_with_a_changed_field():
    assert ArchitectureFlags(arch="V=3 L=8 | erf", activation="relu").architecture() == Architecture(vocab=3, length=8, activation="relu")


def test_notation_without_sizes_takes_the_default_ones():
    assert ArchitectureFlags(arch="erf").architecture() == Architecture(vocab=4, length=16, activation="erf")


def test_variance_of_tokens_follows_the_vocabulary_unless_it_is_given():
    assert ArchitectureFlags(arch="V=4 L=8", vocab=8).architecture().s_w == 1 / 8
    assert ArchitectureFlags(arch="V=4 L=8 s_w=0.3", vocab=8).architecture().s_w == 0.3
    assert ArchitectureFlags(arch="V=4 L=8", vocab=8, s_w=0.7).architecture().s_w == 0.7


def test_preset_and_notation_together_are_refused():
    with pytest.raises(InputError, match="give one of them"):
        ArchitectureFlags(preset="lecun", arch="erf").architecture()
