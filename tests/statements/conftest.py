"""A database with one stream over a file, before its first epoch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import panes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "in"
    path.mkdir()
    pq.write_table(pa.table({"ts": [1], "src": [2], "proto": ["tcp"]}), path / "one.parquet")
    return path


@pytest.fixture
def db(tmp_path: Path, folder: Path) -> Iterator[panes.Database]:
    with panes.connect(tmp_path / "db") as database:
        database.sql(
            "CREATE STREAM packets (ts BIGINT, src BIGINT, proto STRING) TIMESTAMP BY ts MILLISECONDS "
            f"FROM FILES '{folder}'"
        )
        yield database
