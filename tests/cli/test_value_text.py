from __future__ import annotations

import math
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from panes.cli.value_text import exact, text, texts

INSTANTS = pa.timestamp("us", tz="UTC")
NOON = 1_767_268_800_000_000


def column(values: list, kind: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, kind)])


@pytest.mark.parametrize("number", [1e-9, 0.1 + 0.2, 1e300, -0.0, 2.0, 5e-324, 123456789.123456789])
def test_a_double_has_the_digits_that_give_it_again(number: float):
    assert float(text(number)) == number
    assert text(number) == repr(number)


def test_doubles_that_are_no_numbers_have_names():
    values = column([math.nan, math.inf, -math.inf, None], pa.float64())
    assert texts(values) == ["NaN", "Infinity", "-Infinity", "NULL"]
    assert exact(values) == ["NaN", "Infinity", "-Infinity", None]


def test_instants_have_their_zone_and_microseconds_when_there_are_any():
    values = column([NOON, NOON + 250, None], INSTANTS)
    assert texts(values) == ["2026-01-01 12:00:00 UTC", "2026-01-01 12:00:00.000250 UTC", "NULL"]
    assert exact(values) == ["2026-01-01T12:00:00Z", "2026-01-01T12:00:00.000250Z", None]


def test_instants_and_dates_beyond_the_years_of_python_are_shown():
    assert texts(column([10**18], INSTANTS)) == ["33658-09-27 01:46:40 UTC"]
    assert exact(column([10**18], INSTANTS)) == ["33658-09-27T01:46:40Z"]
    assert texts(pa.chunked_array([pa.array([4_000_000], pa.int32()).cast(pa.date32())])) == ["12921-08-18"]


@pytest.mark.parametrize(
    ("kind", "values", "shown", "as_json"),
    [
        (pa.bool_(), [True, False, None], ["true", "false", "NULL"], [True, False, None]),
        (pa.int64(), [2**62 + 1, None], ["4611686018427387905", "NULL"], [2**62 + 1, None]),
        (pa.date32(), [0, None], ["1970-01-01", "NULL"], ["1970-01-01", None]),
        (
            pa.duration("us"),
            [90_061_000_000, -1, None],
            ["1 day 01:01:01", "-00:00:00.000001", "NULL"],
            ["P1DT3661S", "-PT0.000001S", None],
        ),
        (
            pa.list_(pa.string()),
            [["a", None, "it's"], [], None],
            ["['a', NULL, 'it''s']", "[]", "NULL"],
            [["a", None, "it's"], [], None],
        ),
        (
            pa.struct([("k", pa.string()), ("n", pa.int64())]),
            [{"k": "x", "n": 2}],
            ["{k: 'x', n: 2}"],
            [{"k": "x", "n": 2}],
        ),
        (
            pa.list_(INSTANTS),
            [[NOON]],
            ["[2026-01-01 12:00:00 UTC]"],
            [["2026-01-01T12:00:00Z"]],
        ),
        (pa.list_(pa.float64()), [[math.nan, 0.5]], ["[NaN, 0.5]"], [["NaN", 0.5]]),
        (pa.null(), [None], ["NULL"], [None]),
        (pa.string(), ["", "NULL", None], ["", "NULL", "NULL"], ["", "NULL", None]),
        (pa.binary(), [b"\x00\xff"], ["\\x00ff"], ["00ff"]),
    ],
    ids=str,
)
def test_every_type_has_a_text_for_people_and_an_exact_one(kind, values, shown, as_json):
    assert texts(column(values, kind)) == shown
    assert exact(column(values, kind)) == as_json


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("one\ntwo\r\n\tthree", "one\\ntwo\\r\\n\\tthree"),
        ("\x1b]0;owned\x07\x1b[31m", "\\x1b]0;owned\\x07\\x1b[31m"),
        ("\x9b31m\x7f\x00", "\\x9b31m\\x7f\\x00"),
        ("abc\u202edef\u2066", "abc\\u202edef\\u2066"),
        ("line\u2028paragraph\u2029", "line\\u2028paragraph\\u2029"),
        ("\ufeffx\U000e0041", "\\ufeffx\\U000e0041"),
        ("naïve 東京 👩‍👩‍👧 a\u00a0b", "naïve 東京 👩‍👩‍👧 a\u00a0b"),
        ("C:\\new", "C:\\new"),
    ],
)
def test_what_would_act_on_the_terminal_is_written_out(words: str, shown: str):
    assert text(words) == shown


def test_the_zone_of_a_moment_is_utc():
    assert text(datetime(2026, 1, 1, 12, tzinfo=UTC)) == "2026-01-01 12:00:00 UTC"
