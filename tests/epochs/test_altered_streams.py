"""Streams that are altered while queries read them."""

from __future__ import annotations

from datetime import UTC, datetime

import panes
from panes.testing import local


def just_after(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=1)


def insert(db: panes.Database, *times: int) -> None:
    db.sql("; ".join(f"INSERT INTO s (ts, k) VALUES ({ts}, 1)" for ts in times))
    db.run()


def times(answer: panes.Answer) -> list[int]:
    return sorted(row["ts"] for row in answer.to_pylist())


def test_a_stream_that_keeps_more_does_not_claim_what_it_did_not_keep(tmp_path):
    with local(tmp_path / "db") as db:
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
    with local(tmp_path / "db") as db:
        db.sql("ALTER STREAM s SET (retain = INTERVAL 1 SECOND)")
        insert(db, 40)
        answer = db.query(shared.name).invoke()
        assert (times(answer), answer.is_complete) == ([40], True)


def test_a_column_is_added_while_queries_run(tmp_path):
    def notes(answer: panes.Answer) -> dict[str | None, int]:
        return {row["note"]: row["n"] for row in answer.to_pylist()}

    counts = "SELECT note, count(*) AS n FROM s [RANGE 1 HOUR] GROUP BY note"
    with local(tmp_path / "db") as db:
        db.sql(
            "SET share_from = 1; CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS "
            "RETAIN INTERVAL 1 HOUR"
        )
        old = [
            db.register("SELECT ts FROM s [RANGE 1 HOUR] WHERE k = 1"),
            db.register("SELECT ts, k FROM s [RANGE 1 HOUR] WHERE k > 0"),
            db.register("SELECT max(ts) AS ts FROM s [RANGE 1 HOUR] WHERE k = 1 GROUP BY ts"),
        ]
        insert(db, 1, 3)
        insert(db, 2)  # late
        db.sql("INSERT INTO s (ts, k) VALUES (4, 1)")  # waits for an epoch
        db.start()
        db.sql("ALTER STREAM s ADD COLUMN note STRING")
        db.stop()
        new = db.register(counts)
        assert notes(new.invoke())[None] >= 2  # from the history
        db.sql("INSERT INTO s VALUES (5, 1, 'x'), (1, 1, 'late')")
        db.run()
        whole = {None: 4, "x": 1, "late": 1}
        assert notes(new.invoke()) == notes(db.sql(counts)) == whole
        assert db.late_rows("s").column("note").to_pylist() == [None, "late"]
        assert db.late_rows("s").column_names == ["ts", "k", "note"]
    with local(tmp_path / "db") as db:
        db.sql("INSERT INTO s VALUES (6, 1, 'x')")
        db.run()
        assert notes(db.query(new.name).invoke()) == notes(db.sql(counts)) == {None: 4, "x": 2, "late": 1}
        selected = [times(db.query(query.name).invoke()) for query in old]
        assert selected == [[1, 1, 2, 3, 4, 5, 6], [1, 1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]]
        assert db.query(old[1].name).invoke().table.column_names == ["ts", "k"]
