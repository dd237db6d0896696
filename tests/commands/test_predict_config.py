"""Widths as flags of `specht predict`, and the rows of its phase diagrams."""

from __future__ import annotations

import json

import numpy as np
import pytest
from pydantic import ValidationError
from threadpoolctl import threadpool_info, threadpool_limits

import specht
from specht.commands.predict import MixtureFlags, PredictConfig, compute
from specht.commands.predict.phases import jobs_of, measure_row
from specht.commands.task_flags import TargetFlags
from specht.errors import InputError
from specht.lab.config import ArchitectureFlags
from specht.learning.adaptive import adaptive_curve

UNIFORM = {"architecture": ArchitectureFlags(vocab=2, length=8), "source": MixtureFlags(source="uniform"), "ridge": 0.1}
PARITY = PredictConfig(**UNIFORM, target=TargetFlags(target="parity"), n_train=(8, 64), width=(16,), phases=True)


@pytest.mark.parametrize(
    ("given", "widths", "flags"),
    [
        (None, [64], []),
        ((64,), [64], ["--width", "64"]),
        ((64, 16), [16, 64], ["--width", "64", "16"]),
        (("infinite",), [], ["--width", "infinite"]),
        (("infinite", 32), [32], ["--width", "infinite", "32"]),
    ],
)
def test_widths_are_the_finite_ones_in_rising_order(given, widths, flags):
    config = PredictConfig(width=given)
    assert config.widths == widths
    assert config.flags() == flags
    assert config.network_width == (widths or [64])[0]


def test_widths_decide_the_name_of_the_results():
    digests = [PredictConfig(width=width).digest() for width in (None, (64,), (16, 64), ("infinite",))]
    assert len(set(digests)) == 4
    assert PredictConfig(width=(64, 16)).digest() == PredictConfig(width=(16, 64)).digest()
    assert PARITY.digest() != PARITY.model_copy(update={"phases": False}).digest()


def test_networks_may_have_a_width_that_the_theory_does_not_know():
    config = PredictConfig(kind="ntk", check=("net",), width=(16,))
    assert not config.needs_finite_width
    with pytest.raises(ValidationError, match="knows no --kind ntk"):
        PredictConfig(kind="ntk", width=(16,))


def test_rows_are_jobs_that_any_process_can_do():
    jobs = jobs_of(PARITY)
    assert list(jobs["width"]) == [8, 16, 32, 64, 128, 256, 512]
    assert list(jobs["length"]) == [2, 4, 8, 16, 32]
    assert jobs["width"][16] == jobs["length"][8]  # width 16 at length 8 is in both diagrams
    assert len({*jobs["width"].values(), *jobs["length"].values()}) == 7 + 5 - 1
    assert json.loads(jobs["width"][8].text)["n_train"] == [8, 11, 16, 23, 32, 45, 64]


def test_a_row_is_the_curve_of_the_library():
    found = jobs_of(PARITY)["length"][16].run()
    arch, source = specht.Architecture(vocab=2, length=16), specht.sources.uniform(2)
    task = specht.Task(source, specht.targets.parity(2, length=16))
    curve = adaptive_curve(arch, task, found["n_train"].values, width=16, ridge=0.1)
    np.testing.assert_allclose(found["test"], curve.test, rtol=1e-12)
    np.testing.assert_allclose(found["strength"], curve.strengths[:, 0], rtol=1e-12)
    assert (float(found["transition"]), found["kind"].item()) == (curve.transition().samples, curve.transition().kind)


def test_lengths_that_a_target_does_not_fit_are_left_out():
    config = PARITY.model_copy(update={"target": TargetFlags(target="level", support=2)})
    assert list(jobs_of(config)["length"]) == [4, 8, 16, 32]


def test_eigenfunctions_are_the_target_at_every_length():
    config = PredictConfig(**UNIFORM, n_train=(8, 16), phases=True)
    job = jobs_of(config)["length"][4]
    assert np.isfinite(measure_row(**job.arguments)["test"]).all()


def test_finite_width_is_computed_by_one_thread(monkeypatch):
    threads = []

    def curve(*_, **__):
        threads.extend(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        raise InputError("Enough.")

    monkeypatch.setattr(compute, "adaptive_curve", curve)
    config = PredictConfig(**UNIFORM, target=TargetFlags(target="counts"), n_train=(8, 16))
    arch = config.architecture.architecture()
    with threadpool_limits(2):  # on one core, too
        found, note = compute.at_finite_width(config, arch, compute.task_of(config, arch))
    assert (found, note) == (None, "Finite width is left out: enough.")
    assert threads
    assert set(threads) == {1}
