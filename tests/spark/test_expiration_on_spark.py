"""The ways for time to reach operators, side by side on Spark."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import panes
from panes.clock import HandClock, to_microseconds
from panes.database import Database
from panes.errors import SettingError

SECOND = 1_000_000
STREAM = "CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS"
COUNT = "SELECT count(*) AS n FROM s [RANGE 5 SECONDS] WHERE k > 3"


def rows(*tuples):
    return [{"ts": ts, "k": k} for ts, k in tuples]


def test_an_input_triggered_count_is_late_until_a_tuple_passes_and_the_others_are_exact(spark, tmp_path):
    #  second        1  2  3  4  5  6  7  8  9  10     window of 5
    #  k             4  5  5        1     2     7
    ways = ("piggyback", "negative", "time_message", "input_triggered")
    clock = HandClock(100 * SECOND)
    with Database(tmp_path / "db", spark=spark, clock=clock) as db:
        db.sql(STREAM)
        for way in ways:
            db.sql(f"CREATE QUERY {way} WITH (expiration = '{way}') AS {COUNT}")
        for way in ways[2:]:
            assert f"expiration '{way}'" in db.query(way).explain()

    def told(*tuples):
        with Database(tmp_path / "db", spark=spark, clock=clock) as db:
            db.push("s", rows(*tuples))
            db.run()
            found = [db.query(way).invoke() for way in ways]
            if db.status().queries["input_triggered"].delayed:
                delays.append(db.status().queries["input_triggered"].max_delay_us / SECOND)
            return [(a.to_pylist()[0]["n"], to_microseconds(a.as_of) // SECOND) for a in found]

    delays = []
    assert told((1, 4), (2, 5), (3, 5)) == [(3, 3)] * 4
    assert told((6, 1)) == [(2, 6), (2, 6), (2, 6), (3, 3)]
    assert told((8, 2)) == [(0, 8), (0, 8), (0, 8), (3, 3)]
    assert told((10, 7)) == [(1, 10), (1, 10), (1, 10), (1, 10)]
    with Database(tmp_path / "db", spark=spark, clock=clock) as db:
        changes = [change.table.to_pylist() for change in db.query("input_triggered").changes(reader="r")]
        held = sum(row["n"] * row["_weight"] for table in changes for row in table)
        assert held == 1
        assert db.query("input_triggered").invoke(as_of=datetime.fromtimestamp(3, UTC)).to_pylist() == [
            {"n": 3}
        ]
    assert delays, "how late the changes were seen is told"


def test_a_way_that_there_is_not_is_refused(tmp_path):
    with (
        panes.connect(tmp_path / "db") as db,
        pytest.raises(SettingError, match="'input_triggered', not 'global'"),
    ):
        db.sql("SET expiration = 'global'")
