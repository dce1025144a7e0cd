"""Calls that go on when the main thread is interrupted."""

from __future__ import annotations

import signal
import threading

import polars  # noqa: F401  (handles Ctrl-C in its own way)
import pytest

from panes.runtime.uninterrupted import let_ctrl_c_end_waits, uninterrupted

PATIENCE_S = 60


def test_it_gives_what_the_call_gives_and_raises_what_it_raises():
    assert uninterrupted(lambda: threading.current_thread() is threading.main_thread()) is False
    with pytest.raises(ZeroDivisionError):
        uninterrupted(lambda: 1 // 0)


def test_ctrl_c_hurries_the_call_and_waits_for_its_end():
    is_hurried, steps = threading.Event(), []

    def call():
        signal.raise_signal(signal.SIGINT)
        assert is_hurried.wait(PATIENCE_S)
        steps.append("ended")

    with pytest.raises(KeyboardInterrupt):
        uninterrupted(call, when_interrupted=is_hurried.set)
    assert steps == ["ended"]


def test_ctrl_c_ends_a_wait_of_the_main_thread():
    let_ctrl_c_end_waits()
    main = threading.main_thread().ident
    threading.Timer(0.01, lambda: signal.pthread_kill(main, signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        threading.Event().wait(PATIENCE_S)
