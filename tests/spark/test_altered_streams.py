"""Streams that are altered while queries read them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import panes

pytestmark = pytest.mark.spark


def just_after(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=1)


def insert(db: panes.Database, *times: int) -> None:
    db.sql("; ".join(f"INSERT INTO s (ts, k) VALUES ({ts}, 1)" for ts in times))
    db.run()


def times(answer: panes.Answer) -> list[int]:
    return sorted(row["ts"] for row in answer.to_pylist())


def test_a_stream_that_keeps_more_does_not_claim_what_it_did_not_keep(spark, tmp_path):
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql("SET share_from = 1; CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS")
        insert(db, 1, 5)  # kept for nobody
        short = db.register("SELECT ts FROM s [RANGE 2 SECONDS] WHERE k = 1")
        insert(db, 7, 9)
        db.sql("ALTER STREAM s SET (retain = INTERVAL 1 HOUR)")
        insert(db, 10)
        alone = db.register("SELECT count(*) AS n FROM s [RANGE 20 SECONDS]")
        shared = db.register("SELECT ts FROM s [RANGE 20 SECONDS] WHERE k = 1")
        insert(db, 12)
        # The history has all from when a query made the stream keep it, the store of the group may have less.
        assert alone.invoke().complete_from == just_after(5)
        assert shared.invoke().complete_from == just_after(8)
        assert times(short.invoke()) == [12]
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql("ALTER STREAM s SET (retain = INTERVAL 1 SECOND)")
        insert(db, 40)
        answer = db.query(shared.name).invoke()
        assert (times(answer), answer.is_complete) == ([40], True)
