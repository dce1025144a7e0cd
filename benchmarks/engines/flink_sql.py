"""Flink SQL through PyFlink: a cluster in this process with two slots, state on the heap, nothing durable.

Its source is CSV in two packed files with every second row each, so that both readers move through time in step
and no row is late. Answers go nowhere while it is timed; a second run, not timed, writes them to files for the
checksum.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyflink
from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableEnvironment

from benchmarks import checksums
from benchmarks.checksums import EXPECTED, Checksum
from benchmarks.engine import Outcome
from benchmarks.traffic import Dataset, cache_folder, dataset, standing_queries
from benchmarks.workloads import WORKLOADS, Workload

CONFIGURATION = {
    "parallelism.default": "2",
    "taskmanager.numberOfTaskSlots": "2",
    "taskmanager.memory.managed.size": "1g",
    "taskmanager.memory.network.min": "256m",
    "taskmanager.memory.network.max": "256m",
    "table.local-time-zone": "UTC",
    "pipeline.object-reuse": "true",
}


class FlinkSql:
    def __init__(self) -> None:
        configuration = Configuration()
        for name, value in CONFIGURATION.items():
            configuration.set_string(name, value)
        settings = EnvironmentSettings.new_instance().in_streaming_mode()
        self._tables = TableEnvironment.create(settings.with_configuration(configuration).build())
        self._number = 0

    def run(self, workload: str, rows: int, files: int) -> Outcome:  # noqa: ARG002
        data = dataset(rows, 2, kind="turns")
        asked = WORKLOADS[workload]
        seconds = self._execute(asked, data, None)
        if f"{workload}:{rows}" not in EXPECTED:
            return Outcome(seconds, None)
        with tempfile.TemporaryDirectory(prefix="panes-bench-") as folder:
            self._execute(asked, data, Path(folder))
            return Outcome(seconds, _checksum(asked, data, Path(folder)))

    def close(self) -> None:
        pass

    def _execute(self, asked: Workload, data: Dataset, out: Path | None) -> float:
        self._number += 1
        source = f"packets{self._number}"
        self._tables.execute_sql(
            f"CREATE TEMPORARY TABLE {source} (ts BIGINT, link INT, src INT, dst INT, proto STRING, `bytes` INT, "
            "t AS TO_TIMESTAMP_LTZ(ts, 3), WATERMARK FOR t AS t) "
            f"WITH ('connector' = 'filesystem', 'path' = 'file://{data.folder}', 'format' = 'csv')"
        )
        statements = self._tables.create_statement_set()
        for number, (columns, select) in enumerate(self._selects(asked, source)):
            sink = "'connector' = 'blackhole'"
            if out is not None:
                sink = f"'connector' = 'filesystem', 'path' = 'file://{out / str(number)}', 'format' = 'csv'"
            self._tables.execute_sql(f"CREATE TEMPORARY TABLE {source}_{number} ({columns}) WITH ({sink})")
            statements.add_insert_sql(f"INSERT INTO {source}_{number} {select}")
        began = time.perf_counter()
        statements.execute().wait()
        return time.perf_counter() - began

    def _selects(self, asked: Workload, source: str) -> list[tuple[str, str]]:
        """The columns and the text of each statement."""
        ends = "`at` TIMESTAMP(3)"
        if asked.name == "W2":
            left, right = (f"(SELECT * FROM {source} WHERE link = {n} AND proto = 'ftp')" for n in (0, 1))
            return [
                (
                    "ts0 BIGINT, ts1 BIGINT, src INT",
                    f"SELECT a.ts, b.ts, a.src FROM {left} AS a JOIN {right} AS b ON a.src = b.src "
                    "AND b.t BETWEEN a.t - INTERVAL '60' SECOND AND a.t + INTERVAL '60' SECOND",
                )
            ]
        if asked.name == "W5":
            return self._standing(asked, source)
        windows = self._windows(
            asked, f"(SELECT * FROM {source} WHERE link = 0)" if asked.name == "W3" else source
        )
        both = "GROUP BY window_start, window_end"
        match asked.name:
            case "W1":
                sums = "COUNT(*), SUM(CAST(`bytes` AS BIGINT))"
                return [
                    (
                        f"{ends}, src INT, n BIGINT, total BIGINT",
                        f"SELECT window_end, src, {sums} FROM {windows} {both}, src",
                    )
                ]
            case "W3":
                pair = "CAST(src AS BIGINT) * 20000 + dst"
                return [
                    (f"{ends}, n BIGINT", f"SELECT window_end, COUNT(DISTINCT {pair}) FROM {windows} {both}")
                ]
            case "W4":
                counts = (
                    "SELECT window_start, window_end, src, COUNT(*) FILTER (WHERE link = 0) AS wanted, "
                    f"COUNT(*) FILTER (WHERE link = 1) AS others FROM {windows} {both}, src"
                )
                rest = f"SELECT window_end, SUM(wanted) FROM ({counts}) WHERE others = 0 {both}"
                return [(f"{ends}, n BIGINT", rest)]
        counts = f"SELECT window_start, window_end, src, COUNT(*) AS n FROM {windows} {both}, src"
        rank = (
            "SELECT *, ROW_NUMBER() OVER "
            "(PARTITION BY window_start, window_end ORDER BY n DESC, src ASC) AS place "
            f"FROM ({counts})"
        )
        top = f"SELECT window_end, src, n, place FROM ({rank}) WHERE place <= 10"
        return [(f"{ends}, src INT, n BIGINT, place BIGINT", top)]

    def _standing(self, asked: Workload, source: str) -> list[tuple[str, str]]:
        """A Java function matches packets with the queries: Flink's SQL alone takes far longer."""
        jar, queries = _matching_queries()
        self._tables.execute_sql(
            "CREATE TEMPORARY SYSTEM FUNCTION IF NOT EXISTS matching "
            f"AS 'MatchingQueries' LANGUAGE JAVA USING JAR 'file://{jar}'"
        )
        matches = (
            f"(SELECT t, query FROM {source}, "
            f"LATERAL TABLE(matching('{queries}', `bytes`, dst, proto)) AS m(query))"
        )
        counts = f"SELECT window_end, query, COUNT(*) FROM {self._windows(asked, matches)}"
        return [
            (
                "`at` TIMESTAMP(3), query INT, n BIGINT",
                f"{counts} GROUP BY window_start, window_end, query",
            )
        ]

    def _windows(self, asked: Workload, source: str) -> str:
        if source.startswith("("):
            self._number += 1
            view = f"filtered{self._number}"
            self._tables.execute_sql(f"CREATE TEMPORARY VIEW {view} AS {source[1:-1]}")
            source = view
        assert asked.slide_ms is not None
        slide, length = (f"INTERVAL '{ms // 1000}' SECOND(3)" for ms in (asked.slide_ms, asked.range_ms))
        return f"TABLE(HOP(TABLE {source}, DESCRIPTOR(t), {slide}, {length}))"


def engine() -> FlinkSql:
    return FlinkSql()


def _matching_queries() -> tuple[Path, Path]:
    """The Java function, compiled on first use, and the file of queries that it reads."""
    folder = cache_folder() / "flink"
    jar, queries = folder / "matching.jar", folder / "queries.csv"
    if not jar.exists():
        folder.mkdir(parents=True, exist_ok=True)
        bounds = [f"{q.low},{q.high},{q.first},{q.last},{q.proto or ''}" for q in standing_queries()]
        queries.write_text("\n".join(bounds) + "\n", encoding="utf-8")
        libraries = Path(pyflink.__file__).parent / "lib" / "*"
        source = Path(__file__).with_name("MatchingQueries.java")
        subprocess.run(["javac", "-cp", str(libraries), "-d", str(folder), str(source)], check=True)
        subprocess.run(["jar", "cf", str(jar), "-C", str(folder), "MatchingQueries.class"], check=True)
    return jar, queries


def _checksum(asked: Workload, data: Dataset, out: Path) -> str:
    checksum = Checksum()
    if asked.slide_ms is None:
        return str(len(_read(out / "0")))
    for folder in sorted(out.iterdir(), key=lambda path: int(path.name)):
        rows = _read(folder)
        at = pd.to_datetime(rows[0]).to_numpy().astype("datetime64[ms]").astype(np.int64)
        k = (at - asked.end_ms(0)) // asked.slide_ms
        seen = k <= data.slides(asked.slide_ms)
        k, columns = k[seen], [rows[i].to_numpy().astype(np.int64)[seen] for i in range(1, rows.shape[1])]
        match asked.name:
            case "W1":
                parts = checksums.groups(*columns)
            case "W5":
                parts = checksums.standing(columns[0], columns[1])
            case "W6":
                parts = checksums.ranked(columns[2], columns[0], columns[1])
            case _:
                parts = checksums.number(columns[0])
        _add(checksum, parts, k)
    return checksum.text


def _add(checksum: Checksum, parts: list[checksums.Part], k: checksums.Numbers) -> None:
    checksum.add(*(int(np.sum(constant + slope * k)) for constant, slope in parts))


def _read(folder: Path) -> pd.DataFrame:
    files = [path for path in folder.iterdir() if path.stat().st_size]
    return pd.concat([pd.read_csv(path, header=None) for path in files])
