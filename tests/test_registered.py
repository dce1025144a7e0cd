"""The plans of registered queries, without epochs."""

from __future__ import annotations

from pathlib import Path

import pytest

import panes
from panes.catalog.plan_history import ChosenPlan
from panes.errors import CatalogError
from panes.plan.nodes import Signed
from panes.sharing.group import Group
from panes.state.storage.epoch_log import EpochRecord
from panes.synopses.definition import panes_of

STREAM = "CREATE STREAM packets (ts BIGINT, src INT, bytes INT) TIMESTAMP BY ts SECONDS"
BEFORE = EpochRecord(epoch=-1, batch=-1, rows=0, seconds=0.0, finished_us=0)


def test_the_plan_of_a_synopsis_is_put_together_when_it_begins_and_when_it_grows_and_at_no_other_time(
    monkeypatch,
):
    made = []
    plan_of = Group.plan
    monkeypatch.setattr(
        Group, "plan", lambda group, form, runs: made.append(form) or plan_of(group, form, runs)
    )
    with panes.connect() as db:
        db.sql(f"SET share_from = 1; {STREAM}")
        for seconds in range(1, 21):
            window = f"[RANGE {seconds} SECONDS SLIDE 1 SECOND]"
            db.register(f"SELECT src, count(*) AS n FROM packets {window} GROUP BY src")
        assert len(made) == 1, "registering asks for the plan of the first query alone"
        for _ in range(3):
            (running,) = db._running.workload(BEFORE, cores=2).queries
            assert panes_of(running.plan.plan) == 20
        assert len(made) == 2, "the first epoch lets the synopsis grow for all of them"


JOINED = """SELECT a.src, b.bytes FROM packets [RANGE 9 SECONDS] AS a, packets [RANGE 5 SECONDS] AS b
WHERE a.src = b.src"""


@pytest.fixture
def db(tmp_path: Path):
    with panes.connect(tmp_path / "db") as found:
        found.sql(STREAM)
        yield found


def _running(db) -> list[int]:
    return sorted(query.query for query in db._running.workload(BEFORE, cores=2).queries)


def _record(db, name: str):
    return db._catalog.query(name)


@pytest.mark.parametrize(
    "sql", [JOINED, "SELECT DISTINCT src FROM packets [ROWS 10]", "SELECT count(*) AS n FROM packets"]
)
def test_equal_queries_run_once_whatever_their_shape(db, sql):
    db.register(sql, "a")
    assert _running(db) == [_record(db, "a").running]
    db.register(f"{sql}  ", "b")
    assert _running(db) == [_record(db, "a").running] == [_record(db, "b").running]
    assert _record(db, "b").first_epoch == _record(db, "a").first_epoch == 0, "it reads no history"
    assert "shares its state with 1 equal query (CS8)" in db.query("b").explain()


@pytest.mark.parametrize(
    ("other", "given"),
    [
        (JOINED.replace("9", "8"), ""),
        (JOINED.replace("b.bytes", "b.bytes AS size"), ""),
        (JOINED, " WITH (strategy = 'nt')"),
        (JOINED, " WITH (changes = 'instant')"),
        (JOINED, " WITH (priority = 2)"),
    ],
)
def test_queries_that_differ_in_what_is_computed_or_in_a_setting_do_not_share_a_state(db, other, given):
    db.sql(f"CREATE QUERY a AS {JOINED}; CREATE QUERY b{given} AS {other}")
    assert len(_running(db)) == 2


def test_queries_of_other_numbers_of_shards_do_not_share_a_state(db):
    db.sql(f"SET shards = 2; CREATE QUERY a AS {JOINED}; SET shards = 3; CREATE QUERY b AS {JOINED}")
    db.sql(f"CREATE QUERY c AS {JOINED}")
    assert _running(db) == [_record(db, "a").running, _record(db, "b").running]
    assert _record(db, "c").running == _record(db, "b").running


@pytest.mark.parametrize("dropped", [("a", "b", "c"), ("c", "b", "a"), ("b", "a", "c")])
def test_the_state_stays_until_the_last_of_equal_queries_is_dropped(db, dropped):
    for name in "abc":
        db.register(JOINED, name)
    (running,) = _running(db)
    plans = db._catalog.plan_rows("a")
    for name in dropped:
        assert _running(db) == [running]
        assert db._catalog.plan_rows(name) == plans, "no plan is chosen anew"
        db.sql(f"DROP QUERY {name}")
    assert _running(db) == []
    assert db._catalog.plan(running) is None


@pytest.mark.parametrize(("altered", "stays"), [("a", "b"), ("b", "a")])
def test_an_altered_query_leaves_the_state_to_its_equal(db, altered, stays):
    db.register(JOINED, "a")
    db.register(JOINED, "b")
    (running,) = _running(db)
    db.sql(f"ALTER QUERY {altered} AS {JOINED.replace('9', '7')}")
    assert _record(db, stays).running == running != _record(db, altered).running
    assert _running(db) == [running, _record(db, altered).running]
    assert "7 SECONDS" in db.query(altered).explain()
    assert "7 SECONDS" not in db.query(stays).explain()
    assert "(CS8)" not in db.query(stays).explain()


def test_equal_queries_are_suspended_and_resumed_together_and_a_new_one_begins_by_itself(db):
    db.register(JOINED, "a")
    db.register(JOINED, "b")
    (running,) = _running(db)
    db._registered.suspend({running: "it failed"})
    assert [_record(db, name).error for name in "ab"] == ["it failed"] * 2
    db.register(JOINED, "c")
    assert _running(db) == [_record(db, "c").running]
    db.sql("ALTER QUERY b RESUME")
    assert _running(db) == [running, _record(db, "c").running]


def test_equal_queries_are_given_another_plan_together(db):
    db.register(JOINED, "a")
    db.register(JOINED, "b")
    _running(db)
    plan = db._registered.physical_plan(_record(db, "b"))
    db._registered.replace_plan(_record(db, "b"), plan, ChosenPlan(0, "asked for", ""))
    db._catalog.begin_queries(1, lambda _: 0, 2)
    db._catalog.begin_queries(2, lambda _: 0, 2)
    assert _record(db, "a").plan_number == _record(db, "b").plan_number != _record(db, "a").running


def test_equal_queries_count_as_one_of_those_that_share_a_plan(db):
    for name in "abcd":
        db.register(JOINED, name)
    db.register(JOINED.replace("9", "8"), "other")
    assert {record.group for record in db._catalog.queries()} == {None}
    assert len(_running(db)) == 2


def test_those_who_follow_a_query_hear_that_it_was_dropped_though_its_equal_goes_on(db):
    db.register(JOINED, "a")
    db.register(JOINED, "b")
    _running(db)
    a, b = (db._answers.source_of(name) for name in "ab")
    db.sql("DROP QUERY a")
    with pytest.raises(CatalogError, match="'a' was dropped"):
        db._connection.readers._check_registered(a)
    db._connection.readers._check_registered(b)


def _indexes(db) -> set:
    """The indexes that the next epoch matches new tuples with."""
    queries = db._running.workload(BEFORE, cores=2).queries
    return {mine.index for query in queries for mine in query.members.all}


def test_the_groups_of_a_stream_have_one_index_and_explain_says_so(db):
    db.sql("SET share_from = 1")
    counts = "SELECT count(*) AS n FROM packets [RANGE 9 SECONDS] AS {alias} WHERE {alias}.bytes > {least}"
    names = [db.register(counts.format(alias="p", least=least)).name for least in range(5)]
    assert "index of packets" not in db.query(names[0]).explain(), "one group has nobody to share it with"
    names += [db.register(counts.format(alias="q", least=least)).name for least in range(3)]
    names.append(db.register("SELECT src FROM packets [RANGE 9 SECONDS] WHERE bytes > 7").name)
    line = "index of packets: 9 queries of 3 groups; a value is looked up once for all"
    for name in names:
        assert line in db.query(name).explain()
    (index,) = _indexes(db)
    assert (index.value.source, index.value.queries, len(index.value.slices)) == ("packets", 9, 3)
    assert _indexes(db) == {index}, "it stays the same as long as the queries do"
    db.register(counts.format(alias="p", least=9))
    (after,) = _indexes(db)
    assert after.value.queries == 10
    kept = [key for key in after.value.slices if after.value.slices[key] is index.value.slices[key]]
    assert len(kept) == 2, "the other groups are left alone"


def test_the_selections_of_a_synopsis_are_in_the_index_of_their_stream(db):
    db.sql("SET share_from = 1")
    counts = "SELECT src, count(*) AS n FROM packets [RANGE 4 SECONDS SLIDE 2 SECONDS] {where} GROUP BY src"
    for where in ("", "WHERE bytes > 7"):
        db.sql(f"CREATE QUERY q{len(where)} WITH (answers = 'lazy') AS {counts.format(where=where)}")
    db.register("SELECT src FROM packets [RANGE 9 SECONDS] WHERE bytes > 7")
    (index,) = _indexes(db)
    signed = [mine for mine in index.value.slices.values() if isinstance(mine.node, Signed)]
    assert [list(mine.members) for mine in signed] == [[0, 1]]
    assert index.value.queries == 3
    assert _indexes(db) == {index}
