"""Counting the files that are still to come."""

from __future__ import annotations

import pytest

from panes.runtime.files_left import files_left
from tests.base_stream import base_stream


def stream(source: str, number: int = 4):
    return base_stream(f"CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts SECONDS {source}", number)


@pytest.fixture
def log(tmp_path):
    folder = tmp_path / "checkpoint" / "sources" / "stream4"
    folder.mkdir(parents=True)
    return folder


def test_files_that_no_epoch_has_taken_are_left(tmp_path, log):
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(6):
        (folder / f"{number}.parquet").touch()
    (folder / "_SUCCESS").touch()
    (folder / ".half.tmp").touch()
    files = stream(f"FROM FILES '{folder}'")
    assert files_left(tmp_path, [files]) == 6
    (log / "0").write_text("v1\n{}\n{}")
    (log / ".0.crc").touch()
    assert files_left(tmp_path, [files]) == 4
    # Spark writes all so far into one file now and then, and may leave the old ones there for a while.
    (log / "1.compact").write_text("v1\n{}\n{}\n{}")
    (log / "2").write_text("v1\n{}")
    assert files_left(tmp_path, [files]) == 2
    assert files_left(tmp_path, [stream(f"FROM FILES '{folder}/[12].parquet'")]) == 0
    assert files_left(tmp_path, [stream(f"FROM FILES '{folder}'", 9), files]) == 8


def test_pushed_rows_are_files_too(tmp_path):
    pushed = stream("")
    assert files_left(tmp_path, [pushed]) == 0
    (tmp_path / "pushed" / "000004").mkdir(parents=True)
    (tmp_path / "pushed" / "000004" / "a.parquet").touch()
    assert files_left(tmp_path, [pushed]) == 1


def test_a_source_without_files_has_no_number_of_them(tmp_path):
    generated = base_stream(
        "CREATE STREAM r (value BIGINT, ts BIGINT) TIMESTAMP BY ts MILLISECONDS FROM RATE", 5
    )
    assert files_left(tmp_path, [stream(""), generated]) is None
