"""The whole scorecard, killed again and again: a quarter of an hour, so behind the slow mark."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

KILLS = 10


def start(out: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "specht", "reproduce", "--scale", "quick", "--out", str(out), "--json"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def numbers(out: Path) -> dict[str, bytes]:
    """Everything that is compared to the bit: the scorecard, and the data of every job."""
    return {path.name: path.read_bytes() for path in [*out.glob("jobs/*.nc"), out / "scorecard.json"]}


@pytest.mark.slow
def test_ten_kills_leave_scorecard_and_data_as_they_are(tmp_path):
    whole = start(tmp_path / "whole")
    out, errors = whole.communicate()
    assert whole.returncode == 0, errors
    jobs, chance = len(list((tmp_path / "whole" / "jobs").glob("*.nc"))), random.Random(1)
    stops = sorted(chance.randrange(jobs) for _ in range(KILLS))  # after so many finished jobs, and a moment more
    for stop in stops:
        process = start(tmp_path / "killed")
        while process.poll() is None and len(list((tmp_path / "killed" / "jobs").glob("*.json"))) < stop:
            try:
                process.wait(0.5)
            except subprocess.TimeoutExpired:
                continue
        try:
            process.wait(6.0 * chance.random())
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        process.communicate()
    last = start(tmp_path / "killed")
    again, errors = last.communicate()
    assert last.returncode == 0, errors
    assert json.loads(again)["claims"] == json.loads(out)["claims"]
    assert numbers(tmp_path / "killed") == numbers(tmp_path / "whole")
