"""Files of bad and late rows: what a task has written is read again, or an error tells of it."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from panes.errors import StateError
from panes.ingest.rejected_rows import attempt_folder, keep_rejected_rows, read_rejected_rows
from panes.state.storage.locations import location_of

ROWS = pa.table({"k": [1, 2], "_bad": ["x", "y"]})


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_rows_are_read_as_they_were_written(tmp_path, scheme):
    folder = location_of(f"{scheme}{tmp_path}/aside")
    part = keep_rejected_rows(folder, 1, "bad", attempt_folder(7, "token"), "read-000000-3", ROWS)
    assert part.file == "epoch-0000000007-token/bad-read-000000-3.parquet"
    assert read_rejected_rows(folder, part) == ROWS


def test_a_file_that_is_missing_or_another_is_damaged(tmp_path):
    part = keep_rejected_rows(tmp_path, 1, "late", "epoch-0000000007", "a", ROWS)
    with pytest.raises(StateError, match=r"late-a\.parquet is damaged"):
        read_rejected_rows(tmp_path, replace(part, crc32=part.crc32 ^ 1))
    (tmp_path / "000001" / part.file).unlink()
    with pytest.raises(StateError, match=r"late-a\.parquet is damaged"):
        read_rejected_rows(tmp_path, part)
