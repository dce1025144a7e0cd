"""Calls that Ctrl-C does not cut in two.

Python raises KeyboardInterrupt in the main thread, wherever that is. In the middle of a conversation with Java it
leaves half a message on the line, a Spark that nobody holds any more, and a page of traceback. So conversations
with Java are held by other threads, and the main thread waits for their end.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

_POLL_S = 0.1


def let_ctrl_c_end_waits() -> None:
    """Lets Ctrl-C end a wait of the main thread at once.

    Polars handles the signal in a way that lets waits go on, so that Python hears of it only when they are over.
    """
    if threading.current_thread() is threading.main_thread() and hasattr(signal, "siginterrupt"):
        signal.siginterrupt(signal.SIGINT, True)


def wait_for(event: threading.Event) -> None:
    """Waits for an event; Ctrl-C ends the wait, whoever handles the signal."""
    while not event.wait(_POLL_S):
        pass


class _Call(threading.Thread, Generic[T]):
    """One call in a thread of its own."""

    def __init__(self, call: Callable[[], T]) -> None:
        super().__init__(name="panes-spark", daemon=True)
        self._call = call
        self.result: T
        self.failure: BaseException | None = None
        self.done = threading.Event()

    def run(self) -> None:
        try:
            self.result = self._call()
        except BaseException as error:
            self.failure = error
        finally:
            self.done.set()


def uninterrupted(call: Callable[[], T], when_interrupted: Callable[[], None] = lambda: None) -> T:
    """What the call gives or raises.

    On Ctrl-C `when_interrupted` is called, which may hurry the call to its end. The call ends, and then the
    KeyboardInterrupt goes on. A second Ctrl-C does not wait for the call.
    """
    thread = _Call(call)
    try:
        thread.start()
        wait_for(thread.done)
    except BaseException:
        when_interrupted()
        while thread.is_alive() and not thread.done.wait(_POLL_S):
            pass
        raise
    if thread.failure is not None:
        raise thread.failure
    return thread.result
