"""Rows that come after a run and are not later than its last tuple."""

from __future__ import annotations

import pytest

import panes
from panes.testing import local

QUERIES = {
    "rows": "SELECT ts FROM s [ROWS 2]",
    "rows_of_each": "SELECT k, ts FROM s [PARTITION BY k ROWS 2]",
    "rows_that_slide": "SELECT ts FROM s [ROWS 3 SLIDE 2]",
    "rows_of_two": "SELECT s.ts, t.ts AS other FROM s [ROWS 2], t [ROWS 2]",
    "rows_of_a_union": "SELECT ts FROM (SELECT ts FROM s UNION ALL SELECT ts FROM t) [ROWS 3]",
    "rows_beside_a_range": "SELECT ts FROM s [ROWS 2] UNION ALL SELECT ts FROM s [RANGE 9 SECONDS]",
    "range": "SELECT ts FROM s [RANGE 12 SECONDS]",
    "range_that_slides": "SELECT ts FROM s [RANGE 20 SECONDS SLIDE 10 SECONDS]",
    "counts_at_slides": "SELECT k, count(*) AS n FROM s [RANGE 20 SECONDS SLIDE 10 SECONDS] GROUP BY k",
    "now": "SELECT ts FROM s [NOW]",
    "entered": "SELECT ts FROM Istream(SELECT ts FROM s [ROWS 1]) [ROWS 3]",
    "counts": "SELECT n FROM Istream(SELECT count(*) AS n FROM s [RANGE 9 SECONDS]) [ROWS 3]",
}
"""Answers that depend on when late tuples came, and some that do not."""


def test_rows_up_to_the_last_tuple_of_a_run_come_late_and_count_when_the_clock_moves_on(tmp_path):
    with local(tmp_path / "db") as db:
        db.sql("CREATE STREAM visits (ts BIGINT, who STRING) TIMESTAMP BY ts SECONDS SLACK INTERVAL 1 HOUR")
        here = db.register("SELECT who FROM visits [RANGE 30 SECONDS]", name="here")
        db.push("visits", [{"ts": 30, "who": "ann"}])
        db.run()
        db.push("visits", [{"ts": 30, "who": "bob"}, {"ts": 20, "who": "cleo"}, {"ts": -9, "who": "dora"}])
        db.run()
        assert sorted(row["who"] for row in db.late_rows("visits").to_pylist()) == ["bob", "cleo", "dora"]
        assert db.status().streams["visits"].late == 3
        # The answer at 30 s has been given; the late rows count from the next instant on.
        assert names(here) == ["ann"]
        db.push("visits", [{"ts": 40, "who": "eve"}])
        db.run()
        # The lifetime of dora's row has passed.
        assert names(here) == ["ann", "bob", "cleo", "eve"]
        assert db.status().streams["visits"].late == 3


def names(query: panes.Query) -> list[str]:
    return sorted(row["who"] for row in query.invoke().to_pylist())


def test_a_late_tuple_is_the_youngest_for_a_query_whose_first_epoch_brings_it(tmp_path):
    with local(tmp_path / "db") as db:
        db.sql("CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts SECONDS RETAIN INTERVAL 1 DAY")
        db.push("s", [{"ts": 100}, {"ts": 110}, {"ts": 115}])
        db.run()
        youngest = db.register("SELECT ts FROM s [ROWS 2]")
        db.push("s", [{"ts": 107}, {"ts": 117}])
        db.run()
        assert sorted(row["ts"] for row in youngest.invoke().to_pylist()) == [107, 117]


@pytest.mark.parametrize("share_from", [1000, 1])
def test_a_query_registered_between_runs_gives_the_answers_of_one_that_saw_late_tuples_come(
    tmp_path, share_from
):
    with local(tmp_path / "db") as db:
        for name in "st":
            db.sql(
                f"CREATE STREAM {name} (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS SLACK INTERVAL 2 SECONDS "
                "RETAIN INTERVAL 1 DAY"
            )
        db.sql(f"SET share_from = {share_from}")
        older = {name: db.register(text, name=f"{name}_older") for name, text in QUERIES.items()}
        push(db, s=[100, 110, 115], t=[101, 104])
        push(db, s=[103, 116], t=[119])
        push(db, s=[112, 118], t=[102])
        # Equal queries would share one state.
        db.sql("SET priority = 2")
        younger = {name: db.register(text, name=f"{name}_younger") for name, text in QUERIES.items()}
        push(db, s=[107, 119], t=[103])
        agree(db, older, younger)
        push(db, s=[121, 105], t=[131, 132])
        agree(db, older, younger)


def push(db: panes.Database, **times: list[int]) -> None:
    for stream, pushed in times.items():
        db.push(stream, [{"ts": ts, "k": ts % 2} for ts in pushed])
    db.run()


def agree(db: panes.Database, older: dict[str, panes.Query], younger: dict[str, panes.Query]) -> None:
    """Queries that were there before give the same answers as those that came later, and as those asked once."""
    for name, text in QUERIES.items():
        expected = rows_of(older[name].invoke())
        assert rows_of(younger[name].invoke()) == expected, name
        assert rows_of(db.sql(text)) == expected, name


def rows_of(answer: object) -> list[tuple[object, ...]]:
    return sorted(tuple(row.values()) for row in answer.to_pylist())
