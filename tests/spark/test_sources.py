"""Sources on Spark: pushed rows, text files with rows that do not parse, silence, Kafka without its connector."""

import pytest

import panes
from panes import errors
from panes.clock import HandClock
from panes.database import Database

SECOND = 1_000_000


def test_pushed_rows_are_taken_in_once_and_survive_reopening(spark, tmp_path):
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql("CREATE STREAM s (ts BIGINT, w STRING) TIMESTAMP BY ts SECONDS")
        db.register("SELECT w FROM s [RANGE 1 HOUR]", name="words")
        assert db.push("s", [{"ts": 1, "w": "a"}, {"ts": 2, "w": "b"}]) == 2
        db.run()
        db.push("s", {"ts": 3, "w": "c"})
    with panes.connect(tmp_path / "db", spark=spark) as db:
        words = db.query("words")
        assert sorted(row["w"] for row in words.invoke().to_pylist()) == ["a", "b"]
        db.run()
        db.run()
        assert sorted(row["w"] for row in words.invoke().to_pylist()) == ["a", "b", "c"]
        with pytest.raises(errors.CatalogError, match="no base stream named 'x'; there are s"):
            db.push("x", {})


def test_a_data_frame_is_pushed_and_loaded_with_its_instants(spark, tmp_path):
    text = "SELECT TIMESTAMP '2026-01-31 07:00:00 America/New_York' AS at, 'a' AS w"
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql(
            "CREATE STREAM s (at TIMESTAMP, w STRING) TIMESTAMP BY at; CREATE TABLE t (at TIMESTAMP, w STRING)"
        )
        assert db.push("s", spark.sql(text)) == 1
        db.load("t", spark.sql(text))
        db.register("SELECT epoch_ms(at) AS ms, w FROM s [RANGE 1 HOUR]", name="seen")
        db.run()
        expected = [{"ms": 1769860800000, "w": "a"}]
        assert db.query("seen").invoke().to_pylist() == expected
        assert db.sql("SELECT epoch_ms(at) AS ms, w FROM t").to_pylist() == expected
        with pytest.raises(
            errors.SourceError, match="a streaming DataFrame has no end to its rows: give the batches"
        ):
            db.push("s", spark.readStream.format("rate").load())


@pytest.mark.parametrize(
    ("form", "lines"),
    [
        ("csv", ["1,2.5,a", "2,many,b", "3,1e3,c"]),
        ("json", ['{"ts": 1, "x": 2.5, "w": "a"}', '{"ts": 2, "x": "many', '{"ts": 3, "x": 1e3, "w": "c"}']),
    ],
)
def test_rows_that_do_not_parse_are_put_aside_with_the_reason(spark, tmp_path, form, lines):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "one").write_text("\n".join(lines))
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql(f"""
            CREATE STREAM s (ts BIGINT, x DOUBLE, w STRING) TIMESTAMP BY ts SECONDS
            FROM FILES '{tmp_path / "in"}' WITH (format = '{form}')
        """)
        query = db.register("SELECT x, w FROM s [RANGE 1 HOUR]")
        db.run()
        assert query.invoke().to_pylist() == [{"x": 2.5, "w": "a"}, {"x": 1000.0, "w": "c"}]
        assert db.status().bad_rows == 1
        assert db.bad_rows("s").column("_bad").to_pylist() == [f"does not parse: {lines[1]}"]


def test_answers_expire_in_silence_when_tuples_carry_their_arrival_time(spark, tmp_path):
    clock = HandClock()
    with Database(tmp_path / "db", spark=spark, clock=clock) as db:
        db.sql("CREATE STREAM s (w STRING)")
        query = db.register("SELECT w FROM s [RANGE 10 SECONDS]")
        db.push("s", {"w": "a"})
        db.run()
        arrived = query.invoke().as_of
        assert query.invoke().to_pylist() == [{"w": "a"}]
        # A heartbeat nine seconds later, and one after eleven.
        clock.advance(panes.clock.to_microseconds(arrived) + 9 * SECOND)
        db._engine.beat()
        assert query.invoke().to_pylist() == [{"w": "a"}]
        clock.advance(2 * SECOND)
        db._engine.beat()
        assert query.invoke().to_pylist() == []
        assert (query.invoke().as_of - arrived).seconds == 11


def test_slack_lets_tuples_come_out_of_order(spark, tmp_path):
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql("CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts SECONDS SLACK INTERVAL 5 SECONDS")
        query = db.register("SELECT ts FROM s [ROWS 2]")
        seen = []

        def note(epoch):
            seen.append((epoch.rows, sorted(row["ts"] for row in query.invoke().to_pylist())))

        db.push("s", [{"ts": 3}, {"ts": 1}, {"ts": 10}])
        db.push("s", [{"ts": 8}, {"ts": 2}])
        db.run(on_epoch=note)
        # Up to 10 - 5 all has come: 2 and 3 are the youngest. At the end of the run, 8 and 10 are.
        assert seen == [(5, [2, 3]), (0, [8, 10])]
        assert db.status().late_rows == 0


def test_kafka_without_its_connector_says_how_to_get_it(spark, tmp_path):
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql("CREATE STREAM s (a INT) FROM KAFKA 'topic' WITH (servers = 'localhost:9092')")
        with pytest.raises(errors.SourceError, match="no Kafka connector; start it with --packages"):
            db.run()
