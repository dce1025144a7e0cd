"""A database that was moved, copied or restored elsewhere goes on: no row is lost, and none is taken in twice."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import panes

STREAMS = (
    "CREATE STREAM p (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS RETAIN INTERVAL 1 HOUR",
    "CREATE STREAM c (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS RETAIN INTERVAL 1 HOUR "
    "FROM FILES 'in' WITH (format = 'csv', files_per_epoch = 1)",
)
COUNTED = "SELECT count(*) AS n, sum(k) AS s FROM {} [RANGE 1 HOUR]"


def begin(place: Path, spark) -> None:
    """Takes in two pushes and two files; a third of each waits."""
    (place / "in").mkdir(parents=True)
    os.chdir(place)
    with panes.connect("db", spark=spark) as db:
        db.sql(";".join(STREAMS))
        for name in "pc":
            db.register(COUNTED.format(name), name=f"counted_{name}")
        for part in range(2):
            add(db, part)
            db.run()
        add(db, 2)


def add(db: panes.Database, part: int) -> None:
    db.push("p", [(10 * part + 1, 1), (10 * part + 2, 10)])
    csv = Path("in") / f"{part}.csv"
    csv.write_text(f"{10 * part + 1},1\n{10 * part + 2},10\n")
    os.utime(csv, (part, part))


def counted(db: panes.Database) -> list[tuple[int, int]]:
    found = [db.query(f"counted_{name}").invoke().table.to_pylist() for name in "pc"]
    found += [db.sql(COUNTED.format(name)).table.to_pylist() for name in "pc"]
    return [tuple(row.values()) for (row,) in found]


@pytest.mark.parametrize("is_copy", [False, True])
def test_a_moved_database_goes_on(spark, tmp_path, monkeypatch, is_copy):
    monkeypatch.chdir(tmp_path)
    begin(tmp_path / "old", spark)
    new = tmp_path / "a new [place]"
    if is_copy:
        shutil.copytree(tmp_path / "old", new)
    else:
        (tmp_path / "old").rename(new)
    monkeypatch.chdir(new)
    with panes.connect("db", spark=spark) as db:
        db.run()
        assert counted(db) == [(6, 33)] * 4
        add(db, 3)
        db.run()
        assert counted(db) == [(8, 44)] * 4
    if is_copy:  # the first one goes on as well
        monkeypatch.chdir(tmp_path / "old")
        with panes.connect("db", spark=spark) as db:
            db.run()
            assert counted(db) == [(6, 33)] * 4


def test_a_database_that_was_copied_in_the_midst_of_an_epoch_goes_on(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    begin(tmp_path / "old", spark)
    copies: list[Path] = []

    def copied(_epoch) -> None:
        # The micro-batch is in the epochs, and Spark has not committed it.
        copies.append(shutil.copytree(tmp_path / "old", tmp_path / f"copy{len(copies)}"))

    with panes.connect("db", spark=spark) as db:
        db.run(on_epoch=copied)
        expected = counted(db)
    assert expected == [(6, 33)] * 4
    assert copies
    for copy in copies:
        monkeypatch.chdir(copy)
        with panes.connect("db", spark=spark) as db:
            db.run()
            assert counted(db) == expected


def test_a_database_of_which_no_place_was_noted_goes_on_with_what_was_pushed(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with panes.connect("old", spark=spark) as db:
        db.sql(STREAMS[0])
        db.register(COUNTED.format("p"), name="counted_p")
        db.push("p", [(1, 1)])
        db.run()
        db.push("p", [(2, 10)])
    (tmp_path / "old" / "checkpoint" / "places.json").unlink(missing_ok=True)
    (tmp_path / "old").rename(tmp_path / "new")
    with panes.connect("new", spark=spark) as db:
        db.run()
        assert db.query("counted_p").invoke().table.to_pylist() == [{"n": 2, "s": 11}]


def test_what_a_killed_process_left_of_its_first_offsets_is_cleared(spark, tmp_path):
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql(STREAMS[0])
        db.register(COUNTED.format("p"), name="counted_p")
        db.push("p", [(1, 1)])
    for folder in ("offsets", "commits", "sources/stream1"):
        (tmp_path / "db" / "checkpoint" / folder).mkdir(parents=True)
        (tmp_path / "db" / "checkpoint" / folder / ".0.5e1c.tmp").write_text("v1")
        (tmp_path / "db" / "checkpoint" / folder / "..0.5e1c.tmp.crc").write_bytes(b"crc\0")
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.run()
        assert db.query("counted_p").invoke().table.to_pylist() == [{"n": 1, "s": 1}]
