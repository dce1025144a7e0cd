"""Who reads a stream, a table or a query."""

from __future__ import annotations

import pytest

from panes.errors import CatalogError
from panes.statements.readers_of import all_readers_of, check_unread, readers_of


@pytest.fixture
def catalog(db):
    db.sql(
        "CREATE QUERY sources AS SELECT src FROM packets [NOW];"
        "CREATE STREAM new AS SELECT Istream(*) FROM Sources;"
        "CREATE QUERY both AS SELECT a.src FROM sources a, new [NOW] b WHERE a.src = b.src;"
        "CREATE QUERY few AS SELECT src FROM both WHERE src IN (SELECT src FROM packets [NOW])"
    )
    return db._catalog


def test_those_whose_own_text_names_it(catalog):
    assert [reader.name for reader in readers_of("PACKETS", catalog)] == ["sources", "few"]
    assert [reader.name for reader in readers_of("sources", catalog)] == ["new", "both"]
    assert readers_of("few", catalog) == []


def test_those_that_read_it_through_others_come_after_what_they_read(catalog):
    assert [reader.name for reader in all_readers_of("packets", catalog)] == ["sources", "new", "both", "few"]
    assert [reader.name for reader in all_readers_of("new", catalog)] == ["both", "few"]


def test_the_error_names_all_of_them(catalog):
    with pytest.raises(
        CatalogError, match="'sources' is read by stream 'new' and query 'both'; drop those first"
    ):
        check_unread("sources", catalog)
    with pytest.raises(CatalogError, match="'both' is read by query 'few'; drop that first"):
        check_unread("both", catalog)
    check_unread("few", catalog)
