"""Event times of every unit and kind of source: no row makes a database unusable."""

import json
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import panes
from panes.cli.main import app
from panes.clock import HandClock, to_microseconds
from panes.database import Database

pytestmark = pytest.mark.spark

NOW = to_microseconds(datetime(2026, 7, 1, tzinfo=UTC))
STEPS = {"SECONDS": 1_000_000, "MILLISECONDS": 1_000, "MICROSECONDS": 1, "TIMESTAMP": 1}
EXTREMES = [2**63 - 1, -(2**63), -(2**63) + 1, 10**18 + 7, None]
"""Of no unit a time that can be used, but for None, which is no number at all."""
KINDS = ("push", "parquet", "csv", "json")


@pytest.fixture
def db(spark, tmp_path):
    with Database(tmp_path / "db", spark=spark, clock=HandClock(NOW)) as database:
        yield database


class Source:
    """Brings rows (ts, k) to a stream, as one kind of source does; `ts` is in the unit of the stream."""

    def __init__(self, db, folder, kind, unit):
        self._db, self._kind, self._unit, self._number = db, kind, unit, 0
        self.name = f"{kind}_{unit}".lower()
        self._folder = folder / self.name
        self._folder.mkdir()
        type_ = "TIMESTAMP" if unit == "TIMESTAMP" else "BIGINT"
        place = "" if kind == "push" else f"FROM FILES '{self._folder}' WITH (format = '{kind}')"
        by = "ts" if unit == "TIMESTAMP" else f"ts {unit}"
        db.sql(f"CREATE STREAM {self.name} (ts {type_}, k BIGINT) TIMESTAMP BY {by} {place}")

    def bring(self, rows):
        self._number += 1
        ts, k = [list(column) for column in zip(*rows, strict=True)]
        type_ = pa.timestamp("us", tz="UTC") if self._unit == "TIMESTAMP" else pa.int64()
        table = pa.table({"ts": pa.array(ts, type_), "k": k})
        path = self._folder / f"{self._number}.{self._kind}"
        if self._kind == "push":
            self._db.push(self.name, table)
        elif self._kind == "parquet":
            pq.write_table(table, path)
        elif self._kind == "csv":
            path.write_text("".join(f"{'' if t is None else t},{v}\n" for t, v in zip(ts, k, strict=True)))
        else:
            path.write_text("".join(json.dumps({"ts": t, "k": v}) + "\n" for t, v in zip(ts, k, strict=True)))


def test_extreme_times_are_rejected_from_every_source_and_good_rows_are_answered(db, tmp_path):
    # Text sources hold numbers only: Spark reads instants from text by a pattern, which these have not.
    pairs = [(kind, unit) for kind in KINDS for unit in STEPS if unit != "TIMESTAMP" or kind in KINDS[:2]]
    sources = [(Source(db, tmp_path, kind, unit), STEPS[unit]) for kind, unit in pairs]
    queries = {
        s.name: db.register(f"SELECT k FROM {s.name} [RANGE 1 HOUR]", f"of_{s.name}") for s, _ in sources
    }
    for source, _ in sources:
        source.bring([(ts, 0) for ts in EXTREMES])
    db.run()
    assert db.status().clock is None
    assert {name: (s.rows, s.bad) for name, s in db.status().streams.items()} == dict.fromkeys(
        queries, (5, 5)
    )
    for source, step in sources:
        source.bring([(ts, 0) for ts in EXTREMES] + [(0, 1), (-1, 2), (NOW // step, 3)])
    db.run()
    later = {s.name: db.register(f"SELECT k FROM {s.name} [RANGE UNBOUNDED]") for s, _ in sources}
    for source, step in sources:
        source.bring([(NOW // step + 1, 4), ((NOW + 3 * 86_400_000_000) // step, 5)])
    db.run()
    # Those that came behind the clock are no longer in the window of an hour.
    for name, query in queries.items():
        assert sorted(row["k"] for row in query.invoke().to_pylist()) == [3, 4], name
        assert sorted(row["k"] for row in later[name].invoke().to_pylist()) == [1, 2, 3, 4], name
        once = db.sql(f"SELECT k FROM {name} [ROWS 3]")
        assert sorted(row["k"] for row in once.to_pylist()) == [1, 3, 4], name
    status = db.status()
    assert {name: (s.rows, s.bad) for name, s in status.streams.items()} == dict.fromkeys(queries, (15, 11))
    assert status.clock.year == 2026
    for name in queries:
        bad = db.bad_rows(name).column("_bad").to_pylist()
        assert len(bad) == 11, name
        assert sum(reason == "there is no event time" for reason in bad) == 2, name
        assert sum("lies before the year 1" in reason for reason in bad) == 4, name
        assert sum("ahead of the wall clock" in reason for reason in bad) == 5, name
    assert CliRunner().invoke(app, ["status", str(db.path)]).exit_code == 0


def test_the_rate_source_read_in_the_wrong_unit_says_so(spark, tmp_path):
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql(
            "CREATE STREAM r (ts BIGINT, value BIGINT) TIMESTAMP BY ts SECONDS "
            "FROM RATE WITH (rows_per_second = 50)"
        )
        query = db.register("SELECT value FROM r [RANGE 1 HOUR]")
        rejected = []
        while not rejected:
            db.run()
            rejected = db.bad_rows("r").column("_bad").to_pylist()
        assert all(reason.endswith("is ts in MILLISECONDS? the stream says SECONDS") for reason in rejected)
        assert query.invoke().to_pylist() == []
        assert db.status().streams["r"].bad == len(rejected) == db.status().rows


def test_one_row_of_the_year_2100_makes_no_later_row_late(db, tmp_path):
    source = Source(db, tmp_path, "push", "SECONDS")
    query = db.register(f"SELECT k FROM {source.name} [RANGE 1 HOUR]")
    source.bring([(NOW // 1_000_000, 1), (4_102_444_800, 2)])
    db.run()
    source.bring([(NOW // 1_000_000 + 1, 3)])
    db.run()
    assert sorted(row["k"] for row in query.invoke().to_pylist()) == [1, 3]
    status = db.status()
    assert (status.late_rows, status.bad_rows) == (0, 1)


def test_what_was_rejected_stays_so_when_its_time_has_come(spark, tmp_path):
    clock = HandClock(NOW)
    day = 86_400_000_000
    with Database(tmp_path / "db", spark=spark, clock=clock) as db:
        source = Source(db, tmp_path, "parquet", "MICROSECONDS")
        db.sql("SET retain_epochs = 100")
        query = db.register(f"SELECT k FROM {source.name} [RANGE 30 DAYS]")
        source.bring([(NOW, 1), (NOW + 3 * day, 2)])
        db.run()
        clock.advance(5 * day)
        source.bring([(NOW + 4 * day, 3)])
        db.run()
        late = db.register(f"SELECT k FROM {source.name} [RANGE UNBOUNDED]")
        for answer in (query.invoke(), late.invoke(), db.sql(f"SELECT k FROM {source.name} [RANGE 30 DAYS]")):
            assert sorted(row["k"] for row in answer.to_pylist()) == [1, 3]
        db.run()
        source.bring([(NOW + 5 * day, 4)])
        db.run()
        assert sorted(row["k"] for row in late.invoke().to_pylist()) == [1, 3, 4]
