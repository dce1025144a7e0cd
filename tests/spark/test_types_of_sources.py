"""Columns of every type, from every kind of source: read exactly, or rejected with the reason."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import panes
from panes.errors import SourceError

pytestmark = pytest.mark.spark

COLUMNS = "ts BIGINT, a TINYINT, b SMALLINT, c DECIMAL(5, 2), d FLOAT"
ROW = {"ts": 1, "a": -128, "b": 32767, "c": Decimal("999.99"), "d": 0.5}
BAD = ("2,128,0,1,1", "3,0,0,1.005,1", "4,0,0,1000,1", "5,0,40000,1,1")


def test_numbers_are_read_from_text_exactly_or_rejected(spark, tmp_path):
    for kind in ("csv", "json", "parquet"):
        (tmp_path / kind).mkdir()
    (tmp_path / "csv" / "a.csv").write_text("\n".join(["1,-128,32767,999.990,0.5", *BAD]))
    names = ("ts", "a", "b", "c", "d")
    lines = (",".join(f'"{n}": {v}' for n, v in zip(names, row.split(","), strict=True)) for row in BAD)
    (tmp_path / "json" / "a.json").write_text(
        "\n".join(
            ['{"ts": 1, "a": -128, "b": 32767, "c": 999.99, "d": 0.5}', *(f"{{{line}}}" for line in lines)]
        )
    )
    stored = {
        "ts": [1, 2, 3],
        "a": pa.array([-128, 0, 0], pa.int8()),
        "b": pa.array([32767, 0, 0], pa.int16()),
        "c": pa.array([Decimal("999.990"), Decimal("1.005"), Decimal(1000)], pa.decimal128(9, 3)),
        "d": pa.array([0.5, 1, 1], pa.float32()),
    }
    pq.write_table(pa.table(stored), tmp_path / "parquet" / "a.parquet")
    with panes.connect(tmp_path / "db", spark=spark) as db:
        for kind in ("csv", "json", "parquet"):
            db.sql(
                f"CREATE STREAM {kind} ({COLUMNS}) TIMESTAMP BY ts SECONDS RETAIN INTERVAL 1 DAY "
                f"FROM FILES '{tmp_path / kind}' WITH (format = '{kind}')"
            )
        db.sql(f"CREATE STREAM pushed ({COLUMNS}, e BINARY) TIMESTAMP BY ts SECONDS RETAIN INTERVAL 1 DAY")
        db.push("pushed", {**ROW, "e": b"\x00\xff"})
        queries = {
            kind: db.register(f"SELECT * FROM {kind} [RANGE 1 DAY]", name=f"q_{kind}")
            for kind in ("csv", "json", "parquet", "pushed")
        }
        db.run()
        for kind, query in queries.items():
            expected = {**ROW, "e": b"\x00\xff"} if kind == "pushed" else ROW
            assert query.invoke().to_pylist() == [expected], kind
            assert db.sql(f"SELECT * FROM {kind} [RANGE 1 DAY]").to_pylist() == [expected], kind
        assert {kind: db.bad_rows(kind).num_rows for kind in queries} == {
            "csv": 4,
            "json": 4,
            "parquet": 2,
            "pushed": 0,
        }
        reasons = db.bad_rows("parquet").column("_bad").to_pylist()
        assert reasons == ["column 'c' holds a value that DECIMAL(5, 2) cannot"] * 2


@pytest.mark.parametrize("source", ["FILES '{0}' WITH (format = 'csv')", "KAFKA 't' WITH (servers = 'a:1')"])
def test_bytes_are_not_read_from_text(source, spark, tmp_path):
    refused = pytest.raises(SourceError, match="has no BINARY, and column 'a' is one; declare it as STRING")
    with panes.connect(tmp_path / "db", spark=spark) as db, refused:
        db.sql(f"CREATE STREAM s (a BINARY) FROM {source.format(tmp_path)}")
