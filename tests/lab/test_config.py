"""Configurations: frozen, named by what decides the numbers, and the same as flags."""

from __future__ import annotations

import numpy as np
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specht.architecture import Architecture
from specht.errors import InputError
from specht.lab.config import ArchitectureFlags, KernelConfig
from specht.presets import PRESETS, preset


def config(**flags) -> KernelConfig:
    return KernelConfig(architecture=ArchitectureFlags(**flags))


def test_nothing_unknown_and_nothing_changed():
    with pytest.raises(pydantic.ValidationError):
        KernelConfig.model_validate({"unknown": 1})
    with pytest.raises(pydantic.ValidationError):
        KernelConfig().n = 3  # type: ignore[misc]


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


def test_digest_is_stable():
    # This number names folders on people's disks: it may change only when results do.
    assert KernelConfig().digest() == "c3f12ea4b44d"


def test_digest_depends_on_what_decides_the_numbers():
    same = [config(), config(preset="simplified"), config(arch="V=4 L=16"), config(s_p=1.0)]
    assert len({each.digest() for each in same}) == 1
    other = [
        config(preset="lecun"),
        config(length=8),
        KernelConfig(n=3),
        KernelConfig(seed=1),
        KernelConfig(kind="ntk"),
    ]
    assert len({each.digest() for each in [config(), *other]}) == len(other) + 1


def test_digest_names_heads_where_heads_are_sampled():
    closed = [KernelConfig(), KernelConfig(heads=9), KernelConfig(relative_error=0.1)]
    assert len({each.digest() for each in closed}) == 1
    softmax = ArchitectureFlags(preset="softmax")
    sampled = [KernelConfig(architecture=softmax, **fields) for fields in ({}, {"heads": 9}, {"relative_error": 0.1}, {"seed": 1})]
    assert len({each.digest() for each in sampled}) == 4
    # given heads, no error is aimed at
    assert KernelConfig(architecture=softmax, heads=9, relative_error=0.1).digest() == sampled[1].digest()


def test_digest_reads_the_tokens_and_not_their_path(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((2, 17), dtype=int))
    np.save(tmp_path / "b.npy", np.zeros((2, 17), dtype=int))
    np.save(tmp_path / "c.npy", np.ones((2, 17), dtype=int))
    a, b, c = (KernelConfig(tokens=tmp_path / name).digest() for name in ("a.npy", "b.npy", "c.npy"))
    assert a == b != c
    assert KernelConfig(tokens=tmp_path / "a.npy", seed=5).digest() == a  # nothing is drawn


def test_missing_tokens_are_a_sentence(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        KernelConfig(tokens=tmp_path / "none.npy").digest()


flags = st.builds(
    ArchitectureFlags,
    preset=st.sampled_from([None, *PRESETS]),
    length=st.one_of(st.none(), st.integers(1, 99)),
    s_p=st.one_of(st.none(), st.floats(0.01, 10)),
    causal=st.sampled_from([None, True, False]),
    norm=st.sampled_from([None, "pre", "post"]),
)


@given(
    st.builds(KernelConfig, architecture=flags, n=st.integers(1, 9), kind=st.sampled_from(["nngp", "ntk", "both"]), seed=st.integers(0, 9))
)
def test_flags_give_the_same_configuration_back(given_config):
    import cyclopts

    from specht.cli import app

    try:
        _, bound, _ = app.parse_args(["kernel", *given_config.flags()], exit_on_error=False, print_error=False)
    except cyclopts.CycloptsError as error:
        raise AssertionError(given_config.flags()) from error
    assert bound.kwargs.get("config", KernelConfig()) == given_config
