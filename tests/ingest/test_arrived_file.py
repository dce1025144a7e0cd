"""Parquet files that an epoch brings."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from panes.errors import SourceError
from panes.ingest.arrived_file import ArrivedFile, read_arrived
from panes.ingest.arrived_file import arrived as arrived_at
from tests.base_stream import base_stream

TIMED = base_stream("CREATE STREAM s (ts BIGINT, k INT, w STRING) TIMESTAMP BY ts SECONDS", 1)
UNTIMED = base_stream("CREATE STREAM s (ts BIGINT, k INT, w STRING)", 1)


NOW = 1_000_000_000_000_000


def arrived(stream, path) -> ArrivedFile:
    return arrived_at(stream, path, NOW)


def write(path, **columns):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path


def test_a_file_with_the_declared_types_can_be_the_history_of_a_stream_with_event_times(tmp_path):
    path = write(tmp_path / "0", ts=[1, None], k=pa.array([1, 2], pa.int16()))
    file = arrived(TIMED, path)
    assert (file.can_be_history(TIMED), file.rows) == (True, 1)
    rows, unusable = read_arrived(file, TIMED, ["k", "w"], now_us=NOW, arrival_us=0)
    assert rows.to_pylist() == [{"k": 1, "w": None, "_ts": 1_000_000}]
    assert unusable.column("k").to_pylist() == [2]


def test_rows_without_event_times_get_their_time_of_arrival(tmp_path):
    file = arrived(UNTIMED, write(tmp_path / "0", ts=[1, None], k=pa.array([1, 2], pa.int16())))
    assert not file.can_be_history(UNTIMED)
    assert read_arrived(file, UNTIMED, ["k"], now_us=NOW, arrival_us=7) == (
        pa.table({"k": pa.array([1, 2], pa.int32()), "_ts": [7, 7]}),
        None,
    )
    assert read_arrived(file, UNTIMED, [], now_us=NOW, arrival_us=7)[0].to_pylist() == [
        {"_ts": 7},
        {"_ts": 7},
    ]


def test_columns_stand_in_the_names_of_folders(tmp_path):
    file = arrived(TIMED, write(tmp_path / "k=7" / "w=a%2Fb c" / "0", ts=[1]))
    assert not file.can_be_history(TIMED)
    assert read_arrived(file, TIMED, ["k", "w"], now_us=NOW, arrival_us=0)[0].to_pylist() == [
        {"k": 7, "w": "a/b c", "_ts": 1_000_000}
    ]
    empty = arrived(TIMED, write(tmp_path / "k=__HIVE_DEFAULT_PARTITION__" / "0", ts=[1]))
    rows, _ = read_arrived(empty, TIMED, ["k"], now_us=NOW, arrival_us=0)
    assert rows.to_pylist() == [{"k": None, "_ts": 1_000_000}]
    wrong = arrived(TIMED, write(tmp_path / "k=many" / "0", ts=[1]))
    with pytest.raises(pa.ArrowInvalid, match="many"):
        read_arrived(wrong, TIMED, ["k"], now_us=NOW, arrival_us=0)


def test_a_row_is_rejected_for_a_column_that_nobody_reads(tmp_path):
    file = arrived(
        TIMED, write(tmp_path / "0", ts=[1, 2, None], k=pa.array([5, 2**40, 6], pa.decimal128(20, 0)))
    )
    rows, unusable = read_arrived(file, TIMED, [], now_us=NOW, arrival_us=0)
    assert rows.to_pylist() == [{"_ts": 1_000_000}]
    assert unusable.select(["ts", "_bad"]).to_pylist() == [
        {"ts": 2, "_bad": "column 'k' holds a value that INT cannot"},
        {"ts": None, "_bad": "there is no event time"},
    ]


def test_a_type_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(
        SourceError, match=r"column 'k' is declared INT and stored as double; declare it as DOUBLE"
    ):
        arrived(TIMED, write(tmp_path / "0", ts=[1], k=[1.5]))
