"""ALTER QUERY … RESUME and REPLAN"""

from __future__ import annotations

import pytest

from panes import errors


def test_a_suspended_query_can_be_invoked_again_once_it_is_resumed(db):
    query = db.register("SELECT src FROM packets [NOW]", name="sources")
    db._catalog.suspend(1, "a sum is too large")
    with pytest.raises(
        errors.QueryFailed, match="a sum is too large; ALTER QUERY sources RESUME lets it begin"
    ):
        query.invoke()
    db.sql("ALTER QUERY sources RESUME")
    assert len(query.invoke()) == 0


def test_a_query_that_is_not_suspended_cannot_be_resumed(db):
    db.register("SELECT src FROM packets [NOW]", name="sources")
    with pytest.raises(errors.CatalogError, match="query 'sources' is not suspended"):
        db.sql("ALTER QUERY sources RESUME")


def test_the_plan_of_a_query_is_chosen_anew_and_kept_when_it_is_the_best(db):
    db.register("SELECT DISTINCT src FROM packets [RANGE 1 MINUTE]", name="sources")
    db.sql("ALTER QUERY sources REPLAN")
    shown = db.sql("SHOW PLANS sources").select(["plan", "state", "reason"]).to_pylist()
    assert [tuple(row.values()) for row in shown] == [
        (1, "runs", "registered"),
        (None, "same", "ALTER QUERY … REPLAN: the choice is the plan that runs"),
    ]


def test_a_query_that_is_answered_when_it_is_invoked_has_no_plan_to_choose(db):
    db.register("SELECT src FROM packets BEGIN (NOW - INTERVAL 1 MINUTE) END (NOW)", name="ever")
    with pytest.raises(errors.CatalogError, match="'ever' keeps its plan: it is asked of the history"):
        db.sql("ALTER QUERY ever REPLAN")
