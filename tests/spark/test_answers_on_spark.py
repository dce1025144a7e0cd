"""The answers of standing queries on Spark equal DuckDB's over the windows, after every epoch."""

import os
from collections import Counter
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import panes
from panes.clock import to_microseconds

SECOND = 1_000_000
START_MS = 1_700_000_000_000

SELECTION = "SELECT src, bytes * 2 AS twice FROM packets [RANGE 10 SECONDS] WHERE proto <> 'udp'"
SELECTION_AT = """
    SELECT src, bytes * 2 FROM arrived
    WHERE proto <> 'udp' AND ts * 1000 <= $now AND $now < ts * 1000 + 10 * 1000000
"""
# The range is no multiple of the slide: the oldest pane is left in the middle.
GROUPED = """
    SELECT src, count(*) AS n, sum(bytes) AS total, count(bytes) AS known
    FROM packets [RANGE 10 SECONDS SLIDE 4 SECONDS] GROUP BY src
"""
GROUPED_AT = """
    SELECT src, count(*), sum(bytes), count(bytes) FROM arrived
    WHERE ts * 1000 <= $now AND $now < ts * 1000 + 10 * 1000000 GROUP BY src
"""


def traffic(rows: int, seed: int) -> pa.Table:
    """Packets in the order of time, with bursts, ties, gaps of many windows, NULLs and duplicates."""
    random = np.random.default_rng(seed)
    gaps = random.choice([0, 0, 1, 40, 700, 3_000, 45_000], rows, p=[0.3, 0.2, 0.2, 0.15, 0.1, 0.045, 0.005])
    some = random.random(rows)
    return pa.table(
        {
            "ts": pa.array(START_MS + np.cumsum(gaps), pa.int64()),
            "src": pa.array(random.integers(0, 7, rows), mask=some < 0.05),
            "proto": pa.array(random.choice(["tcp", "udp", "icmp"], rows), mask=(some > 0.05) & (some < 0.1)),
            "bytes": pa.array(random.integers(-3, 50, rows), mask=some > 0.9),
        }
    )


def write_epochs(folder: Path, table: pa.Table, cuts: list[int]) -> list[pa.Table]:
    """One file per epoch; their times of change say in which order they came."""
    folder.mkdir()
    bounds = [0, *cuts, table.num_rows]
    parts = [table.slice(a, b - a) for a, b in pairwise(bounds)]
    for number, part in enumerate(parts):
        path = folder / f"part-{number:03d}.parquet"
        pq.write_table(part, path)
        os.utime(path, (number, number))
    return parts


def rows(table: pa.Table) -> Counter:
    return Counter(zip(*[column.to_pylist() for column in table.columns], strict=True))


def create_packets(db: panes.Database, folder: Path) -> None:
    db.sql(f"""
        CREATE STREAM packets (ts BIGINT, src BIGINT, proto STRING, bytes BIGINT)
        TIMESTAMP BY ts MILLISECONDS FROM FILES '{folder}' WITH (files_per_epoch = 1)
    """)


@pytest.mark.parametrize(
    "cuts",
    [[], [1, 2, 150, 151, 290], [60, 120, 180, 240]],
    ids=["one epoch", "uneven epochs", "even epochs"],
)
@pytest.mark.parametrize("shards", [1, 3])
def test_answers_equal_duckdb_after_every_epoch(spark, tmp_path, cuts, shards):
    parts = write_epochs(tmp_path / "in", traffic(300, seed=5), cuts)
    with panes.connect(tmp_path / "db", spark=spark) as db:
        create_packets(db, tmp_path / "in")
        db.sql(f"SET shards = {shards}")
        selection = db.register(SELECTION, name="selection")
        grouped = db.register(GROUPED, name="grouped")
        epochs = []

        def compare(epoch: panes.Epoch) -> None:
            arrived = pa.concat_tables(parts[: epoch.number + 1])  # noqa: F841  DuckDB finds it by its name
            now = to_microseconds(epoch.clock)
            slide = now - now % (4 * SECOND)
            answer = selection.invoke()
            assert answer.as_of == epoch.clock
            assert rows(answer.table) == Counter(duckdb.execute(SELECTION_AT, {"now": now}).fetchall())
            answer = grouped.invoke()
            assert to_microseconds(answer.as_of) == slide
            assert rows(answer.table) == Counter(duckdb.execute(GROUPED_AT, {"now": slide}).fetchall())
            epochs.append(epoch)

        db.run(on_epoch=compare)
        # One epoch per file, and one without rows that takes the clock to the last tuple.
        assert [epoch.rows for epoch in epochs] == [*(part.num_rows for part in parts), 0]
        assert to_microseconds(epochs[-1].clock) == parts[-1].column("ts")[-1].as_py() * 1000
        assert db.status().rows == 300


def test_columns_come_in_the_order_of_select_under_their_aliases(spark, tmp_path):
    write_epochs(tmp_path / "in", traffic(20, seed=1), [])
    with panes.connect(tmp_path / "db", spark=spark) as db:
        create_packets(db, tmp_path / "in")
        query = db.register("SELECT bytes AS size, src FROM packets [RANGE 1 HOUR]")
        db.run()
        answer = query.invoke()
        assert answer.table.schema == pa.schema([("size", pa.int64()), ("src", pa.int64())])
        assert len(answer.to_pandas()) == len(answer.to_polars()) == len(answer.to_pylist()) == len(answer)


def test_a_derived_stream_is_what_its_definition_says(spark, tmp_path):
    table = traffic(100, seed=2)
    write_epochs(tmp_path / "in", table, [50])
    with panes.connect(tmp_path / "db", spark=spark) as db:
        create_packets(db, tmp_path / "in")
        db.sql("CREATE STREAM tcp AS SELECT ts, src, bytes + 1 AS more FROM packets WHERE proto = 'tcp'")
        query = db.register("SELECT more FROM tcp [RANGE 1 DAY]")
        db.run()
        packets = table  # noqa: F841  DuckDB finds it by its name
        expected = duckdb.sql("SELECT bytes + 1 FROM packets WHERE proto = 'tcp'").fetchall()
        assert rows(query.invoke().table) == Counter(expected)


def test_a_query_registered_between_runs_sees_what_came_before_and_what_comes_after_it(spark, tmp_path):
    table = traffic(200, seed=3)
    folder = tmp_path / "in"
    write_epochs(folder, table.slice(0, 120), [60])
    with panes.connect(tmp_path / "db", spark=spark) as db:
        create_packets(db, folder)
        early = db.register("SELECT count(*) AS n FROM packets [RANGE 1 DAY]", name="early")
        db.run()
        assert early.invoke().to_pylist() == [{"n": 120}]
        # Equal queries would share one state.
        db.sql("SET priority = 2")
        late = db.register("SELECT count(*) AS n FROM packets [RANGE 1 DAY]", name="late")
        assert late.invoke().to_pylist() == [{"n": 120}]
        pq.write_table(table.slice(120), folder / "later.parquet")
        db.run()
        assert early.invoke().to_pylist() == [{"n": 200}]
        assert late.invoke().to_pylist() == [{"n": 200}]


def test_a_database_goes_on_where_it_was_closed(spark, tmp_path):
    table = traffic(200, seed=4)
    folder = tmp_path / "in"
    write_epochs(folder, table.slice(0, 100), [30])
    with panes.connect(tmp_path / "db", spark=spark) as db:
        create_packets(db, folder)
        db.register(GROUPED, name="grouped")
        db.run()
        before = db.query("grouped").invoke()
    with panes.connect(tmp_path / "db", spark=spark) as db:
        again = db.query("grouped").invoke()
        assert (again.as_of, rows(again.table)) == (before.as_of, rows(before.table))
        pq.write_table(table.slice(100), folder / "later.parquet")
        db.run()
        now = table.column("ts")[-1].as_py() * 1000
        slide = now - now % (4 * SECOND)
        arrived = table  # noqa: F841  DuckDB finds it by its name
        assert rows(db.query("grouped").invoke().table) == Counter(
            duckdb.execute(GROUPED_AT, {"now": slide}).fetchall()
        )


def test_rows_without_a_time_are_counted_and_kept_aside(spark, tmp_path):
    table = traffic(50, seed=6)
    ts = table.column("ts").to_pylist()
    ts[7] = ts[31] = None
    table = table.set_column(0, "ts", pa.array(ts, pa.int64()))
    write_epochs(tmp_path / "in", table, [20])
    with panes.connect(tmp_path / "db", spark=spark) as db:
        create_packets(db, tmp_path / "in")
        query = db.register("SELECT count(*) AS n FROM packets [RANGE 1 DAY]")
        db.run()
        assert query.invoke().to_pylist() == [{"n": 48}]
        assert db.status().bad_rows == 2
        kept = db.bad_rows("packets")
        assert kept.column("src").to_pylist() == [table.column("src")[i].as_py() for i in (7, 31)]
        assert set(kept.column("_bad").to_pylist()) == {"there is no event time"}


def test_rows_that_come_late_are_taken_in_until_they_expire(spark, tmp_path):
    def packet(second: int, size: int) -> pa.Table:
        return pa.table({"ts": [START_MS + second * 1000], "src": [1], "proto": ["tcp"], "bytes": [size]})

    folder = tmp_path / "in"
    folder.mkdir()
    #  0    5    10   15   20   25   30
    #  1---------)                          in time
    #                      2---------)      in time; moves the clock to 20
    #                 3---------)           comes after that: late, alive until 25
    #       4---------)                     comes after that: late, and already gone
    for number, part in enumerate(
        [packet(0, 1), packet(20, 2), pa.concat_tables([packet(15, 3), packet(5, 4)])]
    ):
        pq.write_table(part, folder / f"{number}.parquet")
        os.utime(folder / f"{number}.parquet", (number, number))
    with panes.connect(tmp_path / "db", spark=spark) as db:
        create_packets(db, folder)
        query = db.register("SELECT bytes FROM packets [RANGE 10 SECONDS]")
        seen = []
        db.run(on_epoch=lambda _: seen.append(sorted(query.invoke().table.column("bytes").to_pylist())))
        assert seen == [[], [], [], [2, 3]]
        pq.write_table(packet(24, 5), folder / "3.parquet")
        db.run()
        assert sorted(query.invoke().table.column("bytes").to_pylist()) == [2, 3, 5]
        pq.write_table(packet(25, 6), folder / "4.parquet")
        db.run()
        assert sorted(query.invoke().table.column("bytes").to_pylist()) == [2, 5, 6]
        assert db.status().late_rows == 2
        assert sorted(db.late_rows("packets").column("bytes").to_pylist()) == [3, 4]
        assert db.bad_rows("packets").num_rows == 0
