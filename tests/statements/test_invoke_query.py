"""INVOKE …"""

from __future__ import annotations

import pytest

from panes import errors


def test_invoke_gives_what_the_query_gives(db):
    query = db.register("SELECT src AS host FROM packets [RANGE 1 MINUTE]", name="sources")
    assert db.sql("INVOKE sources") is query.invoke()


def test_a_query_that_is_not_there_cannot_be_invoked(db):
    with pytest.raises(errors.CatalogError, match="no query named 'sources'"):
        db.sql("INVOKE sources")
