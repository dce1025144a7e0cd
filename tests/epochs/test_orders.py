"""ORDER BY, LIMIT and DISTINCT ON on Spark: the first rows are those of DuckDB after every epoch, in their order,
however they are read."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import panes
from panes.clock import to_datetime, to_microseconds
from panes.errors import SqlError
from panes.testing import local

EPOCHS, ROWS = 3, 360
WINDOW = "packets [RANGE 40 SECONDS]"
HELD = "(SELECT * FROM rows WHERE ts * 1000 <= {now} AND {now} < ts * 1000 + 40000000)"

QUERIES = {
    "talkers": "SELECT src, count(*) AS n FROM {w} GROUP BY src ORDER BY count(*) DESC, src LIMIT 5",
    "hidden": "SELECT src FROM {w} GROUP BY src ORDER BY sum(bytes) DESC, src LIMIT 4 OFFSET 1",
    "first": "SELECT ts, src, bytes FROM {w} ORDER BY bytes DESC, ts, src LIMIT 6",
    "rest": "SELECT ts, src, bytes FROM {w} ORDER BY bytes, ts, src OFFSET 20",
    "sorted": "SELECT src, bytes FROM {w} WHERE bytes > 700 ORDER BY bytes DESC, src",
    "largest": "SELECT DISTINCT ON (src) src, bytes, ts FROM {w} ORDER BY src, bytes DESC, ts",
    "in_from": (
        "SELECT p.src, p.bytes FROM {w} p JOIN "
        "(SELECT src FROM {w} GROUP BY src ORDER BY count(*) DESC, src LIMIT 3) t ON p.src = t.src "
        "ORDER BY p.bytes, p.src LIMIT 8"
    ),
    # These share a plan: two the first rows, two a selection whose order each has for itself.
    "tcp": "SELECT src, bytes FROM {w} WHERE proto = 'tcp' ORDER BY bytes DESC, src LIMIT 3",
    "udp": "SELECT src, bytes FROM {w} WHERE proto = 'udp' ORDER BY bytes DESC, src LIMIT 3",
    "by_hidden": "SELECT src FROM {w} WHERE bytes > 300 ORDER BY bytes, ts, src",
    "by_time": "SELECT src FROM {w} WHERE bytes > 400 ORDER BY ts DESC, src",
}


def traffic() -> pa.Table:
    random = np.random.default_rng(3)
    return pa.table(
        {
            "ts": np.sort(random.integers(0, 120_000, ROWS)),
            "src": random.integers(0, 12, ROWS),
            "bytes": random.integers(0, 900, ROWS),
            "proto": random.choice(["tcp", "udp", "icmp"], ROWS).tolist(),
        }
    )


def expected(sql: str, rows: pa.Table, now: int) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        return connection.execute(sql.replace("{w}", HELD.replace("{now}", str(now)))).fetchall()


def listed(answer: object) -> list[tuple[Any, ...]]:
    assert isinstance(answer, panes.Answer)
    return [tuple(row.values()) for row in answer.to_pylist()]


def test_answers_are_read_in_their_order(tmp_path: Path) -> None:
    rows = traffic()
    with local(tmp_path / "db") as db:
        db.sql(
            "CREATE STREAM packets (ts BIGINT, src BIGINT, bytes BIGINT, proto STRING) "
            "TIMESTAMP BY ts MILLISECONDS RETAIN INTERVAL 10 MINUTES; SET share_from = 2; SET shards = 2"
        )
        queries = {name: db.register(sql.replace("{w}", WINDOW), name=name) for name, sql in QUERIES.items()}
        totals = {name: Counter[tuple[Any, ...]]() for name in queries}
        instants = []
        for epoch in range(EPOCHS):
            if epoch == 2:
                db.sql("ALTER QUERY largest SET shards = 3")
            db.push("packets", rows.slice(epoch * ROWS // EPOCHS, ROWS // EPOCHS))
            db.run()
            now = to_microseconds(db.status().clock)
            instants.append(now)
            for name, query in queries.items():
                found = expected(QUERIES[name], rows, now)
                assert listed(query.invoke()) == found, (name, epoch)
                for change in query.changes():
                    totals[name].update(tuple(row.values()) for row in change.inserted.to_pylist())
                    totals[name].subtract(tuple(row.values()) for row in change.deleted.to_pylist())
                assert +totals[name] == Counter(found), f"changes of {name} in epoch {epoch}"
        for name, query in queries.items():
            asked = db.sql(QUERIES[name].replace("{w}", WINDOW))
            assert listed(asked) == expected(QUERIES[name], rows, now), f"{name} asked once"
            before = query.invoke(as_of=to_datetime(instants[1]))
            assert listed(before) == expected(QUERIES[name], rows, instants[1]), f"{name} as of epoch 1"
        assert "sorted by" in queries["sorted"].explain()
        with panes.connect(tmp_path / "db", read_only=True) as other:
            assert listed(other.sql("INVOKE hidden")) == expected(QUERIES["hidden"], rows, now)
    with local(tmp_path / "db") as db:
        check_invoke(db, rows, now)


def check_invoke(db: panes.Database, rows: pa.Table, now: int) -> None:
    """INVOKE sorts and cuts an answer, also after a restart."""
    held = expected(QUERIES["sorted"], rows, now)
    by_source = sorted(held, key=lambda row: (row[0], -row[1]))
    assert listed(db.sql("INVOKE sorted ORDER BY src, 2 DESC")) == by_source
    assert listed(db.sql("INVOKE sorted ORDER BY SRC, bytes DESC LIMIT 3 OFFSET 1")) == by_source[1:4]
    assert listed(db.sql("INVOKE sorted LIMIT 2")) == held[:2], "the first rows in the order of the query"
    assert listed(db.sql("INVOKE sorted OFFSET 2")) == held[2:]
    with pytest.raises(SqlError, match="takes names of columns and their places"):
        db.sql("INVOKE sorted ORDER BY ts")
