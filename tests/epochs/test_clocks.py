"""Every stream has its own clock, and a query that of the slowest stream it reads; the others never notice."""

from __future__ import annotations

from datetime import UTC, datetime

from panes.clock import HandClock, to_microseconds
from panes.testing import local
from tests.spark.test_running import Epochs

JANUARY, JULY, NOW = (
    to_microseconds(datetime(2026, month, 1, tzinfo=UTC)) // 1_000_000 for month in (1, 7, 11)
)
SECOND = 1_000_000


def stream(name: str, clauses: str = "") -> str:
    return f"CREATE STREAM {name} (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS {clauses}"


def rows(first: int, *after: int) -> list[dict[str, int]]:
    return [{"ts": first + seconds, "k": seconds} for seconds in after]


def at(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def test_three_streams_of_three_times_do_not_disturb_each_other(tmp_path):
    with local(tmp_path / "db") as db:
        firsts = {"january": JANUARY, "july": JULY, "now": NOW}
        for name, first in firsts.items():
            db.sql(stream(name))
            db.register(f"SELECT k FROM {name} [RANGE 10 SECONDS]", name=f"of_{name}")
            db.push(name, rows(first, 0, 3, 12, 14))
        db.run()
        for name, first in firsts.items():
            answer = db.query(f"of_{name}").invoke()
            assert sorted(row["k"] for row in answer.to_pylist()) == [12, 14]
            assert answer.as_of == at(first + 14)
            once = db.sql(f"SELECT k FROM {name} [RANGE 10 SECONDS]")
            assert (sorted(row["k"] for row in once.to_pylist()), once.as_of) == ([12, 14], at(first + 14))
        # Rows of one stream move its clock alone, and nobody else's answers are made again.
        before = db.status()
        db.push("january", rows(JANUARY, 16, 23))
        db.run()
        after = db.status()
        assert sorted(row["k"] for row in db.query("of_january").invoke().to_pylist()) == [14, 16, 23]
        assert after.streams["january"].clock == (JANUARY + 23) * SECOND
        for name in ("july", "now"):
            assert after.streams[name] == before.streams[name]
            assert after.queries[f"of_{name}"] == before.queries[f"of_{name}"]
            assert db.query(f"of_{name}").invoke().as_of == at(firsts[name] + 14)
        assert sum(after.streams[name].late for name in firsts) == 0


def test_a_query_over_two_streams_goes_as_far_as_the_slower_one(tmp_path):
    with local(tmp_path / "db", clock=HandClock(NOW * SECOND)) as db:
        for name in ("fast", "slow"):
            db.sql(stream(name))
        both = db.register(
            "SELECT fast.k FROM fast [RANGE 100 SECONDS], slow [RANGE 100 SECONDS] WHERE fast.k = slow.k"
        )
        alone = db.register("SELECT count(*) AS n FROM fast [RANGE 100 SECONDS]")
        db.push("fast", rows(JANUARY, 1, 2, 50))
        db.push("slow", rows(JANUARY, 1, 2))
        seen = []
        db.run(on_epoch=lambda _: seen.append((both.invoke().as_of, alone.invoke().as_of)))
        # One tick is left for ties while rows may come; at the end nobody is waited for.
        tick = JANUARY * SECOND - 1
        assert [to_microseconds(as_of) - tick for as_of in seen[0]] == [2 * SECOND, 50 * SECOND]
        assert seen[-1] == (at(JANUARY + 50), at(JANUARY + 50))
        assert sorted(row["k"] for row in both.invoke().to_pylist()) == [1, 2]


def test_a_stream_that_falls_silent_holds_back_only_its_own_queries_and_only_for_a_while(tmp_path):
    clock = HandClock(NOW * SECOND)
    with local(tmp_path / "db", clock=clock) as db:
        for name in ("live", "silent", "other"):
            db.sql(stream(name))
        both = db.register(
            "SELECT k FROM live [RANGE 9 SECONDS] UNION ALL SELECT k FROM silent [RANGE 9 SECONDS]"
        )
        other = db.register("SELECT k FROM other [RANGE 9 SECONDS]")
        epochs = Epochs()
        for name in ("live", "silent", "other"):
            db.push(name, rows(JANUARY, 1))
        db.run()
        db.start(on_epoch=epochs)
        try:
            db.push("live", rows(JANUARY, 5))
            epochs.wait_for_more()
            assert both.invoke().as_of == at(JANUARY + 1), "it waits for the silent one"
            clock.advance(61 * SECOND)
            epochs.wait_for_more()
            assert to_microseconds(both.invoke().as_of) == (JANUARY + 5) * SECOND - 1
            assert other.invoke().as_of == at(JANUARY + 1)
        finally:
            db.stop()


def test_windows_over_a_silent_stream_with_idle_advance_empty_also_after_a_restart(tmp_path):
    clock = HandClock(NOW * SECOND)
    with local(tmp_path / "db", clock=clock) as db:
        db.sql(stream("idle", "IDLE ADVANCE"))
        db.register("SELECT k FROM idle [RANGE 100 SECONDS]", name="q")
        db.push("idle", rows(JANUARY, 1))
        db.run()
    with local(tmp_path / "db", clock=clock) as db:
        epochs = Epochs()
        db.start(on_epoch=epochs)
        try:
            clock.advance(61 * SECOND)
            epochs.wait_for_more()
            assert len(db.query("q").invoke()) == 1
            assert to_microseconds(db.query("q").invoke().as_of) == (JANUARY + 62) * SECOND - 1
            clock.advance(60 * SECOND)
            epochs.wait_for_more()
            assert len(db.query("q").invoke()) == 0
            assert to_microseconds(db.query("q").invoke().as_of) == (JANUARY + 122) * SECOND - 1
        finally:
            db.stop()


def test_queries_to_which_nothing_happens_sleep_while_their_clocks_move_on(tmp_path):
    clock = HandClock(NOW * SECOND)
    with local(tmp_path / "db", clock=clock) as db:
        db.sql(stream("idle", "IDLE ADVANCE"))
        short = db.register("SELECT k FROM idle [RANGE 100 SECONDS]", name="short")
        long = db.register("SELECT count(*) AS n FROM idle [RANGE 1 DAY]", name="long")
        db.push("idle", rows(JANUARY, 1))
        db.run()
        epochs = Epochs()
        db.start(on_epoch=epochs)
        try:
            ran = []
            for _ in range(4):
                clock.advance(61 * SECOND)
                epochs.wait_for_more()
                status = db.status()
                ran.append([status.queries[name].epoch == status.epoch for name in ("short", "long")])
                assert short.invoke().as_of == long.invoke().as_of
                assert long.invoke().to_pylist() == [{"n": 1}]
            # The row leaves the short window after 100 seconds.
            assert ran == [[False, False], [True, False], [False, False], [False, False]]
            assert len(short.invoke()) == 0
            as_of = to_microseconds(long.invoke().as_of)
            assert as_of == (JANUARY + 1 + 4 * 61) * SECOND - 1
            assert status.queries["short"].delayed == 1
            assert status.queries["short"].max_delay_us > 0
            past = long.invoke(as_of=at(JANUARY + 150))
            assert past.to_pylist() == [{"n": 1}]
            sums = [change.table.column("_weight").to_pylist() for change in short.changes(reader="r")]
            assert sum(weight for weights in sums for weight in weights) == 0
            db.push("idle", rows(JANUARY, 200, 301))
            epochs.wait_for_more()
            assert long.invoke().to_pylist() == [{"n": 2}], "one of them came late"
        finally:
            db.stop()
