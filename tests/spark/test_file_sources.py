"""Files of every kind and name: columns by name, odd paths, odd types, other file systems."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import panes
from panes.errors import PanesWarning, SourceError

pytestmark = pytest.mark.spark

ODD = r"[a]{b}*? %41#\c k=9"


def test_csv_with_a_header_is_read_by_name(spark, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.csv").write_text("ts,k,w\n1,7,one\n")
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql(
            "CREATE STREAM s (ts BIGINT, k BIGINT, w STRING) TIMESTAMP BY ts SECONDS "
            f"FROM FILES '{folder}' WITH (format = 'csv', header = TRUE)"
        )
        query = db.register("SELECT ts, k, w FROM s [RANGE 1 DAY]")
        (folder / "b.csv").write_text('\ufeff"w",more,K,"t s",ts\ntwo,x,8,y,2\nthree,x,many,y,3\nfour,x\n')
        (folder / "c.csv").write_text("ts,w\n4,four\n")
        (folder / "d.csv").write_text("k,k,ts,w\n1,2,3,x\n")
        (folder / "e.csv").touch()
        db.run()
        assert sorted(query.invoke().to_pylist(), key=lambda row: row["ts"]) == [
            {"ts": 1, "k": 7, "w": "one"},
            {"ts": 2, "k": 8, "w": "two"},
        ]
        assert sorted(db.bad_rows("s").column("_bad").to_pylist()) == [
            "does not parse: four,x",
            "does not parse: three,x,many,y,3",
        ]
        reasons = {row["path"].rpartition("/")[2]: row["reason"] for row in db.bad_files("s").to_pylist()}
        assert reasons == {
            "c.csv": "its header has no column 'k'; it has ts, w",
            "d.csv": "its header has more than one column 'k'; it has k, k, ts, w",
        }


def test_paths_may_hold_any_character(spark, tmp_path):
    home = tmp_path / ODD.replace("\\", "")
    for name, rows in ((ODD, [1, 2]), ("a", [3]), ("other", [4, 5, 6])):
        (home / name).mkdir(parents=True)
        pq.write_table(pa.table({"ts": rows}), home / name / f"{ODD}.parquet")
    (home / "csv").mkdir()
    (home / "csv" / ODD).write_text("ts\n7\n")
    quoted = str(home).replace("'", "''")
    escaped = "".join(f"\\{c}" if c in "[]{}*?\\" else c for c in quoted)
    with panes.connect(home / "db[1]*", spark=spark) as db:
        db.sql(f"""
            CREATE STREAM "s [*] /tmp" (ts BIGINT) TIMESTAMP BY ts SECONDS RETAIN INTERVAL 1 DAY
              FROM FILES '{quoted}/{ODD}';
            CREATE STREAM pattern (ts BIGINT) TIMESTAMP BY ts SECONDS FROM FILES '{escaped}/{{a,oth*}}';
            CREATE STREAM uri (ts BIGINT) TIMESTAMP BY ts SECONDS FROM FILES '{(home / "other").as_uri()}';
            CREATE STREAM csv (ts BIGINT) TIMESTAMP BY ts SECONDS
              FROM FILES '{quoted}/csv' WITH (format = 'csv', header = TRUE);
            CREATE STREAM "?*" (ts BIGINT) TIMESTAMP BY ts SECONDS;
        """)
        db.push("?*", {"ts": 8})
        streams = ("s [*] /tmp", "pattern", "uri", "csv", "?*")
        queries = [db.register(f'SELECT sum(ts) AS n FROM "{name}" [RANGE 1 DAY]') for name in streams]
        db.run()
        assert [query.invoke().to_pylist()[0]["n"] for query in queries] == [3, 18, 15, 7, 8]
        assert [db.bad_files(name).num_rows for name in streams] == [0] * 5
        # DuckDB reads the history, below a path that looks like a pattern and like the value of a column.
        answer = db.sql('SELECT ts FROM "s [*] /tmp" [RANGE 1 DAY]').to_pylist()
        assert sorted(row["ts"] for row in answer) == [1, 2]


def moment(microseconds):
    return datetime.fromtimestamp(microseconds / 1e6, UTC)


STORED = pa.table(
    {
        "ts": pa.array([1, 2, 3, 4, 5, 6], pa.uint64()),
        "d": pa.array(list("aabbcc")).dictionary_encode(),
        "v": pa.array(list("uvwxyz"), pa.string_view()),
        "n": pa.array([10**12] * 3 + [Decimal(10) ** 19, 5, None], pa.decimal128(38, 0)),
        "x": pa.array([Decimal("0.1")] * 5 + [Decimal("1234567890.12345678")], pa.decimal128(38, 18)),
        "at": pa.array([1000, 2000, 2001, 3000, None, 4000], pa.timestamp("ns")),
        "i": pa.array([1, -2, 3, 4, 5, 6], pa.int8()),
        "f": pa.array([0.5] * 6, pa.float32()),
        "day": pa.array([0, 1, 2, 3, 4, 5], pa.date32()),
    }
)
COLUMNS = "ts BIGINT, d STRING, v STRING, n BIGINT, x DOUBLE, at TIMESTAMP, i INT, f DOUBLE, day DATE"


def test_stored_types_are_read_without_loss_or_their_rows_are_rejected(spark, tmp_path):
    for name, table in (("checked", STORED), ("plain", STORED.select(["ts", "d", "i", "f", "day"]))):
        (tmp_path / name).mkdir()
        table = table.set_column(0, "ts", table.column("ts").cast(pa.int64())) if name == "plain" else table
        pq.write_table(table, tmp_path / name / "0.parquet")
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql(f"""
            CREATE STREAM checked ({COLUMNS}) TIMESTAMP BY ts SECONDS RETAIN INTERVAL 1 DAY
              FROM FILES '{tmp_path / "checked"}';
            CREATE STREAM plain (ts BIGINT, d STRING, i INT, f DOUBLE, day DATE)
              TIMESTAMP BY ts SECONDS RETAIN INTERVAL 1 DAY FROM FILES '{tmp_path / "plain"}';
        """)
        select = {name: f"SELECT * FROM {name} [RANGE 1 DAY]" for name in ("checked", "plain")}
        queries = {name: db.register(text) for name, text in select.items()}
        narrow = db.register("SELECT count(*) AS n FROM checked [RANGE 1 DAY]")
        db.run()
        checked = sorted(queries["checked"].invoke().to_pylist(), key=lambda row: row["ts"])
        day = STORED.column("day").to_pylist()
        assert checked == [
            {
                "ts": 1,
                "d": "a",
                "v": "u",
                "n": 10**12,
                "x": 0.1,
                "at": moment(1),
                "i": 1,
                "f": 0.5,
                "day": day[0],
            },
            {
                "ts": 2,
                "d": "a",
                "v": "v",
                "n": 10**12,
                "x": 0.1,
                "at": moment(2),
                "i": -2,
                "f": 0.5,
                "day": day[1],
            },
            {"ts": 5, "d": "c", "v": "y", "n": 5, "x": 0.1, "at": None, "i": 5, "f": 0.5, "day": day[4]},
        ]
        assert db.bad_rows("checked").column("_bad").to_pylist() == [
            "column 'at' holds a value that TIMESTAMP cannot",
            "column 'n' holds a value that BIGINT cannot",
            "column 'x' holds a value that DOUBLE cannot",
        ]
        assert narrow.invoke().to_pylist() == [{"n": 3}]
        plain = queries["plain"].invoke().to_pylist()
        assert plain == STORED.select(["ts", "d", "i", "f", "day"]).to_pylist()
        for name, text in select.items():
            once = sorted(db.sql(text).to_pylist(), key=lambda row: row["ts"])
            assert once == sorted(queries[name].invoke().to_pylist(), key=lambda row: row["ts"])


@pytest.mark.parametrize(
    ("place", "told"),
    [
        (
            "nosuch://bucket/in",
            r"stream 's': this Spark session cannot read nosuch:// \(.*nosuch.*\); start a session",
        ),
        ("s3://bucket/in", r"stream 's': this Spark session cannot read s3:// .*hadoop-aws, write s3a://"),
    ],
)
def test_a_file_system_that_spark_does_not_know_is_named(spark, tmp_path, place, told):
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql(f"CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts SECONDS FROM FILES '{place}'")
        with pytest.raises(SourceError, match=told):
            db.run()


def test_other_file_systems_are_read_through_spark(spark, tmp_path):
    # A file system of Hadoop's that shows local folders under another scheme.
    mounted = "fs.viewfs.mounttable.panes.link./in"
    spark.sparkContext._jsc.hadoopConfiguration().set(mounted, tmp_path.as_uri())
    for name, k in (("day=1", 7), ("day=2", 8)):
        (tmp_path / "parquet" / name).mkdir(parents=True)
        pq.write_table(pa.table({"ts": [1, 2], "k": [k, k]}), tmp_path / "parquet" / name / "0 %.parquet")
    (tmp_path / "parquet" / "README.txt").write_text("about")
    (tmp_path / "csv").mkdir()
    (tmp_path / "csv" / "good").write_text("ts,k\n1,7\n")
    (tmp_path / "csv" / "swapped").write_text("k,ts\n7,1\n")
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql("""
            CREATE STREAM p (ts BIGINT, k BIGINT, day INT) TIMESTAMP BY ts SECONDS
              FROM FILES 'viewfs://panes/in/parquet';
            CREATE STREAM c (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS
              FROM FILES 'viewfs://panes/in/csv' WITH (format = 'csv', header = TRUE);
        """)
        queries = [
            db.register("SELECT day, sum(k) AS total FROM p [RANGE 1 DAY] GROUP BY day"),
            db.register("SELECT ts, k FROM c [RANGE 1 DAY]"),
        ]
        db.run()
        days = sorted(queries[0].invoke().to_pylist(), key=lambda row: row["day"])
        assert days == [{"day": 1, "total": 14}, {"day": 2, "total": 16}]
        assert queries[1].invoke().to_pylist() == [{"ts": 1, "k": 7}]
        assert db.bad_files("p").column("path").to_pylist() == ["viewfs://panes/in/parquet/README.txt"]
        assert db.bad_files("c").column("path").to_pylist() == ["viewfs://panes/in/csv/swapped"]


def test_the_last_line_of_a_csv_file_that_was_cut_off_is_a_bad_row(spark, tmp_path):
    for folder, header in (("plain", ""), ("named", "ts,k\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.csv").write_text(f"{header}1,7\n10,\n2,\n10,")
        (tmp_path / folder / "b.csv").write_text(f"{header}3,8\n\n4\n5,6,7\n11,9")
        (tmp_path / folder / "c.csv").write_text(f'{header}6,8\n12,"9')
    with panes.connect(tmp_path / "db", spark=spark) as db:
        for folder, options in (("plain", ""), ("named", ", header = TRUE")):
            db.sql(
                f"CREATE STREAM {folder} (ts BIGINT, k STRING) TIMESTAMP BY ts SECONDS "
                f"FROM FILES '{tmp_path / folder}' WITH (format = 'csv'{options})"
            )
            db.register(f"SELECT ts, k FROM {folder} [RANGE 1 DAY]", name=f"of_{folder}")
        with pytest.warns(PanesWarning, match="4 rejected rows of plain, 4 rejected rows of named"):
            report = db.run()
        assert report.rejected == {"plain": 4, "named": 4}
        for folder in ("plain", "named"):
            found = sorted((row["ts"], row["k"]) for row in db.query(f"of_{folder}").invoke().to_pylist())
            assert found == [(1, "7"), (2, None), (3, "8"), (6, "8"), (10, None), (11, "9")]
            assert sorted(db.bad_rows(folder).column("_bad").to_pylist()) == [
                "does not parse: 10,",
                'does not parse: 12,"9',
                "does not parse: 4",
                "does not parse: 5,6,7",
            ]


def test_times_in_another_unit_than_declared_are_told(spark, tmp_path):
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "a.csv"
    path.write_text("1789999999000\n")
    os.utime(path, (1_790_000_000, 1_790_000_000))
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql(
            "CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts MICROSECONDS "
            f"FROM FILES '{tmp_path / 'in'}' WITH (format = 'csv')"
        )
        with pytest.warns(PanesWarning, match="is ts in MILLISECONDS"):
            report = db.run()
        assert report.warnings == (
            "s: event times end at 1970-01-21 17:13:19, and the files are of 2026-09-21; "
            "is ts in MILLISECONDS? the stream says MICROSECONDS",
        )
