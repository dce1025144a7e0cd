"""Rows that come after a run and are not later than its last tuple."""

from __future__ import annotations

import panes


def test_rows_up_to_the_last_tuple_of_a_run_come_late_and_count_when_the_clock_moves_on(spark, tmp_path):
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql("CREATE STREAM visits (ts BIGINT, who STRING) TIMESTAMP BY ts SECONDS SLACK INTERVAL 1 HOUR")
        here = db.register("SELECT who FROM visits [RANGE 30 SECONDS]", name="here")
        db.push("visits", [{"ts": 30, "who": "ann"}])
        db.run()
        db.push("visits", [{"ts": 30, "who": "bob"}, {"ts": 20, "who": "cleo"}, {"ts": -9, "who": "dora"}])
        db.run()
        assert sorted(row["who"] for row in db.late_rows("visits").to_pylist()) == ["bob", "cleo", "dora"]
        assert db.status().streams["visits"].late == 3
        # The answer at 30 s has been given; the late rows count from the next instant on.
        assert names(here) == ["ann"]
        db.push("visits", [{"ts": 40, "who": "eve"}])
        db.run()
        # The lifetime of dora's row has passed.
        assert names(here) == ["ann", "bob", "cleo", "eve"]
        assert db.status().streams["visits"].late == 3


def names(query: panes.Query) -> list[str]:
    return sorted(row["who"] for row in query.invoke().to_pylist())
