from __future__ import annotations

from panes.state.storage.bell import Bell


def test_a_ring_calls_those_who_listen_then():
    bell, heard = Bell(), []
    bell.ring()
    with bell.heard_by(lambda: heard.append("a")):
        bell.ring()
        with bell.heard_by(lambda: heard.append("b")):
            bell.ring()
        bell.ring()
    bell.ring()
    assert heard == ["a", "a", "b", "a"]


def test_one_function_may_listen_twice():
    bell, heard = Bell(), []
    listener = heard.append
    with bell.heard_by(lambda: listener(1)), bell.heard_by(lambda: listener(1)):
        bell.ring()
    assert heard == [1, 1]
