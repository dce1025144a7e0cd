"""now() in whole databases: standing queries, answers that are asked once, and changes of tables."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import pytest

import panes
from panes.errors import SqlError
from panes.testing import local

DEFINED = (
    "CREATE STREAM s (at TIMESTAMP, k BIGINT) TIMESTAMP BY at RETAIN INTERVAL 1 HOUR; "
    "CREATE TABLE t (id BIGINT, seen TIMESTAMP, PRIMARY KEY (id))"
)
QUERIES = {
    "settled": "SELECT k FROM s [RANGE 20 SECONDS] WHERE at <= now() - INTERVAL 5 SECONDS",
    "recent": "SELECT k FROM s [RANGE 20 SECONDS] WHERE at > now() - INTERVAL 5 SECONDS",
    "silent": "SELECT k, max(at) AS last FROM s [RANGE 20 SECONDS] GROUP BY k "
    "HAVING max(at) < now() - INTERVAL 5 SECONDS",
    "sliding": "SELECT k FROM s [RANGE 20 SECONDS SLIDE 4 SECONDS] WHERE at <= now() - INTERVAL 5 SECONDS",
    "distinct": "SELECT DISTINCT k FROM s WHERE at > now() - INTERVAL 10 SECONDS",
    "grouped": "SELECT k, count(*) AS n FROM s WHERE at > now() - INTERVAL 10 SECONDS GROUP BY k",
    "joined": "SELECT x.k, y.at FROM s x, s y WHERE x.k = y.k AND x.at > now() - INTERVAL 3 SECONDS "
    "AND y.at >= now() - INTERVAL 9 SECONDS",
}  # fmt: skip
TIMES = (1, 3, 8, 9, 15, 16, 30, 33, 47)


def at(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def push(db: panes.Database, *seconds: int) -> None:
    db.push("s", [(at(second), second % 3) for second in seconds])
    db.run()


def counted(answer: object) -> Counter[tuple[object, ...]]:
    return Counter(tuple(row.values()) for row in answer.to_pylist())  # type: ignore[attr-defined]


@pytest.mark.parametrize("shards", [1, 3])
def test_standing_answers_are_those_asked_once_in_every_epoch_and_after_a_restart(tmp_path, shards):
    with local(tmp_path / "db") as db:
        db.sql(f"{DEFINED}; SET shards = {shards}")
        for name, sql in QUERIES.items():
            db.register(sql, name=name)
    seen: dict[tuple[str, int], Counter[tuple[object, ...]]] = {}
    for second in TIMES:
        with local(tmp_path / "db") as db:
            push(db, second)
            for name, sql in QUERIES.items():
                standing = db.query(name).invoke()
                asked = counted(db.sql(sql))
                assert counted(standing) == asked, (name, second)
                seen[name, second] = asked
    assert all(any(seen[name, second] for second in TIMES) for name in QUERIES)
    with local(tmp_path / "db") as db:
        for (name, second), answer in seen.items():
            if second in TIMES[-3:]:
                assert counted(db.query(name).invoke(as_of=at(second))) == answer, (name, second)


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_is_made_again_from_its_own_text(name):
    with local() as db:
        db.sql(DEFINED)
        db.register(QUERIES[name], name="q")
        push(db, 1, 3, 8)
        before = counted(db.query("q").invoke())
        text = db.sql("SHOW CREATE QUERY q")
        db.sql("DROP QUERY q")
        db.sql(text)
        push(db, 9)
        assert counted(db.query("q").invoke()) == counted(db.sql(QUERIES[name]))
        assert before or name == "silent"


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO t VALUES (1, now())",
        "INSERT INTO t SELECT 7, now()",
        "INSERT INTO t SELECT id + 1, seen FROM t WHERE seen < now()",
        "UPDATE t SET seen = now()",
        "UPDATE t SET id = 3 WHERE seen < now() - INTERVAL 1 HOUR",
        "DELETE FROM t WHERE seen < now()",
        "INSERT INTO t VALUES (2, NULL) ON CONFLICT (id) DO UPDATE SET seen = now()",
        "INSERT INTO s VALUES (now(), 3)",
    ],
)
def test_changes_have_no_instant(statement):
    with local() as db:
        db.sql(f"{DEFINED}; INSERT INTO t VALUES (2, TIMESTAMP '1970-01-01 00:00:01')")
        for _ in range(2):  # before the first tuple, and after it
            with pytest.raises(SqlError, match="now\\(\\) is the instant of an answer") as refused:
                db.sql(statement)
            assert refused.value.column == statement.index("now()") + 1
            assert db.sql("SELECT id, seen FROM t").to_pylist() == [{"id": 2, "seen": at(1)}]
            push(db, 5)


def test_an_answer_of_tables_has_the_clock_of_the_streams():
    with local() as db:
        db.sql(f"{DEFINED}; INSERT INTO t VALUES (2, TIMESTAMP '1970-01-01 00:00:01')")
        assert db.sql("SELECT id, now() AS n FROM t").to_pylist() == [{"id": 2, "n": None}]
        assert db.sql("SELECT id FROM t WHERE seen < now()").to_pylist() == []
        push(db, 5)
        answer = db.sql("SELECT id, now() AS n FROM t WHERE seen < now()")
        assert answer.to_pylist() == [{"id": 2, "n": at(5)}]
        assert answer.as_of == at(5)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k FROM s [NOW] WHERE at <= now() AND (at > ^now() OR k > 1)",
        "SELECT k, ^now() AS x FROM s [NOW] WHERE at <= now()",
        "SELECT k FROM s [NOW] WHERE at <= now() AND extract(hour FROM ^now()) = 3",
    ],
)
def test_the_refusal_points_at_the_now_that_bounds_nothing(query):
    with local() as db:
        db.sql(DEFINED)
        with pytest.raises(SqlError, match="only bounds a time") as refused:
            db.register(query.replace("^", ""))
        assert refused.value.column == query.index("^") + 1
