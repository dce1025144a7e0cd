"""What the facts of a database are told of invocations, epoch by epoch."""

from __future__ import annotations

from pathlib import Path

import pytest

import panes
from panes import invocation_rates
from panes.answer_ways import fact_of_shape
from panes.answers.invocations import Invocations
from panes.invocation_rates import InvocationRates

SELECTION = "SELECT k FROM s [RANGE 5 SECONDS] WHERE k > {}"


@pytest.fixture
def db(tmp_path: Path):
    with panes.connect(tmp_path / "db") as found:
        found.sql("CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS")
        for number in (1, 2, 3):
            found.register(SELECTION.format(number), name=f"q{number}")
        yield found


def test_a_query_counts_in_every_epoch_once_it_was_invoked_and_its_like_with_it(db: panes.Database):
    invocations = Invocations()
    rates = InvocationRates(db._catalog, db._registered, invocations)
    shape = fact_of_shape(db._registered.plan_of(db._catalog.query("q1")))
    assert rates.observed([]) == {}
    for name in ("q1", "Q1", "q2"):
        invocations.count(name)
    first = rates.observed([])
    assert first == {"query 1": (2.0, 1), "query 2": (1.0, 1), shape: (3.0, 2)}
    invocations.count("q3")
    second = rates.observed(first)
    assert second == {"query 1": (0.0, 1), "query 2": (0.0, 1), "query 3": (1.0, 1), shape: (1.0, 3)}
    db.sql("DROP QUERY q2")
    assert set(rates.observed(second)) == {"query 1", "query 3", shape}


def test_only_so_many_queries_have_a_fact_of_their_own(db: panes.Database, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(invocation_rates, "_MOST", 2)
    invocations = Invocations()
    for name in ("q1", "q2", "q3"):
        invocations.count(name)
    found = InvocationRates(db._catalog, db._registered, invocations).observed(["query 3"])
    assert {name for name in found if name.startswith("query")} == {"query 1", "query 3"}
    assert [count for name, count in found.items() if name.startswith("shape")] == [(3.0, 3)]


def test_reads_count_what_is_invoked_by_name_and_what_is_selected(db: panes.Database):
    taken = db._reads._invocations.taken
    db.query("q1").invoke()
    db.sql("INVOKE q1")
    db.sql("SELECT k FROM s [RANGE 5 SECONDS] WHERE k > 9")
    assert taken() == {"q1": 2}
