"""From a query to its plan: what can be planned, and what can be planned but not run."""

from __future__ import annotations

import pytest

from panes import errors


def test_queries_over_tables_can_be_explained_but_not_run(db):
    db.sql("CREATE TABLE hosts (src BIGINT, owner STRING, PRIMARY KEY (src))")
    query = "SELECT p.src, h.owner FROM packets [RANGE 1 MINUTE] AS p, hosts AS h WHERE p.src = h.src"
    assert "Table hosts" in db.sql(f"EXPLAIN {query}")
    with pytest.raises(errors.SqlError, match="hosts is a table, and tables cannot hold rows yet") as caught:
        db.sql(f"SHOW STREAMS;\nCREATE QUERY q AS {query}")
    assert caught.value.line == 2
    db.sql("DROP TABLE hosts")
    assert db.sql("SHOW TABLES").num_rows == 0
