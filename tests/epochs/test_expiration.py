"""The ways for time to reach operators, side by side on Spark."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import panes
from panes.clock import HandClock, to_microseconds
from panes.errors import SettingError
from panes.testing import local

SECOND = 1_000_000
STREAM = "CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS"
COUNT = "SELECT count(*) AS n FROM s [RANGE 5 SECONDS] WHERE k > 3"


def rows(*tuples):
    return [{"ts": ts, "k": k} for ts, k in tuples]


def test_an_input_triggered_count_is_late_until_a_tuple_passes_and_the_others_are_exact(tmp_path):
    #  second        1  2  3  4  5  6  7  8  9  10     window of 5
    #  k             4  5  5        1     2     7
    ways = ("piggyback", "negative", "time_message", "input_triggered")
    clock = HandClock(100 * SECOND)
    with local(tmp_path / "db", clock=clock) as db:
        db.sql(STREAM)
        for way in ways:
            db.sql(f"CREATE QUERY {way} WITH (expiration = '{way}') AS {COUNT}")
        for way in ways[2:]:
            assert f"expiration '{way}'" in db.query(way).explain()

    def told(*tuples):
        with local(tmp_path / "db", clock=clock) as db:
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
    with local(tmp_path / "db", clock=clock) as db:
        changes = [change.table.to_pylist() for change in db.query("input_triggered").changes(reader="r")]
        held = sum(row["n"] * row["_weight"] for table in changes for row in table)
        assert held == 1
        assert db.query("input_triggered").invoke(as_of=datetime.fromtimestamp(3, UTC)).to_pylist() == [
            {"n": 3}
        ]
    assert delays, "how late the changes were seen is told"


def test_messages_pass_a_join_whose_results_are_grouped_by_another_key(tmp_path):
    #  second        1  2  3  4  5  6  7  8  9      windows of 5
    #  s             1  2  3     4     5
    #  t                2     1                     join with s until 7 and 6
    clock, ways = HandClock(100 * SECOND), ("piggyback", "time_message")
    s, t = {1: 1, 2: 2, 3: 3, 5: 4, 7: 5}, {2: 2, 4: 1}
    windows = "s [RANGE 5 SECONDS] AS a, t [RANGE 5 SECONDS] AS b"
    with local(tmp_path / "db", clock=clock) as db:
        db.sql(STREAM)
        db.sql("CREATE STREAM t (ts BIGINT, k BIGINT, v BIGINT) TIMESTAMP BY ts SECONDS")
        for way in ways:
            made = f"CREATE QUERY {way} WITH (expiration = '{way}') AS"
            db.sql(f"{made} SELECT b.v, count(*) AS n FROM {windows} WHERE a.k = b.k GROUP BY b.v")
    told = {}
    for shards, ends in ((2, (2, 4)), (3, (6, 8, 9))):
        with local(tmp_path / "db", clock=clock) as db:
            db.sql(f"SET shards = {shards}")
            for end in ends:
                at = range(max(told, default=0) + 1, end + 1)
                db.push("s", [{"ts": ts, "k": s.get(ts, 0)} for ts in at])
                db.push("t", [{"ts": ts, "k": t.get(ts, -1), "v": t.get(ts, -1) % 2} for ts in at])
                db.run()
                found = [db.query(way).invoke().to_pylist() for way in ways]
                assert found[0] == found[1]
                told[end] = sorted((row["v"], row["n"]) for row in found[1])
            assert db.status().measured["time_message"].messages > 0
    assert told == {2: [(0, 1)], 4: [(0, 1), (1, 1)], 6: [(0, 1)], 8: [], 9: []}


def test_a_way_that_there_is_not_is_refused(tmp_path):
    with (
        panes.connect(tmp_path / "db") as db,
        pytest.raises(SettingError, match="'input_triggered', not 'global'"),
    ):
        db.sql("SET expiration = 'global'")
