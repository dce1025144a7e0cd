"""Pushing rows: stored wholly, in the types of the stream, or refused with nothing stored."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from panes.errors import SourceError
from panes.pipeline.push import push
from tests.base_stream import base_stream

STREAM = base_stream("CREATE STREAM s (k INT, w STRING)")
FILES = base_stream("CREATE STREAM f (k INT) FROM FILES 'somewhere'", 2)
SCHEMA = pa.schema([("k", pa.int32()), ("w", pa.string())])


def stored(folder):
    return [pq.read_table(path) for path in sorted(folder.glob("000001/*"))]


@pytest.mark.parametrize(
    "rows",
    [
        {"k": 1, "w": None},
        [{"k": 1, "w": None}],
        pa.table({"w": pa.array([None], pa.string()), "k": [1]}),
    ],
    ids=["one row", "rows", "table with columns in another order"],
)
def test_what_is_pushed_is_stored_in_the_types_of_the_stream(tmp_path, rows):
    assert push(tmp_path, STREAM, rows) == 1
    assert stored(tmp_path) == [pa.table({"k": [1], "w": [None]}, schema=SCHEMA)]


def test_every_push_is_a_file_of_its_own_and_nothing_is_no_file(tmp_path):
    for number in range(3):
        push(tmp_path, STREAM, {"k": number, "w": "x"})
    assert push(tmp_path, STREAM, []) == 0
    assert sorted(table.column("k")[0].as_py() for table in stored(tmp_path)) == [0, 1, 2]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"k": 1}, "w missing; nothing was stored"),
        ({"k": 1, "w": "a", "z": 2}, "z unknown; nothing was stored"),
        ([{"k": 1, "w": "a"}, {"k": "two", "w": "b"}], "column 'k' does not take these values as INT"),
        (pa.table({"k": [2**40], "w": ["a"]}), "column 'k' does not take these values as INT"),
    ],
)
def test_what_does_not_fit_is_refused_whole(tmp_path, rows, message):
    with pytest.raises(SourceError, match=message):
        push(tmp_path, STREAM, rows)
    assert stored(tmp_path) == []


def test_a_stream_with_a_source_cannot_be_pushed_to(tmp_path):
    with pytest.raises(
        SourceError, match="takes its rows from FILES; only a stream that was created without FROM"
    ):
        push(tmp_path, FILES, {"k": 1})
