"""Counting the files that are still to come."""

from __future__ import annotations

import pytest

from panes.language import parse
from panes.pipeline.backlog import files_left


def stream(source: str):
    [statement] = parse(f"CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts SECONDS {source}")
    return statement


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
    assert files_left(tmp_path, [(4, files)]) == 6
    (log / "0").write_text("v1\n{}\n{}")
    (log / ".0.crc").touch()
    assert files_left(tmp_path, [(4, files)]) == 4
    # Spark writes all so far into one file now and then, and may leave the old ones there for a while.
    (log / "1.compact").write_text("v1\n{}\n{}\n{}")
    (log / "2").write_text("v1\n{}")
    assert files_left(tmp_path, [(4, files)]) == 2
    assert files_left(tmp_path, [(4, stream(f"FROM FILES '{folder}/[12].parquet'"))]) == 0
    assert files_left(tmp_path, [(9, files), (4, files)]) == 8


def test_pushed_rows_are_files_too(tmp_path):
    pushed = stream("")
    assert files_left(tmp_path, [(4, pushed)]) == 0
    (tmp_path / "pushed" / "s").mkdir(parents=True)
    (tmp_path / "pushed" / "s" / "a.parquet").touch()
    assert files_left(tmp_path, [(4, pushed)]) == 1


def test_a_source_without_files_has_no_number_of_them(tmp_path):
    generated = parse("CREATE STREAM r (value BIGINT, ts BIGINT) TIMESTAMP BY ts MILLISECONDS FROM RATE")[0]
    assert files_left(tmp_path, [(4, stream("")), (5, generated)]) is None
