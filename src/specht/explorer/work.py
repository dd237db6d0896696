"""Computing beside the page: one piece of work at a time, which says how far it is and can be stopped."""

from __future__ import annotations

import dataclasses
import threading
import traceback
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Literal, Protocol

import pydantic

from specht.errors import InputError, StorageError

KEPT = 32
"""Results that are kept, so that going back takes no time."""
PATIENCE = 0.7
"""Seconds that a page waits for what is new, since a result at once is better than a sign that there will be one."""
Status = Literal["busy", "done", "failed", "stopped"]


class _StopWork(BaseException):
    """Raised inside a piece of work that nobody waits for any longer; no handler of errors on the way may take it for one."""


@dataclasses.dataclass
class Answer:
    """What is known of a piece of work."""

    status: Status = "busy"
    result: Any = None
    """While the work goes on, what it knows so far."""
    sentence: str = ""
    """What went wrong."""
    share: float = 0.0
    """How much of the work is done."""


class Listener(Protocol):
    """Whom a piece of work tells how far it is, as `listener(done, total)`, and what it knows so far."""

    def __call__(self, done: int, total: int, /) -> None: ...

    def first(self, result: Any) -> None:
        """A result that can be shown until a better one is there."""


class _Piece:
    """A piece of work in a thread of its own, which listens to it."""

    def __init__(self, key: Hashable, function: Callable[[Listener], Any]) -> None:
        self.key, self.answer = key, Answer()
        self._stop = threading.Event()
        self._function = function
        self._thread = threading.Thread(target=self._run, name="specht-work", daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> None:
        self._thread.join(seconds)

    def stop(self) -> None:
        """Give it up; the thread ends when it next says how far it is."""
        self._stop.set()
        if self.answer.status == "busy":
            self.answer = Answer("stopped", self.answer.result)

    def _run(self) -> None:
        try:
            answer = Answer("done", self._function(self), share=1.0)
        except _StopWork:
            return
        except Exception as error:  # whatever it is, the page has to say it
            answer = Answer("failed", sentence=sentence(error))
        if not self._stop.is_set():
            self.answer = answer

    def __call__(self, done: int, total: int, /) -> None:
        if self._stop.is_set():
            raise _StopWork
        self.answer.share = min(1.0, done / total) if total else 0.0

    def first(self, result: Any) -> None:
        if self._stop.is_set():
            raise _StopWork
        self.answer.result = result


class Work:
    """What one page computes: asking for something else gives up what was being computed."""

    def __init__(self) -> None:
        self._piece: _Piece | None = None
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()

    def ask(self, key: Hashable, function: Callable[[Listener], Any], patience: float = PATIENCE) -> Answer:
        """The answer to a question, by its key: known, or under way, or begun now and waited for a little.

        Arguments:
            function: called with a listener; it stops when it says how far it is and nobody wants its result any longer.
        """
        if key in self._kept:
            self._give_up_other_than(key)
            return Answer("done", self._kept[key], share=1.0)
        self._give_up_other_than(key)
        if self._piece is None:
            self._piece = _Piece(key, function)
            self._piece.wait(patience)
        answer = self._piece.answer
        if answer.status == "done":
            self._kept[key] = answer.result
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return answer

    def known(self, key: Hashable) -> Any:
        """A result that was computed before, or None."""
        return self._kept.get(key)

    def stop(self) -> None:
        """Give up what is being computed, if anything is."""
        if self._piece is not None:
            self._piece.stop()

    def forget(self) -> None:
        """Give up what is being computed, and begin anew if it is asked for again."""
        self.stop()
        self._piece = None

    def _give_up_other_than(self, key: Hashable) -> None:
        if self._piece is not None and self._piece.key != key:
            self.forget()


def sentence(error: Exception) -> str:
    """What is wrong, in words for the page; what nobody foresaw is also printed where the explorer was started."""
    if isinstance(error, pydantic.ValidationError):
        return " ".join(detail["msg"].removeprefix("Value error, ") for detail in error.errors())
    if isinstance(error, InputError | StorageError):
        return str(error)
    traceback.print_exception(error)
    words = " ".join(str(error).split())
    return f"This is a fault of Specht, not of yours ({type(error).__name__}: {words}). The terminal that runs the explorer shows more."
