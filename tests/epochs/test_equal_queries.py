"""Equal queries share one state, and each has the answer that it would have by itself."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from panes.testing import local

STREAM = "CREATE STREAM packets (ts BIGINT, src BIGINT, bytes BIGINT) TIMESTAMP BY ts SECONDS"
JOINED = """SELECT a.src, a.bytes AS x, b.bytes AS y
FROM packets [RANGE 9 SECONDS] AS a, packets [RANGE 5 SECONDS] AS b WHERE a.src = b.src AND a.bytes < b.bytes"""
PER_EPOCH = 60


class Database:
    """A database of one stream, whose answers are compared with those of DuckDB."""

    def __init__(self, folder: Path) -> None:
        self.db = local(folder / "db")
        self.db.sql(STREAM)
        self.rng = np.random.default_rng(3)
        self.rows: list[pa.Table] = []

    def run(self) -> None:
        begin = 10 * len(self.rows)
        ts = np.sort(self.rng.integers(begin, begin + 10, PER_EPOCH))
        columns = {name: self.rng.integers(0, most, PER_EPOCH) for name, most in (("src", 9), ("bytes", 99))}
        self.rows.append(pa.table({"ts": ts, **columns}))
        self.db.push("packets", self.rows[-1])
        self.db.run()

    def check(self, *names: str) -> None:
        rows = pa.concat_tables(self.rows)
        now = int(pa.compute.max(rows.column("ts")).as_py())
        sql = JOINED
        for seconds in (9, 5):
            window = f"packets [RANGE {seconds} SECONDS]"
            sql = sql.replace(window, f"(SELECT * FROM rows WHERE ts > {now - seconds})")
        expected = Counter(duckdb.sql(sql).fetchall())
        assert expected
        for name in names:
            found = self.db.query(name).invoke().to_pylist()
            assert Counter(tuple(row.values()) for row in found) == expected, name

    def states(self) -> int:
        return len(self.db.status().queries)


@pytest.mark.parametrize("dropped", ["first", "second"])
def test_equal_queries_have_one_state_which_stays_when_one_of_them_is_dropped(
    tmp_path: Path, dropped: str
) -> None:
    case = Database(tmp_path)
    case.db.register(JOINED, "first")
    case.run()
    case.db.register(JOINED, "second")
    # It has the answer before an epoch has run it.
    case.check("first", "second")
    case.run()
    case.check("first", "second")
    assert case.states() == 1
    first, second = ([*map(repr, case.db.query(name).changes())] for name in ("first", "second"))
    assert first == second != []
    case.db.sql(f"DROP QUERY {dropped}")
    (stays,) = {"first", "second"} - {dropped}
    case.check(stays)
    case.run()
    case.check(stays)
    assert list(case.db.status().queries) == [stays]
    # One that is altered leaves the state to the other one.
    case.db.register(JOINED, "third")
    case.db.sql(f"ALTER QUERY {stays} AS SELECT src FROM packets [RANGE 2 SECONDS] WHERE bytes > 50")
    case.run()
    case.check("third")
    assert case.states() == 2
    case.db.close()
