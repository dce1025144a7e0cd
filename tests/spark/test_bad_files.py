"""Files that cannot be read: they are set aside with the reason, and everything else goes on."""

from __future__ import annotations

import gzip
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import panes
from panes.crash_points import Crash, arm
from panes.errors import PanesWarning, SourceError
from panes.spark import spark_engine

FIRST = [{"ts": 1, "k": 7}, {"ts": 2, "k": 8}, {"ts": 3, "k": 9}]
LAST = [{"ts": 4, "k": 7}]


def parquet(path, rows, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path, **options)


def damage_pages(path):
    """Changes a byte in the middle of the rows; the footer stays good."""
    content = bytearray(path.read_bytes())
    content[len(content) // 4] ^= 0xFF
    path.write_bytes(content)


def many_rows(start):
    return [{"ts": start + number, "k": number * 7919 % 1000} for number in range(1000)]


def spoil(folder):
    """Everything that does not belong into a folder of Parquet files; gives the names of the bad files."""
    (folder / "README.txt").write_text("what these files are\n")
    (folder / "empty.parquet").touch()
    (folder / "short.parquet").write_bytes((folder / "good.parquet").read_bytes()[:-20])
    pq.write_table(pa.table({"ts": pa.array([1], pa.time64("us")), "k": [1]}), folder / "type.parquet")
    parquet(folder / "pages.parquet", many_rows(10), write_page_checksum=True, compression="none")
    damage_pages(folder / "pages.parquet")
    # Not of the stream at all: hidden files, and folders that are not named after columns.
    (folder / "_SUCCESS").touch()
    parquet(folder / "old" / "more.parquet", many_rows(10))
    return ["README.txt", "empty.parquet", "pages.parquet", "short.parquet", "type.parquet"]


def bad_names(db, stream):
    return sorted(path.rpartition("/")[2] for path in db.bad_files(stream).column("path").to_pylist())


def test_bad_files_of_every_kind_are_set_aside_and_the_rest_goes_on(spark, tmp_path):
    parquet(tmp_path / "parquet" / "good.parquet", FIRST)
    bad = spoil(tmp_path / "parquet")
    for name, good in (("csv", "1,7\n2,8\n3,9\n"), ("json", '{"ts": 1, "k": 7}\n{"ts": 2, "k": 8}\n')):
        (tmp_path / name).mkdir()
        (tmp_path / name / "good").write_text(good)
        (tmp_path / name / "damaged.gz").write_bytes(gzip.compress(good.encode() * 99)[:-20])
        (tmp_path / name / "empty").touch()
    names = ("parquet", "csv", "json")
    with panes.connect(tmp_path / "db", spark=spark) as db:
        for name in names:
            db.sql(
                f"CREATE STREAM {name} (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS "
                f"FROM FILES '{tmp_path / name}' WITH (format = '{name}')"
            )
        counts = {name: db.register(f"SELECT count(*) AS n FROM {name} [RANGE 1 DAY]") for name in names}
        db.run()
        assert [counts[name].invoke().to_pylist() for name in names] == [[{"n": 3}], [{"n": 3}], [{"n": 2}]]
        assert bad_names(db, "parquet") == bad
        assert bad_names(db, "csv") == ["damaged.gz"]
        assert bad_names(db, "json") == ["damaged.gz"]
        streams = db.status().streams
        assert [streams[name].bad_files for name in names] == [len(bad), 1, 1]
        assert [(streams[name].rows, streams[name].bad) for name in names] == [(3, 0), (3, 0), (2, 0)]
        reasons = dict(zip(bad, sorted_reasons(db, "parquet"), strict=True))
        assert "Parquet" in reasons["README.txt"]
        assert reasons["type.parquet"] == (
            "column 'ts' is declared BIGINT and stored as time64[us]; "
            "no type of Panes holds that: leave the column out"
        )
        assert sorted_reasons(db, "csv") == ["EOFException: Unexpected end of input stream"]
        # The history has what the epoch took in, also for queries that come later.
        assert db.sql("SELECT count(*) AS n FROM parquet [RANGE 1 DAY]").to_pylist() == [{"n": 3}]
        later = db.register("SELECT k, count(*) AS n FROM parquet [RANGE 1 DAY] GROUP BY k")
        parquet(tmp_path / "parquet" / "next.parquet", LAST)
        (tmp_path / "parquet" / "README.txt").unlink()
        db.run()
        assert sorted(row["n"] for row in later.invoke().to_pylist()) == [1, 1, 2]
        assert db.status().streams["parquet"].bad_files == len(bad)
        # An epoch that brings nothing but a bad file counts it.
        (tmp_path / "parquet" / "late.parquet").write_text("nonsense")
        db.run()
        assert db.status().streams["parquet"].bad_files == len(bad) + 1
        assert db.bad_files("parquet").num_rows == len(bad) + 1
        assert counts["parquet"].invoke().to_pylist() == [{"n": 4}]


def test_bad_parquet_files_without_event_times_are_set_aside(spark, tmp_path):
    parquet(tmp_path / "in" / "good.parquet", FIRST)
    bad = spoil(tmp_path / "in")
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql(f"CREATE STREAM s (ts BIGINT, k BIGINT) FROM FILES '{tmp_path / 'in'}'")
        query = db.register("SELECT sum(k) AS total FROM s")
        db.run()
        assert query.invoke().to_pylist() == [{"total": 24}]
        assert bad_names(db, "s") == bad


def sorted_reasons(db, stream):
    found = db.bad_files(stream).to_pylist()
    return [row["reason"] for row in sorted(found, key=lambda row: row["path"])]


def test_files_that_vanish_before_they_are_read_are_set_aside_once(
    spark, crash_points, tmp_path, monkeypatch
):
    folder = tmp_path / "in"
    parquet(folder / "a.parquet", FIRST)
    parquet(folder / "before.parquet", LAST)
    parquet(folder / "after.parquet", LAST)
    (tmp_path / "csv").mkdir()
    (tmp_path / "csv" / "a").write_text("1,7\n")
    (tmp_path / "csv" / "after").write_text("2,7\n")

    def files_of_epoch(*arguments):
        (folder / "before.parquet").unlink(missing_ok=True)
        files = epoch_files(*arguments)
        (folder / "after.parquet").unlink(missing_ok=True)
        (tmp_path / "csv" / "after").unlink(missing_ok=True)
        return files

    epoch_files = spark_engine.files_of_epoch
    monkeypatch.setattr(spark_engine, "files_of_epoch", files_of_epoch)
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql(f"""
            CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS FROM FILES '{folder}';
            CREATE STREAM c (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS
              FROM FILES '{tmp_path / "csv"}' WITH (format = 'csv');
        """)
        query = db.register("SELECT s.k, c.ts FROM s [RANGE 1 DAY], c [RANGE 1 DAY] WHERE s.ts = c.ts")
        arm(crash_points, "before commit", "raise")
        with pytest.raises(Crash):
            db.run()
        assert db.bad_files("s").num_rows == 0  # the epoch is not committed
        db.run()
        assert query.invoke().to_pylist() == [{"k": 7, "ts": 1}]
        assert bad_names(db, "s") == ["after.parquet", "before.parquet"]
        assert set(sorted_reasons(db, "s")) == {"it was removed before it was read"}
        assert bad_names(db, "c") == ["after"]
        streams = db.status().streams
        assert (streams["s"].bad_files, streams["c"].bad_files) == (2, 1)
        assert (streams["s"].rows, streams["c"].rows) == (3, 1)


def test_a_stream_that_stops_at_bad_files_goes_on_when_they_are_mended_or_removed(spark, tmp_path):
    parquet(tmp_path / "in" / "a.parquet", FIRST)
    (tmp_path / "csv").mkdir()
    (tmp_path / "csv" / "a").write_text("k,ts\n7,1\n")
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql(f"""
            CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS
              FROM FILES '{tmp_path / "in"}' WITH (on_bad_file = 'stop');
            CREATE STREAM c (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS
              FROM FILES '{tmp_path / "csv"}' WITH (format = 'csv', header = TRUE, on_bad_file = 'stop');
        """)
        query = db.register("SELECT count(*) AS n FROM s")
        footer, pages = tmp_path / "in" / "footer.parquet", tmp_path / "in" / "pages.parquet"
        footer.write_text("nonsense")
        with pytest.raises(SourceError, match=r"stream 's': \S+footer.parquet cannot be read: .*run again"):
            db.run()
        parquet(footer, LAST)
        parquet(pages, many_rows(5), write_page_checksum=True, compression="none")
        damage_pages(pages)
        with pytest.raises(SourceError, match=r"stream 's': \S+pages.parquet cannot be read: .*run again"):
            db.run()
        pages.unlink()
        (tmp_path / "csv" / "b").write_text("ts,j\n1,2\n")
        with pytest.raises(SourceError, match=r"stream 'c': \S+csv/b cannot be read: .*no column 'k'"):
            db.run()
        (tmp_path / "csv" / "b").unlink()
        db.run()
        assert query.invoke().to_pylist() == [{"n": 4}]
        # What is gone is told, so that nobody takes the answer for one over all files.
        assert (bad_names(db, "s"), bad_names(db, "c")) == (["pages.parquet"], ["b"])


def test_pipes_in_a_folder_of_files_are_set_aside_and_nothing_waits_for_them(spark, tmp_path):
    (tmp_path / "csv").mkdir()
    (tmp_path / "csv" / "good.csv").write_text("ts,k\n1,7\n")
    parquet(tmp_path / "parquet" / "good.parquet", FIRST)
    for folder in ("csv", "parquet"):
        os.mkfifo(tmp_path / folder / "pipe")
        (tmp_path / folder / "link").symlink_to(tmp_path / folder / "pipe")
        (tmp_path / folder / "broken").symlink_to(tmp_path / "nothing")
        (tmp_path / folder / "folder").mkdir()
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql(f"""
            CREATE STREAM c (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS
              FROM FILES '{tmp_path / "csv"}' WITH (format = 'csv', header = TRUE);
            CREATE STREAM p (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS FROM FILES '{tmp_path / "parquet"}';
        """)
        queries = [db.register(f"SELECT count(*) AS n FROM {name} [RANGE 1 DAY]") for name in "cp"]
        with pytest.warns(PanesWarning, match="2 bad files"):
            db.run()
        assert [query.invoke().to_pylist() for query in queries] == [[{"n": 1}], [{"n": 3}]]
        for name in "cp":
            assert bad_names(db, name) == ["link", "pipe"]
            assert set(sorted_reasons(db, name)) == {"it is a named pipe, not a file"}


def test_files_that_come_later_in_another_format_say_which_clause_to_write(spark, tmp_path):
    (tmp_path / "in").mkdir()
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql(
            f"CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS FROM FILES '{tmp_path / 'in'}'"
        )
        (tmp_path / "in" / "a.csv").write_text("ts,k\n1,7\n")
        with pytest.warns(PanesWarning, match="1 bad file"):
            db.run()
        assert sorted_reasons(db, "s") == [
            "it is not Parquet; create the stream again WITH (format = 'csv', header = TRUE)"
        ]
