"""Joins of a group are read from one pair store, whatever their windows, and give what each gives alone."""

from collections import Counter

from panes.testing import local

STREAMS = (
    "CREATE STREAM s (ts BIGINT, k BIGINT, v BIGINT) TIMESTAMP BY ts SECONDS; "
    "CREATE STREAM t (ts BIGINT, k BIGINT, v BIGINT) TIMESTAMP BY ts SECONDS; SET shards = 2"
)
JOIN = "SELECT {what} FROM s {one} a JOIN t {other} b ON a.k = b.k"
SLIDE = "SECONDS SLIDE 5 SECONDS"
SHORT, LONG = "[RANGE 4 SECONDS]", "[RANGE 30 SECONDS]"
QUERIES = (
    JOIN.format(what="a.v, b.v AS w", one=SHORT, other=SHORT) + " WHERE a.v > 1",
    JOIN.format(what="a.v, b.v AS w", one=SHORT, other=LONG) + " WHERE a.v + b.v > 4",
    JOIN.format(what="DISTINCT a.k", one=LONG, other=LONG) + " WHERE b.v <> 2",
    JOIN.format(what="b.v AS w, a.ts", one=f"[RANGE 9 {SLIDE}]", other=f"[RANGE 14 {SLIDE}]"),
    JOIN.format(what="a.v, b.v AS w", one="", other="")
    + " BEGIN (NOW - INTERVAL 8 SECONDS) END (NOW - INTERVAL 1 SECOND)",
)


def rows_of(epoch):
    """Some tuples of the two streams, of which one of each comes late."""
    first = 10 * epoch
    times = [(first - 4 if epoch else 1), first + 2, first + 5, first + 9]
    left = [{"ts": ts, "k": ts % 3, "v": ts % 4} for ts in times]
    right = [{"ts": ts + 1 if ts < first + 9 else ts, "k": ts % 2, "v": ts % 5} for ts in times]
    return left, right


def test_joins_of_a_group_answer_as_each_does_alone(tmp_path):
    with (
        local(tmp_path / "shared") as shared,
        local(tmp_path / "alone") as alone,
    ):
        for db, share_from in ((shared, 1), (alone, 1000)):
            db.sql(f"{STREAMS}; SET share_from = {share_from}")
        totals = {}
        for epoch in range(4):
            for db in (shared, alone):
                if epoch < 3:
                    for number, sql in enumerate(QUERIES[2 * epoch : 2 * epoch + 2]):
                        db.register(sql, name=f"q{2 * epoch + number}")
                if epoch == 3:
                    db.sql("DROP QUERY q0; ALTER QUERY q1 SET shards = 3")
                left, right = rows_of(epoch)
                db.push("s", left)
                db.push("t", right)
                db.run()
            for record in shared._catalog.queries():
                expected = alone.query(record.name)
                assert answer(shared.query(record.name)) == answer(expected), (record.name, epoch)
                if "BEGIN" not in record.sql:
                    total = totals.setdefault(record.name, Counter())
                    assert changed(shared.query(record.name), total) == answer(expected)[1], (
                        record.name,
                        epoch,
                    )
        assert len(shared._catalog.groups()) == 1
        assert "pairs of s ⋈ t, kept for 30 seconds, shared by 4" in shared.query("q1").explain()


def answer(query):
    found = query.invoke()
    return found.as_of, sorted(tuple(row.values()) for row in found.to_pylist())


def changed(query, total):
    """All changes of a query so far, added up: how many times each row is there."""
    for change in query.changes():
        for *row, _, weight in (row.values() for row in change.table.to_pylist()):
            total[tuple(row)] += weight
    return sorted((+total).elements())
