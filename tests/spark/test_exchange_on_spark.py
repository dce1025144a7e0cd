"""The two ways of the exchange end to end: files and Spark's shuffle give the same answers and changes."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import panes
from panes.runtime.epoch_runner import _exchanges_files
from panes.spark import spark_cluster
from panes.spark.spark_cluster import SparkCluster
from panes.stages import exchange
from panes.stages.exchange import _BLOCK_BYTES

QUERIES = {
    "selection": "SELECT ts, k FROM r [RANGE 5 SECONDS] WHERE v > 2",
    "groups": "SELECT k, count(*) AS n, sum(v) AS total FROM r [RANGE 7 SECONDS SLIDE 2 SECONDS] GROUP BY k",
    "two levels": "SELECT count(*) AS n FROM (SELECT DISTINCT k, v FROM r [RANGE 6 SECONDS]) AS pairs",
    "join": "SELECT a.k, b.w FROM r [RANGE 4 SECONDS] AS a, t [RANGE 9 SECONDS] AS b WHERE a.k = b.k",
    "counts of a join": (
        "SELECT b.w, count(*) AS n FROM r [RANGE 4 SECONDS] AS a, t [RANGE 9 SECONDS] AS b "
        "WHERE a.k = b.k GROUP BY b.w"
    ),
    # Rows of t are sent before the first level and read on the second.
    "past a level": (
        "SELECT c.n, b.w FROM (SELECT v, count(*) AS n FROM r [RANGE 8 SECONDS] GROUP BY v) AS c, "
        "t [RANGE 9 SECONDS] AS b WHERE c.n = b.k"
    ),
    "negation": (
        "SELECT a.k, a.v FROM r [RANGE 5 SECONDS] AS a WHERE NOT EXISTS "
        "(SELECT * FROM t [RANGE 3 SECONDS] AS b WHERE b.k = a.k)"
    ),
    "last rows": "SELECT k, v FROM r [ROWS 7]",
}


def write_inputs(folder: Path) -> None:
    random = Random(4)
    (folder / "r").mkdir()
    (folder / "t").mkdir()
    for epoch in range(4):
        ts = [10 * epoch + n // 4 for n in range(40)]
        rows = {"ts": ts, "k": [random.randrange(6) for _ in ts], "v": [random.randrange(5) for _ in ts]}
        pq.write_table(pa.table(rows), folder / "r" / f"{epoch}.parquet")
        lines = [
            f"{10 * epoch + n},{random.randrange(6)},{'word' * random.randrange(9)}\n" for n in range(10)
        ]
        (folder / "t" / f"{epoch}.csv").write_text("".join(lines))
        for name in ("r", "t"):
            os.utime(next((folder / name).glob(f"{epoch}.*")), (epoch, epoch))


def answered(spark, folder: Path, way: str) -> dict[str, list[list[dict[str, object]]]]:
    """The answer of every query, and its changes epoch by epoch, in their order."""
    with panes.connect(folder / way, spark=spark) as db:
        db.sql(f"SET exchange = '{way}'; SET shards = 3")
        db.sql(
            f"CREATE STREAM r (ts BIGINT, k BIGINT, v BIGINT) TIMESTAMP BY ts SECONDS FROM FILES '{folder / 'r'}' "
            "WITH (files_per_epoch = 1)"
        )
        db.sql(
            f"CREATE STREAM t (ts BIGINT, k BIGINT, w STRING) TIMESTAMP BY ts SECONDS FROM FILES '{folder / 't'}' "
            "WITH (format = 'csv', files_per_epoch = 1)"
        )
        queries = {name: db.register(text) for name, text in QUERIES.items()}
        db.run()
        assert not (db.path / "exchange").exists()
        found = {}
        for name, query in queries.items():
            changes = [change.table.to_pylist() for change in query.changes()]
            found[name] = [query.invoke().to_pylist(), *changes]
        return found


def test_files_and_the_shuffle_give_the_same_answers_and_changes(spark, tmp_path, monkeypatch):
    to_driver = []

    def decoded(batches):
        to_driver.extend(found := exchange.decoded(batches))
        return found

    monkeypatch.setattr(spark_cluster, "decoded", decoded)
    write_inputs(tmp_path)
    in_files, shuffled = (answered(spark, tmp_path, name) for name in ("files", "shuffle"))
    assert to_driver
    # Sketches are small; tables do not go to the driver.
    assert not [
        message
        for message in to_driver
        if message.kind == exchange.PART or (message.block is not None and message.kind != exchange.SKETCH)
    ]
    assert all(len(found) > 2 for found in in_files.values()), "every query has an answer and changes"
    for name in QUERIES:
        assert in_files[name] == shuffled[name], name


def test_tables_of_many_blocks_go_through_two_shuffles(spark, tmp_path):
    rows = 1_000_000
    (tmp_path / "in").mkdir()
    # Values that do not compress: a shard gets more than a block of them.
    keys = np.random.default_rng(3).integers(0, 1 << 62, rows)
    assert keys.nbytes > 1.5 * _BLOCK_BYTES, "a shard has the keys and the times of half of the rows"
    pq.write_table(pa.table({"ts": np.arange(rows), "k": keys}), tmp_path / "in" / "0.parquet")
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql("SET exchange = 'shuffle'")
        db.sql(
            "CREATE STREAM r (ts BIGINT, k BIGINT) TIMESTAMP BY ts MILLISECONDS "
            f"FROM FILES '{tmp_path / 'in'}'"
        )
        query = db.register(
            "SELECT count(*) AS n, sum(k % 1000) AS total FROM (SELECT DISTINCT k FROM r [RANGE 1 DAY]) AS keys"
        )
        db.run()
        assert query.invoke().to_pylist() == [{"n": rows, "total": int((keys % 1000).sum())}]


@pytest.mark.parametrize(
    ("setting", "master", "is_by_files"),
    [
        ("auto", "local[*]", True),
        ("auto", "local-cluster[2,1,1024]", True),
        ("auto", "spark://host:7077", False),
        ("auto", "yarn", False),
        ("files", "k8s://https://host", True),
        ("shuffle", "local[2]", False),
    ],
)
def test_files_are_chosen_when_all_executors_run_here(setting, master, is_by_files):
    session = SimpleNamespace(sparkContext=SimpleNamespace(master=master))
    assert _exchanges_files(setting, SparkCluster(session, None)) == is_by_files
