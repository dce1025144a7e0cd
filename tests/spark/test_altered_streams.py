"""Streams that are altered while queries read them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import panes

pytestmark = pytest.mark.spark


def at(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def insert(db: panes.Database, *times: int) -> None:
    """One epoch in the background, whose clock stays behind by the slack."""
    values = ", ".join(f"({ts}, 1)" for ts in times)
    db.sql(f"INSERT INTO s VALUES {values}")
    db.run()


def kept(db: panes.Database, seconds: int) -> list[int]:
    """What a query that is asked once finds of the last seconds."""
    answer = db.sql(f"SELECT ts FROM s [RANGE {seconds} SECONDS]")
    return sorted(row["ts"] for row in answer.to_pylist())


@pytest.mark.parametrize("share_from", [1, 100])
def test_retain_may_grow_and_shrink_and_nothing_comes_back(spark, tmp_path, share_from):
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql(
            f"SET share_from = {share_from}; CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS "
            "RETAIN INTERVAL 5 SECONDS"
        )
        first = db.register("SELECT ts FROM s [RANGE 4 SECONDS] WHERE k = 1")
        insert(db, 1, 2)
        insert(db, 9)
        insert(db, 10)
        db.sql("ALTER STREAM s SET (retain = INTERVAL 20 SECONDS)")
        insert(db, 12)
        with pytest.raises(
            panes.errors.SqlError, match="s no longer keeps what came up to 1970-01-01T00:00:02"
        ):
            kept(db, 20)
        late = db.register("SELECT ts FROM s [RANGE 20 SECONDS] WHERE k = 1")
        insert(db, 14)
        answer = late.invoke()
        assert sorted(row["ts"] for row in answer.to_pylist()) == [9, 10, 12, 14]
        assert not answer.is_complete
        insert(db, 30)
        assert late.invoke().is_complete
        assert kept(db, 19) == [12, 14, 30]
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql("ALTER STREAM s SET (retain = INTERVAL 1 SECOND)")
        insert(db, 31)
        insert(db, 32)
        with pytest.raises(panes.errors.SqlError, match="s no longer keeps"):
            kept(db, 19)
        assert sorted(row["ts"] for row in db.query(first.name).invoke().to_pylist()) == [30, 31, 32]
        assert len(db.query(late.name).invoke()) == 4
