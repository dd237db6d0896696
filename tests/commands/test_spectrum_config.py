"""The configuration of `specht spectrum`: its name holds what decides the numbers and nothing else."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given, strategies as st

from specht.architecture import Architecture
from specht.commands.spectrum import ScalableArchitecture, SpectrumConfig
from specht.commands.task_flags import SourceFlags


def config(source: dict | None = None, **fields) -> SpectrumConfig:
    own = {name: fields.pop(name) for name in list(fields) if name in SpectrumConfig.model_fields}
    return SpectrumConfig(architecture=ScalableArchitecture(**fields), source=SourceFlags(**(source or {})), **own)


def lengths_of(found: SpectrumConfig) -> list[int]:
    return [arch.length for arch in found.architectures()]


def test_lengths():
    assert lengths_of(config()) == [4, 8, 16, 32, 64]
    assert lengths_of(config(lengths=(3, 5))) == [3, 5]
    assert lengths_of(config(length=7)) == [7]
    assert lengths_of(config(arch="V=3 L=9 | erf")) == [9]
    assert lengths_of(config(arch="V=3 L=9 | erf", length=7)) == [7]
    assert lengths_of(config(arch="V=3 L=9 | erf", lengths=(2, 6))) == [2, 6]
    assert lengths_of(config(arch="V=3 | erf")) == [4, 8, 16, 32, 64]


def test_architectures_differ_in_length_alone():
    assert config(preset="lecun", vocab=3, lengths=(4, 8)).architectures() == [
        Architecture(vocab=3, length=length, attention="softmax", activation="erf") for length in (4, 8)
    ]


def test_digest_is_stable():
    # These numbers name folders on people's disks: they may change only when results do.
    assert SpectrumConfig().digest() == "23cb14de3a6b"
    assert config(vocab=2, length=8, activation="erf").digest() == "9b40cae91170"


def test_methods_are_those_of_the_library():
    from specht.spectra.solve import Method

    flags = get_args(SpectrumConfig.model_fields["method"].annotation)
    assert [flag.replace("-", " ") for flag in flags] == list(get_args(Method))
    assert config(vocab=4, activation="erf", lengths=(4, 64)).methods() == ["young", "rayleigh"]
    assert config(vocab=2, activation="erf", length=4, method="two-tokens").methods() == ["two tokens"]


SAME = {
    "what nothing samples": [{}, {"seed": 1}, {"heads": 9}, {"sequences": 9}, {"method": "linear"}, {"lengths": (4, 8, 16, 32, 64)}],
    "heads where the kernel is closed": [{"activation": "erf"}, {"activation": "erf", "heads": 9}],
    "sequences where none are drawn": [{"preset": "softmax", "vocab": 2, "length": 4, "sequences": n} for n in (9, 10)],
    "how it is said": [{"preset": "simplified"}, {"arch": "V=4"}, {"s_p": 1.0}, {"vocab": 4}],
}
DIFFERENT = {
    "anything that counts": [
        {},
        {"length": 8},
        {"lengths": (4, 8)},
        {"kind": "ntk"},
        {"max_level": 0},
        {"vocab": 3},
        {"method": "rayleigh"},
    ],
    "what rayleigh draws": [{"method": "rayleigh"}, {"method": "rayleigh", "seed": 1}, {"method": "rayleigh", "sequences": 9}],
    "sampled heads": [{"preset": "softmax", "vocab": 2, "length": 4} | more for more in ({}, {"heads": 9}, {"seed": 1})],
    "sources": [{"source": {"source": name}} for name in ("uniform", "mixture", "graded", "generic")],
    "the seed of a mixture": [{"source": {"source": "mixture"}, "seed": seed} for seed in (0, 1)],
    "the numbers of a mixture": [
        {"source": {"source": "graded"} | more} for more in ({}, {"epsilon": 0.2}, {"components": 3}, {"hidden": 3})
    ],
}


@pytest.mark.parametrize("case", SAME)
def test_digest_leaves_out(case):
    assert len({config(**fields).digest() for fields in SAME[case]}) == 1


@pytest.mark.parametrize("case", DIFFERENT)
def test_digest_holds(case):
    assert len({config(**fields).digest() for fields in DIFFERENT[case]}) == len(DIFFERENT[case])


def test_epsilon_of_another_source_is_not_in_the_name():
    assert "epsilon" not in config(source={"source": "mixture"}).identity()
    assert config(source={"source": "graded"}).identity()["epsilon"] == 0.1


@pytest.mark.parametrize(("name", "exchangeable"), [("uniform", True), ("mixture", True), ("graded", False), ("generic", False)])
def test_sources(name, exchangeable):
    source = SourceFlags(source=name).build(vocab=3, seed=5)
    assert (source.vocab, source.is_exchangeable) == (3, exchangeable)


def test_sources_have_their_numbers():
    source = SourceFlags(source="generic", components=3, hidden=5).build(vocab=2, seed=0)
    assert [part.transition.shape for part in source.components] == [(5, 5)] * 3


architectures = st.builds(
    ScalableArchitecture,
    preset=st.sampled_from([None, "softmax", "lecun"]),
    s_p=st.one_of(st.none(), st.floats(0.01, 10)),
    causal=st.sampled_from([None, True, False]),
)
sources = st.one_of(
    st.builds(SourceFlags),
    st.builds(SourceFlags, source=st.sampled_from(["mixture", "generic"]), components=st.integers(1, 9), hidden=st.integers(1, 9)),
    st.builds(SourceFlags, source=st.just("graded"), epsilon=st.floats(0, 1)),
)


@given(
    st.builds(
        SpectrumConfig,
        architecture=architectures,
        source=sources,
        lengths=st.one_of(st.none(), st.sets(st.integers(1, 99), min_size=1).map(lambda found: tuple(sorted(found)))),
        kind=st.sampled_from(["nngp", "ntk"]),
        method=st.sampled_from(["auto", "two-tokens", "rayleigh"]),
        max_level=st.one_of(st.none(), st.integers(0, 9)),
        seed=st.integers(0, 9),
    )
)
def test_flags_give_the_same_configuration_back(given_config):
    from specht.commands.app import app

    _, bound, _ = app.parse_args(["spectrum", *given_config.flags()], exit_on_error=False, print_error=False)
    assert bound.kwargs.get("config", SpectrumConfig()) == given_config
