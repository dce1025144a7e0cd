"""Plans as SQL; what the SQL means is tested where it is compared with the operators."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

import pytest

from panes.plan.expressions import Call, Column, Literal
from panes.plan.functions import FUNCTIONS
from panes.plan.nodes import AntiJoin, Dstream, Join, Project, Select, StreamScan, TableScan, Union
from panes.plan.schema import Schema
from panes.plan.sql_functions import _SPECIAL, _TEMPLATES
from panes.plan.to_sql import expression_sql, literal_sql, quoted, to_sql
from panes.plan.types import BIGINT, BOOLEAN, DATE, DOUBLE, INTERVAL, STRING, TIMESTAMP, Type

A = StreamScan("s", "a", Schema.of([("a.k", BIGINT)]))
B = StreamScan("s", "b", Schema.of([("b.k", BIGINT)]))
RELATIONS = {A: "SELECT * FROM a", B: "SELECT * FROM b"}


def test_every_function_has_its_sql() -> None:
    assert _TEMPLATES.keys() | _SPECIAL.keys() == FUNCTIONS.keys()
    assert not _TEMPLATES.keys() & _SPECIAL.keys()


def test_hidden_columns_are_handed_through() -> None:
    plan = Union(Project(A, (("x", Column(BIGINT, "a.k")),)), Project(B, (("x", Column(BIGINT, "b.k")),)))
    assert to_sql(plan, RELATIONS, hidden=("_ts",)) == (
        '(SELECT "a.k" AS "x", "_ts" FROM (SELECT * FROM a)) UNION ALL '
        '(SELECT "b.k" AS "x", "_ts" FROM (SELECT * FROM b))'
    )


def test_columns_of_a_join_are_read_from_their_side() -> None:
    plan = Join(A, B, ("a.k",), ("b.k",), Call(BOOLEAN, "lt", (Column(BIGINT, "a.k"), Column(BIGINT, "b.k"))))
    sql = to_sql(plan, RELATIONS)
    assert sql.endswith('ON l."a.k" = r."b.k" AND ((l."a.k" < r."b.k"))')


def test_a_lookup_reads_the_versions_of_the_time_of_its_rows() -> None:
    table = TableScan("n", "n", Schema.of([("n.k", BIGINT)]), retroactive=False, stream="s")
    left = StreamScan("s", "a", Schema.of([("a.k", BIGINT), ("a._time", BIGINT)]))
    right = Project(table, (("n.k", Column(BIGINT, "n.k")),))
    relations = {left: "SELECT * FROM a", table: "SELECT * FROM versions"}
    versions = 'SELECT "n.k" AS "n.k", "_ts", "_exp" FROM (SELECT * FROM versions)'
    at_its_time = 'r._ts <= l."a._time" AND l."a._time" < r._exp'
    assert to_sql(Join(left, right, ("a.k",), ("n.k",), time="a._time"), relations, ("_ts",)) == (
        f'SELECT l.*, r."n.k" FROM (SELECT * FROM a) l JOIN ({versions}) r ON l."a.k" = r."n.k" AND {at_its_time}'
    )
    assert to_sql(AntiJoin(left, right, ("a.k",), ("n.k",), time="a._time", null_aware=True), relations) == (
        f"SELECT * FROM (SELECT * FROM a) l WHERE NOT EXISTS (SELECT 1 FROM ({versions}) r WHERE "
        f'(l."a.k" = r."n.k" OR l."a.k" IS NULL OR r."n.k" IS NULL) AND {at_its_time})'
    )


def test_product_has_no_condition() -> None:
    assert to_sql(Join(A, B, (), ()), RELATIONS).endswith("ON TRUE")


@pytest.mark.parametrize(
    ("value", "type_", "sql"),
    [
        (None, STRING, "CAST(NULL AS VARCHAR)"),
        (3, BIGINT, "CAST('3' AS BIGINT)"),
        (True, BOOLEAN, "CAST('True' AS BOOLEAN)"),
        (float("inf"), DOUBLE, "CAST('inf' AS DOUBLE)"),
        ("it's", STRING, "CAST('it''s' AS VARCHAR)"),
        (date(2024, 2, 29), DATE, "DATE '2024-02-29'"),
        (
            datetime(2024, 1, 1, 3, tzinfo=timezone(timedelta(hours=2))),
            TIMESTAMP,
            "TIMESTAMP '2024-01-01 01:00:00'",
        ),
        (timedelta(seconds=1), INTERVAL, "CAST(1000000 AS BIGINT)"),
    ],
)
def test_literal(value: object, type_: Type, sql: str) -> None:
    assert literal_sql(value, type_) == sql  # type: ignore[arg-type]


def test_name_with_a_quote_stays_one_name() -> None:
    assert quoted('a"b') == '"a""b"'


def test_selection_is_a_condition() -> None:
    plan = Select(A, Call(BOOLEAN, "is_null", (Column(BIGINT, "a.k"),)))
    assert to_sql(plan, RELATIONS) == 'SELECT * FROM (SELECT * FROM a) WHERE ("a.k" IS NULL)'
    assert expression_sql(Literal(BIGINT, 1)) == "CAST('1' AS BIGINT)"


def test_output_stream_has_no_sql() -> None:
    with pytest.raises(TypeError, match="Dstream is not a relation"):
        to_sql(Dstream(A), RELATIONS)
