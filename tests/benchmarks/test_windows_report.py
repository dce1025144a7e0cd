"""What aggregates over windows of their own cost, as a table."""

from __future__ import annotations

from benchmarks.standing_queries import DIFFERENT
from benchmarks.windows_report import windows_table

MACHINE = {"processor": "a processor", "cores": 2, "memory_gb": 24, "system": "Linux 6", "python": "3.11.9"}


def test_a_thousand_stand_beside_ten():
    results = [
        {"curve": f"{DIFFERENT}{what}", "x": x, "y": y}
        for what, ten, thousand in (
            (", of all processors", 2.0, 7.0),
            (", kept", 1.0, 3.0),
            (", invoke", 4.0, 5.0),
        )
        for x, y in ((10, ten), (1000, thousand))
    ]
    text = windows_table({"measured": "today", "machine": MACHINE, "versions": {}, "results": results})
    assert "| time of all processors, s | 2 | 7 |" in text
    assert "1,000 cost 3.5 times as much as 10 ✗; the aim is 3 at most." in text
