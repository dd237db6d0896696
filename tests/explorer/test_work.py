"""Work beside a page: known, under way, failed, stopped."""

from __future__ import annotations

import threading
import time

import pydantic
import pytest

from specht.commands.predict import PredictConfig
from specht.errors import InputError
from specht.explorer.work import KEPT, Work, sentence

LONG = 30.0


class Slow:
    """Work that goes on until it is let go, and reports before and after."""

    def __init__(self) -> None:
        self.let_go, self.reported, self.ended = threading.Event(), threading.Event(), threading.Event()

    def __call__(self, progress):
        try:
            progress(1, 4)
            self.reported.set()
            self.let_go.wait(LONG)
            progress(2, 4)
            return "slow"
        finally:
            self.ended.set()


def test_quick_work_is_answered_at_once_and_once():
    work, calls = Work(), []
    for _ in range(2):
        answer = work.ask("key", lambda progress: calls.append(1) or "result", patience=LONG)
        assert (answer.status, answer.result) == ("done", "result")
    assert calls == [1]
    assert work.known("key") == "result"
    assert work.known("other") is None


def test_slow_work_says_how_far_it_is_and_is_found_when_done():
    work, slow = Work(), Slow()
    work.ask("key", slow, patience=0.0)
    assert slow.reported.wait(LONG)
    answer = work.ask("key", slow)
    assert (answer.status, answer.share, answer.result) == ("busy", 0.25, None)
    slow.let_go.set()
    slow.ended.wait(LONG)
    while (answer := work.ask("key", slow)).status == "busy":
        time.sleep(0.01)
    assert (answer.status, answer.result) == ("done", "slow")


def test_work_can_be_stopped_and_is_not_begun_again_by_itself():
    work, slow = Work(), Slow()
    work.ask("key", slow, patience=0.0)
    assert slow.reported.wait(LONG)
    work.stop()
    assert work.ask("key", slow).status == "stopped"
    slow.let_go.set()
    assert slow.ended.wait(LONG)  # the report raised, so nothing is known
    assert work.ask("key", slow).status == "stopped"
    assert work.known("key") is None
    work.forget()
    assert work.ask("key", lambda progress: 2, patience=LONG).result == 2


class Twofold:
    """Work that has something to show before it is done."""

    def __init__(self) -> None:
        self.told, self.let_go, self.ended = threading.Event(), threading.Event(), threading.Event()

    def __call__(self, listener):
        try:
            listener.first("rough")
            self.told.set()
            self.let_go.wait(LONG)
            listener.first("better")
            return "fine"
        finally:
            self.ended.set()


def test_what_is_known_so_far_can_be_shown_and_stays_when_the_work_is_stopped():
    work, twofold = Work(), Twofold()
    work.ask("key", twofold, patience=0.0)
    assert twofold.told.wait(LONG)
    assert (work.ask("key", twofold).status, work.ask("key", twofold).result) == ("busy", "rough")
    work.stop()
    twofold.let_go.set()
    assert twofold.ended.wait(LONG)
    answer = work.ask("key", twofold)
    assert (answer.status, answer.result) == ("stopped", "rough")
    assert work.known("key") is None


def test_the_whole_result_takes_the_place_of_the_first():
    work, twofold = Work(), Twofold()
    twofold.let_go.set()
    answer = work.ask("key", twofold, patience=LONG)
    assert (answer.status, answer.result) == ("done", "fine")


def test_another_question_gives_up_the_first():
    work, slow = Work(), Slow()
    work.ask("first", slow, patience=0.0)
    assert slow.reported.wait(LONG)
    assert work.ask("second", lambda progress: "quick", patience=LONG).result == "quick"
    slow.let_go.set()
    assert slow.ended.wait(LONG)
    assert work.known("first") is None


def test_old_results_make_room():
    work = Work()
    for key in range(KEPT + 1):
        work.ask(key, lambda progress, key=key: key, patience=LONG)
    assert work.known(0) is None
    assert work.known(KEPT) == KEPT


def test_bad_input_is_a_sentence():
    def refuse(progress):
        raise InputError("The ridge is red: paint it.")

    answer = Work().ask("key", refuse, patience=LONG)
    assert (answer.status, answer.sentence) == ("failed", "The ridge is red: paint it.")


def test_sentences_of_configurations_are_ours():
    with pytest.raises(pydantic.ValidationError) as caught:
        PredictConfig(check=("net",), ridge=0.0)
    assert sentence(caught.value) == "--check net samples and trains networks with a ridge, and --ridge is 0: raise it."


def test_a_fault_is_called_one_and_printed(capsys):
    words = sentence(ZeroDivisionError("division\nby zero"))
    assert words.startswith("This is a fault of Specht, not of yours (ZeroDivisionError: division by zero).")
    assert "ZeroDivisionError" in capsys.readouterr().err
