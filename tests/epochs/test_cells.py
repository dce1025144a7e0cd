"""Aggregates over a join of two streams share its cells, whatever their windows, and nobody can tell from their
answers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from panes.testing import local

ROWS, EPOCHS = 240, 3
STREAMS = (
    "CREATE STREAM calls (ts BIGINT, k BIGINT, v BIGINT) TIMESTAMP BY ts MILLISECONDS FROM FILES '{0}/calls';"
    "CREATE STREAM bills (ts BIGINT, k BIGINT, w BIGINT) TIMESTAMP BY ts MILLISECONDS FROM FILES '{0}/bills'"
)
QUERY = (
    "SELECT c.k, {} FROM calls [RANGE {} SECONDS SLIDE {} SECONDS] AS c, "
    "bills [RANGE {} SECONDS SLIDE {} SECONDS] AS b WHERE c.k = b.k GROUP BY c.k {}"
)
ASKED = {
    "q0": ("count(*) AS n", 20, 10, 20, 10, ""),
    "q1": ("sum(v) AS n", 30, 10, 10, 10, ""),
    "q2": ("avg(w) AS n", 15, 5, 40, 5, "HAVING count(*) > 1"),
    "q3": ("sum(w) AS n, count(*) AS m", 60, 20, 40, 20, ""),
}


class Database:
    """A database over files of which each epoch takes one of each stream. Each query is there twice: once read
    from cells, and once with operators of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.epoch = folder, 0
        for name in ("calls", "bills"):
            (folder / name).mkdir()
        self.db = local(folder / "db")
        self.db.sql(STREAMS.format(folder))

    def ask(self, *names: str) -> None:
        for name in names:
            for apart, answers in (("", "lazy"), ("_alone", "eager")):
                asked = QUERY.format(*ASKED[name])
                self.db.sql(f"CREATE QUERY {name}{apart} WITH (answers = '{answers}') AS {asked}")

    def run(self, *names: str) -> None:
        """Takes in a file of each stream, and compares what some queries have with what their doubles have."""
        for seed, (name, value) in enumerate((("calls", "v"), ("bills", "w"))):
            rng = np.random.default_rng(seed)
            ts = np.sort(rng.integers(0, 120_000, ROWS))
            # Some come in the epoch after the one that they belong to.
            order = np.argsort(np.where(rng.random(ROWS) < 0.05, ts + 40_000, ts), kind="stable")
            rows = {"ts": ts, "k": rng.integers(0, 5, ROWS), value: rng.integers(0, 100, ROWS)}
            size = ROWS // EPOCHS
            part = pa.table(rows).take(pa.array(order)).slice(self.epoch * size, size)
            pq.write_table(part, self.folder / name / f"{self.epoch}.parquet")
        self.epoch += 1
        self.db.run()
        for name in names:
            found = self.found(name)
            assert found, (name, self.epoch)
            assert found == self.found(f"{name}_alone"), (name, self.epoch)

    def found(self, name: str) -> Counter[Any]:
        return Counter(tuple(row.values()) for row in self.db.query(name).invoke().to_pylist())

    def reopen(self) -> None:
        self.db.close()
        self.db = local(self.folder / "db")


def test_windows_of_any_two_lengths_are_read_from_one_join(tmp_path: Path) -> None:
    case = Database(tmp_path)
    case.ask("q0", "q1")
    case.run("q0", "q1")
    (first,) = case.db.sql("SHOW SYNOPSES").to_pylist()
    assert (first["name"], first["kind"], first["panes"], first["readers"]) == (
        "calls ⋈ bills",
        "cells",
        3,
        2,
    )
    # Finer panes, longer windows and other columns: the cells begin anew, for all at once.
    case.ask("q2", "q3")
    case.run(*ASKED)
    assert "cells, 12 × 8 × 5 s, shared by 4 (SS3)" in str(case.db.sql("EXPLAIN q2"))
    case.reopen()
    case.db.sql("ALTER QUERY q1 SET shards = 3")
    case.db.query("q3").drop()
    case.run("q0", "q1", "q2")
    (kept,) = case.db.sql("SHOW SYNOPSES").to_pylist()
    assert (kept["panes"], kept["readers"], kept["groups"]) == (12, 3, 5)
    case.db.close()
