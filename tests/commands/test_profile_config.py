"""The configuration of `specht profile`: its name holds what decides the numbers and nothing else."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, strategies as st

from specht.commands.profile import ProfileConfig
from specht.commands.task_flags import SourceFlags


def test_digest_is_stable():
    # These numbers name folders on people's disks: they may change only when results do.
    assert ProfileConfig(target="parity").digest() == "78700fe273e7"
    assert ProfileConfig(target="level", support=1, source=SourceFlags(source="mixture")).digest() == "e756562ab76c"


SAME = {
    "a target without a token": [{"target": "next-token"}, {"target": "next-token", "token": 1}],
    "defaults that are said": [{"target": "and"}, {"target": "and", "support": 2, "vocab": 2, "confidence": 0.95}],
}
DIFFERENT = {
    "anything that counts": [
        {"target": "and"},
        {"target": "or"},
        *({"target": "and"} | more for more in ({"support": 3}, {"token": 0}, {"length": 8}, {"vocab": 3}, {"samples": 500}, {"seed": 1})),
        *({"target": "and"} | more for more in ({"max_level": 3}, {"confidence": 0.9}, {"readout": "mean"})),
    ],
    "sources": [{"target": "and", "source": SourceFlags(source=name)} for name in ("uniform", "mixture", "graded")],
}


@pytest.mark.parametrize("case", SAME)
def test_digest_leaves_out(case):
    assert len({ProfileConfig(**fields).digest() for fields in SAME[case]}) == 1


@pytest.mark.parametrize("case", DIFFERENT)
def test_digest_holds(case):
    assert len({ProfileConfig(**fields).digest() for fields in DIFFERENT[case]}) == len(DIFFERENT[case])


def test_code_of_ones_own_is_in_the_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    digests = set()
    for body in ("x[:, 0]", "x[:, 1]"):
        (tmp_path / "own_code.py").write_text(f"def f(x): return {body}\n")
        digests.add(ProfileConfig(target="own_code:f").digest())
        sys.modules.pop("own_code")
    assert len(digests) == 2


@given(
    st.builds(
        ProfileConfig,
        target=st.sampled_from(["and", "majority", "parity"]),
        support=st.integers(1, 9),
        vocab=st.integers(2, 9),
        length=st.integers(1, 99),
        samples=st.integers(100, 9999),
        max_level=st.integers(0, 7),
        confidence=st.floats(0.01, 0.99),
        readout=st.sampled_from(["last", "mean"]),
        seed=st.integers(0, 9),
        source=st.one_of(st.builds(SourceFlags), st.builds(SourceFlags, source=st.just("graded"), epsilon=st.floats(0, 1))),
    )
)
def test_flags_give_the_same_configuration_back(config):
    from specht.commands.app import app

    _, bound, _ = app.parse_args(["profile", *config.flags()], exit_on_error=False, print_error=False)
    assert bound.arguments["config"] == config
