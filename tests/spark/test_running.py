"""Running in the background, changing the set of queries and streams meanwhile, and failing cleanly."""

import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import panes
from panes import errors
from tests.kept_states import last_states, places_in

RATE = (
    "CREATE STREAM {} (value BIGINT, ts BIGINT) TIMESTAMP BY ts MILLISECONDS "
    "FROM RATE WITH (rows_per_second = 200)"
)
PATIENCE_S = 120
"""How long to wait for an epoch before giving up: far longer than one takes."""


class Epochs:
    """Counts epochs as they are committed, and waits for more of them."""

    def __init__(self):
        self._changed = threading.Condition()
        self.seen = []

    def __call__(self, epoch):
        with self._changed:
            self.seen.append(epoch)
            self._changed.notify_all()

    def wait_for_more(self, count=1):
        with self._changed:
            wanted = len(self.seen) + count
            assert self._changed.wait_for(lambda: len(self.seen) >= wanted, PATIENCE_S), "no epoch came"


def count_of(query):
    return sum(row["n"] for row in query.invoke().to_pylist())


def test_queries_come_and_go_while_a_stream_runs(spark, tmp_path):
    epochs = Epochs()
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql(RATE.format("ticks"))
        first = db.register("SELECT count(*) AS n FROM ticks [RANGE 1 HOUR]", name="first")
        db.start(on_epoch=epochs)
        epochs.wait_for_more(3)
        assert db.status().is_running
        second = db.register(
            "SELECT value % 2 AS odd, count(*) AS n FROM ticks [RANGE 1 HOUR] GROUP BY value % 2"
        )
        epochs.wait_for_more(3)
        db.stop()
        assert not db.status().is_running
        # The second query sees what came before it as well: the stream has kept it for the first one.
        assert count_of(second) == count_of(first)
        # Those of the last tuple's time wait for more of that time.
        assert 0 < count_of(first) <= sum(epoch.rows for epoch in epochs.seen)

        second.drop()
        db.start(on_epoch=epochs)
        epochs.wait_for_more(2)
        db.stop()
        assert {place.running for place, _ in places_in(last_states(db.path))} == {1}
        # Spark's first micro-batch of this source is empty; it is no epoch.
        assert all(epoch.rows > 0 for epoch in epochs.seen)
        numbers = [epoch.number for epoch in epochs.seen]
        assert numbers == list(range(len(numbers)))


def test_a_stream_added_while_running_is_read_too(spark, tmp_path):
    epochs = Epochs()
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql(RATE.format("ticks"))
        ticks = db.register("SELECT count(*) AS n FROM ticks [RANGE 1 HOUR]", name="of_ticks")
        db.start(on_epoch=epochs)
        epochs.wait_for_more(2)
        before = count_of(ticks)
        db.sql(RATE.format("tocks"))
        tocks = db.register("SELECT count(*) AS n FROM tocks [RANGE 1 HOUR]", name="of_tocks")
        epochs.wait_for_more(4)
        db.stop()
        assert count_of(tocks) > 0
        assert count_of(ticks) > before
        assert db.status().streams.keys() == {"ticks", "tocks"}


def test_starting_twice_is_refused(spark, tmp_path):
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql(RATE.format("ticks"))
        db.start()
        with pytest.raises(errors.CatalogError, match=r"stop\(\) it first"):
            db.run()


def test_an_error_of_the_callers_own_comes_back_as_it_is(spark, tmp_path):
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "in" / "one.parquet")
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql(f"CREATE STREAM s (a BIGINT) TIMESTAMP BY a SECONDS FROM FILES '{tmp_path / 'in'}'")

        def fail(_):
            raise ZeroDivisionError("mine")

        with pytest.raises(ZeroDivisionError, match="mine"):
            db.run(on_epoch=fail)


def test_a_file_that_is_not_what_it_was_said_to_be_ends_the_run_and_loses_nothing(spark, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    pq.write_table(pa.table({"a": [1, 2]}), folder / "one.parquet")
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql(
            f"CREATE STREAM s (a BIGINT) TIMESTAMP BY a SECONDS FROM FILES '{folder}' WITH (on_bad_file = 'stop')"
        )
        query = db.register("SELECT a FROM s [RANGE 1 DAY]")
        db.run()
        (folder / "two.parquet").write_bytes(b"this is no parquet file")
        with pytest.raises(errors.SourceError, match=r"two\.parquet cannot be read: .*Parquet"):
            db.run()
        assert query.invoke().to_pylist() == [{"a": 1}, {"a": 2}]
        pq.write_table(pa.table({"a": [3]}), folder / "two.parquet")
        db.run()
        assert sorted(row["a"] for row in query.invoke().to_pylist()) == [1, 2, 3]


def test_a_session_that_was_stopped_is_named(spark, tmp_path, monkeypatch):
    monkeypatch.setattr("panes.spark.spark_engine.is_spark_lost", lambda _session: True)
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql(RATE.format("ticks"))
        for action in (db.run, db.start):
            with pytest.raises(
                errors.PipelineError, match=r"connect\(spark=…\) was stopped.*nothing is lost"
            ):
                action()
        assert not db.status().is_running
