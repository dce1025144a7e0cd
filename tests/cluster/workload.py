"""Streams, queries of every kind over them, the rows of each round, and what DuckDB says that the answers are.

    a    pushed, in the order of time
    b    the same; as Parquet files where executors see a folder of them
    c    with rows that come late and rows that cannot be used; as CSV files where executors see them

No two rows of `a` or of `b` have the same time, so that a count window leaves nothing open.
"""

from __future__ import annotations

import datetime
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from panes.testing import same_rows
from tests.cluster import asked
from tests.cluster.driver import Driver

Row = dict[str, Any]

_FIRST_S = 1_700_000_000
_ROUND_S = 40
"""Longer than any slide: every round moves every answer on."""
_COLUMNS = "(ts BIGINT, id BIGINT, k BIGINT, x BIGINT)"
_BY = "TIMESTAMP BY ts SECONDS"

_SHARED = {f"chosen_{x}": f"SELECT id FROM a [RANGE 50 SECONDS] WHERE x = {x}" for x in range(5)}
QUERIES = {
    "all_a": "SELECT id FROM a",
    "all_b": "SELECT id FROM b",
    "all_c": "SELECT id FROM c",
    "selected": "SELECT k, x FROM a [RANGE 20 SECONDS] WHERE x <> 3",
    "grouped": "SELECT k, count(*) AS n, sum(x) AS total FROM c [RANGE 55 SECONDS SLIDE 10 SECONDS] GROUP BY k",
    "paired": "SELECT a.id, b.id AS other FROM a [RANGE 17 SECONDS], b [RANGE 9 SECONDS] WHERE a.k = b.k",
    "different": "SELECT DISTINCT k, x FROM c [RANGE 45 SECONDS]",
    "without": "SELECT x FROM b [RANGE 50 SECONDS] EXCEPT ALL SELECT x FROM c [RANGE 30 SECONDS]",
    "alone": """
        SELECT id FROM a [RANGE 50 SECONDS]
        WHERE NOT EXISTS (SELECT * FROM c [RANGE 30 SECONDS] WHERE c.k = a.k AND c.x = a.x)
    """,
    "last": "SELECT id, x FROM b [ROWS 7]",
    "last_of_each": "SELECT id, k FROM a [PARTITION BY k ROWS 2]",
    "entered": "SELECT Istream(k, count(*) AS n) FROM b [RANGE 20 SECONDS SLIDE 20 SECONDS] GROUP BY k",
    "by_count": """
        SELECT n, count(*) AS groups
        FROM (SELECT k, x, count(*) AS n FROM a [RANGE 35 SECONDS SLIDE 5 SECONDS] GROUP BY k, x) GROUP BY n
    """,
    "pairs_by_x": """
        SELECT b.x, count(*) AS n, max(a.id) AS newest
        FROM a [RANGE 17 SECONDS], b [RANGE 17 SECONDS] WHERE a.k = b.k GROUP BY b.x
    """,
    **_SHARED,
}
LATER = {
    "later": "SELECT k, count(*) AS n, sum(id) AS total FROM c GROUP BY k",
    "later_pairs": "SELECT a.id, c.id AS other FROM a [RANGE 80 SECONDS], c [RANGE 80 SECONDS] WHERE a.k = c.k",
}
"""Registered at the end: the history has what they need."""

_WITHIN = "(SELECT * FROM {0} WHERE ts <= $now AND $now < ts + {1}) AS {0}"
_ENTERED = """
    WITH grouped AS (
        SELECT slide, k, count(*) AS n FROM (SELECT *, (ts + 19) // 20 * 20 AS slide FROM b)
        WHERE slide <= $now GROUP BY slide, k
    )
    SELECT k, n FROM grouped AS one WHERE NOT EXISTS (
        SELECT * FROM grouped AS other WHERE other.slide = one.slide - 20 AND other.k = one.k AND other.n = one.n
    )
"""
_COUNTED = f"SELECT k, x, count(*) AS n FROM {_WITHIN.format('a', 35)} GROUP BY k, x"


def _within(stream: str, seconds: int) -> str:
    return _WITHIN.format(stream, seconds)


ANSWERS = {
    "all_a": "SELECT id FROM a",
    "all_b": "SELECT id FROM b",
    "all_c": "SELECT id FROM c",
    "selected": f"SELECT k, x FROM {_within('a', 20)} WHERE x <> 3",
    "grouped": f"SELECT k, count(*), sum(x) FROM {_within('c', 55)} GROUP BY k",
    "paired": f"SELECT a.id, b.id FROM {_within('a', 17)}, {_within('b', 9)} WHERE a.k = b.k",
    "different": f"SELECT DISTINCT k, x FROM {_within('c', 45)}",
    "without": f"SELECT x FROM {_within('b', 50)} EXCEPT ALL SELECT x FROM {_within('c', 30)}",
    "alone": f"""
        SELECT id FROM {_within("a", 50)}
        WHERE NOT EXISTS (SELECT * FROM {_within("c", 30)} WHERE c.k = a.k AND c.x = a.x)
    """,
    "last": "SELECT id, x FROM b ORDER BY ts DESC LIMIT 7",
    "last_of_each": "SELECT id, k FROM a QUALIFY row_number() OVER (PARTITION BY k ORDER BY ts DESC) <= 2",
    "entered": _ENTERED,
    "by_count": f"SELECT n, count(*) FROM ({_COUNTED}) GROUP BY n",
    "pairs_by_x": f"""
        SELECT b.x, count(*), max(a.id) FROM {_within("a", 17)}, {_within("b", 17)} WHERE a.k = b.k GROUP BY b.x
    """,
    **{f"chosen_{x}": f"SELECT id FROM {_within('a', 50)} WHERE x = {x}" for x in range(5)},
    "later": "SELECT k, count(*), sum(id) FROM c GROUP BY k",
    "later_pairs": f"SELECT a.id, c.id FROM {_within('a', 80)}, {_within('c', 80)} WHERE a.k = c.k",
}


@dataclass
class Workload:
    """Rounds of rows for one database, and all that it should have of them."""

    random: Random
    files: Path | None
    """Where `b` and `c` come from files, a folder that the executors see."""
    rows: dict[str, list[Row]] = field(default_factory=lambda: {"a": [], "b": [], "c": []})
    late: list[int] = field(default_factory=list)
    bad: list[str] = field(default_factory=list)
    """What is wrong with each row that cannot be used."""
    rounds: int = 0

    def create(self, driver: Driver) -> None:
        sources = {"a": "", "b": "", "c": ""}
        if self.files is not None:
            for stream in "bc":
                (self.files / stream).mkdir(parents=True)
            sources["b"] = f"FROM FILES '{self.files / 'b'}'"
            sources["c"] = f"FROM FILES '{self.files / 'c'}' WITH (format = 'csv')"
        for stream, source in sources.items():
            driver.do(asked.sql, f"CREATE STREAM {stream} {_COLUMNS} {_BY} {source}")
        driver.do(asked.sql, "SET shards = 3")
        self.register(driver, QUERIES)

    @staticmethod
    def register(driver: Driver, queries: Mapping[str, str]) -> None:
        driver.do(asked.sql, "; ".join(f"CREATE QUERY {name} AS {text}" for name, text in queries.items()))

    def bring(self, driver: Driver) -> None:
        """Gives the database the rows of the next round."""
        first = _FIRST_S + self.rounds * _ROUND_S
        number, self.rounds = self.rounds, self.rounds + 1
        for stream in "abc":
            new = [self._row(first + second) for second in range(1, _ROUND_S) if self.random.random() < 0.8]
            # The last of a round has the same time in all streams, so that all clocks are there.
            new.append(self._row(first + _ROUND_S))
            spoiled: list[Row] = []
            if stream == "c":
                spoiled = [self._row(first + second) for second in (1, 2)]
                self.bad += [str(row["id"]) for row in spoiled]
                if number:
                    late = [self._row(first - self.random.randrange(_ROUND_S)) for _ in range(3)]
                    self.late += [row["id"] for row in late]
                    new = [*late, *new]
            self.rows[stream] += new
            if self.files is None or stream == "a":
                driver.do(asked.push, stream, new + [row | {"ts": None} for row in spoiled])
            else:
                self._write(self.files / stream, number, new, spoiled)

    def _row(self, ts: int) -> Row:
        return {
            "ts": ts,
            "id": self.random.randrange(10**12),
            "k": self.random.randrange(6),
            "x": self.random.randrange(5),
        }

    @staticmethod
    def _write(folder: Path, number: int, rows: list[Row], spoiled: list[Row]) -> None:
        path = folder / f".{number}"
        if folder.name == "b":
            pq.write_table(pa.Table.from_pylist(rows), path)
        else:
            lines = [",".join(map(str, row.values())) for row in rows]
            lines += [",".join(["nonsense", *map(str, list(row.values())[1:])]) for row in spoiled]
            path.write_text("\n".join(lines) + "\n")
        os.utime(path, (number, number))
        path.rename(folder / str(number))

    def check(self, driver: Driver) -> None:
        """Compares every answer with DuckDB's over the same rows, and what was kept of rejected rows."""
        now = _FIRST_S + self.rounds * _ROUND_S
        found = driver.do(asked.answers)
        with duckdb.connect() as connection:
            for stream, rows in self.rows.items():
                connection.register(stream, pa.Table.from_pylist(rows))
            for name, (as_of, table) in found.items():
                instant = (as_of - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)).total_seconds()
                assert now - 20 < instant <= now, name
                sql = ANSWERS[name]
                expected = connection.execute(sql, {"now": int(instant)} if "$now" in sql else None)
                difference = same_rows(table, _table(expected.fetchall(), table.schema))
                assert difference is None, f"{name} as of {as_of}: {difference}"
        late, bad = driver.do(asked.rejected, "c")
        assert Counter(late.column("id").to_pylist()) == Counter(self.late)
        assert Counter(map(str, bad.column("id").to_pylist())) == Counter(self.bad)


def _table(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)
