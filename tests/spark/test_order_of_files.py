"""In which order files are taken in: by the time of their last change and by name, or by name alone."""

from __future__ import annotations

import os
import random

import pytest

import panes
from panes.crash_points import Crash, arm
from panes.errors import PanesWarning, SourceError
from panes.ingest.check_source import check_source
from tests.base_stream import base_stream

MOMENT = 1_700_000_000
FILES = 20


def write(folder, number, changed_s):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{number:03d}.csv"
    path.write_text(f"{number},{number * 7}\n")
    os.utime(path, (changed_s, changed_s))


def shuffled(numbers, seed=1):
    found = list(numbers)
    random.Random(seed).shuffle(found)
    return found


def stream(folder, options):
    return (
        "CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS "
        f"FROM FILES '{folder}' WITH (format = 'csv', {options})"
    )


def taken(db):
    rows = db.sql("SELECT ts FROM s [RANGE 1 DAY]").to_pylist()
    return sorted(row["ts"] for row in rows)


def test_an_order_is_one_of_two(tmp_path):
    with pytest.raises(SourceError, match="order takes one of mtime, name, not 'size'"):
        check_source(base_stream(stream(tmp_path, "order = 'size'"), 1))


@pytest.mark.parametrize("options", ["files_per_epoch = 1", "files_per_epoch = 1, order = 'mtime'"])
def test_files_of_one_time_are_taken_in_by_name(spark, tmp_path, options):
    for number in shuffled(range(FILES)):
        write(tmp_path / "in", number, MOMENT)
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql(stream(tmp_path / "in", options))
        clocks = []
        report = db.run(lambda epoch: clocks.append(epoch.clock))
        assert (report.rows, report.late) == (FILES, {})
        assert len(clocks) == FILES + 1
        assert clocks == sorted(clocks)


def test_files_are_taken_in_by_name_whatever_their_times(spark, tmp_path):
    folder = tmp_path / "in"
    for number in range(1, FILES):
        write(folder, number, MOMENT + shuffled(range(FILES))[number])
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql(stream(folder, "files_per_epoch = 3, order = 'name'"))
        db.register("SELECT count(*) AS n FROM s [RANGE 1 DAY]")
        rows = []
        report = db.run(lambda epoch: rows.append(epoch.rows))
        assert (report.rows, report.late) == (FILES - 1, {})
        assert rows == [3, 3, 3, 3, 3, 3, 1, 0]
        # What comes later is taken in, also where its name, or its time, is before all others.
        write(folder, 0, MOMENT - 30 * 86_400)
        write(folder, FILES, MOMENT)
        with pytest.warns(PanesWarning, match="1 late row of s"):
            report = db.run()
        assert (report.rows, report.late) == (2, {"s": 1})
        assert db.run().rows == 0
        assert taken(db) == list(range(FILES + 1))


@pytest.mark.parametrize("is_elsewhere", [False, True])
def test_a_run_that_ends_between_files_goes_on_with_the_next_one(spark, crash_points, tmp_path, is_elsewhere):
    folder = tmp_path / "in"
    for number in range(8):
        write(folder, number, MOMENT + shuffled(range(8))[number])
    state = tmp_path / "state" if is_elsewhere else None

    def stop_at_second(epoch):
        if epoch.number == 1:
            raise KeyError("enough")

    with panes.connect(tmp_path / "db", spark=spark, state=state) as db:
        db.sql(f"""
            {stream(folder, "files_per_epoch = 1, order = 'name'")};
            CREATE STREAM p (ts BIGINT) TIMESTAMP BY ts SECONDS;
        """)
        counts = [db.register(f"SELECT count(*) AS n FROM {name} [RANGE 1 DAY]") for name in "sp"]
        db.push("p", [{"ts": 1}, {"ts": 2}])
        with pytest.raises(KeyError):
            db.run(stop_at_second)
        assert db.status().rows == 4
        arm(crash_points, "before commit", "raise")
        with pytest.raises(Crash):
            db.run()
        write(folder, 99, MOMENT - 5)
        names = [count.name for count in counts]
    # Where everything lies elsewhere, the folder of the driver may be lost.
    path = tmp_path / ("another" if is_elsewhere else "db")
    with panes.connect(path, spark=spark, state=state) as db:
        report = db.run()
        assert (report.rows, report.late) == (7, {})
        answers = [db.query(name).invoke().to_pylist() for name in names]
        assert answers == [[{"n": 9}], [{"n": 2}]]
        assert taken(db) == [*range(8), 99]


def test_files_that_are_older_than_a_week_are_taken_in(spark, tmp_path):
    write(tmp_path / "in", 1, MOMENT)
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql(stream(tmp_path / "in", "order = 'mtime'"))
        db.run()
        write(tmp_path / "in", 2, MOMENT - 30 * 86_400)
        assert db.run().rows == 1


def test_a_folder_that_is_empty_for_now_has_nothing_to_take_in(spark, tmp_path):
    (tmp_path / "in").mkdir()
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql(stream(tmp_path / "in", "order = 'mtime'"))
        assert str(db.run()) == "0 rows in 0 epochs"
        (tmp_path / "in" / ".k=1").mkdir()
        write(tmp_path / "in" / ".k=1", 5, MOMENT)
        write(tmp_path / "in", 1, MOMENT)
        assert db.run().rows == 1
