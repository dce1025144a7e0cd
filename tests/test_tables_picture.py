"""The picture of docs/tables.md shows what runs."""

from __future__ import annotations

from tests.tables_picture import BYTES, CHANGES, PICTURE, bills, picture


def test_the_picture_shows_what_runs() -> None:
    assert PICTURE.read_text(encoding="utf-8") == picture(), "python -m tests.tables_picture"


def test_one_bill_changes_at_once_and_the_other_as_packets_come_and_go() -> None:
    at, old, new = CHANGES[0]
    now, then = dict(bills("bill_now")), dict(bills("bill_then"))
    assert [now[at], now[at + 1]] == [10 * BYTES * old, 10 * BYTES * new]
    assert [then[at + passed] for passed in range(11)] == [
        BYTES * (old * (10 - passed) + new * passed) for passed in range(11)
    ]
