"""How rows/s change as one thing grows: window ÷ slide, the window, groups, standing queries, shards.

    python -m benchmarks.growth [--only slides] [--rows 2000000]

Beside the first two is DuckDB, asked again at every slide: it is timed on some slides of a full window, and the
rate is what it would reach at all of them. At random slides the changes that Panes gave are added up and compared
with the answer worked out from the rows.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import panes
from benchmarks import charts
from benchmarks.engines.panes_cql import changes_of
from benchmarks.result_files import load, save
from benchmarks.traffic import START_MS, standing_queries

NAME = "growth"
FILE_ROWS = 200_000
PER_SECOND = 1_000
"""Rows for each second of event time."""
SPOT_CHECKS = 5
SAMPLED_SLIDES = 20
"""Slides that DuckDB is timed on."""

WINDOW_OVER_SLIDE = (10, 60, 600, 3_600)
WINDOW_ROWS = (10_000, 100_000, 1_000_000, 10_000_000)
GROUPS = (10, 1_000, 100_000, 1_000_000)
QUERIES = (1, 10, 100, 1_000)
SHARDS = (1, 2, 4)

STREAM = (
    "CREATE STREAM packets (ts BIGINT, src INT, dst INT, proto STRING, bytes INT) "
    "TIMESTAMP BY ts MILLISECONDS FROM FILES '{folder}'"
)
GROUP_BY = "SELECT src, count(*) AS n, sum(bytes) AS total FROM packets [{window}] GROUP BY src"
SOURCES = 5_000


@dataclass(frozen=True)
class Point:
    """One measurement: what grew, how large it was, and what was reached."""

    curve: str
    x: int
    panes: int
    """Rows per second."""
    duckdb: int | None = None
    changes: int = 0
    reading_s: float = 0.0


@dataclass(frozen=True)
class Rows:
    """Generated rows in files."""

    folder: Path
    table: pa.Table

    @classmethod
    def made(cls, folder: Path, rows: int, groups: int = SOURCES) -> Rows:
        random = np.random.default_rng(3)
        table = pa.table(
            {
                "ts": START_MS + 1 + np.arange(rows) * 1_000 // PER_SECOND,
                "src": random.integers(0, groups, rows, dtype=np.int32),
                "dst": random.integers(0, 20_000, rows, dtype=np.int32),
                "proto": pa.array(np.array(["ftp", "http"])[random.integers(0, 2, rows)]),
                "bytes": random.integers(40, 1_500, rows, dtype=np.int32),
            }
        )
        folder.mkdir(parents=True)
        for number, first in enumerate(range(0, rows, FILE_ROWS)):
            path = folder / f"part-{number:05d}.parquet"
            pq.write_table(table.slice(first, FILE_ROWS), path)
            os.utime(path, (number, number))
        return cls(folder, table)


@dataclass(frozen=True)
class Ran:
    seconds: float
    changes: Sequence[pa.Table]
    reading_s: float


def run_panes(rows: Rows, queries: Sequence[str], *, settings: Sequence[str] = (), read: bool = True) -> Ran:
    with panes.connect() as db:
        for setting in settings:
            db.sql(setting)
        db.sql(STREAM.format(folder=rows.folder))
        registered = [db.register(query) for query in queries]
        began = time.perf_counter()
        db.run()
        ran = time.perf_counter()
        changes = [changes_of(query) for query in registered] if read else []
        return Ran(ran - began, changes, time.perf_counter() - ran)


def group_by(range_ms: int, slide_ms: int) -> str:
    return GROUP_BY.format(window=f"RANGE {range_ms} MILLISECONDS SLIDE {slide_ms} MILLISECONDS")


def check(rows: Rows, changes: pa.Table, range_ms: int, slide_ms: int) -> None:
    """The changes up to some slides add up to what the windows hold there."""
    ts, src, size = (rows.table.column(name).to_numpy() for name in ("ts", "src", "bytes"))
    at = changes.column("_at").cast(pa.int64()).to_numpy() // 1_000
    weight, key = changes.column("_weight").to_numpy(), changes.column("src").to_numpy()
    hosts = int(src.max()) + 1
    # Slides are the multiples of their length since 1970.
    first, last = START_MS // slide_ms + 1, int(ts[-1]) // slide_ms
    for k in np.random.default_rng(last).integers(first, last + 1, SPOT_CHECKS):
        end = int(k) * slide_ms
        seen, held = at <= end, (ts > end - range_ms) & (ts <= end)
        for column, value in (("n", np.ones_like(size)), ("total", size)):
            given = weight[seen] * changes.column(column).to_numpy()[seen]
            found = np.bincount(key[seen], given, hosts)
            expected = np.bincount(src[held], value[held], hosts)
            if not np.array_equal(found, expected):
                raise AssertionError(f"{column} at slide {k} of {slide_ms} ms is wrong")


def rerun(rows: Rows, range_ms: int, slide_ms: int) -> int:
    """Rows/s of DuckDB, from the time it takes to load all rows and to answer some slides of full windows."""
    with duckdb.connect(config={"threads": 2}) as connection:
        began = time.perf_counter()
        connection.execute(f"CREATE TABLE t AS SELECT * FROM read_parquet('{rows.folder}/*.parquet')")
        loading = time.perf_counter() - began
        first, last = START_MS, rows.table["ts"][-1].as_py()
        slides = (last - first) // slide_ms
        full = np.random.default_rng(slides).integers(
            min(slides, range_ms // slide_ms), slides + 1, SAMPLED_SLIDES
        )
        began = time.perf_counter()
        for k in full:
            end = first + int(k) * slide_ms
            connection.execute(
                "SELECT src, count(*), sum(bytes) FROM t WHERE ts > ? AND ts <= ? GROUP BY src",
                [end - range_ms, end],
            ).fetchnumpy()
        per_slide = (time.perf_counter() - began) / len(full)
    seconds: float = loading + slides * per_slide
    return round(int(rows.table.num_rows) / seconds)


def slides(folder: Path, rows: int) -> list[Point]:
    """Window ÷ slide, over a window of twelve minutes."""
    data, range_ms = Rows.made(folder, rows), 720_000
    points = []
    for ratio in WINDOW_OVER_SLIDE:
        slide_ms = range_ms // ratio
        points.append(_beside_duckdb("slides", ratio, data, range_ms, slide_ms))
    return points


def windows(folder: Path, rows: int) -> list[Point]:
    """Rows in the window, with sixty slides in each."""
    points = []
    for held in WINDOW_ROWS:
        data = Rows.made(folder / str(held), max(rows, held * 6 // 5))
        range_ms = held * 1_000 // PER_SECOND
        slide_ms = range_ms // 60
        points.append(_beside_duckdb("windows", held, data, slide_ms * 60, slide_ms))
    return points


def _beside_duckdb(curve: str, x: int, data: Rows, range_ms: int, slide_ms: int) -> Point:
    """A run of Panes with its spot checks, and what DuckDB would reach."""
    ran = run_panes(data, [group_by(range_ms, slide_ms)])
    changes = ran.changes[0]
    check(data, changes, range_ms, slide_ms)
    rate = round(data.table.num_rows / ran.seconds)
    point = Point(curve, x, rate, rerun(data, range_ms, slide_ms), changes.num_rows, ran.reading_s)
    _tell(point)
    return point


def groups(folder: Path, rows: int) -> list[Point]:
    points = []
    for count in GROUPS:
        data = Rows.made(folder / str(count), rows, count)
        ran = run_panes(data, [group_by(600_000, 10_000)])
        check(data, ran.changes[0], 600_000, 10_000)
        points.append(Point("groups", count, round(rows / ran.seconds), None, ran.changes[0].num_rows))
        _tell(points[-1])
    return points


def queries(folder: Path, rows: int) -> list[Point]:
    """Standing queries as those of W5."""
    data = Rows.made(folder, rows)
    points = []
    for count in QUERIES:
        sql = [
            "SELECT count(*) AS n FROM packets [RANGE 60 SECONDS SLIDE 10 SECONDS] WHERE "
            f"bytes >= {40 + q.first % 1_000} AND bytes < {340 + q.first % 1_000} "
            f"AND dst >= {q.first} AND dst < {q.last}"
            for q in standing_queries()[:count]
        ]
        ran = run_panes(data, sql, read=False)
        points.append(Point("queries", count, round(rows / ran.seconds)))
        _tell(points[-1])
    return points


def shards(folder: Path, rows: int) -> list[Point]:
    data = Rows.made(folder, rows)
    points = []
    for count in SHARDS:
        ran = run_panes(data, [group_by(600_000, 10_000)], settings=[f"SET shards = {count}"], read=False)
        points.append(Point("shards", count, round(rows / ran.seconds)))
        _tell(points[-1])
    return points


CURVES: dict[str, tuple[Callable[[Path, int], list[Point]], str]] = {
    "slides": (slides, "window ÷ slide"),
    "windows": (windows, "rows in the window"),
    "groups": (groups, "groups"),
    "queries": (queries, "standing queries"),
    "shards": (shards, "shards"),
}


def draw(points: Sequence[Point]) -> None:
    for curve, (_, title) in CURVES.items():
        mine = [p for p in points if p.curve == curve]
        if not mine:
            continue
        lines = {"Panes": [(float(p.x), float(p.panes)) for p in mine]}
        beside = [(float(p.x), float(p.duckdb)) for p in mine if p.duckdb]
        if beside:
            lines["DuckDB, asked again"] = beside
        charts.lines(f"growth-{curve}", [charts.Panel(f"by {title}", lines, title, "rows per second")])


def _tell(point: Point) -> None:
    beside = f"{point.duckdb:>14,} DuckDB" if point.duckdb else ""
    print(f"{point.curve:<10}{point.x:>12,}{point.panes:>14,} rows/s{beside}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", choices=CURVES, nargs="+", default=list(CURVES))
    parser.add_argument("--rows", type=int, default=2_000_000)
    arguments = parser.parse_args()
    points: list[Point] = []
    with tempfile.TemporaryDirectory(prefix="panes-bench-") as name:
        folder = Path(name)
        warm = Rows.made(folder / "warm", 20_000)
        run_panes(warm, [group_by(10_000, 1_000)])
        for curve in arguments.only:
            points += CURVES[curve][0](folder / curve, arguments.rows)
    if (last := load(NAME)) is not None:
        points += [Point(**old) for old in last["results"] if old["curve"] not in arguments.only]
    save(NAME, [asdict(point) for point in points])
    draw(points)


if __name__ == "__main__":
    main()
