"""Queries of every kind go on over other numbers of shards while they run, and nothing shows it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from random import Random

import pytest

import panes
from panes.check import check_database
from panes.spark.spark_engine import SparkEngine
from tests.faults.standing import add_file, answers, changes

PACKETS = "packets [RANGE 12 SECONDS]"
SLIDING = "packets [RANGE 12 SECONDS SLIDE 4 SECONDS]"
ALONE = {
    "window": f"SELECT src, bytes FROM {PACKETS} WHERE bytes <> 3",
    "grouped": f"SELECT src, count(*) AS n, sum(bytes) AS b FROM {SLIDING} GROUP BY src",
    "aggregates": f"""SELECT src, min(bytes) AS least, count(DISTINCT bytes) AS kinds, median(bytes) AS middle
                      FROM {PACKETS} GROUP BY src""",
    "distinct": f"SELECT DISTINCT src, bytes FROM {PACKETS}",
    "joined": f"SELECT a.bytes, b.bytes AS y FROM {PACKETS} a, packets [RANGE 5 SECONDS] b WHERE a.src = b.src",
    "banded": f"""SELECT a.src, b.bytes FROM {PACKETS} a, packets [RANGE 5 SECONDS] b
                  WHERE a.bytes BETWEEN b.bytes - 1 AND b.bytes + 2""",
    "negated": f"""SELECT src, bytes FROM {PACKETS} a
                   WHERE NOT EXISTS (
                     SELECT * FROM packets [RANGE 3 SECONDS] b WHERE b.src = a.src AND b.bytes > 7)""",
    "matched": f"SELECT bytes FROM {PACKETS} WHERE src IN (SELECT src FROM packets [RANGE 2 SECONDS])",
    "difference": f"SELECT src FROM {PACKETS} EXCEPT ALL SELECT bytes FROM packets [RANGE 4 SECONDS]",
    "counted": "SELECT src, bytes FROM packets [PARTITION BY src ROWS 3]",
    "counted groups": """SELECT src, sum(b) AS b FROM (
                           SELECT src, bytes, count(*) AS b FROM packets [PARTITION BY src, bytes ROWS 2]
                           GROUP BY src, bytes) GROUP BY src""",
    "last": "SELECT src, bytes FROM packets [ROWS 5]",
    "entering": f"SELECT Istream(src, count(*) AS n) FROM {PACKETS} GROUP BY src",
    "leaving": f"SELECT Dstream(src, bytes) FROM {PACKETS}",
    "repeated": f"SELECT Rstream(src, count(*) AS n) FROM {SLIDING} GROUP BY src",
    "repeated without key": f"SELECT Rstream(n) FROM (SELECT src, count(*) AS n FROM {SLIDING} GROUP BY src)",
    "without key": f"SELECT count(*) AS n FROM {PACKETS} GROUP BY src",
    "in two stages": f"""SELECT b, count(*) AS n FROM (
                           SELECT src, sum(bytes) AS b FROM {SLIDING} GROUP BY src) GROUP BY b""",
    "of one shard": f"SELECT sum(n) AS m FROM (SELECT src, count(*) AS n FROM {PACKETS} GROUP BY src)",
}  # fmt: skip
SHARED = {
    "chosen": "SELECT src, bytes FROM packets [RANGE 12 SECONDS] WHERE bytes > {constant}",
    "counts of": """SELECT src, count(*) AS n FROM packets [RANGE 12 SECONDS SLIDE 4 SECONDS]
                    WHERE bytes > {constant} GROUP BY src""",
    "pairs of": """SELECT a.bytes FROM packets [RANGE 5 SECONDS] a, packets [RANGE 4 SECONDS] b
                   WHERE a.src = b.src AND a.bytes > {constant}""",
}
NUMBERS = [5, 2, 3, 1, 5]
"""The shards after each epoch."""


@dataclass
class Seen:
    """What a run tells: the answers after every epoch, and all changes."""

    answers: dict[int, object] = field(default_factory=dict)
    changes: object = None


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files for an epoch each."""
    place, random = tmp_path_factory.mktemp("in"), Random(1)
    size = 14
    for number in range(len(NUMBERS) + 1):
        times = sorted(5 * number + random.randrange(6) for _ in range(size))
        rows = [{"ts": ts, "src": random.randrange(9), "bytes": random.randrange(11)} for ts in times]
        add_file(place, number, rows)
    return place


def prepared(path, spark, folder, setup=""):
    db = panes.connect(path, spark=spark)
    db.sql(f"""
        CREATE STREAM packets (ts BIGINT, src BIGINT, bytes BIGINT) TIMESTAMP BY ts SECONDS SLACK INTERVAL 1 SECOND
        FROM FILES '{folder}' WITH (files_per_epoch = 1);
        SET share_from = 2; {setup}
    """)
    for name, sql in ALONE.items():
        db.register(sql, name=name)
    for name, sql in SHARED.items():
        for constant in range(4):
            db.register(sql.format(constant=constant), name=f"{name} {constant}")
    return db


def spread_over(db, query, shards):
    db.sql(f'ALTER QUERY "{query}" SET shards = {shards}')


def everything(db, shards):
    for query in db.queries():
        spread_over(db, query.name, shards)


def ran(db, after_epoch=lambda _: None) -> Seen:
    seen = Seen()

    def told(epoch):
        seen.answers[epoch.number] = answers(db)
        if epoch.number == 1:
            # These join their groups in the epoch in which those are redistributed.
            for name, sql in SHARED.items():
                db.register(sql.format(constant=5), name=f"{name} 5")
        after_epoch(epoch.number)

    db.run(on_epoch=told)
    seen.changes = changes(db)
    return seen


@pytest.fixture(scope="module")
def undisturbed(spark, folder, tmp_path_factory) -> Seen:
    with prepared(tmp_path_factory.mktemp("still"), spark, folder) as db:
        return ran(db)


@pytest.mark.parametrize("strategy", ["upa", "nt"])
def test_answers_and_changes_are_those_of_queries_that_were_never_altered(
    spark, tmp_path, folder, undisturbed, strategy
):
    with prepared(tmp_path / "db", spark, folder, f"SET strategy = '{strategy}'") as db:

        def alter(epoch):
            if epoch < len(NUMBERS):
                everything(db, NUMBERS[epoch])

        seen = ran(db, alter)
        for epoch, expected in undisturbed.answers.items():
            assert seen.answers[epoch] == expected, f"epoch {epoch}"
        assert seen.changes == undisturbed.changes
        assert json.loads(db.sql("EXPLAIN (FORMAT JSON) grouped"))["shards"] == NUMBERS[-1]
        assert f"Shuffle to {NUMBERS[-1]} shards by cell of a.bytes" in db.query("banded").explain()
        assert db.status().queries["grouped"].shards == NUMBERS[-1]
    assert not check_database(tmp_path / "db").problems


def test_queries_that_follow_the_cores_are_redistributed_when_a_run_finds_another_number(
    spark, tmp_path, monkeypatch
):
    (tmp_path / "in").mkdir()
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql(f"""
            CREATE STREAM packets (ts BIGINT, src BIGINT) TIMESTAMP BY ts SECONDS FROM FILES '{tmp_path / "in"}'
        """)
        query = db.register("SELECT src, count(*) AS n FROM packets [RANGE 1 HOUR] GROUP BY src", name="q")
        fixed = db.register("SELECT src FROM packets [RANGE 1 HOUR]", name="fixed")
        spread_over(db, "fixed", 3)
        assert "Shuffle to a shard per core" in query.explain()
        for number, cores in enumerate([2, 6, 6, 1]):
            monkeypatch.setattr(SparkEngine, "_cores", lambda _, cores=cores: cores)
            add_file(tmp_path / "in", number, [{"ts": number, "src": src} for src in range(8)])
            db.run()
            assert [db.status().queries[name].shards for name in ("q", "fixed")] == [cores, 3]
            assert f"Shuffle to {cores} shard" in query.explain()
            assert sorted(query.invoke().to_pylist(), key=str) == [
                {"src": src, "n": number + 1} for src in range(8)
            ]
            assert len(fixed.invoke()) == 8 * (number + 1)


def test_a_query_that_has_nothing_to_do_stays_where_it_is_until_it_has(spark, tmp_path):
    with panes.connect(tmp_path / "db", spark=spark) as db:
        for stream in ("busy", "quiet"):
            (tmp_path / stream).mkdir()
            db.sql(f"""
                CREATE STREAM {stream} (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS
                FROM FILES '{tmp_path / stream}'
            """)
            db.register(
                f"SELECT k, count(*) AS n FROM {stream} [RANGE 1 HOUR] GROUP BY k", name=f"of_{stream}"
            )

        def run_over(stream, number):
            add_file(tmp_path / stream, number, [{"ts": number, "k": k} for k in range(12)])
            db.run()

        def shards_and_counts():
            shards = db.status().queries["of_quiet"].shards
            return shards, {row["n"] for row in db.query("of_quiet").invoke().to_pylist()}

        spread_over(db, "of_busy", 2)
        for shards, after in ((5, 2), (2, 7)):
            spread_over(db, "of_quiet", shards)
            run_over("quiet", shards)
            told = shards_and_counts()
            assert told[0] == shards
            spread_over(db, "of_quiet", after)
            for number in range(2):
                run_over("busy", 10 * shards + number)
                assert shards_and_counts() == told
        run_over("quiet", 8)
        assert shards_and_counts() == (7, {3})
        changed = [len(change) for change in db.query("of_quiet").changes()]
        assert [count for count in changed if count] == [12, 24, 24]
