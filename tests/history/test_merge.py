"""Which files become one."""

from __future__ import annotations

from pathlib import Path

import pytest

from panes.history.file import HistoryFile
from panes.history.merge import grouped


def sizes(*rows: int) -> list[list[int]]:
    files = [HistoryFile(Path(f"{n}"), "written", size, 0, 0, n) for n, size in enumerate(rows)]
    return [[file.rows for file in group] for group in grouped(files)]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([1] * 7, [[1]] * 7),
        ([1] * 8, [[1] * 8]),
        ([1] * 9, [[1] * 8, [1]]),
        ([8, 1, 1], [[8], [1], [1]]),
        ([8] * 7 + [1] * 8, [[8] * 7 + [1] * 8]),
        ([64, 3, 5, 64], [[64], [3, 5], [64]]),
        ([40_000, 40_000, 40_000], [[40_000], [40_000], [40_000]]),
        ([20_000, 20_000, 20_000], [[20_000, 20_000], [20_000]]),
        ([], []),
    ],
)
def test_neighbors_become_one_when_they_make_a_larger_class(
    rows: list[int], expected: list[list[int]]
) -> None:
    assert sizes(*rows) == expected


def test_one_row_per_epoch_makes_few_files_and_rewrites_each_row_a_few_times() -> None:
    files: list[HistoryFile] = []
    rewritten = 0
    for epoch in range(5_000):
        files.append(HistoryFile(Path("f"), "written", 1, 0, 0, epoch))
        groups = grouped(files)
        rewritten += sum(sum(f.rows for f in group) for group in groups if len(group) > 1)
        files = [HistoryFile(Path("f"), "merged", sum(f.rows for f in g), 0, 0, epoch) for g in groups]
        assert len(files) <= 7 * 5
    assert rewritten <= 5 * 5_000
