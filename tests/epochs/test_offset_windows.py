"""Windows with an offset, and count windows that slide in time, in whole databases."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import pytest

import panes
from panes.errors import SettingError
from panes.testing import local

DEFINED = "CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS"
QUERIES = {
    "ago": "SELECT ts FROM s [RANGE 5 SECONDS OFFSET 10 SECONDS]",
    "sliding": "SELECT count(*) AS n FROM s [RANGE 6 SECONDS OFFSET 10 SECONDS SLIDE 2 SECONDS]",
    "instant": "SELECT ts FROM s [NOW OFFSET 4 SECONDS]",
    "against": "SELECT n.k, n.c, coalesce(a.c, 0) AS ago FROM "
    "(SELECT k, count(*) AS c FROM s [RANGE 10 SECONDS] GROUP BY k) n LEFT JOIN "
    "(SELECT k, count(*) AS c FROM s [RANGE 10 SECONDS OFFSET 10 SECONDS] GROUP BY k) a ON n.k = a.k",
    "youngest": "SELECT ts FROM s [ROWS 3 SLIDE 5 SECONDS]",
    "of each": "SELECT ts FROM s [PARTITION BY k ROWS 2 SLIDE 5 SECONDS]",
}
TIMES = (1, 3, 5, 9, 11, 14, 16, 22, 23, 40)


def at(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def push(db: panes.Database, *times: int) -> None:
    db.push("s", [(ts, ts % 3) for ts in times])
    db.run()


def counted(answer: object) -> Counter[tuple[object, ...]]:
    return Counter(tuple(row.values()) for row in answer.to_pylist())  # type: ignore[attr-defined]


@pytest.mark.parametrize("shards", [1, 3])
def test_standing_answers_are_those_asked_once_in_every_epoch_and_after_a_restart(tmp_path, shards):
    with local(tmp_path / "db") as db:
        db.sql(f"{DEFINED} RETAIN INTERVAL 1 HOUR; SET shards = {shards}")
        for name, sql in QUERIES.items():
            db.register(sql, name=name)
    seen: dict[tuple[str, int], Counter[tuple[object, ...]]] = {}
    for second in TIMES:
        with local(tmp_path / "db") as db:
            push(db, second)
            for name, sql in QUERIES.items():
                asked = counted(db.sql(sql))
                assert counted(db.query(name).invoke()) == asked, (name, second)
                seen[name, second] = asked
    assert all(any(seen[name, second] for second in TIMES) for name in QUERIES)
    with local(tmp_path / "db") as db:
        for (name, second), answer in seen.items():
            if second in TIMES[-3:] and name in ("ago", "instant", "against"):
                assert counted(db.query(name).invoke(as_of=at(second))) == answer, (name, second)


def test_a_query_that_comes_later_has_what_is_kept_for_range_and_offset():
    with local() as db:
        db.sql(DEFINED)
        db.register(QUERIES["ago"], name="first")
        push(db, 1, 3, 5)
        push(db, 9, 11)
        push(db, 13)
        later = db.register("SELECT ts, k FROM s [RANGE 4 SECONDS OFFSET 10 SECONDS]")
        push(db, 14)
        assert later.invoke().is_complete
        assert sorted(row["ts"] for row in later.invoke().to_pylist()) == [1, 3]
        for second in (40, 80, 100):
            push(db, second)
        longer = db.register("SELECT ts, k FROM s [RANGE 5 SECONDS OFFSET 1 MINUTE]")
        push(db, 101)
        answer = longer.invoke()
        # More may be kept than is asked for: an answer that says it is complete has it all.
        assert not answer.is_complete or [row["ts"] for row in answer.to_pylist()] == [40]


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_is_made_again_from_its_own_text(name):
    with local() as db:
        db.sql(DEFINED)
        db.register(QUERIES[name], name="q")
        push(db, 1, 3, 5)
        text = db.sql("SHOW CREATE QUERY q")
        db.sql("DROP QUERY q")
        db.sql(text)
        assert db.sql("SHOW CREATE QUERY q") == text


def test_what_enters_by_time_alone_is_not_triggered_by_tuples():
    with local() as db:
        db.sql("CREATE STREAM e (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS")
        text = (
            "SELECT a.k FROM e [RANGE 5 SECONDS] AS a, e [RANGE 6 SECONDS OFFSET 5 SECONDS] AS b "
            "WHERE a.k = b.k"
        )
        with pytest.raises(SettingError, match="come and go without one"):
            db.sql(f"CREATE QUERY asked WITH (expiration = 'input_triggered') AS {text}")
        db.sql("SET expiration = 'input_triggered'")
        query = db.register(text)
        db.push("e", [(1, 2), (9, 3)])
        db.run()
        assert query.invoke().to_pylist() == []
