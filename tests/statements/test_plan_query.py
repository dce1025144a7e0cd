"""From a query to its plan: what is asked once, and what is registered."""

from __future__ import annotations

import pytest

from panes import errors


@pytest.fixture(autouse=True)
def _hosts(db):
    db.sql("CREATE TABLE hosts (src BIGINT, owner STRING, PRIMARY KEY (src))")


def test_a_query_over_a_stream_and_a_table_is_explained_and_registered(db):
    query = "SELECT p.src, h.owner FROM packets [RANGE 1 MINUTE] AS p, hosts AS h WHERE p.src = h.src"
    assert "Table hosts" in db.sql(f"EXPLAIN {query}")
    db.sql(f"CREATE QUERY q AS {query}")
    assert "Table hosts" in db.sql("EXPLAIN q")


def test_a_query_over_tables_alone_is_asked_once_and_not_registered(db):
    assert db.sql("SELECT * FROM hosts").to_pylist() == []
    with pytest.raises(errors.SqlError, match=r"reads tables alone \(hosts\)") as caught:
        db.sql("SHOW STREAMS;\nCREATE QUERY q AS SELECT count(*) AS n FROM hosts")
    assert caught.value.line == 2
    assert caught.value.hint == "ask it once, without CREATE QUERY: the answer has all changes up to now"


def test_a_table_that_a_query_reads_is_not_dropped(db):
    db.sql(
        "CREATE QUERY q AS SELECT p.src FROM packets [RANGE 1 MINUTE] AS p, hosts AS h WHERE p.src = h.src"
    )
    with pytest.raises(errors.CatalogError, match="'hosts' is read by query 'q'; drop that first"):
        db.sql("DROP TABLE hosts")
    db.sql("DROP QUERY q; DROP TABLE hosts")
    assert db.sql("SHOW TABLES").num_rows == 0


def test_as_of_is_for_answers(db):
    with pytest.raises(errors.SqlError, match="as_of= is for SELECT and INVOKE"):
        db.sql("SHOW TABLES", as_of="2026-01-01")
    with pytest.raises(errors.EpochGone, match="no stream has begun"):
        db.sql("SELECT * FROM hosts", as_of="2026-01-01")
