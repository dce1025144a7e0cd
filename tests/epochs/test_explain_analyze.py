"""EXPLAIN ANALYZE: what tasks reported of every step, kept over restarts."""

from __future__ import annotations

import json
from pathlib import Path

import panes
from panes.testing import local

STREAM = "CREATE STREAM s (at BIGINT, k BIGINT, v BIGINT) TIMESTAMP BY at SECONDS"
SELECTED = "SELECT k, count(*) AS n FROM s [RANGE 10 SECONDS SLIDE 1 SECOND] WHERE v > 1 GROUP BY k"
PAIRS = "SELECT x.k FROM s [RANGE 5 SECONDS] x, s [RANGE 5 SECONDS] y WHERE x.k = y.k AND x.v < y.v"


def rows(first: int, count: int) -> list[dict[str, int]]:
    return [{"at": first + n, "k": n % 3, "v": n % 4} for n in range(count)]


def steps_in(data):
    yield data
    for below in data["inputs"]:
        yield from steps_in(below)


def measured(db: panes.Database, name: str) -> dict[str, dict[str, float]]:
    data = json.loads(db.sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {name}"))
    return {s["does"]: s["measured"]["last"] for s in steps_in(data["plan"]) if "measured" in s}


def test_steps_tell_what_they_did_also_after_a_restart(tmp_path: Path) -> None:
    with local(tmp_path / "db") as db:
        db.sql(STREAM)
        db.register(SELECTED, name="selected")
        db.register(PAIRS, name="pairs")
        text = db.query("selected").explain(analyze=True)
        assert "measured: nothing yet" in text
        db.push("s", rows(1, 40))
        db.run()
        db.push("s", rows(50, 20))
        db.run()
        found = measured(db, "selected")
        # The last epoch moves the clock alone: what came, came in the one before it.
        assert found["Group by s.k: count(*)"]["state_rows"] > 0
        totals = db.status().measured
        assert totals["selected"].cpu_us > 0
        assert totals["pairs"].state_bytes > 0
        text = db.query("pairs").explain(analyze=True)
    with local(tmp_path / "db") as db:
        assert db.query("pairs").explain(analyze=True) == text
        assert measured(db, "selected") == found


def test_rows_are_counted_at_every_step(tmp_path: Path) -> None:
    with local(tmp_path / "db") as db:
        db.sql(STREAM)
        db.register(SELECTED, name="selected")
        db.push("s", rows(1, 40))
        db.run()
        data = json.loads(db.sql("EXPLAIN (ANALYZE, FORMAT JSON) selected"))
        steps = {s["does"]: s["measured"]["average"] for s in steps_in(data["plan"]) if "measured" in s}
        # The first epoch does not count to the average, and the second brings no rows.
        assert steps["Stream s"]["rows_in"] == 0
        for first in (50, 100, 150):
            db.push("s", rows(first, 40))
            db.run()
        data = json.loads(db.sql("EXPLAIN (ANALYZE, FORMAT JSON) selected"))
        steps = {s["does"]: s["measured"]["average"] for s in steps_in(data["plan"]) if "measured" in s}
        assert steps["Stream s"]["rows_in"] == 2 * steps["Select s.v > 1"]["positive"] > 0
        assert steps["Sum per lifetime and group"]["rows_in"] == steps["Select s.v > 1"]["positive"]
