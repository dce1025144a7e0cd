"""Answers that lie by key, and tuples that bring their own ends: epochs, other numbers of shards, lookups."""

from __future__ import annotations

from collections import Counter
from random import Random

import pyarrow as pa

import panes

INDEXED = {
    "alive": "INDEX BY (k) AS SELECT k, v FROM offers",
    "joined": "WITH (index_cells = '2x2', index_rebuild = 'always') INDEX BY (k, v) AS "
    "SELECT a.k AS k, a.v AS v, b.v AS w FROM offers a, offers [RANGE 5 SECONDS] b WHERE a.k = b.k",
    "groups": "INDEX BY (k) AS SELECT k, count(*) AS v FROM offers GROUP BY k",
}
CONDITIONS = {
    "k = 2": lambda k, _: k == 2,
    "k IN (1, 4) AND v > 2": lambda k, v: k in (1, 4) and v > 2,
    "v = 5": lambda _, v: v == 5,
}


def rows_of(answer: panes.Answer) -> Counter:
    return Counter(tuple(row.values()) for row in answer.to_pylist())


def test_lookups_find_what_whole_answers_have_through_epochs_restarts_and_other_numbers_of_shards(tmp_path):
    random, came = Random(3), []
    for epoch, shards in enumerate([3, 1, 2]):
        with panes.connect(tmp_path / "db") as db:
            if epoch == 0:
                db.sql(
                    "CREATE STREAM offers (ts BIGINT, k BIGINT, v BIGINT, until BIGINT) TIMESTAMP BY ts SECONDS "
                    "EXPIRES BY until SECONDS RETAIN INTERVAL 1 DAY; SET shards = 2"
                )
                for name, text in INDEXED.items():
                    db.sql(f"CREATE QUERY {name} {text}")
            rows = []
            for at in sorted(random.choices(range(10 * epoch, 10 * epoch + 10), k=40)):
                end = random.choice((None, at + random.randint(-2, 30)))
                rows.append({"ts": at, "k": random.randint(0, 5), "v": random.randint(0, 9), "until": end})
            db.push("offers", pa.Table.from_pylist(rows))
            came += rows
            db.run()
            now = int(db.query("alive").invoke().as_of.timestamp())
            usable = [row for row in came if row["until"] is None or row["until"] > row["ts"]]
            alive = [
                row for row in usable if row["ts"] <= now and (row["until"] is None or row["until"] > now)
            ]
            held = Counter((row["k"], row["v"]) for row in alive)
            assert rows_of(db.query("alive").invoke()) == rows_of(db.sql("SELECT k, v FROM offers")) == held
            assert db.bad_rows("offers").num_rows == len(came) - len(usable) > 0
            for name in INDEXED:
                whole = rows_of(db.query(name).invoke())
                for text, holds in CONDITIONS.items():
                    expected = Counter({row: n for row, n in whole.items() if holds(*row[:2])})
                    assert rows_of(db.query(name).invoke(where=text)) == expected
                assert rows_of(db.query(name).invoke(where={"k": 2})) == rows_of(
                    db.sql(f"INVOKE {name} WHERE k = 2")
                )
                db.sql(f"ALTER QUERY {name} SET shards = {shards}")
            assert "7 of 16 cells per update" in " ".join(db.query("alive").explain().split())
            assert "merged by size" in db.query("groups").explain()
