"""Parameters: values that stand for constants, wherever a constant can stand."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as draw

from panes.errors import SqlError
from panes.language import Parameters, bind_insert, parse
from panes.language import statements as st
from panes.language.binder.bind_insert import BoundValues
from tests.language.corpus import read_catalog

HEAD = "SELECT a FROM s [NOW] WHERE "


def condition(text: str, parameters: Parameters) -> str:
    """The canonical text of a condition."""
    (statement,) = parse(HEAD + text, parameters)
    return statement.sql.removeprefix(HEAD)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "NULL"),
        (True, "TRUE"),
        (np.bool_(False), "FALSE"),
        (5, "5"),
        (-5, "-5"),
        (-(2**63), "-9223372036854775808"),
        (np.int64(7), "7"),
        (1.5, "1.5"),
        (-0.0, "-0.0"),
        (1e-07, "1e-07"),
        (1e22, "1e+22"),
        (np.float32(0.5), "0.5"),
        (Decimal("-1.50"), "CAST('-1.50' AS DECIMAL(3, 2))"),
        (Decimal("1E+3"), "CAST('1000' AS DECIMAL(4, 0))"),
        (Decimal("0.001"), "CAST('0.001' AS DECIMAL(3, 3))"),
        (Decimal(0), "CAST('0' AS DECIMAL(1, 0))"),
        (b"\x00\xff", "x'00ff'"),
        (b"", "x''"),
        ("it's", "'it''s'"),
        ("'); DROP TABLE t --", "'''); DROP TABLE t --'"),
        (np.str_("x"), "'x'"),
        (date(2026, 1, 31), "CAST('2026-01-31' AS DATE)"),
        (datetime(26, 1, 31, 12), "CAST('0026-01-31 12:00:00' AS TIMESTAMP)"),
        (datetime(2026, 1, 31, 12, tzinfo=UTC), "CAST('2026-01-31 12:00:00' AS TIMESTAMP)"),
        (
            datetime(2026, 1, 31, 12, 0, 0, 5, tzinfo=timezone(timedelta(hours=2))),
            "CAST('2026-01-31 10:00:00.000005' AS TIMESTAMP)",
        ),
        (pd.Timestamp("2026-01-31 12:00"), "CAST('2026-01-31 12:00:00' AS TIMESTAMP)"),
        (np.datetime64("2026-01-31T12:00:00.000000001", "h"), "CAST('2026-01-31 12:00:00' AS TIMESTAMP)"),
        (np.datetime64("NaT"), "NULL"),
        (pd.NaT, "NULL"),
        (pd.NA, "NULL"),
        (timedelta(minutes=90), "INTERVAL 90 MINUTES"),
        (np.timedelta64(1500, "ms"), "INTERVAL 1500 MILLISECONDS"),
    ],
    ids=repr,
)
def test_value_becomes_a_constant(value: object, written: str) -> None:
    assert condition("a = ?", [value]) == f"a = {written}"
    assert condition("a = :value", {"value": value}) == f"a = {written}"


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ([1, 2], "parameter 1: a value of type list is no constant"),
        (NotImplemented, "parameter 1: a value of type NotImplementedType is no constant"),
        (float("nan"), "NaN and infinity cannot be written"),
        (Decimal(10) ** 38, "at most 38 digits"),
        (Decimal("Infinity"), "NaN and infinity cannot be written"),
        (np.float64("-inf"), "NaN and infinity cannot be written"),
        (timedelta(seconds=-1), "a length of time is not negative"),
        (np.timedelta64(1, "ns"), "not a whole number of microseconds"),
        (np.datetime64("2026-01-31T12:00:00.000000001", "ns"), "not a whole number of microseconds"),
        (pd.Timestamp("2026-01-31 12:00:00.000000001"), "not a whole number of microseconds"),
        (pd.Timedelta(1, "ns"), "not a whole number of microseconds"),
        (datetime.min.replace(tzinfo=timezone(timedelta(hours=2))), "before the year 1"),
        ("\ud800", "a character that is no text"),
        ("x" * 500_001, "longer than 500000 characters"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_value_that_is_no_constant_is_refused_where_it_stands(value: object, problem: str) -> None:
    with pytest.raises(SqlError, match=problem) as refused:
        parse("SELECT a\nFROM s [NOW] WHERE a = ?", [value])
    assert (refused.value.line, refused.value.column) == (2, 24)


@pytest.mark.parametrize(
    ("text", "parameters", "problem", "column"),
    [
        ("a > ?", None, "this parameter has no value", 5),
        ("a > :x", None, "this parameter has no value", 5),
        ("a > ? AND b > ?", [1], "this is parameter 2, and 1 value is given", 15),
        ("a > ?", [], "this is parameter 1, and 0 values are given", 5),
        ("a > ? AND b > :x", {"x": 1}, r"values for \? come in a list", 5),
        ("a > ? AND b > :x", [1], r"parameters of one kind: \? or :name", 15),
        ("a > :x AND b > ?", {"x": 1}, r"parameters of one kind: \? or :name", 16),
        ("a > :x", [1], "values for :name come in a dictionary", 5),
        ("a > :limt", {"limit": 1}, "there is no value for :limt", 5),
    ],
)
def test_parameter_without_a_value_is_refused_where_it_stands(
    text: str, parameters: Parameters | None, problem: str, column: int
) -> None:
    with pytest.raises(SqlError, match=problem) as refused:
        parse(HEAD + text, parameters)
    assert refused.value.column == len(HEAD) + column


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ([1, 2], "the text has 1 parameter, and 2 values are given"),
        ("x", "parameters are a list or a dictionary, not of type str"),
        (5, "parameters are a list or a dictionary, not of type int"),
    ],
)
def test_values_that_the_text_does_not_have_are_refused(parameters: Parameters, problem: str) -> None:
    with pytest.raises(SqlError, match=problem):
        parse(f"{HEAD} a > ?", parameters)


def test_a_name_that_the_text_does_not_have_is_refused() -> None:
    with pytest.raises(SqlError, match="the text has no parameter :y"):
        parse(f"{HEAD} a > :x", {"x": 1, "y": 2})


def test_one_name_may_stand_twice() -> None:
    assert condition("a > :x AND b < :x", {"x": 1}) == "a > 1 AND b < 1"


def test_a_name_may_be_a_keyword() -> None:
    assert condition("a > :in AND b=:from", {"in": 1, "from": 2}) == "a > 1 AND b = 2"


def test_casts_strings_names_and_comments_have_no_parameters() -> None:
    text = """a::INT = 1 AND b = ':x ?' AND ":y" = 2 AND "?" = 3 -- :z ?\n /* ? :z */"""
    assert condition(text, []).startswith("""CAST(a AS INT) = 1 AND b = ':x ?' AND ":y" = 2 AND "?" = 3""")


def test_a_colon_behind_an_operand_begins_no_parameter() -> None:
    with pytest.raises(SqlError, match="found ':'"):
        parse("SELECT a:b FROM s [NOW]")


def test_a_question_mark_is_no_operator() -> None:
    with pytest.raises(SqlError, match="expected FROM"):
        parse("SELECT a ? b FROM s [NOW]", [1])


def test_a_sign_belongs_to_the_value_that_is_cast() -> None:
    assert condition("a = ?::INT", [-(2**31)]) == "a = CAST((-2147483648) AS INT)"


def test_parameters_count_through_all_statements_of_a_text() -> None:
    statements = parse("INSERT INTO t VALUES (?, ?); DELETE FROM t WHERE a = ?", [1, "x", 2])
    assert [statement.sql for statement in statements] == [
        "INSERT INTO t VALUES (1, 'x')",
        "DELETE FROM t WHERE a = 2",
    ]


@pytest.mark.parametrize(
    ("text", "parameters", "canonical"),
    [
        ("SELECT a FROM s [RANGE ? SECONDS]", [5], "SELECT a FROM s [RANGE 5 SECONDS]"),
        ("SELECT a FROM s [RANGE ?]", [timedelta(minutes=5)], "SELECT a FROM s [RANGE 5 MINUTES]"),
        ("SELECT a FROM s [RANGE INTERVAL ?]", [timedelta(seconds=1)], "SELECT a FROM s [RANGE 1 SECOND]"),
        ("SELECT a FROM s [ROWS ?]", [np.int32(9)], "SELECT a FROM s [ROWS 9]"),
        ("SET shards = ?", [3], "SET shards = 3"),
        ("COPY t FROM ? WITH (header = ?)", ["a.csv", True], "COPY t FROM 'a.csv' WITH (header = TRUE)"),
        (
            "DELETE FROM t AT TIMESTAMP ?",
            [datetime(2126, 1, 31)],
            "DELETE FROM t AT TIMESTAMP '2126-01-31 00:00:00'",
        ),
        (
            "CREATE STREAM s (a INT) SLACK ? FROM FILES ?",
            [timedelta(seconds=2), "in"],
            "CREATE STREAM s (a INT) SLACK INTERVAL 2 SECONDS FROM FILES 'in'",
        ),
    ],
)
def test_parameters_stand_wherever_constants_do(text: str, parameters: Parameters, canonical: str) -> None:
    (statement,) = parse(text, parameters)
    assert statement.sql == canonical


@settings(max_examples=200, deadline=None)
@given(
    draw.tuples(
        draw.none() | draw.integers(-(2**63), 2**63 - 1),
        draw.none() | draw.text(max_size=20),
        draw.none() | draw.floats(allow_nan=False, allow_infinity=False),
        draw.none() | draw.booleans(),
        draw.none() | draw.dates(),
        draw.none() | draw.binary(max_size=5),
        draw.none() | draw.decimals(-(10**10), 10**10, places=3),
        draw.none() | draw.datetimes(timezones=draw.just(UTC)),
    )
)
def test_what_was_given_is_what_is_inserted(values: tuple[object, ...]) -> None:
    catalog = read_catalog(
        "CREATE TABLE t (i BIGINT, s STRING, d DOUBLE, b BOOLEAN, a DATE, x BINARY, "
        "m DECIMAL(20, 3), at TIMESTAMP)"
    )
    (insert,) = parse("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
    (again,) = parse(insert.sql)
    for statement in (insert, again):
        assert isinstance(statement, st.InsertInto)
        insert = bind_insert(statement, catalog)
        assert isinstance(insert, BoundValues)
        assert insert.rows == (values,)
