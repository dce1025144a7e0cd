"""A query gets another plan when a stream changes its rate, and its answers stay right."""

from __future__ import annotations

import duckdb
import pyarrow as pa

from benchmarks.drift import SQL, create, seconds
from panes import replanning
from panes.optimizer import drift
from panes.testing import local

ORACLE = """
    SELECT count(*), sum(a.v) FROM a, b, c
    WHERE a.x = b.x AND b.y = c.y AND a.ts <= $now AND $now < a.ts + $range
    AND b.ts <= $now AND $now < b.ts + $range AND c.ts <= $now AND $now < c.ts + $range"""


def test_a_rate_that_changes_tenfold_switches_the_plan_once_and_answers_stay_right(tmp_path, monkeypatch):
    # With few rows the part of the cost that each epoch has is large, and what a switch gains is small.
    monkeypatch.setattr(replanning, "LOOK_EVERY", 3)
    monkeypatch.setattr(drift, "MARGIN", 0.0)
    monkeypatch.setattr(drift, "LEAST_GAIN", 0.0)
    rates = {"a": 300, "b": 600, "c": 60}
    duck = duckdb.connect(config={"threads": 1})
    with local(tmp_path / "db") as db:
        create(db)
        for number, second in enumerate(seconds(24, rates, 1_000)):
            for name, rows in second.rows.items():
                db.push(name, rows)
                add(duck, name, rows)
            db.run()
            if number == 2:
                # The plan is chosen with the rates of the first half.
                db.register(SQL, name="q")
            if number > 2:
                answer = db.query("q").invoke()
                now = round(answer.as_of.timestamp() * 1e6)
                expected = duck.execute(ORACLE, {"now": now, "range": 8_000_000}).fetchall()
                assert [tuple(row.values()) for row in answer.to_pylist()] == expected, number
        plans = db.sql("SHOW PLANS q").to_pylist()
    assert [plan["shape"] for plan in plans] == ["γ((b ⋈ c) ⋈ a)", "γ((a ⋈ b) ⋈ c)"]
    _, second = plans
    assert second["cost_after"] < second["cost_before"]


def add(duck: duckdb.DuckDBPyConnection, name: str, rows: pa.Table) -> None:
    """Adds rows to the oracle's table."""
    duck.register("new_rows", rows)
    there = duck.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = ?", [name]).fetchall()
    duck.execute(f"INSERT INTO {name} FROM new_rows" if there else f"CREATE TABLE {name} AS FROM new_rows")
