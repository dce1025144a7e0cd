"""Streams whose files tasks read themselves, beside streams that Spark reads, in one database."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import panes

pytestmark = pytest.mark.spark


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
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql(
            f"CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS FROM FILES '{tmp_path / 'in'}'"
        )
        query = db.register("SELECT k, count(*) AS n FROM s [RANGE 1 DAY] GROUP BY k")
        db.run()
        assert sorted((row["k"], row["n"]) for row in query.invoke().to_pylist()) == [(7, 2), (8, 2)]
