from __future__ import annotations

from benchmarks.memory import PeakMemory


def test_what_a_block_holds_is_seen():
    with PeakMemory() as before:
        pass
    held = b"x" * 200_000_000
    with PeakMemory() as during:
        assert held
    assert during.megabytes - before.megabytes > 150
