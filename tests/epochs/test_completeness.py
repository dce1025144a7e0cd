"""A query that begins when older tuples are gone says so until its windows have filled."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import panes
from panes.testing import local


def at(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def just_after(seconds: int) -> datetime:
    return at(seconds).replace(microsecond=1)


def push(db: panes.Database, *times: int) -> None:
    db.push("s", [{"ts": ts, "k": 1} for ts in times])
    db.run()


@pytest.mark.parametrize("share_from", [1, 100])
def test_a_query_that_comes_later_says_that_it_is_incomplete_until_its_windows_have_filled(
    tmp_path, share_from
):
    with local(tmp_path / "db") as db:
        db.sql(
            f"CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS; SET share_from = {share_from}"
        )
        push(db, 1, 5)  # kept for nobody
        queries = {
            "selection": "SELECT ts FROM s [RANGE 10 SECONDS] WHERE k = 1",
            "counts": "SELECT count(*) FROM s [RANGE 10 SECONDS SLIDE 2 SECONDS] WHERE k = 1",
            "youngest": "SELECT ts FROM s [ROWS 3]",
            "ever": "SELECT count(*) FROM s",
            "landmark": "SELECT ts FROM s BEGIN ('1970-01-01 00:00:03') END (NOW)",
            "later": "SELECT ts FROM s BEGIN ('1970-01-01 00:00:06') END (NOW)",
        }
        for name, sql in queries.items():
            db.register(sql, name=name)

        def lacking() -> dict[str, datetime]:
            answers = {name: db.query(name).invoke() for name in queries}
            return {name: a.complete_from for name, a in answers.items() if a.complete_from is not None}

        everything = dict.fromkeys(("selection", "counts", "youngest", "ever", "landmark"), just_after(5))
        assert lacking() == everything  # no epoch has had them yet: the history answers
        push(db, 7, 14)
        assert lacking() == db.status().incomplete == everything
        push(db, 16)
        assert lacking() == db.status().incomplete == dict.fromkeys(("ever", "landmark"), just_after(5))
        early = db.query("selection").invoke(as_of=at(14))
        assert early.complete_from == just_after(5)
    with local(tmp_path / "db") as db:
        push(db, 20)
        assert db.status().incomplete == dict.fromkeys(("ever", "landmark"), just_after(5))
        assert len(db.query("selection").invoke(as_of=at(16))) == 3


def test_a_query_that_was_there_from_the_beginning_is_complete(tmp_path):
    with local(tmp_path / "db") as db:
        db.sql("CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS; SET share_from = 1")
        query = db.register("SELECT ts FROM s [RANGE 10 SECONDS]")
        for ts in range(0, 40, 3):
            push(db, ts)
            assert query.invoke().is_complete
        assert db.register("SELECT ts FROM s [RANGE 5 SECONDS]").invoke().is_complete
        joined = db.register("SELECT ts FROM s [RANGE 20 SECONDS]")
        push(db, 40)
        # The store of the group surely has what the window of ten seconds needed when the query joined.
        assert joined.invoke().complete_from == just_after(29)
        push(db, 50)
        assert joined.invoke().is_complete
