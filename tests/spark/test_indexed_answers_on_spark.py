"""Answers that lie by key, and tuples that bring their own ends: epochs, other numbers of shards, lookups."""

from __future__ import annotations

from collections import Counter
from random import Random

import pyarrow as pa

import panes

INDEXED = {
    "alive": "INDEX BY (k) AS SELECT k, v FROM offers",
    "rebuilt": "WITH (index_cells = '2x2', index_rebuild = 'always') INDEX BY (k, v) AS SELECT k, v FROM offers "
    "[RANGE 20 SECONDS]",
    "joined": "INDEX BY (k) AS SELECT a.k AS k, a.v AS v, b.v AS w FROM offers a, offers [RANGE 5 SECONDS] b "
    "WHERE a.k = b.k",
    "groups": "INDEX BY (k) AS SELECT k, count(*) AS v FROM offers GROUP BY k",
}


def rows_of(answer: panes.Answer) -> Counter:
    return Counter(tuple(row.values()) for row in answer.to_pylist())


def test_lookups_find_what_whole_answers_have_through_epochs_and_other_numbers_of_shards(tmp_path):
    random, alive = Random(3), []
    with panes.connect(tmp_path / "db") as db:
        db.sql(
            "CREATE STREAM offers (ts BIGINT, k BIGINT, v BIGINT, until BIGINT) TIMESTAMP BY ts SECONDS "
            "EXPIRES BY until SECONDS RETAIN INTERVAL 1 DAY; SET shards = 2"
        )
        for name, text in INDEXED.items():
            db.sql(f"CREATE QUERY {name} {text}")
        for epoch, shards in enumerate([2, 3, 1, 2]):
            times = sorted(random.choices(range(10 * epoch, 10 * epoch + 10), k=40))
            ends = [random.choice((None, at + random.randint(-2, 30))) for at in times]
            values = [(random.randint(0, 5), random.randint(0, 9)) for _ in times]
            keys, others = zip(*values, strict=True)
            db.push(
                "offers", pa.table({"ts": times, "k": keys, "v": others, "until": pa.array(ends, pa.int64())})
            )
            alive += zip(times, keys, others, ends, strict=True)
            db.run()
            answer = db.query("alive").invoke()
            now = int(answer.as_of.timestamp())
            held = [
                (k, v) for at, k, v, end in alive if at <= now and (end is None or (at < end and end > now))
            ]
            assert rows_of(answer) == Counter(held)
            for name in INDEXED:
                whole = rows_of(db.query(name).invoke())
                for condition in ({"k": 2}, "k IN (1, 4) AND v > 2", "k >= 3", "v = 5"):
                    found = rows_of(db.query(name).invoke(where=condition))
                    test = f"k = {condition['k']}" if isinstance(condition, dict) else condition
                    once = db.sql(f"INVOKE {name} WHERE {test} ORDER BY k LIMIT 1000")
                    assert found == rows_of(once)
                    assert found == Counter({row: n for row, n in whole.items() if _holds(test, row)})
                db.sql(f"ALTER QUERY {name} SET shards = {shards}")
            assert rows_of(db.sql("SELECT k, v FROM offers")) == Counter(held)
        rejected = sum(1 for at, _, _, end in alive if end is not None and end <= at)
        assert rejected
        assert db.bad_rows("offers").num_rows == rejected
        assert "7 of 16 cells per update" in db.query("alive").explain().replace("\n  ", " ")
        assert db.query("groups").explain().count("merged by size") == 1


def _holds(test: str, row: tuple[int, ...]) -> bool:
    k, v = row[:2]
    return {
        "k = 2": k == 2,
        "k IN (1, 4) AND v > 2": k in (1, 4) and v > 2,
        "k >= 3": k >= 3,
        "v = 5": v == 5,
    }[test]
