"""ALTER QUERY … RESUME"""

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
