"""Trainings that are interrupted end with the numbers of those that are not, to the bit."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import sample_training
from linear_model import linear
from sample_training import RECIPES, numbers, run

from specht.errors import InputError
from specht.lab.checkpoint import Checkpoint
from specht.lab.threads import XLA_ONE_THREAD
from specht.nn.data import Fixed
from specht.nn.recipe import Recipe
from specht.nn.training import train


class Interrupted(Checkpoint):
    """Pulls the plug after some writings."""

    left = 0

    def save(self, identity, arrays, now):
        super().save(identity, arrays, now)
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def _slices_as_they_were(monkeypatch):
    monkeypatch.setattr(sample_training.train_module, "_SLICE_WORK", sample_training.train_module._SLICE_WORK)


@pytest.mark.parametrize("name", RECIPES)
def test_an_interrupted_training_goes_on(name, tmp_path):
    expected = numbers(run(name, None))
    path, stops = tmp_path / "kept.npz", 0
    while True:
        checkpoint = Interrupted(path, every=0.0)
        checkpoint.left = 5
        try:
            found = numbers(run(name, checkpoint))
            break
        except KeyboardInterrupt:
            stops += 1
    assert stops >= 2
    for key, values in expected.items():
        np.testing.assert_array_equal(found[key], values)


@pytest.mark.whole
def test_a_killed_training_goes_on(tmp_path):
    """kill -9 at random moments, against a process that is left alone; the number in the failure repeats it.

    Both have one thread, as tasks have: sums that two threads share may be rounded otherwise.
    """
    seed = random.SystemRandom().randrange(10**6)
    chance, script = random.Random(seed), Path(sample_training.__file__)
    environment = os.environ | {"XLA_FLAGS": XLA_ONE_THREAD}
    kills = 0
    for folder in ("killed", "whole"):
        (tmp_path / folder).mkdir()
    path = tmp_path / "killed" / "kept.npz"
    for _ in range(2):
        process = subprocess.Popen(
            [sys.executable, str(script), str(path)], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        deadline = time.monotonic() + 120
        while not path.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(chance.uniform(0.0, 0.3))
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        process.communicate()
    assert kills >= 1, f"seed {seed}: the training ended before it could be killed"
    for folder in ("killed", "whole"):
        subprocess.run([sys.executable, str(script), str(tmp_path / folder / "kept.npz")], env=environment, check=True)
    with np.load(tmp_path / "killed" / "result.npz") as found, np.load(tmp_path / "whole" / "result.npz") as whole:
        assert set(found.files) == set(whole.files)
        for key in whole.files:
            np.testing.assert_array_equal(found[key], whole[key], err_msg=f"seed {seed}")


def test_files_of_others_are_refused_and_left_alone(tmp_path):
    path = tmp_path / "kept.npz"
    run("full batch", Checkpoint(path, every=0.0))
    before = path.read_bytes()
    with pytest.raises(InputError, match="belongs to another training"):
        run("mini-batch", Checkpoint(path))
    damaged = bytearray(before)
    damaged[len(damaged) // 2] ^= 1
    for content in (bytes(damaged), before[:100], b"nothing of ours"):
        path.write_bytes(content)
        with pytest.raises(InputError, match="delete it to start anew"):
            run("full batch", Checkpoint(path))
        assert path.read_bytes() == content


def test_models_that_do_different_things_are_different_trainings(tmp_path):
    """Functions made by one factory have one name, and what is not trained is part of the model."""
    x, y = np.ones((4, 2), np.float32), np.ones(4, np.float32)
    recipe, path = Recipe(steps=2, learning_rate=0.1), tmp_path / "kept.npz"

    def go(times, checkpoint):
        return train(linear(2), Fixed(x, y), recipe, forward=lambda model, x, key: times * model(x), checkpoint=checkpoint)

    go(1.0, Checkpoint(path))
    with pytest.raises(InputError, match="belongs to another training"):
        go(2.0, Checkpoint(path))
    np.testing.assert_array_equal(go(1.0, Checkpoint(path)).losses["train"], go(1.0, None).losses["train"])


def test_writings_keep_their_distance(tmp_path):
    written = []
    checkpoint = Checkpoint(tmp_path / "kept.npz", every=1000.0)
    for number in range(4):
        checkpoint.save("id", lambda number=number: written.append(number) or {"a": np.arange(number)}, now=number == 3)
    assert written == [0, 3]
    assert (checkpoint.load("id") or {})["a"].tolist() == [0, 1, 2]
