"""The configuration of `specht threshold`: its name holds what decides the numbers and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from specht.commands.threshold import ThresholdConfig
from specht.commands.threshold.compute import jobs_of
from specht.studies.sparse import LEARNERS

SAME = {
    "defaults that are said": [{"function": "and"}, {"function": "and", "support": 3, "share": 0.8, "lengths": (25, 50, 100)}],
    "training where nothing is trained": [
        {"function": "and", "learners": ("perceptron-ntk",), "steps": 125},
        {"function": "and", "learners": ("perceptron-ntk",), "steps": 50},
    ],
    "training where theory learns": [
        {"function": "and", "learners": ("transformer-width-16",), "steps": 125},
        {"function": "and", "learners": ("transformer-width-16",), "steps": 50},
    ],
}
DIFFERENT = {
    "anything that counts": [
        {"function": "and"},
        {"function": "or"},
        {"function": "0110"},
        {"function": "threshold", "at_least": 2},
        *({"function": "and"} | more for more in ({"support": 2}, {"lengths": (25,)}, {"learners": ("perceptron",)}, {"share": 0.5})),
        *({"function": "and"} | more for more in ({"accuracy": 0.9}, {"validation": 100}, {"smallest": 9}, {"largest": 99}, {"seed": 1})),
        *({"function": "and"} | more for more in ({"budget": 99}, {"batch": 4}, {"width": 1.5}, {"confidence": 0.8}, {"restarts": 1})),
        *({"function": "and"} | more for more in ({"steps": 50}, {"learning_rate": 0.1})),
        *({"function": "and", "learners": (f"transformer-width-{width}",)} for width in (16, 64)),
    ],
}


@pytest.mark.parametrize("case", SAME)
def test_digest_leaves_out(case):
    assert len({ThresholdConfig(**fields).digest() for fields in SAME[case]}) == 1


@pytest.mark.parametrize("case", DIFFERENT)
def test_digest_holds(case):
    assert len({ThresholdConfig(**fields).digest() for fields in DIFFERENT[case]}) == len(DIFFERENT[case])


def test_one_job_a_learner_and_length():
    config = ThresholdConfig(function="and", lengths=(8, 4), learners=("transformer", "perceptron-ntk"))
    jobs = jobs_of(config)
    assert [(job.arguments["learner"], job.arguments["length"]) for job in jobs] == [
        ("transformer", 8),
        ("transformer", 4),
        ("perceptron-ntk", 8),
        ("perceptron-ntk", 4),
    ]
    assert jobs[2].arguments["training"] == {}
    # Names of the same function share their results.
    table = ThresholdConfig(function="00000001", lengths=(8,), learners=("perceptron-ntk",))
    assert jobs_of(table)[0] == jobs[2]


@given(
    st.builds(
        ThresholdConfig,
        function=st.sampled_from(["and", "majority", "parity"]),
        support=st.integers(1, 4),
        lengths=st.lists(st.integers(4, 99), min_size=1, max_size=3, unique=True).map(tuple),
        learners=st.lists(st.sampled_from([*LEARNERS, "transformer-width-16"]), min_size=1, max_size=3, unique=True).map(tuple),
        share=st.floats(0.1, 0.9),
        accuracy=st.floats(0.6, 1.0),
        budget=st.integers(8, 99),
        width=st.floats(1.1, 3.0),
        seed=st.integers(0, 9),
    )
)
def test_flags_give_the_same_configuration_back(config):
    from specht.commands.app import app

    _, bound, _ = app.parse_args(["threshold", *config.flags()], exit_on_error=False, print_error=False)
    assert bound.arguments["config"] == config
