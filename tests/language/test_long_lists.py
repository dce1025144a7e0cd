"""IN lists of many constants: one node in the plan, whatever their number."""

from __future__ import annotations

import pickle

import duckdb
import pytest

import panes
from panes.language import bind, parse
from panes.plan.expressions import Constants, walk
from panes.plan.nodes import Select
from panes.plan.types import BIGINT
from panes.plan.walk import walk as walk_plan
from panes.testing import local

STREAM = (
    "CREATE STREAM s (ts BIGINT, i INT, b BIGINT, d DOUBLE, f FLOAT, m DECIMAL(10, 2), t STRING, "
    "day DATE, moment TIMESTAMP, y BOOLEAN) TIMESTAMP BY ts SECONDS"
)

ROWS = [
    (1, 1, 1, 1.0, 1.5, "1.00", "a", "2026-01-01", "2026-01-01 10:00:00", True),
    (2, 2, 2**40, 2.5, 2.5, "2.50", "it's", "2026-01-02", "2026-01-02 00:00:00", False),
    (3, None, None, None, None, None, None, None, None, None),
    (4, 0, 0, -0.0, -0.0, "0.00", "", "2026-01-04", "2026-01-04 23:59:59", True),
]

LISTS = [
    "i IN (1, 5)",
    "i IN (1, NULL)",
    "i IN (2.5, 2.0)",
    "i IN (3000000000, 1)",
    "b IN (1099511627776, 7, 7)",
    "b IN (NULL)",
    "d IN (0, 2.5)",
    "d IN (0.0, NULL)",
    "f IN (1.5, 2)",
    "m IN (2.5, 1)",
    "m IN (2.505, 0)",
    "t IN ('a', 'it''s')",
    "t IN ('', NULL)",
    "day IN ('2026-01-01', '2026-01-04')",
    "day IN (DATE '2026-01-02', NULL)",
    "moment IN (TIMESTAMP '2026-01-02', TIMESTAMP '2026-01-01 10:00:00')",
    "y IN (TRUE, NULL)",
    "1 IN (1, 2)",
    "NULL IN (1, 2)",
]


def given(rows: list[tuple[object, ...]]) -> str:
    def text(value: object) -> str:
        return "NULL" if value is None else repr(value) if not isinstance(value, str) else quoted(value)

    def quoted(value: str) -> str:
        return "'" + value.replace("'", "''") + "'"

    return ", ".join(f"({', '.join(map(text, row))})" for row in rows)


@pytest.fixture(scope="module")
def db():
    with local() as opened:
        opened.sql(STREAM)
        values = given(ROWS).replace("'1.00'", "1.00").replace("'2.50'", "2.50").replace("'0.00'", "0.00")
        opened.sql("SET share_from = 100")
        opened.register("SELECT * FROM s [RANGE 1 HOUR]")
        opened.sql(f"INSERT INTO s VALUES {values}")
        opened.run()
        yield opened


@pytest.fixture(scope="module")
def oracle():
    connection = duckdb.connect()
    connection.sql(
        "CREATE TABLE s (ts BIGINT, i INT, b BIGINT, d DOUBLE, f FLOAT, m DECIMAL(10, 2), t VARCHAR, "
        "day DATE, moment TIMESTAMP, y BOOLEAN)"
    )
    connection.sql(f"INSERT INTO s VALUES {given(ROWS)}")
    return connection


@pytest.mark.parametrize("condition", LISTS)
def test_lists_mean_what_they_mean_in_duckdb(
    db: panes.Database, oracle: duckdb.DuckDBPyConnection, condition
):
    expected = dict(oracle.sql(f"SELECT ts, {condition} FROM s").fetchall())
    negated = dict(oracle.sql(f"SELECT ts, NOT ({condition}) FROM s").fetchall())
    left, right = condition.split(" IN ", 1)
    text = f"SELECT ts, {condition} AS a, {left} NOT IN {right} AS n FROM s [RANGE 1 HOUR]"
    standing = db.register(text)
    for answer in (standing.invoke().to_pylist(), db.sql(text).to_pylist()):
        assert {row["ts"]: row["a"] for row in answer} == expected
        assert {row["ts"]: row["n"] for row in answer} == negated
    chosen = db.register(f"SELECT ts FROM s [RANGE 1 HOUR] WHERE {condition}")
    assert {r["ts"] for r in chosen.invoke().to_pylist()} == {ts for ts, is_in in expected.items() if is_in}


@pytest.mark.parametrize(("column", "item"), [("b", "7"), ("t", "'x'"), ("m", "1.5"), ("b", "NULL")])
def test_a_long_list_is_one_node(db: panes.Database, column, item):
    text = f"SELECT ts FROM s [RANGE 1 HOUR] WHERE {column} NOT IN ({', '.join([item] * 5000)})"
    (query,) = parse(text)
    plan = bind(query, db._connection.catalog)
    (predicate,) = [node.predicate for node in walk_plan(plan) if isinstance(node, Select)]
    assert [type(node).__name__ for node in walk(predicate)] == ["Call", "Call", "Column", "Constants"]


def test_the_constants_of_a_list_are_sent_without_what_is_remembered_of_them():
    constants = Constants(BIGINT, tuple(range(1000)))
    size = len(pickle.dumps(constants))
    assert (hash(constants), str(constants)[:7], constants.scalar[999].as_py()) == (
        hash(constants),
        "0, 1, 2",
        999,
    )
    assert len(pickle.dumps(constants)) == size
    assert pickle.loads(pickle.dumps(constants)) == constants
