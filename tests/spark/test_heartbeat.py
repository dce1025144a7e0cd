"""A heartbeat beats until it is stopped."""

import threading

from panes.runtime.heartbeat import Heartbeat

PATIENCE_S = 30


def test_it_beats_again_and_again_until_it_is_stopped():
    beats = threading.Semaphore(0)
    heartbeat = Heartbeat(0.001, beats.release)
    for _ in range(3):
        assert beats.acquire(timeout=PATIENCE_S)
    heartbeat.stop()
    assert not any(thread.name == "panes-heartbeat" for thread in threading.enumerate())


def test_it_can_be_stopped_from_within_a_beat():
    done = threading.Event()
    ready = threading.Event()
    hearts = []

    def beat():
        ready.wait(PATIENCE_S)
        hearts[0].stop()
        done.set()

    hearts.append(Heartbeat(0.001, beat))
    ready.set()
    assert done.wait(PATIENCE_S)
