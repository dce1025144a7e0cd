"""Adding streams and queries never changes the rows, the instants or the changes of another query."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import panes
from panes.testing import local

SEEDS = int(os.environ.get("PANES_SPARK_CASES", "2"))
EPOCHS = 4
DAY = 86_400
LARGEST = 2**63 - 1

OWN = {
    "chosen": "SELECT k, v FROM a [RANGE 20 SECONDS] WHERE v > 3",
    "grouped": "SELECT k, count(*) AS n, sum(v) AS total FROM a [RANGE 30 SECONDS SLIDE 5 SECONDS] GROUP BY k",
    "joined": "SELECT a.k, a.v, b.v AS other FROM a [RANGE 20 SECONDS], b [RANGE 30 SECONDS] WHERE a.k = b.k",
    "distinct": "SELECT DISTINCT k FROM b [RANGE 25 SECONDS]",
    "last": "SELECT k, v FROM a [PARTITION BY k ROWS 2]",
    "without": "SELECT k, v FROM a [RANGE 20 SECONDS] WHERE k NOT IN (SELECT k FROM b [RANGE 20 SECONDS])",
    "entered": "SELECT Istream(k, v) FROM a [RANGE 10 SECONDS]",
}
OTHERS = (
    "SELECT k, count(*) AS n FROM {} [RANGE 1 MINUTE] GROUP BY k",
    "SELECT k, v FROM {} [RANGE 1 HOUR] WHERE v > 1",
    "SELECT DISTINCT v FROM {} [ROWS 5]",
    "SELECT sum(v) AS total FROM {} [RANGE 1 DAY]",
    "SELECT {0}.k FROM {0} [RANGE 1 HOUR], a [RANGE 1 HOUR] WHERE {0}.k = a.k",
)
KINDS = ("parquet", "csv", "json", "push", "arriving", "silent")


def drawn(random: Random, first: int, count: int, *, largest: bool = False) -> list[dict[str, int]]:
    """Rows in the order of arrival, some of them late."""
    rows = [
        {"ts": first + step * 2 + random.randint(-6, 6), "k": random.randint(1, 4), "v": random.randint(0, 9)}
        for step in range(count)
    ]
    if largest:
        rows[-1]["v"] = LARGEST
    return rows


class Streams:
    """Writes the rows of each stream into its files, epoch by epoch."""

    def __init__(self, db: panes.Database, folder: Path) -> None:
        self._db = db
        self._folder = folder
        self._kinds: dict[str, str] = {}

    def create(self, name: str, kind: str) -> None:
        self._kinds[name] = kind
        place = self._folder / name
        place.mkdir(parents=True)
        source = {
            "parquet": f"FROM FILES '{place}'",
            "csv": f"FROM FILES '{place}' WITH (format = 'csv')",
            "json": f"FROM FILES '{place}' WITH (format = 'json')",
        }.get(kind, "")
        time = "" if kind == "arriving" else "TIMESTAMP BY ts SECONDS"
        self._db.sql(f"CREATE STREAM {name} (ts BIGINT, k BIGINT, v BIGINT) {time} {source}")

    def bring(self, name: str, epoch: int, rows: list[dict[str, int]]) -> None:
        kind, path = self._kinds[name], self._folder / name / f"{epoch}"
        if kind == "parquet":
            pq.write_table(pa.Table.from_pylist(rows), path.with_suffix(".parquet"))
        elif kind == "csv":
            path.with_suffix(".csv").write_text("".join(f"{r['ts']},{r['k']},{r['v']}\n" for r in rows))
        elif kind == "json":
            path.with_suffix(".json").write_text("".join(json.dumps(row) + "\n" for row in rows))
        elif kind != "silent":
            self._db.push(name, rows)


def told(query: panes.Query) -> list[tuple[object, Counter[tuple[object, ...]]]]:
    """The changes of a query, each with its instant."""
    found = []
    for change in query.changes():
        rows = Counter(tuple(row.values()) for row in change.table.to_pylist())
        found.append((change.as_of, rows))
    return found


def run(folder: Path, own: list[tuple[str, int, list]], others: Random | None):
    """What the own queries tell over the epochs, alone or beside others."""
    results = {}
    with local(folder / "db") as db:
        streams = Streams(db, folder / "in")
        for name in ("a", "b"):
            streams.create(name, "parquet")
        queries = {name: db.register(sql, name=name) for name, sql in OWN.items()}
        results = {name: [] for name in OWN}
        for epoch in range(EPOCHS):
            for name, number, rows in own:
                if number == epoch:
                    streams.bring(name, epoch, rows)
            if others is not None:
                beside(db, streams, others, epoch)
            db.run()
            for name, query in queries.items():
                answer = query.invoke()
                rows = Counter(tuple(row.values()) for row in answer.to_pylist())
                results[name].append((answer.as_of, rows, told(query)))
    return results


def beside(db: panes.Database, streams: Streams, random: Random, epoch: int) -> None:
    """Streams of other kinds and other times come, with queries that come and go, some of which fail."""
    name = f"s{epoch}"
    streams.create(name, random.choice(KINDS))
    for number in range(epoch + 1):
        first = random.choice([0, 1_000 * DAY, 20_000 * DAY])
        streams.bring(f"s{number}", epoch, drawn(random, first, 5, largest=random.random() < 0.5))
    for sql in random.sample(OTHERS, 3):
        db.register(sql.format(name))
    for query in db.queries():
        if query.name not in OWN and random.random() < 0.3:
            query.drop()


@pytest.mark.parametrize("seed", range(SEEDS))
def test_queries_tell_the_same_whatever_is_beside_them(tmp_path, seed):
    random = Random(seed)
    own = [
        (name, epoch, drawn(random, 1_000 + 20 * epoch + shift, 10))
        for epoch in range(EPOCHS)
        for name, shift in (("a", 0), ("b", random.choice([-15, 5])))
    ]
    alone = run(tmp_path / "alone", own, None)
    crowded = run(tmp_path / "crowded", own, Random(seed + 100))
    for name in OWN:
        assert crowded[name] == alone[name], name
    assert any(rows for _, rows, _ in alone["joined"])
