"""The architecture: one notation that round-trips, presets by name, a sentence for every bad input."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from specht.architecture import Architecture
from specht.errors import InputError
from specht.presets import PRESETS, preset

variances = st.floats(min_value=0, allow_infinity=False, allow_nan=False)


@st.composite
def architectures(draw) -> Architecture:
    attention = draw(st.sampled_from(["linear", "softmax"]))
    return Architecture(
        vocab=draw(st.integers(1, 10**6)),
        length=draw(st.integers(1, 10**6)),
        s_w=draw(st.one_of(st.none(), variances.filter(lambda s: s > 0))),
        s_p=draw(variances),
        s_1=draw(variances),
        s_2=draw(variances),
        positions=draw(st.sampled_from(["learned", "none", "sinusoidal", "stochastic", "rotary"])),
        values_see_positions=draw(st.booleans()),
        attention=attention,
        scaling=draw(st.sampled_from(["sqrt", "tied", "untied"])),
        normalised=attention == "linear" and draw(st.booleans()),
        causal=draw(st.booleans()),
        residual=draw(st.booleans()),
        norm=draw(st.sampled_from(["none", "pre", "post"])),
        depth=draw(st.integers(1, 100)),
        activation=draw(st.sampled_from(["linear", "erf", "relu", "gelu"])),
        readout=draw(st.sampled_from(["last", "mean", "cls"])),
        extra_linear=draw(st.booleans()),
    )


@given(architectures())
def test_notation_round_trips(arch):
    assert Architecture.parse(str(arch)) == arch
    assert "\n" not in str(arch)


@pytest.mark.parametrize("name", PRESETS)
def test_preset_round_trips(name):
    arch = preset(name, vocab=5, length=7)
    assert Architecture.parse(str(arch)) == arch
    assert (arch.vocab, arch.length) == (5, 7)
    assert PRESETS[name].summary


def test_defaults_are_the_simplified_block():
    arch = Architecture(vocab=4, length=16)
    assert arch == preset("simplified", vocab=4, length=16)
    assert str(arch) == "V=4 L=16 | pos=learned(1.0) | linear/sqrt | linear | last"
    assert arch.s_w == 1 / 4


def test_notation_in_any_order():
    arch = Architecture.parse("relu depth=2 causal L=8 | s_p=0.5 V=3 norm=pre softmax/tied")
    kind = {"attention": "softmax", "scaling": "tied", "activation": "relu"}
    assert arch == _build(vocab=3, length=8, depth=2, causal=True, s_p=0.5, norm="pre", **kind)


def test_columns_and_symbols():
    assert Architecture(vocab=3, length=8).columns == 9
    assert Architecture(vocab=3, length=8, readout="mean").columns == 8
    assert Architecture(vocab=3, length=8, readout="cls").symbols == 4
    assert Architecture(vocab=3, length=8).symbols == 3


def test_preset_takes_changes():
    assert preset("lecun", vocab=4, length=8, activation="gelu").activation == "gelu"


def test_replace_keeps_the_rest():
    arch = Architecture(vocab=4, length=8, activation="erf")
    assert arch.replace(length=9) == Architecture(vocab=4, length=9, activation="erf")
    assert arch.replace(vocab=8).s_w == 1 / 4
    assert arch.replace(vocab=8, s_w=None).s_w == 1 / 8


def test_position_variance_is_zero_where_nothing_is_added():
    assert Architecture(vocab=2, length=2, positions="none").position_variance == 0
    assert Architecture(vocab=2, length=2, s_p=0.5).position_variance == 0.5


BAD_FIELDS = {
    "vocab must be a whole number of at least 1, got 0.": {"vocab": 0},
    "vocab must be a whole number of at least 1, got True.": {"vocab": True},
    "length must be a whole number of at least 1, got 2.5.": {"length": 2.5},
    "depth must be a whole number of at least 1, got 0.": {"depth": 0},
    "s_w is a variance and must be finite and not negative, got -1.": {"s_w": -1},
    "s_p is a variance and must be finite and not negative, got nan.": {"s_p": float("nan")},
    "s_1 is a variance and must be finite and not negative, got inf.": {"s_1": float("inf")},
    "s_2 is a variance and must be a number, got 'big'.": {"s_2": "big"},
    "Unknown attention 'sotfmax': did you mean 'softmax'? Choose from: linear, softmax.": {"attention": "sotfmax"},
    "Unknown activation 'wavy'. Choose from: linear, erf, relu, gelu, tanh, sine, softplus": {"activation": "wavy"},
    "Unknown positions 'learnt': did you mean 'learned'?": {"positions": "learnt"},
    "Unknown scaling 'root'. Choose from: sqrt, tied, untied.": {"scaling": "root"},
    "Unknown norm 'layer'. Choose from: none, pre, post.": {"norm": "layer"},
    "Unknown readout 'first'. Choose from: last, mean, cls.": {"readout": "first"},
    "causal must be True or False, got 1.": {"causal": 1},
    "softmax weights add up to one already": {"attention": "softmax", "normalised": True},
    "s_w and s_p are both zero": {"s_w": 0.0, "positions": "none"},
}


@pytest.mark.parametrize(("sentence", "fields"), BAD_FIELDS.items())
def test_bad_field_is_refused_with_a_sentence(sentence, fields):
    with pytest.raises(InputError, match=re.escape(sentence)):
        _build(**fields)


def _build(**fields):
    return Architecture(**{"vocab": 4, "length": 8} | fields)


BAD_NOTATION = {
    "does not say V=...": "L=8 | erf",
    "does not say V=... and L=...": "erf",
    "'V=many' needs a number, got 'many'.": "V=many L=8",
    "'pos=learned(x)' needs a number, got 'x'.": "V=4 L=8 | pos=learned(x)",
    "sets activation twice": "V=4 L=8 | erf relu",
    "Unknown word of notation 'cuasal': did you mean 'causal'?": "V=4 L=8 | cuasal",
    "Unknown attention 'sotfmax': did you mean 'softmax'?": "V=4 L=8 | sotfmax/sqrt",
}


@pytest.mark.parametrize(("sentence", "notation"), BAD_NOTATION.items())
def test_bad_notation_is_refused_with_a_sentence(sentence, notation):
    with pytest.raises(InputError, match=re.escape(sentence)):
        Architecture.parse(notation)


def test_unknown_preset_suggests_the_nearest():
    with pytest.raises(InputError, match=r"Unknown preset 'sotfmax': did you mean 'softmax'\?"):
        preset("sotfmax", vocab=4, length=8)


def test_unknown_field_suggests_the_nearest():
    with pytest.raises(InputError, match=r"Unknown field 'activaton': did you mean 'activation'\?"):
        Architecture(vocab=4, length=8).replace(activaton="erf")
