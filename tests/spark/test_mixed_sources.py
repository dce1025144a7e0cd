"""Streams whose files tasks read themselves, beside streams that Spark reads, in one database."""

from itertools import combinations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import panes
from panes.clock import WallClock
from panes.testing import local

TIMED = "TIMESTAMP BY ts SECONDS"
KINDS = {
    "parquet_timed": f"{TIMED} FROM FILES 'parquet_timed'",
    "parquet_untimed": "FROM FILES 'parquet_untimed'",
    "csv": f"{TIMED} FROM FILES 'csv' WITH (format = 'csv')",
    "json": f"{TIMED} FROM FILES 'json' WITH (format = 'json')",
    "push_timed": TIMED,
    "push_untimed": "",
    "rate": "FROM RATE WITH (rows_per_second = 2)",
}
ROWS = {
    name: [{"ts": n, "value": 100**place + n} for n in range(place + 2)] for place, name in enumerate(KINDS)
}
"""Of each kind another number of rows, with other values."""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """A folder with the files of each kind that has some."""
    folder = tmp_path_factory.mktemp("inputs")
    for name, rows in ROWS.items():
        (folder / name).mkdir()
        if name.startswith("parquet"):
            pq.write_table(pa.Table.from_pylist(rows), folder / name / "0.parquet")
    (folder / "csv" / "0").write_text("".join(f"{row['ts']},{row['value']}\n" for row in ROWS["csv"]))
    json = (f'{{"ts": {row["ts"]}, "value": {row["value"]}}}\n' for row in ROWS["json"])
    (folder / "json" / "0").write_text("".join(json))
    return folder


def begin_rate(database, number):
    """Lets the rate source of a stream begin five seconds ago, so that it has rows in the first epoch."""
    log = database / "checkpoint" / "sources" / f"stream{number}"
    log.mkdir(parents=True)
    (log / "0").write_text(f"v1\n{WallClock().now_us() // 1000 - 5000}")


MIXED = [*combinations(KINDS, 2), *combinations(KINDS, 3)]
ON_SPARK = [kinds for kinds in MIXED if "rate" in kinds or {"csv", "json"} <= {*kinds}]
"""Those with a source that only Spark has, and those that Spark reads in two ways."""


@pytest.mark.parametrize("kinds", [kinds for kinds in MIXED if "rate" not in kinds], ids="-".join)
def test_every_kind_of_source_counts_its_own_rows(tmp_path, inputs, monkeypatch, kinds):
    monkeypatch.chdir(inputs)
    with local(tmp_path / "db") as db:
        check_rows(db, tmp_path, kinds)


@pytest.mark.parametrize("kinds", ON_SPARK, ids="-".join)
def test_every_kind_of_source_counts_its_own_rows_on_spark(spark, tmp_path, inputs, monkeypatch, kinds):
    monkeypatch.chdir(inputs)
    with panes.connect(tmp_path / "db", spark=spark) as db:
        check_rows(db, tmp_path, kinds)


def check_rows(db, tmp_path, kinds) -> None:
    queries = {}
    for number, name in enumerate(kinds, 1):
        db.sql(f"CREATE STREAM {name} (ts BIGINT, value BIGINT) {KINDS[name]}")
        queries[name] = db.register(f"SELECT count(*) AS n, sum(value) AS total FROM {name}")
        if name.startswith("push"):
            db.push(name, ROWS[name])
        if name == "rate":
            begin_rate(tmp_path / "db", number)
    db.run()
    streams = db.status().streams
    for name, query in queries.items():
        n, values = len(ROWS[name]), [row["value"] for row in ROWS[name]]
        if name == "rate":
            n = streams[name].rows
            values = range(n)
            assert n >= 10
        assert query.invoke().to_pylist() == [{"n": n, "total": sum(values)}], name
        assert (streams[name].rows, streams[name].bad, streams[name].bad_files) == (n, 0, 0), name


def test_rows_of_a_parquet_stream_are_not_taken_for_those_of_the_stream_that_spark_reads(spark, tmp_path):
    for name in ("parquet", "csv"):
        (tmp_path / name).mkdir()
    pq.write_table(pa.table({"ts": [1, 2, 3], "k": [7, 8, 9]}), tmp_path / "parquet" / "0.parquet")
    (tmp_path / "csv" / "0.csv").write_text("2,7\n3,9\nnonsense,1\n")
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql(
            "CREATE STREAM a (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS "
            f"FROM FILES '{tmp_path / 'parquet'}'; "
            "CREATE STREAM b (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS "
            f"FROM FILES '{tmp_path / 'csv'}' WITH (format = 'csv')"
        )
        counted = db.register("SELECT count(*) AS n FROM b [RANGE 1 DAY]")
        both = db.register("SELECT a.ts, b.ts AS other FROM a [RANGE 1 DAY], b [RANGE 1 DAY] WHERE a.k = b.k")
        db.run()
        assert counted.invoke().to_pylist() == [{"n": 2}]
        assert sorted(row["ts"] for row in both.invoke().to_pylist()) == [1, 3]
        streams = db.status().streams
        assert (streams["a"].rows, streams["a"].bad) == (3, 0)
        assert (streams["b"].rows, streams["b"].bad) == (3, 1)
        assert db.bad_rows("b").num_rows == 1


def test_columns_that_stand_in_the_names_of_folders_are_read(spark, tmp_path):
    for k in (7, 8):
        folder = tmp_path / "in" / f"k={k}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"ts": [k, k + 1]}), folder / "0.parquet")
        (tmp_path / "csv" / f"k=0{k}").mkdir(parents=True)
        (tmp_path / "csv" / f"k=0{k}" / "0").write_text(f"more,ts\nx,{k}\n")
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql(f"""
            CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS FROM FILES '{tmp_path / "in"}';
            CREATE STREAM c (k STRING, ts BIGINT) TIMESTAMP BY ts SECONDS
              FROM FILES '{tmp_path / "csv"}' WITH (format = 'csv', header = TRUE);
        """)
        queries = {
            name: db.register(f"SELECT k, count(*) AS n FROM {name} [RANGE 1 DAY] GROUP BY k")
            for name in "sc"
        }
        db.run()
        counts = {
            name: sorted((row["k"], row["n"]) for row in query.invoke().to_pylist())
            for name, query in queries.items()
        }
        assert counts == {"s": [(7, 2), (8, 2)], "c": [("07", 1), ("08", 1)]}
