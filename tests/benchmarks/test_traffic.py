from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.traffic import START_MS, cache_folder, dataset, packets, standing_queries

ROWS = 3_000


def test_rows_are_always_the_same():
    rows = packets()
    assert rows.num_rows == 2_000_000
    assert rows["ts"][-1].as_py() - START_MS == 2_000_776
    assert pa.compute.sum(rows["bytes"]).as_py() == 1_880_615_172


def test_time_never_goes_back():
    assert (np.diff(packets().column("ts").to_numpy()) >= 0).all()


def test_smaller_runs_take_the_first_rows():
    assert packets(ROWS).equals(packets().slice(0, ROWS))


def test_files_hold_the_rows_in_order_and_are_older_the_earlier():
    files = dataset(ROWS, 3).files
    ages = [os.stat(path).st_mtime for path in files]
    assert ages == sorted(set(ages))
    assert pa.concat_tables([pq.read_table(path) for path in files]).equals(packets(ROWS))


def test_times_can_be_moved():
    moved = pq.read_table(dataset(ROWS, 2, ahead_ms=1).files[0]).column("ts").to_numpy()
    assert (moved == packets(ROWS).column("ts").to_numpy()[: len(moved)] + 1).all()


def test_two_readers_in_turns_see_all_rows():
    from pyarrow import csv

    options = csv.ReadOptions(column_names=packets(ROWS).column_names)
    even, odd = (csv.read_csv(path, options) for path in dataset(ROWS, 2, kind="turns").files)
    assert even.column("ts").to_pylist() == packets(ROWS).column("ts").to_pylist()[::2]
    assert odd.column("dst").to_pylist() == packets(ROWS).column("dst").to_pylist()[1::2]


def test_files_are_written_once():
    data = dataset(ROWS, 2)
    before = data.files[0].stat().st_ctime_ns
    assert dataset(ROWS, 2).files[0].stat().st_ctime_ns == before
    assert data.folder.parent == cache_folder()


@pytest.mark.parametrize("column", ["low", "first"])
def test_standing_queries_are_all_different(column: str):
    assert len({getattr(query, column) for query in standing_queries()}) > 500
