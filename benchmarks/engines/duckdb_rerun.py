"""DuckDB, which has no standing queries: files are loaded into a table, and every slide asks again.

It keeps everything in memory, and nothing for the next slide.
"""

from __future__ import annotations

import time

import duckdb
import numpy as np

from benchmarks import checksums
from benchmarks.checksums import Checksum
from benchmarks.engine import Outcome
from benchmarks.traffic import dataset, standing_queries
from benchmarks.workloads import WORKLOADS, Workload

WINDOW = "ts >= $begin AND ts < $end"
SQL = {
    "W1": "SELECT src::BIGINT AS src, count(*) AS n, sum(bytes)::BIGINT AS total "
    f"FROM t WHERE {WINDOW} GROUP BY src",
    "W3": f"SELECT count(*) AS n FROM (SELECT DISTINCT src, dst FROM t WHERE link = 0 AND {WINDOW})",
    "W4": f"SELECT count(*) AS n FROM t AS a WHERE link = 0 AND {WINDOW} AND NOT EXISTS "
    "(SELECT 1 FROM t AS b WHERE b.link = 1 AND b.ts >= $begin AND b.ts < $end AND b.src = a.src)",
    # A join with a table of the bounds: a thousand filtered counts in one SELECT take far longer.
    "W5": f"SELECT query, count(*) AS n FROM (SELECT * FROM t WHERE {WINDOW}) JOIN bounds "
    "ON bytes >= low AND bytes < high AND dst >= first AND dst < last AND (wanted IS NULL OR wanted = proto) "
    "GROUP BY query",
    "W6": f"SELECT src::BIGINT AS src, count(*) AS n FROM t WHERE {WINDOW} GROUP BY src "
    "ORDER BY n DESC, src LIMIT 10",
}
JOIN = """
SELECT count(*) FROM (SELECT * FROM t WHERE link = 0 AND proto = 'ftp' AND ts >= $since) AS a
JOIN (SELECT * FROM t WHERE link = 1 AND proto = 'ftp' AND ts >= $since) AS b
ON a.src = b.src AND abs(a.ts - b.ts) <= 60000 AND greatest(a.file, b.file) = $file
"""


class DuckDBRerun:
    def run(self, workload: str, rows: int, files: int) -> Outcome:
        data, asked = dataset(rows, files), WORKLOADS[workload]
        checksum = Checksum()
        with duckdb.connect(config={"threads": 2}) as connection:
            connection.execute(
                "CREATE TABLE t (ts BIGINT, link INT, src INT, dst INT, proto VARCHAR, bytes INT, file INT)"
            )
            if workload == "W5":
                _create_bounds(connection)
            began = time.perf_counter()
            done = 0
            for number, file in enumerate(data.files):
                connection.execute(f"INSERT INTO t SELECT *, {number} FROM read_parquet('{file}')")
                first, last = connection.execute(
                    f"SELECT min(ts), max(ts) FROM t WHERE file = {number}"
                ).fetchall()[0]
                if asked.slide_ms is None:
                    times = {"since": first - 60_000, "file": number}
                    checksum.add(connection.execute(JOIN, times).fetchall()[0][0])
                    continue
                complete = (last - asked.end_ms(0)) // asked.slide_ms
                for k in range(done + 1, complete + 1):
                    _answer(connection, asked, k, checksum)
                done = complete
            return Outcome(time.perf_counter() - began, checksum.text)

    def close(self) -> None:
        pass


def engine() -> DuckDBRerun:
    return DuckDBRerun()


def _create_bounds(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute(
        "CREATE TABLE bounds (query BIGINT, low INT, high INT, first INT, last INT, wanted VARCHAR)"
    )
    rows = [(i, q.low, q.high, q.first, q.last, q.proto) for i, q in enumerate(standing_queries())]
    connection.executemany("INSERT INTO bounds VALUES (?, ?, ?, ?, ?, ?)", rows)


def _answer(connection: duckdb.DuckDBPyConnection, asked: Workload, k: int, checksum: Checksum) -> None:
    end = asked.end_ms(k)
    answer = connection.execute(SQL[asked.name], {"begin": end - asked.range_ms, "end": end}).fetchnumpy()
    match asked.name:
        case "W1":
            parts = checksums.groups(answer["src"], answer["n"], answer["total"])
        case "W5":
            parts = checksums.standing(answer["query"], answer["n"])
        case "W6":
            parts = checksums.ranked(np.arange(1, len(answer["n"]) + 1), answer["src"], answer["n"])
        case _:
            parts = checksums.number(answer["n"])
    checksum.add(*checksums.of_answer(parts, k))
