"""EXPLAIN …"""

from __future__ import annotations

import json

import pytest

from panes import errors


def test_explain_as_text_and_as_data(db):
    text = db.sql("EXPLAIN SELECT src, count(*) AS n FROM packets [RANGE 1 MINUTE] GROUP BY src")
    assert "STRICT" in text
    data = db.sql("EXPLAIN (FORMAT JSON) SELECT src FROM packets [RANGE 1 MINUTE]")
    assert '"WEAKEST"' in data


def test_a_registered_query_is_explained_with_the_strategy_that_it_was_registered_under(db):
    text = "SELECT DISTINCT src FROM packets [RANGE 1 MINUTE]"
    db.register(text, name="sources")
    before = db.sql("EXPLAIN sources")
    db.sql("SET strategy = 'direct'")
    assert db.sql("EXPLAIN sources") == before == db.query("sources").explain()
    assert db.sql(f"EXPLAIN {text}") != before


def test_a_query_that_is_not_there_cannot_be_explained(db):
    with pytest.raises(errors.CatalogError, match="no query named 'sources'"):
        db.sql("EXPLAIN sources")


def test_what_a_query_reads_through_another_is_named_and_what_is_computed_once_is_said(db):
    db.sql("CREATE QUERY sources AS SELECT src, count(*) AS n FROM packets [RANGE 1 MINUTE] GROUP BY src")
    db.sql("CREATE QUERY pairs AS SELECT a.src, b.src AS other FROM sources a JOIN sources b ON a.n = b.n")
    text = db.sql("EXPLAIN pairs")
    assert text.count("Stream packets, of query") == 2
    assert text.count("Release on time (computed once, read 2 times)") == 2
    assert "of query" not in db.sql("EXPLAIN sources")
    db.sql("CREATE QUERY loud AS SELECT src FROM sources WHERE n > 2")
    db.sql("CREATE QUERY also AS SELECT a.src FROM sources a JOIN loud ON a.n = loud.src")
    data = db.sql("EXPLAIN (FORMAT JSON) also")
    assert "Stream packets, of query sources of query loud" in data
    assert '"shared_with": 3,' in data
    assert '"inputs_made_from_it": 2' in data


NEGATED = """
    SELECT a.src FROM packets [RANGE 1 MINUTE] a JOIN packets [RANGE 2 MINUTES] b ON a.src = b.src
    WHERE a.src NOT IN (SELECT src FROM packets [RANGE 3 MINUTES] c)
"""


def test_the_plans_that_were_compared_are_shown_with_the_rules_that_made_them(db):
    text = db.sql(f"EXPLAIN (PLANS) {NEGATED}")
    assert {"  (a ▷ c) ⋈ b", "  (a ⋈ b) ▷ c"} <= set(text.splitlines())
    assert "  chosen: " in text
    assert "rules that changed all of them: " in text
    assert "keep_needed_columns" in text


def test_a_registered_query_keeps_the_plans_among_which_its_own_was_chosen(db):
    db.sql("SET negation = 'up'")
    db.register(NEGATED, name="lonely")
    db.sql("SET negation = 'auto'")
    data = json.loads(db.sql("EXPLAIN (PLANS, FORMAT JSON) lonely"))
    assert {one["shape"] for one in data["candidates"]} == {"(a ⋈ b) ▷ c"}
    assert data["candidates"][0]["verdict"].startswith("chosen: ")
    assert "keep_needed_columns" in data["rules"]


def test_a_query_that_no_epoch_runs_has_no_other_plans(db):
    sql = "EXPLAIN (PLANS) SELECT src FROM packets BEGIN (NOW - INTERVAL 10 SECONDS) END (NOW)"
    assert db.sql(sql) == "the query is computed by SQL when it is invoked"
