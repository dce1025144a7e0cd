"""The setting `answers`: what a query is registered with, and what is refused."""

from __future__ import annotations

import json

import pytest

import panes
from panes import errors

STREAM = "CREATE STREAM s (ts BIGINT, x INT, y INT) TIMESTAMP BY ts SECONDS"
SELECTION = "SELECT x FROM s [RANGE 1 MINUTE] WHERE y > 3"
LANDMARK = "SELECT x FROM s WHERE y > 3 BEGIN (NOW - INTERVAL 1 MINUTE) END (NOW)"
TOTAL = "SELECT y, sum(x) AS total FROM s [RANGE 1 MINUTE] GROUP BY y"


@pytest.fixture
def db():
    with panes.connect(None) as database:
        database.sql(STREAM)
        yield database


def register(db: panes.Database, sql: str, answers: str, name: str = "q") -> panes.Query:
    db.sql(f"CREATE QUERY {name} WITH (answers = '{answers}') AS {sql}")
    return db.query(name)


def mode_of(query: panes.Query) -> str:
    lines = query.explain().splitlines()
    return next((line for line in lines if line.startswith("answers ")), "nothing to choose")


def test_a_lazy_selection_shares_a_store_from_the_first_on(db):
    assert mode_of(register(db, SELECTION, "lazy")) == "answers 'lazy': as it was registered"
    assert "read from the tuples and matches of 1 queries" in " ".join(db.query("q").explain().split())


def test_selections_share_one_store_whether_they_were_asked_to_or_were_enough(db):
    db.sql("SET share_from = 3")
    register(db, SELECTION, "lazy", "one")
    alone = db.register(SELECTION, name="two")
    third = db.register(SELECTION.replace("3", "4"), name="three")
    assert mode_of(alone) == (
        "answers 'eager': 2 of at least 3 queries that could share a store are registered"
    )
    assert mode_of(third) == "answers 'lazy': it shares a store with other queries"
    groups = {record.name: record.group for record in db._catalog.queries()}
    assert groups["one"] == groups["three"] is not None
    assert groups["two"] is None


def test_an_eager_selection_has_a_plan_of_its_own_however_many_are_alike(db):
    db.sql("SET share_from = 1")
    query = register(db, SELECTION, "eager")
    assert mode_of(query) == "answers 'eager': as it was registered"
    assert db._catalog.query("q").group is None


@pytest.mark.parametrize("sql", [SELECTION, TOTAL, LANDMARK])
def test_no_epoch_runs_a_query_of_which_nothing_is_kept(db, sql):
    query = register(db, sql, "none")
    assert mode_of(query) == "answers 'none': as it was registered"
    assert "computed by SQL over the history whenever it is invoked" in " ".join(query.explain().split())
    assert len(query.invoke()) == 0
    with pytest.raises(errors.CatalogError, match=r"no changes to follow in between"):
        query.changes()
    with pytest.raises(errors.CatalogError, match=r"'q' is asked of the history when it is invoked"):
        db.sql("ALTER QUERY q SET shards = 3")


def test_a_begin_end_query_is_asked_of_the_history_while_few_are_alike(db):
    shown = " ".join(db.register(LANDMARK, name="q").explain().split())
    assert (
        "answers 'none': BEGIN … END is applied when the query is invoked; 1 of at least 4 queries that could "
        "share a store are registered" in shown
    )


@pytest.mark.parametrize(
    ("sql", "answers", "reason"),
    [
        (LANDMARK, "eager", "BEGIN … END is applied when the query is invoked"),
        (
            TOTAL,
            "lazy",
            "only selections, joins, aggregates over slides and BEGIN … END aggregates share a store",
        ),
        ("ISTREAM (SELECT x FROM s [RANGE 1 MINUTE])", "none", "Istream gives what changes"),
        ("SELECT x FROM s [RANGE UNBOUNDED]", "none", "the history of s would have to be kept without end"),
    ],
)
def test_a_query_that_asks_for_what_it_cannot_have_is_refused(db, sql, answers, reason):
    with pytest.raises(errors.SettingError, match=f"cannot have answers = '{answers}': .*{reason}"):
        register(db, sql, answers)
    assert db._catalog.queries() == []


def test_a_setting_of_the_database_that_a_query_cannot_follow_leaves_it_what_it_can_have(db):
    db.sql("SET answers = 'lazy'")
    assert mode_of(db.register(TOTAL, name="q")).startswith(
        "answers 'eager': not 'lazy': only selections, joins, aggregates over slides"
    )


def test_explain_as_data_has_the_way_and_the_reason(db):
    register(db, TOTAL, "none")
    shown = json.loads(db.sql("EXPLAIN (FORMAT JSON) q"))
    assert shown["answers"] == {"mode": "none", "reason": "as it was registered", "since": None}
    shown = json.loads(db.sql(f"EXPLAIN (FORMAT JSON) {TOTAL}"))
    assert shown["answers"] == {"mode": "eager", "reason": "", "since": None}


def test_an_altered_query_keeps_the_way_it_was_given(db):
    register(db, SELECTION, "none")
    db.sql(f"ALTER QUERY q AS {TOTAL}")
    assert mode_of(db.query("q")) == "answers 'none': as it was registered"
    assert "answers = 'none'" in db.sql("SHOW CREATE QUERY q")
