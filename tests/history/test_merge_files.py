"""Which files become one."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from panes.history.history_file import HistoryFile
from panes.history.merge_files import grouped, merge
from panes.history.parts import write_rows
from tests.base_stream import base_stream


def sizes(*rows: int) -> list[list[int]]:
    files = [HistoryFile(Path(f"{n}"), "written", size, 0, 0, n) for n, size in enumerate(rows)]
    return [[file.rows for file in group.files] for group in grouped(files)]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([1] * 7, [[1]] * 7),
        ([1] * 8, [[1] * 8]),
        ([1] * 9, [[1] * 8, [1]]),
        ([8, 1, 1], [[8], [1], [1]]),
        ([8] * 7 + [1] * 8, [[8] * 7 + [1] * 8]),
        ([64] * 7 + [3, 5, 64], [[64] * 7 + [3, 5, 64]]),
        ([64, 3, 5, 64], [[64], [3], [5], [64]]),
        ([40_000, 40_000, 40_000], [[40_000], [40_000], [40_000]]),
        ([20_000] * 7, [[20_000]] * 7),
        ([20_000] * 9, [[20_000] * 8, [20_000]]),
        ([100] * 7 + [40_000] + [100], [[100]] * 7 + [[40_000], [100]]),
        ([], []),
    ],
)
def test_eight_neighbors_of_about_one_size_become_one(rows: list[int], expected: list[list[int]]) -> None:
    assert sizes(*rows) == expected


def test_one_row_per_epoch_makes_few_files_and_rewrites_each_row_a_few_times() -> None:
    files: list[HistoryFile] = []
    rewritten = 0
    for epoch in range(5_000):
        files.append(HistoryFile(Path("f"), "written", 1, 0, 0, epoch))
        groups = grouped(files)
        rewritten += sum(group.rows for group in groups if len(group.files) > 1)
        files = [HistoryFile(Path("f"), "merged", group.rows, 0, 0, epoch) for group in groups]
        assert len(files) <= 7 * 5
    assert rewritten <= 5 * 5_000


def test_files_of_which_one_is_damaged_stay_as_they_are(tmp_path: Path) -> None:
    stream = base_stream("CREATE STREAM s (k BIGINT) TIMESTAMP BY k SECONDS", 1)
    files = []
    for number in range(16):
        path = tmp_path / f"part-{number:010d}-00000.parquet"
        write_rows(path, pa.table({"k": [number], "_ts": [number]}))
        files.append(HistoryFile(path, "written", 1, number, number, number))
    files[3].path.write_bytes(b"damaged")
    merged = merge(files, stream, tmp_path, 15)
    assert [file.rows for file in merged] == [1] * 8 + [8]
    assert merged[:8] == files[:8]
