"""Texts as values of a declared type."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pyarrow as pa
import pytest

from panes.ingest.from_text import from_text
from panes.ingest.inexact import Inexact
from panes.plan.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type


def column(*texts: str | None) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(texts, pa.string())])


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        (STRING, " a ", " a "),
        (INT, " -7 ", -7),
        (BIGINT, "9223372036854775807", 2**63 - 1),
        (DOUBLE, "1e3", 1000.0),
        (BOOLEAN, "True", True),
        (DATE, "2026-01-31", date(2026, 1, 31)),
        (TIMESTAMP, "2026-01-31", datetime(2026, 1, 31, tzinfo=UTC)),
        (TIMESTAMP, "2026-01-31 12:30", datetime(2026, 1, 31, 12, 30, tzinfo=UTC)),
        (TIMESTAMP, "2026-01-31T12:30:00.000001Z", datetime(2026, 1, 31, 12, 30, 0, 1, tzinfo=UTC)),
        (TIMESTAMP, "2026-01-31 12:30:00-05:00", datetime(2026, 1, 31, 17, 30, tzinfo=UTC)),
    ],
)
def test_a_text_stands_for_a_value(type_: Type, text: str, value: object):
    found = from_text(column(text, None), type_)
    assert found.type == type_.arrow
    assert found.to_pylist() == [value, None]


@pytest.mark.parametrize(
    ("type_", "text", "problem"),
    [
        (INT, "1.0", "'1.0' is not an INT"),
        (INT, "", "'' is not an INT"),
        (BIGINT, "9223372036854775808", "'9223372036854775808' is not a BIGINT"),
        (DOUBLE, "1,5", "'1,5' is not a DOUBLE"),
        (BOOLEAN, "yes", "'yes' is not a BOOLEAN"),
        (DATE, "31.1.2026", "'31.1.2026' is not a DATE"),
        (TIMESTAMP, "2026-01-31 12:30:00.0000001", "is not a TIMESTAMP"),
    ],
)
def test_the_first_text_that_is_no_value_is_refused(type_: Type, text: str, problem: str):
    good = {INT: "1", BIGINT: "1", DOUBLE: "1", BOOLEAN: "true", DATE: "2026-01-31", TIMESTAMP: "2026-01-31"}[
        type_
    ]
    with pytest.raises(Inexact, match=problem) as caught:
        from_text(column(good, None, good, text, text), type_)
    assert caught.value.row == 3
