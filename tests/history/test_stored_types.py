"""Stored types as declared ones: exactly, value by value, or not at all."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from panes.history.stored_types import converted, reading_of, type_for, why_unreadable
from panes.plan.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    decimal,
)


@pytest.mark.parametrize(
    ("stored", "declared", "reading"),
    [
        (pa.int8(), INT, "EXACT"),
        (pa.uint16(), INT, "EXACT"),
        (pa.uint32(), INT, None),
        (pa.int64(), INT, None),
        (pa.uint32(), BIGINT, "EXACT"),
        (pa.uint64(), BIGINT, "BY_VALUE"),
        (pa.int32(), DOUBLE, "EXACT"),
        (pa.int64(), DOUBLE, "BY_VALUE"),
        (pa.int64(), STRING, None),
        (pa.float32(), DOUBLE, "EXACT"),
        (pa.float64(), BIGINT, None),
        (pa.decimal128(20, 0), BIGINT, "BY_VALUE"),
        (pa.decimal128(20, 2), BIGINT, None),
        (pa.decimal256(50, 2), DOUBLE, "BY_VALUE"),
        (pa.decimal128(20, 2), decimal(20, 2), "EXACT"),
        (pa.decimal128(20, 2), decimal(10, 4), "BY_VALUE"),
        (pa.int64(), decimal(10, 4), "BY_VALUE"),
        (pa.float64(), decimal(10, 4), None),
        (pa.int8(), TINYINT, "EXACT"),
        (pa.uint8(), TINYINT, None),
        (pa.uint8(), SMALLINT, "EXACT"),
        (pa.float32(), FLOAT, "EXACT"),
        (pa.float64(), FLOAT, None),
        (pa.int16(), FLOAT, "EXACT"),
        (pa.int32(), FLOAT, None),
        (pa.binary(), BINARY, "EXACT"),
        (pa.large_binary(), BINARY, "BY_VALUE"),
        (pa.string(), BINARY, None),
        (pa.large_string(), STRING, "EXACT"),
        (pa.string_view(), STRING, "BY_VALUE"),
        (pa.dictionary(pa.int32(), pa.string()), STRING, "EXACT"),
        (pa.dictionary(pa.int32(), pa.int64()), BIGINT, "BY_VALUE"),
        (pa.binary(), STRING, "BY_VALUE"),
        (pa.timestamp("s"), TIMESTAMP, "EXACT"),
        (pa.timestamp("us", "Europe/Vienna"), TIMESTAMP, "EXACT"),
        (pa.timestamp("ns"), TIMESTAMP, "BY_VALUE"),
        (pa.timestamp("us"), DATE, None),
        (pa.date64(), DATE, "EXACT"),
        (pa.date32(), TIMESTAMP, "BY_VALUE"),
        (pa.bool_(), BOOLEAN, "EXACT"),
        (pa.bool_(), INT, None),
        (pa.null(), INT, "BY_VALUE"),
        (pa.time64("us"), BIGINT, None),
        (pa.list_(pa.int64()), BIGINT, None),
    ],
)
def test_how_a_stored_type_is_read(stored, declared, reading):
    assert reading_of(stored, declared) == reading


@pytest.mark.parametrize(
    ("values", "stored", "declared", "read"),
    [
        ([1, 2**63 - 1, 2**63, None], pa.uint64(), BIGINT, [1, 2**63 - 1, "lost", None]),
        ([2**53, 2**53 + 1, -(2**53)], pa.int64(), DOUBLE, [2.0**53, "lost", -(2.0**53)]),
        ([2**53, 2**63], pa.uint64(), DOUBLE, [2.0**53, "lost"]),
        (
            [Decimal(2**31 - 1), Decimal(2**31), Decimal(-(2**31))],
            pa.decimal128(12, 0),
            INT,
            [2**31 - 1, "lost", -(2**31)],
        ),
        (
            [Decimal("0.1"), Decimal("1E-18"), Decimal("-12345.6789"), Decimal("1234567890.1234567"), None],
            pa.decimal128(38, 18),
            DOUBLE,
            [0.1, 1e-18, -12345.6789, "lost", None],
        ),
        ([1.5, None], pa.float16(), DOUBLE, [1.5, None]),
        ([1, 100, -99, None], pa.int64(), decimal(4, 2), [Decimal(1), "lost", Decimal(-99), None]),
        (
            [Decimal("0.10"), Decimal("0.11"), Decimal(10), None],
            pa.decimal128(20, 2),
            decimal(2, 1),
            [Decimal("0.1"), "lost", "lost", None],
        ),
        ([Decimal(10**60), Decimal(7)], pa.decimal256(70, 0), decimal(38, 2), ["lost", Decimal(7)]),
        ([b"a", b""], pa.large_binary(), BINARY, [b"a", b""]),
        ([b"a", None], pa.binary(), STRING, ["a", None]),
        ([None, None], pa.null(), INT, [None, None]),
        (["a", "b", "a"], pa.dictionary(pa.int8(), pa.string()), STRING, ["a", "b", "a"]),
    ],
)
def test_a_value_that_would_be_changed_is_not_read(values, stored, declared, read):
    column, holds = converted(pa.chunked_array([pa.array(values, stored)]), declared)
    assert column.type == declared.arrow
    assert holds.to_pylist() == [value != "lost" for value in read]
    assert column.to_pylist() == [None if value == "lost" else value for value in read]


def test_nanoseconds_are_read_when_they_are_whole_microseconds():
    nanoseconds = pa.chunked_array([pa.array([1000, 1001, None], pa.timestamp("ns", "UTC"))])
    column, holds = converted(nanoseconds, TIMESTAMP)
    assert holds.to_pylist() == [True, False, True]
    assert column.cast(pa.int64()).to_pylist() == [1, None, None]


def test_a_date_is_the_instant_at_which_its_day_begins():
    column, _ = converted(pa.chunked_array([pa.array([1], pa.date32())]), TIMESTAMP)
    assert column.cast(pa.int64()).to_pylist() == [86_400_000_000]


def test_bytes_that_are_no_text_cannot_be_read():
    with pytest.raises(pa.ArrowInvalid, match="UTF8"):
        converted(pa.chunked_array([pa.array([b"\xff"])]), STRING)


def test_the_advice_can_be_followed():
    assert type_for(pa.dictionary(pa.int32(), pa.string())) == STRING
    assert why_unreadable("k", BOOLEAN, pa.decimal128(9, 2)) == (
        "column 'k' is declared BOOLEAN and stored as decimal128(9, 2); declare it as DECIMAL(9, 2)"
    )
    assert why_unreadable("k", BIGINT, pa.time32("ms")) == (
        "column 'k' is declared BIGINT and stored as time32[ms]; no type of Panes holds that: leave the column out"
    )
