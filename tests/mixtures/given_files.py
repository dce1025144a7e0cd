"""Writes files for streams that read folders, with modification times that are given."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

FORMATS = ("csv", "parquet", "json")


def write_file(
    path: Path, kind: str, rows: Sequence[Mapping[str, Any]], schema: pa.Schema, mtime_ms: int
) -> None:
    """Writes a file elsewhere and moves it into its folder, so that it comes whole."""
    made = path.parent.with_name(f"{path.parent.name}-made")
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), made)
    else:
        line = json.dumps if kind == "json" else _csv
        made.write_text("".join(f"{line(row)}\n" for row in rows))
    os.utime(made, ns=(mtime_ms * 1_000_000,) * 2)
    made.rename(path)


def _csv(row: Mapping[str, Any]) -> str:
    return ",".join("" if value is None else str(value) for value in row.values())
