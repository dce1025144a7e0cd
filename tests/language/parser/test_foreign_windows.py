from __future__ import annotations

import pytest

from panes.language.parser.dialect import Panes
from panes.language.parser.foreign_windows import foreign_window


def hint(text: str, *, in_from: bool = False) -> str | None:
    found = foreign_window(Panes().tokenize(text), 0, in_from=in_from)
    return None if found is None else found.hint.partition(": ")[2]


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("TUMBLE(ts, INTERVAL '10' MINUTES)", "[RANGE 10 MINUTES SLIDE 10 MINUTES]"),
        ("TUMBLE_START(ts, INTERVAL 90 SECONDS)", "[RANGE 90 SECONDS SLIDE 90 SECONDS]"),
        ("HOP(ts, INTERVAL '1' MINUTE, INTERVAL '1' HOUR)", "[RANGE 1 HOUR SLIDE 1 MINUTE]"),
        ("window(ts, '1 hour', '1 minute')", "[RANGE 1 HOUR SLIDE 1 MINUTE]"),
        ("window(ts, '1.5 hours')", "[RANGE 90 MINUTES SLIDE 90 MINUTES]"),
        ("session_window(ts, '5 minutes')", "[PARTITION BY … SESSION 5 MINUTES]"),
    ],
)
def test_lengths_are_those_of_the_call(text: str, window: str) -> None:
    assert hint(text) == f"stream {window}"


def test_stream_is_the_one_that_is_named() -> None:
    window = "[RANGE 10 SECONDS SLIDE 10 SECONDS]"
    assert (
        hint("TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' SECONDS))", in_from=True)
        == f"bids {window}"
    )
    assert hint("tumble(bids, ts, INTERVAL 10 SECONDS)", in_from=True) == f"bids {window}"


@pytest.mark.parametrize("text", ["hop", "hop + 1", "hop(ts)", "session('one')", "window", "", "count(ts)"])
def test_other_names_and_calls_are_left_alone(text: str) -> None:
    assert hint(text) is None


def test_call_that_does_not_end_is_read_to_the_end() -> None:
    assert hint("TUMBLE(ts, INTERVAL '10' MINUTES") == "stream [RANGE 10 MINUTES SLIDE 10 MINUTES]"
