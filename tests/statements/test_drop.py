"""DROP …"""

from __future__ import annotations

import pytest

from panes import errors


def test_what_is_read_cannot_be_dropped(db):
    db.sql("CREATE STREAM tcp AS SELECT src FROM packets WHERE proto = 'tcp'")
    query = db.register("SELECT src FROM tcp [NOW]", name="sources")
    with pytest.raises(errors.CatalogError, match="'packets' is read by stream 'tcp'; drop that first"):
        db.sql("DROP STREAM packets")
    with pytest.raises(errors.CatalogError, match="'tcp' is read by query 'sources'; drop that first"):
        db.sql("DROP STREAM tcp")
    with pytest.raises(errors.CatalogError, match="'tcp' is read by query 'sources'; drop that first"):
        db.sql("DROP STREAM IF EXISTS tcp")
    query.drop()
    db.sql("DROP STREAM tcp; DROP STREAM packets; DROP STREAM IF EXISTS packets")
    assert db.sql("SHOW STREAMS").num_rows == 0


def test_a_query_leaves_with_its_readers(db):
    query = db.register("SELECT src FROM packets [NOW]", name="sources")
    db._connection.readers._cursors.move(1, "phone", 3)
    assert query.readers() == {"phone": 3}
    db.sql("DROP QUERY sources; DROP QUERY IF EXISTS sources")
    assert db.queries() == []
    assert db._connection.readers._cursors.of_query(1) == {}
    with pytest.raises(errors.CatalogError, match="no query named 'sources'"):
        db.sql("DROP QUERY sources")


def test_a_query_that_others_read_cannot_be_dropped(db):
    sources = db.register("SELECT src FROM packets [NOW]", name="sources")
    db.sql("CREATE STREAM new AS SELECT Istream(*) FROM sources")
    first = db.register("SELECT min(src) AS first FROM Sources", name="first")
    with pytest.raises(errors.CatalogError, match="'sources' is read by stream 'new' and query 'first'"):
        sources.drop()
    with pytest.raises(errors.CatalogError, match="'packets' is read by query 'sources'; drop that first"):
        db.sql("DROP STREAM packets")
    first.drop()
    with pytest.raises(errors.CatalogError, match="'sources' is read by stream 'new'; drop that first"):
        sources.drop()
    db.sql("DROP STREAM new; DROP QUERY sources; DROP STREAM packets")


def test_a_query_stands_between_a_table_and_who_reads_it(db):
    db.sql(
        "CREATE TABLE hosts (src BIGINT);"
        "CREATE QUERY known AS SELECT src FROM packets [NOW] JOIN hosts USING (src)"
    )
    db.sql("CREATE QUERY first AS SELECT min(src) AS first FROM known")
    with pytest.raises(errors.CatalogError, match="'hosts' is read by query 'known'; drop that first"):
        db.sql("DROP TABLE hosts")
