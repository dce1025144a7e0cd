"""A file that the driver sees and a task does not is no file that was removed: the run ends with a sentence."""

from __future__ import annotations

from dataclasses import asdict
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException

import panes
from panes.errors import SourceError
from panes.ingest.bad_files import BAD_FILE, GONE, BadFile
from panes.runtime.engine_file import EngineFile
from panes.runtime.epoch_files import EpochFiles
from panes.runtime.unseen_files import bad_files_of_tasks
from panes.spark import spark_batch
from panes.spark.spark_batch import SparkBatch
from panes.spark.spark_cluster import SparkCluster
from panes.stages.exchange import Message
from tests.base_stream import base_stream

STREAM = "CREATE STREAM r (ts BIGINT, a BIGINT) TIMESTAMP BY ts SECONDS FROM FILES '{folder}'{options}"
SPARKS = (
    "[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file {path}. File does not exist.\n"
    "Lost task 0.3 in stage 1.0 (TID 7) (worker-2 executor 1): org.apache.spark.SparkFileNotFoundException"
)


def message(path, reason=GONE) -> Message:
    return Message(0, BAD_FILE, asdict(BadFile(1, str(path), reason)) | {"host": "worker-1"})


@pytest.fixture
def stream(tmp_path):
    return base_stream(STREAM.format(folder=tmp_path, options=""), 1)


def test_a_file_that_is_gone_for_the_driver_too_was_removed(tmp_path, stream):
    gone = tmp_path / "gone.parquet"
    assert bad_files_of_tasks([message(gone)], [stream]) == [BadFile(1, str(gone), GONE)]


def test_a_file_that_the_driver_sees_ends_the_epoch_and_names_the_machine(tmp_path, stream):
    there = tmp_path / "there.parquet"
    there.write_bytes(b"")
    with pytest.raises(
        SourceError, match=r"stream 'r': .*there\.parquet.*task on worker-1 .*mount"
    ) as caught:
        bad_files_of_tasks([message(tmp_path / "gone"), message(there)], [stream])
    assert "nothing is lost" in str(caught.value)


def test_a_file_that_is_damaged_is_a_bad_file_wherever_it_is_seen(tmp_path, stream):
    there = tmp_path / "there.parquet"
    there.write_bytes(b"")
    assert bad_files_of_tasks([message(there, "no magic bytes")], [stream]) == [
        BadFile(1, str(there), "no magic bytes")
    ]


def without_unreadable(monkeypatch, stream, path, why_alone):
    monkeypatch.setattr(spark_batch, "why_unreadable", lambda *_: why_alone)
    files = EpochFiles(0, by_engine={1: (EngineFile(path.as_uri()),)})
    error = PySparkException(SPARKS.format(path=path.as_uri()))
    return SparkBatch(0, SimpleNamespace(sparkSession=None), files).without_unreadable([stream], error)


@pytest.mark.parametrize("why_alone", [FileNotFoundError("x"), None], ids=["nowhere", "on some machines"])
def test_a_file_that_spark_does_not_find_on_a_machine_ends_the_epoch(
    tmp_path, monkeypatch, stream, why_alone
):
    there = tmp_path / "there.csv"
    there.write_bytes(b"")
    with pytest.raises(
        SourceError, match=r"there\.csv is there for the driver, but a task on worker-2 does not"
    ):
        without_unreadable(monkeypatch, stream, there, why_alone)


def test_a_file_that_spark_does_not_find_because_it_was_removed_is_a_bad_file(tmp_path, monkeypatch, stream):
    gone = tmp_path / "gone.csv"
    found = without_unreadable(monkeypatch, stream, gone, FileNotFoundError("x"))
    assert found.files.bad == (BadFile(1, str(gone), GONE),)


def test_a_run_ends_with_the_sentence_and_goes_on_when_the_file_is_seen(spark, tmp_path, monkeypatch):
    """The driver sees a file that no task finds: a worker has it under another name for a moment."""
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "0.parquet"
    pq.write_table(pa.table({"ts": [1, 2], "a": [3, 4]}), path)
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql(STREAM.format(folder=tmp_path / "in", options=""))
        query = db.register("SELECT sum(a) AS total FROM r")
        hidden = tmp_path / "hidden"
        _hide_while_tasks_run(monkeypatch, path, hidden)
        with pytest.raises(SourceError, match=r"0\.parquet is there for the driver, but a task on "):
            db.run()
        monkeypatch.undo()
        db.run()
        assert query.invoke().to_pylist() == [{"total": 7}]
        assert db.bad_files("r").num_rows == 0


def _hide_while_tasks_run(monkeypatch, path, hidden):
    run = SparkCluster.run

    def hiding(cluster, job):
        path.rename(hidden)
        try:
            return run(cluster, job)
        finally:
            hidden.rename(path)

    monkeypatch.setattr(SparkCluster, "run", hiding)
