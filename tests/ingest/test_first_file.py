"""What CREATE STREAM says of the files that are there."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from panes.errors import SourceError
from panes.ingest.check_source import check_source
from tests.base_stream import base_stream


def check(location, columns="ts BIGINT, k BIGINT", options=""):
    check_source(base_stream(f"CREATE STREAM s ({columns}) FROM FILES '{location}' {options}", 1))


def test_the_first_file_that_can_be_read_has_the_columns(tmp_path):
    (tmp_path / "README.txt").write_text("about")
    check(tmp_path)
    pq.write_table(pa.table({"ts": [1], "j": [1]}), tmp_path / "a.parquet")
    with pytest.raises(SourceError, match=r"stream 's': \S+a.parquet has no column 'k'; it has ts, j"):
        check(tmp_path)
    (tmp_path / "k=7").mkdir()
    pq.write_table(pa.table({"ts": [1], "j": [1]}), tmp_path / "k=7" / "a.parquet")
    check(tmp_path / "k=7")


def test_a_file_that_cannot_be_read_is_refused_when_it_is_the_only_one_or_none_may_be_bad(tmp_path):
    readme = tmp_path / "README.txt"
    readme.write_text("about")
    with pytest.raises(SourceError, match=r"stream 's': \S+README.txt cannot be read: .*Parquet"):
        check(readme)
    with pytest.raises(SourceError, match=r"stream 's': \S+README.txt cannot be read: .*Parquet"):
        check(tmp_path, options="WITH (on_bad_file = 'stop')")
    with pytest.raises(SourceError, match="on_bad_file takes one of set_aside, stop, not 'ignore'"):
        check(tmp_path, options="WITH (on_bad_file = 'ignore')")


def test_a_stored_type_that_no_declared_type_holds_is_refused_with_advice(tmp_path):
    pq.write_table(pa.table({"ts": [1], "k": pa.array([1], pa.time64("us"))}), tmp_path / "a.parquet")
    with pytest.raises(
        SourceError, match=r"column 'k' is declared BIGINT and stored as time64\[us\]; no type"
    ):
        check(tmp_path)


def test_a_header_names_all_columns_of_the_stream(tmp_path):
    (tmp_path / "a.csv").write_text("k,more,ts\n1,2,3\n")
    check(tmp_path, options="WITH (format = 'csv', header = TRUE)")
    check(tmp_path, "k BIGINT, x BIGINT", "WITH (format = 'csv')")
    with pytest.raises(
        SourceError, match=r"a.csv cannot be read: its header has no column 'x'; it has k, more, ts"
    ):
        check(tmp_path, "k BIGINT, x BIGINT", "WITH (format = 'csv', header = TRUE)")


def test_only_local_places_must_be_there_already(tmp_path):
    with pytest.raises(SourceError, match="no file or folder matches"):
        check(tmp_path / "none")
    check("s3a://bucket/none")
    check(tmp_path.as_uri())


@pytest.mark.parametrize(
    ("name", "content", "clause"),
    [
        ("a.csv", "1,7\n", "WITH (format = 'csv')"),
        ("a.CSV", "ts,k\n1,7\n", "WITH (format = 'csv', header = TRUE)"),
        ("part-0", "1,7\n", "WITH (format = 'csv')"),
        ("part-0", '{"ts": 1, "k": 7}\n', "WITH (format = 'json')"),
        ("a.jsonl", "", "WITH (format = 'json')"),
    ],
)
def test_files_that_are_not_parquet_need_their_format(tmp_path, name, content, clause):
    (tmp_path / name).write_text(content)
    with pytest.raises(SourceError) as raised:
        check(tmp_path)
    assert str(raised.value).endswith(f"write FROM FILES '{tmp_path}' {clause}")
    check(tmp_path, options=clause)
    # One Parquet file among them says what is meant.
    pq.write_table(pa.table({"ts": [1], "k": [1]}), tmp_path / "b.parquet")
    check(tmp_path)


def test_a_folder_without_files_may_be_created_without_a_format(tmp_path):
    check(tmp_path)
