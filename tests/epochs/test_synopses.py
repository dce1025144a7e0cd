"""Aggregates over one stream share a synopsis, whatever their windows, and nobody can tell from their answers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from panes.clock import to_microseconds
from panes.testing import local

ROWS, EPOCHS = 1_200, 4
STREAM = (
    "CREATE STREAM packets (ts BIGINT, src BIGINT, bytes BIGINT) TIMESTAMP BY ts MILLISECONDS FROM FILES '{}'"
)
ASKED = (
    (20, 10, "src, count(*) AS n", "GROUP BY src"),
    (40, 10, "src, sum(bytes) AS n", "GROUP BY src"),
    (30, 5, "src, avg(bytes) AS n", "GROUP BY src HAVING count(*) > 2"),
    (60, 20, "src, sum(bytes) AS n, count(*) AS m", "GROUP BY src"),
)
SELECTED = (
    (20, 10, "src, count(*) AS n", "GROUP BY src"),
    (40, 10, "src, sum(bytes) AS n", "AND bytes > 700 GROUP BY src"),
    (30, 5, "src, avg(bytes) AS n", "AND bytes > 300 AND src < 4 GROUP BY src HAVING count(*) > 2"),
    (60, 20, "src, sum(bytes) AS n, count(*) AS m", "AND (src = 1 OR src = 3) GROUP BY src"),
    (50, 10, "src, count(*) AS n", "AND bytes < src * 200 GROUP BY src"),
)
TOTAL = (50, 10, "count(*) AS n, sum(bytes) AS s", "")


ONCE = (
    (15, 5, "src, count(*) AS n, sum(bytes) AS s", "GROUP BY src"),
    (55, 5, "src, avg(bytes) AS n", "GROUP BY src HAVING sum(bytes) > 100"),
    (60, 20, "src, count(bytes) AS n", "GROUP BY src"),
)
"""What nobody has registered, of panes that are there for others."""
NOT_IN_PANES = (
    (65, 5, "src, count(*) AS n", "GROUP BY src"),
    (16, 4, "src, count(*) AS n", "GROUP BY src"),
    (20, 10, "src, max(bytes) AS n", "GROUP BY src"),
    (20, 10, "src, count(*) AS n", "AND bytes > 7 GROUP BY src"),
    (20, 10, "count(*) AS n", ""),
)
SELECTED_ONCE = (
    (25, 5, "src, sum(bytes) AS n", "AND bytes > 700 GROUP BY src"),
    (10, 10, "src, count(*) AS n", "GROUP BY src"),
)


def traffic() -> pa.Table:
    rng = np.random.default_rng(7)
    ts = np.sort(rng.integers(0, 120_000, ROWS))
    # Some come in the epoch after the one that they belong to.
    late = rng.random(ROWS) < 0.03
    order = np.argsort(np.where(late, ts + 30_000, ts), kind="stable")
    rows = {"ts": ts, "src": rng.integers(0, 6, ROWS), "bytes": rng.integers(0, 1500, ROWS)}
    return pa.table(rows).take(pa.array(order))


def select_of(asked: tuple[int, int, str, str]) -> str:
    length, slide, columns, rest = asked
    window = f"[RANGE {length} SECONDS SLIDE {slide} SECONDS]"
    rest = f"WHERE{rest.removeprefix('AND')}" if rest.startswith("AND") else rest
    return f"SELECT {columns} FROM packets {window} {rest}"


class Database:
    """A database over files of which each epoch takes one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows = traffic()
        (folder / "in").mkdir()
        self.asked: dict[str, tuple[int, int, str, str]] = {}
        self.epoch = 0
        self.db = local(folder / "db")
        self.db.sql(STREAM.format(folder / "in") + "; SET share_from = 2")

    def ask(self, name: str, asked: tuple[int, int, str, str]) -> None:
        self.db.sql(f"CREATE QUERY {name} AS {select_of(asked)}")
        self.asked[name] = asked

    def reopen(self) -> None:
        self.db.close()
        self.db = local(self.folder / "db")

    def run(self) -> None:
        size = ROWS // EPOCHS
        part = self.rows.slice(self.epoch * size, size)
        pq.write_table(part, self.folder / "in" / f"{self.epoch}.parquet")
        self.epoch += 1
        self.db.run()

    def check(self) -> None:
        for name, asked in self.asked.items():
            assert self.found(name) == self.expected(asked), (name, self.epoch)

    def select(self, *asked: tuple[int, int, str, str], number: int | None) -> None:
        """Asks once, under all isolation levels and in a block; a synopsis of that number has the answers."""
        place = "history, " if number is None else f"synopsis {number}"
        for one in asked:
            sql, expected = select_of(one), self.expected(one)
            assert f"asked once it is answered from: {place}" in self.db.sql(f"EXPLAIN {sql}"), sql
            with self.db.read() as block:
                answers = [block.sql(sql)]
            answers += [self.db.sql(sql, isolation=level) for level in ("window", "snapshot", "latest")]
            for answer in answers:
                assert Counter(tuple(row.values()) for row in answer.to_pylist()) == expected, sql
                assert (answer.epoch, answer.complete_from) == (self.db.status().epoch, None)

    def found(self, name: str) -> Counter[Any]:
        return Counter(tuple(row.values()) for row in self.db.query(name).invoke().to_pylist())

    def expected(self, asked: tuple[int, int, str, str]) -> Counter[Any]:
        """What DuckDB says: a tuple that came late is seen from the slide on that follows its epoch."""
        length, slide, columns, rest = asked
        now = to_microseconds(self.db.status().clock) // 1000
        at = now // (slide * 1000) * slide * 1000
        size = ROWS // EPOCHS
        clocks = [-1]
        for epoch in range(self.epoch):
            newest = int(pa.compute.max(self.rows.slice(0, (epoch + 1) * size).column("ts")).as_py())
            clocks.append(newest)
        came = np.repeat(np.array(clocks[:-1]) + 1, size)
        rows = self.rows.slice(0, self.epoch * size)
        seen = np.maximum(came, rows.column("ts").to_numpy())
        rows = rows.append_column("seen", pa.array(seen))
        sql = f"SELECT {columns} FROM rows WHERE seen <= {at} AND ts > {at - length * 1000} AND ts <= {at} {rest}"
        return Counter(
            tuple(row) for row in duckdb.sql(sql.replace("sum(bytes)", "sum(bytes)::BIGINT")).fetchall()
        )


def test_windows_of_any_length_are_read_from_one_synopsis(tmp_path: Path) -> None:
    case = Database(tmp_path)
    case.ask("alone", ASKED[0])
    case.ask("q1", ASKED[1])
    case.run()
    case.check()
    first = case.db.sql("SHOW SYNOPSES").to_pylist()
    assert [(row["kind"], row["panes"], row["readers"]) for row in first] == [("interval", 4, 1)]
    # A window that slides more often, and one that is longer: the synopsis begins anew, for all at once.
    case.ask("q2", ASKED[2])
    case.ask("q3", ASKED[3])
    case.run()
    case.check()
    (grown,) = case.db.sql("SHOW SYNOPSES").to_pylist()
    assert (grown["panes"], grown["readers"], grown["number"] != first[0]["number"]) == (12, 3, True)
    case.select(*ONCE, number=grown["number"])
    case.select(*NOT_IN_PANES, number=None)
    case.reopen()
    case.db.sql("ALTER QUERY q1 SET shards = 3")
    case.db.query("q3").drop()
    del case.asked["q3"]
    case.run()
    case.check()
    (kept,) = case.db.sql("SHOW SYNOPSES").to_pylist()
    assert (kept["number"], kept["readers"]) == (grown["number"], 2), "to drop a query builds nothing anew"
    # The longest window has gone, and its panes are still there.
    case.select(*ONCE, number=grown["number"])
    case.ask("total", TOTAL)
    case.ask("total_again", TOTAL)
    case.run()
    case.check()
    lines = str(case.db.sql("EXPLAIN q2"))
    assert "12 × 5 s, shared by 2 (SS1" in lines
    case.db.close()


def test_selections_of_any_kind_are_read_from_one_synopsis(tmp_path: Path) -> None:
    case = Database(tmp_path)
    case.db.sql("SET share_from = 1")
    case.ask("q0", SELECTED[0])
    case.ask("q1", SELECTED[1])
    case.run()
    case.check()
    (first,) = case.db.sql("SHOW SYNOPSES").to_pylist()
    assert (first["readers"], first["groups"], first["signatures"]) == (2, 6, 2)
    case.ask("q2", SELECTED[2])
    case.ask("q3", SELECTED[3])
    case.run()
    case.check()
    (grown,) = case.db.sql("SHOW SYNOPSES").to_pylist()
    assert (grown["readers"], grown["groups"], grown["number"] != first["number"]) == (4, 6, True)
    lines = " ".join(str(case.db.sql("EXPLAIN q2")).split())
    assert f"12 × 5 s, {grown['signatures']} signatures, shared by 4 (SS1, SS2, SS4)" in lines
    case.select(*SELECTED_ONCE, number=grown["number"])
    case.select(SELECTED[4], number=None)
    case.reopen()
    case.db.sql("ALTER QUERY q0 SET shards = 3")
    for name in ("q1", "q3"):
        case.db.query(name).drop()
        del case.asked[name]
    case.run()
    case.check()
    (kept,) = case.db.sql("SHOW SYNOPSES").to_pylist()
    assert (kept["number"], kept["readers"]) == (grown["number"], 2), "to drop a query builds nothing anew"
    # The new predicate takes the place of one that is gone.
    case.ask("q4", SELECTED[4])
    case.run()
    case.check()
    (anew,) = case.db.sql("SHOW SYNOPSES").to_pylist()
    assert (anew["readers"], anew["number"] != kept["number"]) == (3, True)
    case.select(SELECTED[4], number=anew["number"])
    case.select(SELECTED_ONCE[0], number=None)
    case.db.close()
