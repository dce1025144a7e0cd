"""The local engine keeps the promises of the engine on Spark."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from panes.crash_points import Crash, arm
from panes.errors import CatalogError, PanesWarning, SourceError
from panes.testing import HandClock, local

STREAM = "CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS"
QUERY = "SELECT k, count(*) AS n FROM s [RANGE 10 SECONDS] GROUP BY k"
PATIENCE_S = 60


def rows_of(query):
    return sorted((row["k"], row["n"]) for row in query.invoke().to_pylist())


def test_before_the_first_epoch_answers_are_empty():
    with local() as db:
        db.sql(STREAM)
        query = db.register(QUERY)
        assert query.invoke().to_pylist() == []
        assert db.run().rows == 0
        assert query.invoke().to_pylist() == []


def test_neither_spark_nor_java_is_touched():
    program = (
        "import sys; from panes.testing import local\n"
        f"with local() as db:\n    db.sql({STREAM!r}); db.push('s', [(1, 1)]); db.run()\n"
        "assert not [name for name in sys.modules if name.split('.')[0] in ('pyspark', 'py4j')]"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_database_goes_on_after_a_restart(tmp_path):
    with local(tmp_path / "db") as db:
        db.sql(STREAM)
        db.register(QUERY, name="q")
        db.push("s", [(1, 1), (2, 2)])
        db.run()
    with local(tmp_path / "db") as db:
        db.push("s", [(3, 1)])
        assert db.run().rows == 1
        assert rows_of(db.query("q")) == [(1, 2), (2, 1)]


def test_rows_that_are_pushed_while_it_runs_in_the_background_come_in():
    came = threading.Event()
    with local() as db:
        db.sql(STREAM)
        query = db.register(QUERY)
        db.start(on_epoch=lambda epoch: came.set() if epoch.rows else None)
        with pytest.raises(CatalogError, match="running in the background"):
            db.run()
        db.push("s", [(1, 1), (9, 2)])
        assert came.wait(PATIENCE_S)
        db.stop()
        assert (1, 1) in rows_of(query)
        assert not db.status().is_running


def test_an_epoch_that_failed_is_done_again_with_the_same_rows(crash_points, tmp_path):
    with local(tmp_path / "db") as db:
        db.sql(STREAM)
        query = db.register(QUERY)
        db.push("s", [(1, 1)])
        arm(crash_points, "before commit", "raise")
        with pytest.raises(Crash):
            db.run()
        db.push("s", [(2, 1)])
        db.run()
        assert rows_of(query) == [(1, 2)]


def test_what_on_epoch_raises_ends_the_run_after_its_epoch():
    def fail(epoch):
        raise ZeroDivisionError(epoch.number)

    with local() as db:
        db.sql(STREAM)
        query = db.register(QUERY)
        db.push("s", [(1, 1), (2, 2)])
        with pytest.raises(ZeroDivisionError):
            db.run(on_epoch=fail)
        db.run()
        assert rows_of(query) == [(1, 1), (2, 1)]


def test_a_heartbeat_moves_the_clock_of_a_silent_stream():
    clock, seen = HandClock(100_000_000), threading.Event()
    with local(clock=clock) as db:
        db.sql("CREATE STREAM p (k BIGINT)")
        query = db.register("SELECT k FROM p [RANGE 5 SECONDS]")
        db.push("p", [(1,)])
        db.run()
        assert len(query.invoke()) == 1
        clock.advance(60_000_000)
        db.start(on_epoch=lambda _: seen.set())
        assert seen.wait(PATIENCE_S)
        db.stop()
        assert len(query.invoke()) == 0


def test_text_is_read_exactly_or_rejected_with_its_line(tmp_path):
    (tmp_path / "csv").mkdir()
    (tmp_path / "csv" / "a.csv").write_text('1,-128,"x, y",1.50\n2,128,z,1\n3,,"",1.005\n4,1\n')
    (tmp_path / "json").mkdir()
    (tmp_path / "json" / "a.json").write_text(
        '{"ts": 1, "a": 5, "b": "x", "c": 2.5}\n{"ts": 2, "a": \n{"ts": 3, "c": "2.25"}\n'
    )
    columns = "(ts BIGINT, a TINYINT, b STRING, c DECIMAL(5, 2)) TIMESTAMP BY ts SECONDS"
    with local() as db:
        for kind in ("csv", "json"):
            db.sql(f"CREATE STREAM {kind} {columns} FROM FILES '{tmp_path / kind}' WITH (format = '{kind}')")
            db.register(
                f"SELECT ts, a, b, CAST(c AS DOUBLE) AS c FROM {kind} [RANGE 1 DAY]", name=f"q_{kind}"
            )
        with pytest.warns(PanesWarning, match="rejected"):
            report = db.run()
        assert report.rejected
        found = {kind: db.query(f"q_{kind}").invoke().to_pylist() for kind in ("csv", "json")}
        assert found["csv"] == [{"ts": 1, "a": -128, "b": "x, y", "c": 1.5}]
        assert sorted(row["ts"] for row in found["json"]) == [1, 3]
        reasons = db.bad_rows("csv").column("_bad").to_pylist()
        assert sorted(reasons) == [
            "does not parse: 2,128,z,1",
            "does not parse: 3,,,1.005",
            "does not parse: 4,1",
        ]
        assert db.bad_rows("json").column("_bad").to_pylist() == ['does not parse: {"ts": 2, "a": ']


def test_sources_that_only_spark_reads_are_refused_when_it_runs():
    with local() as db:
        db.sql("CREATE STREAM ticks (value BIGINT, ts BIGINT) TIMESTAMP BY ts MILLISECONDS FROM RATE")
        with pytest.raises(SourceError, match=r"FROM RATE.*push rows to it, or use panes.connect"):
            db.run()
