"""A database is its home: whoever comes with an empty folder goes on as if nothing had happened."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from moto.server import ThreadedMotoServer
from pyarrow import fs

import panes

PARTS = 4
QUERIES = {
    "counted": "SELECT k, count(*) AS n, sum(x) AS s FROM p [RANGE 20 SECONDS SLIDE 5 SECONDS] GROUP BY k",
    "joined": "SELECT c.k, p.x FROM p [RANGE 10 SECONDS], c [RANGE 15 SECONDS] WHERE p.k = c.k",
    "distinct_keys": "SELECT DISTINCT k FROM f [RANGE 12 SECONDS]",
    "last_rows": "SELECT k, x FROM p [ROWS 5]",
    "stream_of": "SELECT ISTREAM(k) FROM c [RANGE 10 SECONDS] WHERE k > 1",
    **{f"above_{n}": f"SELECT k, x FROM f [RANGE 15 SECONDS] WHERE x > {n}" for n in range(4)},
}
ONE_TIME = (
    "SELECT k, count(*) AS n FROM p [RANGE 30 SECONDS] GROUP BY k",
    "SELECT count(*) AS n FROM f [RANGE 30 SECONDS], c [RANGE 30 SECONDS] WHERE f.k = c.k",
)


class Sources:
    """What arrives, part by part: pushed rows, Parquet files, CSV files with rows that do not parse, late rows."""

    def __init__(self, folder: Path) -> None:
        self.files, self.csv = folder / "files", folder / "csv"
        for made in (self.files, self.csv):
            made.mkdir(parents=True)

    def arrive(self, db: panes.Database, part: int) -> None:
        begin = 10 * part
        times = list(range(begin, begin + 10))
        if part:
            times[0] = begin - 9  # it comes late
        for half in (times[:5], times[5:]):
            db.push("p", [(ts, ts % 3, ts * part) for ts in half])
        rows = pa.table({"ts": times, "k": [ts % 4 for ts in times], "x": [ts % 5 for ts in times]})
        pq.write_table(rows, self.files / f"{part}.parquet")
        if part == 2:
            (self.files / "bad.parquet").write_bytes(b"no Parquet")
        lines = [f"{ts},{ts % 3}" for ts in times]
        (self.csv / f"{part}.csv").write_text("\n".join([*lines, f"{begin},none"]) + "\n")


def prepare(db: panes.Database, sources: Sources) -> None:
    db.sql("SET shards = 2; SET share_from = 3; SET retain_epochs = 50")
    db.sql("CREATE STREAM p (ts BIGINT, k BIGINT, x BIGINT) TIMESTAMP BY ts SECONDS RETAIN INTERVAL 1 HOUR")
    db.sql(
        "CREATE STREAM f (ts BIGINT, k BIGINT, x BIGINT) TIMESTAMP BY ts SECONDS RETAIN INTERVAL 1 HOUR "
        f"FROM FILES '{sources.files}'"
    )
    db.sql(
        "CREATE STREAM c (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS RETAIN INTERVAL 1 HOUR "
        f"FROM FILES '{sources.csv}' WITH (format = 'csv')"
    )
    for name, sql in QUERIES.items():
        db.register(sql, name=name)


def multiset(table: pa.Table) -> Counter:
    return Counter(tuple(row.values()) for row in table.to_pylist())


def found_in(db: panes.Database) -> dict[str, object]:
    """All that the database tells, but for the wall time."""
    status = db.status()
    return {
        "answers": {name: multiset(db.query(name).invoke().table) for name in QUERIES},
        "changes": {
            name: [
                (change.epoch, str(change.as_of), multiset(change.table))
                for change in db.query(name).changes()
            ]
            for name in QUERIES
        },
        "one-time": [multiset(db.sql(sql).table) for sql in ONE_TIME],
        "bad rows": multiset(db.bad_rows("c")),
        "bad files": [Path(path).name for path in db.bad_files("f").column("path").to_pylist()],
        "late rows": {stream: multiset(db.late_rows(stream)) for stream in "pfc"},
        "rows": (status.rows, status.epoch),
        "settings": db.sql("SHOW SETTINGS").to_pylist(),
    }


@pytest.fixture(scope="module")
def undisturbed(spark, tmp_path_factory) -> dict[str, object]:
    folder = tmp_path_factory.mktemp("undisturbed")
    sources = Sources(folder)
    with panes.connect(folder / "db", spark=spark) as db:
        prepare(db, sources)
        for part in range(PARTS):
            sources.arrive(db, part)
            db.run()
        found = found_in(db)
    assert found["bad files"] == ["bad.parquet"]
    assert found["late rows"]["p"].total() == 3  # type: ignore[index]
    return found


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """A bucket of an S3 API on this machine."""
    server = ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    _, port = server.get_host_and_port()
    options = f"endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1&allow_bucket_creation=true"
    # In the URI and not in the environment: Spark's workers may have been started before this.
    uri = f"s3://testing:testing@states{{}}?{options}"
    system, bucket = fs.FileSystem.from_uri(uri.format(""))
    system.create_dir(bucket)
    yield uri
    server.stop()


def test_every_part_over_an_object_store(spark, tmp_path, undisturbed, s3):
    sources, state = Sources(tmp_path), s3.format("/db")
    for part in range(PARTS):
        folder = tmp_path / f"db{part}"
        with panes.connect(folder, state=state, spark=spark) as db:
            if not part:
                prepare(db, sources)
            sources.arrive(db, part)
            db.run()
        shutil.rmtree(folder)
    with panes.connect(None, state=state, spark=spark) as db:
        assert found_in(db) == undisturbed


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_every_part_from_an_empty_folder_gives_what_an_undisturbed_run_gives(
    spark, tmp_path, undisturbed, scheme
):
    sources, state = Sources(tmp_path), f"{scheme}{tmp_path}/home"
    with panes.connect(tmp_path / "db", state=state, spark=spark) as db:
        prepare(db, sources)
        sources.arrive(db, 0)
    for part in range(PARTS):
        folder = tmp_path / f"db{part}"
        with panes.connect(folder, state=state, spark=spark) as db:
            if part:
                sources.arrive(db, part)
            db.run()
        shutil.rmtree(folder)
    with panes.connect(None, state=state, spark=spark) as db:
        assert found_in(db) == undisturbed
    assert not list((tmp_path / "home" / "pushed").glob("*/*"))


def test_a_folder_that_is_older_than_its_home_goes_on_from_there(spark, tmp_path, undisturbed):
    sources, state = Sources(tmp_path), tmp_path / "home"
    with panes.connect(tmp_path / "one", state=state, spark=spark) as db:
        prepare(db, sources)
        sources.arrive(db, 0)
        db.run()
    for part, folder in ((1, "two"), (2, "one"), (3, "two")):
        with panes.connect(tmp_path / folder, state=state, spark=spark) as db:
            sources.arrive(db, part)
            db.run()
    with panes.connect(tmp_path / "one", spark=spark) as db:
        assert found_in(db) == undisturbed


def test_generated_rows_go_on_where_they_were(spark, tmp_path):
    seen = 0
    for number in range(3):
        with panes.connect(tmp_path / f"db{number}", state=tmp_path / "home", spark=spark) as db:
            if not number:
                db.sql(
                    "CREATE STREAM r (value BIGINT, ts BIGINT) TIMESTAMP BY ts MILLISECONDS "
                    "RETAIN INTERVAL 1 HOUR FROM RATE WITH (rows_per_second = 20)"
                )
            values: list[int] = []
            for _ in range(100):  # new rows come every second
                db.run()
                values = db.sql("SELECT value FROM r [RANGE 1 HOUR]").table.column("value").to_pylist()
                if len(values) > seen:
                    break
        assert len(values) > seen
        assert sorted(values) == list(range(len(values)))
        seen = len(values)
