"""Isolation levels, blocks of reads, and SELECTs that a registered query answers, while epochs run."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from datetime import timedelta

import pytest

import panes
from benchmarks.recorded_log import record_reads
from panes import errors
from panes.testing import local
from tests.reference.histories import recorded_history

STREAM = "CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS"
QUERIES = {
    "counts": "SELECT k, count(*) AS n FROM s [RANGE 20 SECONDS] GROUP BY k",
    "slides": "SELECT k, sum(ts) AS t FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS] GROUP BY k",
    "rows": "SELECT ts, k FROM s [RANGE 10 SECONDS] WHERE k > 0",
    "pairs": "SELECT a.ts FROM s [RANGE 5 SECONDS] AS a, s [RANGE 5 SECONDS] AS b WHERE a.ts = b.ts AND a.k = b.k",
    "keys": "SELECT DISTINCT k FROM s [RANGE 10 SECONDS]",
}
PER_EPOCH = 3
PACE_S = 0.05
"""Between two looks of a thread."""


@pytest.fixture
def db(tmp_path):
    with local(tmp_path / "db") as db:
        db.sql(STREAM)
        for name, sql in QUERIES.items():
            db.register(sql, name=name)
        push(db)
        db.run()
        yield db


def push(db: panes.Database) -> None:
    begin = db.status().rows
    db.push("s", [{"ts": ts, "k": ts % 3} for ts in range(begin, begin + PER_EPOCH)])


@contextmanager
def epochs(db: panes.Database, runs: int = 3):
    """Epochs in another thread, until there have been some."""
    failures: list[Exception] = []
    is_over = threading.Event()

    def run() -> None:
        try:
            for _ in range(runs):
                push(db)
                db.run()
        except Exception as error:
            failures.append(error)
        finally:
            is_over.set()

    thread = threading.Thread(target=run)
    thread.start()
    yield is_over
    thread.join()
    assert failures == []


def rows(answer: panes.Answer) -> list[tuple[object, ...]]:
    return sorted(tuple(row.values()) for row in answer.to_pylist())


def test_a_block_of_five_reads_is_always_of_one_epoch(db):
    seen = set()
    with epochs(db) as is_over:
        while not is_over.wait(PACE_S):
            with db.read() as r:
                answers = [r.invoke(name) for name in QUERIES] + [r.sql("SELECT count(*) AS n FROM s")]
                assert {answer.epoch for answer in answers} == {r.epoch}
                assert len({answer.as_of for answer in (answers[0], *answers[2:])}) == 1
            seen.add(r.epoch)
    assert len(seen) > 1
    with pytest.raises(errors.WindowMoved, match="the block of reads has ended"):
        r.invoke("counts")


def test_the_recorded_reads_of_a_live_run_see_the_latest_window(db):
    log, reads = record_reads(db), []
    select = "SELECT k, min(ts) AS m FROM s [RANGE 9 SECONDS] GROUP BY k"

    def read(is_over: threading.Event) -> None:
        while not is_over.wait(PACE_S):
            for name in QUERIES:
                reads.append(log.recorded(lambda name=name: db.query(name).invoke(isolation="latest")))
            reads.append(log.recorded(lambda: db.sql(select, isolation="latest")))

    with epochs(db) as is_over:
        threads = [threading.Thread(target=read, args=(is_over,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    history = recorded_history(sorted(set(reads)))
    assert len({one.epoch for one in reads}) > 1
    assert history.is_latest_window_serializable()
    assert history.reads_the_latest_window()


def test_a_block_under_latest_that_was_overtaken_is_not_the_latest(db):
    def overtaken(r: panes.ReadBlock) -> panes.Answer:
        attempts.append(r.epoch)
        answer = r.invoke("counts")
        if len(attempts) < 2:
            push(db)
            db.run()
        return answer

    attempts: list[int] = []
    before = db.status().epoch
    with (
        pytest.raises(errors.WindowMoved, match=f"the reads are as of epoch {before}, and epoch "),
        db.read("latest") as r,
    ):
        overtaken(r)
    attempts.clear()
    answer = db.read_again(overtaken)
    assert len(attempts) == 2
    assert answer.epoch == attempts[1] == db.status().epoch
    attempts.clear()
    with pytest.raises(errors.WindowMoved):
        db.read_again(overtaken, retries=0)
    attempts.clear()
    with db.read("snapshot") as r:
        assert rows(overtaken(r)) == rows(r.invoke("counts"))
        assert r.epoch < db.status().epoch


def test_blocks_take_nothing_but_reads(db):
    with db.read() as r, pytest.raises(errors.SqlError, match="a block of reads takes SELECT and INVOKE"):
        r.sql("DROP QUERY counts")


def test_an_answer_says_of_which_epoch_it_is_and_how_old(db):
    status = db.status()
    for isolation in ("window", "snapshot", "latest"):
        for answer in (
            db.query("counts").invoke(isolation=isolation),
            db.sql("INVOKE counts", isolation=isolation),
            db.sql("SELECT max(ts) AS m FROM s [RANGE 7 SECONDS]", isolation=isolation),
        ):
            assert answer.epoch == status.epoch
            assert timedelta() <= answer.staleness < timedelta(minutes=5)
    reads = db.status().reads
    assert {level: times.reads for level, times in reads.items()} == dict.fromkeys(
        ("window", "snapshot", "latest"), 3
    )
    for times in reads.values():
        assert 0 < times.response_seconds.median <= times.response_seconds.p95 <= times.response_seconds.p99
        assert 0 <= times.staleness_seconds.median <= times.staleness_seconds.p99


def test_the_level_is_that_of_the_call_or_of_the_database(db):
    db.sql("SET isolation = 'latest'")
    db.query("counts").invoke()
    db.query("counts").invoke(isolation="window")
    assert sorted(db.status().reads) == ["latest", "window"]
    with pytest.raises(
        errors.SettingError, match="isolation takes 'window', 'snapshot' or 'latest', not 'dirty'"
    ):
        db.query("counts").invoke(isolation="dirty")
    with pytest.raises(errors.SqlError, match="isolation= is for SELECT and INVOKE"):
        db.sql("SHOW QUERIES", isolation="latest")


def test_a_select_that_a_registered_query_computes_is_answered_from_it(db, monkeypatch):
    again = "SELECT x.k AS k, count(*) AS n FROM s [RANGE 20 SECONDS] AS x GROUP BY x.k"
    assert "answered from: counts" in db.sql(f"EXPLAIN {again}")
    other = again.replace("AS n", "AS m")
    assert "answered from: history, 1 file" in db.sql(f"EXPLAIN {other}")
    asked = rows(db.sql(other))
    with monkeypatch.context() as patched:
        patched.setattr(db._reads._one_time, "answer", lambda *_, **__: pytest.fail("the history was read"))
        for isolation in ("window", "snapshot", "latest"):
            assert rows(db.sql(again, isolation=isolation)) == asked
    db.query("counts").drop()
    assert "answered from: history" in db.sql(f"EXPLAIN {again}")
    assert rows(db.sql(again)) == asked


def test_a_query_whose_windows_lack_rows_answers_no_select(db):
    db.sql("CREATE QUERY young AS SELECT k, max(ts) AS m FROM s [RANGE 1 HOUR] GROUP BY k")
    again = "SELECT k, max(ts) AS m FROM s [RANGE 1 HOUR] GROUP BY k"
    # No epoch has run it yet.
    assert "answered from: history" in db.sql(f"EXPLAIN {again}")
    push(db)
    db.run()
    assert "answered from: young" in db.sql(f"EXPLAIN {again}")


@pytest.mark.parametrize("output", ["Istream", "Dstream", "Rstream"])
def test_a_stream_of_groups_has_no_answer_before_its_first_epoch_under_any_isolation(output):
    with local() as db:
        db.sql("CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS RETAIN INTERVAL 1 HOUR")
        db.push("s", [{"ts": 1, "k": 1}, {"ts": 9, "k": 2}])
        db.run()
        window = "[RANGE 3 SECONDS SLIDE 8 SECONDS]"
        query = db.register(f"SELECT {output}(k, count(*) AS n) FROM s {window} GROUP BY k", name="q")
        for isolation in ("latest", "snapshot", "window"):
            assert query.invoke(isolation=isolation).to_pylist() == []
        db.push("s", [{"ts": 16, "k": 1}])
        db.run()
        assert query.invoke(isolation="latest").to_pylist() == query.invoke(isolation="window").to_pylist()
