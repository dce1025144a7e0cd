"""What aggregates over windows of their own cost, as a table."""

from __future__ import annotations

from benchmarks.standing_queries import DIFFERENT
from benchmarks.windows_report import windows_table


def test_a_thousand_stand_beside_ten():
    results = [
        {"curve": f"{DIFFERENT}{what}", "x": x, "y": y}
        for what, ten, thousand in (
            ("", 2e5, 1e5),
            (", of all processors", 2.0, 7.0),
            (", kept", 1.0, 3.0),
            (", invoke", 4.0, 5.0),
        )
        for x, y in ((10, ten), (1000, thousand))
    ]
    text = windows_table({"results": results})
    assert text is not None
    assert "| rows/s | 200 k | 100 k |" in text
    assert "1,000 cost 3.5 times as much as 10 ✗; the aim is 3 at most." in text


def test_there_is_no_table_of_what_was_not_measured():
    assert windows_table({"results": []}) is None
