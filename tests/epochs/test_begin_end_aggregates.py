"""BEGIN … END aggregates from tuples by time give what SQL gives over the history."""

from __future__ import annotations

import panes
from panes.testing import local

LAST = "BEGIN (NOW - INTERVAL {} SECONDS) END (NOW)"
SINCE = "BEGIN (TIMESTAMP '1970-01-01 00:00:{:02}') END (NOW)"
SPAN = "BEGIN (TIMESTAMP '1970-01-01 00:00:10') END (TIMESTAMP '1970-01-01 00:00:{:02}')"
QUERIES = {
    "last": f"SELECT y, count(*) AS n, sum(x) AS total, max(x) AS most FROM s {LAST.format(40)} GROUP BY y",
    "since": f"SELECT avg(x) AS mean, min(x) AS least FROM s WHERE y > 2 {SINCE.format(20)}",
    "span": f"SELECT y, max(x) AS most FROM s {SPAN.format(55)} GROUP BY y HAVING count(*) > 1 ORDER BY y",
    "lag": "SELECT count(*) AS n FROM s BEGIN (NOW - INTERVAL 30 SECONDS) END (NOW - INTERVAL 7 SECONDS)",
}


def arrivals(since: int, until: int) -> list[dict[str, int]]:
    """Tuples of some seconds, of which every ninth comes half a minute late."""
    return [
        {"ts": at - 30 if at % 9 == 8 else at, "x": at * 7 % 11, "y": at * 5 % 8}
        for at in range(since, until)
    ]


def rows(answer: panes.Answer) -> list[tuple[object, ...]]:
    return sorted(tuple(row.values()) for row in answer.to_pylist())


def same_both_ways(db: panes.Database) -> dict[str, list[tuple[object, ...]]]:
    found = {name: rows(db.query(name).invoke()) for name in QUERIES}
    assert found == {name: rows(db.query(f"{name}_anew").invoke()) for name in QUERIES}
    return found


def test_answers_from_the_store_are_those_of_the_history(tmp_path):
    with local(tmp_path / "db") as db:
        db.sql("CREATE STREAM s (ts BIGINT, x INT, y INT) TIMESTAMP BY ts SECONDS")
        db.push("s", arrivals(0, 30))
        db.sql(f"CREATE QUERY first_anew WITH (answers = 'none') AS {QUERIES['last']}")
        db.run()
        for name, sql in QUERIES.items():
            db.sql(f"CREATE QUERY {name} AS {sql}")
            db.sql(f"CREATE QUERY {name}_anew WITH (answers = 'none') AS {sql}")
            assert "Keep tuples by" in db.query(name).explain()
            assert "answers 'lazy'" in db.query(name).explain()
        followed = {}
        for since, until in ((30, 60), (60, 61), (61, 100)):
            db.push("s", arrivals(since, until))
            db.run()
            same_both_ways(db)
            for name in QUERIES:
                _follow(db.query(name), followed.setdefault(name, []))
        for name in QUERIES:
            assert sorted(followed[name]) == rows(db.query(name).invoke())
        groups = {record.name: record.group for record in db._catalog.queries()}
        assert groups["last"] == groups["span"] != groups["since"]
        # One more joins what the others have had all along, with a measure of its own.
        db.sql(
            f"CREATE QUERY more AS SELECT y, min(x) AS a, sum(x * y) AS b FROM s {LAST.format(25)} GROUP BY y"
        )
        db.sql("DROP QUERY last")
        db.push("s", arrivals(100, 115))
        db.run()
        asked = db.sql(f"SELECT y, min(x) AS a, sum(x * y) AS b FROM s {LAST.format(25)} GROUP BY y")
        assert rows(db.query("more").invoke()) == sorted(tuple(row.values()) for row in asked.to_pylist())
    with local(tmp_path / "db") as db:
        kept = rows(db.query("more").invoke())
        assert kept
        db.sql("ALTER QUERY more SET shards = 3")
        db.push("s", arrivals(115, 130))
        db.run()
        asked = db.sql(f"SELECT y, min(x) AS a, sum(x * y) AS b FROM s {LAST.format(25)} GROUP BY y")
        assert rows(db.query("more").invoke()) == sorted(tuple(row.values()) for row in asked.to_pylist())


def _follow(query: panes.Query, held: list[tuple[object, ...]]) -> None:
    """Does to what is held what the changes of a query say."""
    for change in query.changes():
        for row in change.deleted.to_pylist():
            held.remove(tuple(row.values()))
        held.extend(tuple(row.values()) for row in change.inserted.to_pylist())
