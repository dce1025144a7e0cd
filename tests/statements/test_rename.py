"""ALTER … RENAME TO"""

from __future__ import annotations

import pytest

from panes import errors


def test_a_query_goes_on_under_another_name(db):
    query = db.register("SELECT src FROM packets [NOW]", name="sources")
    db._connection.readers._cursors.move(1, "phone", 3)
    assert len(query.invoke()) == 0
    db.sql("ALTER QUERY Sources RENAME TO origins")
    assert (query.name, repr(query), query.readers()) == ("origins", "<Query origins>", {"phone": 3})
    assert [found.name for found in db.queries()] == ["origins"]
    assert len(db.sql("SELECT * FROM origins")) == len(query.invoke()) == 0
    with pytest.raises(errors.CatalogError, match="no query named 'sources'"):
        db.sql("INVOKE sources")
    again = db.register("SELECT src FROM packets [NOW]", name="sources")
    assert (again.name, query.name) == ("sources", "origins")


def test_streams_and_tables_keep_what_they_are(db):
    db.sql("CREATE TABLE hosts (src BIGINT PRIMARY KEY, owner STRING NOT NULL) NON RETROACTIVE")
    db.sql("INSERT INTO hosts VALUES (1, 'lab')")
    db.sql("CREATE STREAM tcp AS SELECT src FROM packets WHERE proto = 'tcp'")
    db.sql('ALTER TABLE hosts RENAME TO machines; ALTER STREAM tcp RENAME TO "over tcp"')
    assert db.sql("SELECT * FROM machines").to_pylist() == [{"src": 1, "owner": "lab"}]
    with pytest.raises(errors.SqlError, match="already a row with the primary key"):
        db.sql("INSERT INTO machines VALUES (1, 'office')")
    number = db._catalog.stream("packets").stream.number
    db.sql(
        'DROP STREAM "over tcp"; ALTER STREAM packets RENAME TO Traffic; ALTER STREAM traffic RENAME TO traffic'
    )
    assert [stream.name for stream in db._catalog.streams()] == ["traffic"]
    assert db._catalog.stream("traffic").stream.number == number
    db.sql("DROP TABLE machines; CREATE TABLE hosts (a INT)")
    assert len(db.sql("SELECT * FROM hosts")) == 0


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("ALTER STREAM packets RENAME TO other", "'packets' is read by stream 'tcp' and query 'sources'"),
        ("ALTER STREAM tcp RENAME TO other", "'tcp' is read by query 'both'; drop that first"),
        ("ALTER TABLE hosts RENAME TO other", "'hosts' is read by query 'both'; drop that first"),
        ("ALTER QUERY sources RENAME TO other", "'sources' is read by query 'both'; drop that first"),
        ("ALTER QUERY both RENAME TO packets", "there is already a stream or table named 'packets'"),
        ("ALTER QUERY both RENAME TO Sources", "there is already a query named 'Sources'"),
        ("ALTER TABLE free RENAME TO both", "there is already a query named 'both'"),
        ("ALTER TABLE packets RENAME TO other", "'packets' is read by"),
        ("ALTER TABLE gone RENAME TO other", "there is no table named 'gone'; there are hosts, free"),
        ("ALTER QUERY free RENAME TO other", "there is no query named 'free'"),
    ],
)
def test_what_is_read_and_names_that_are_taken_are_refused(db, statement, message):
    db.sql(
        "CREATE STREAM tcp AS SELECT src FROM packets WHERE proto = 'tcp'; CREATE TABLE hosts (src BIGINT)"
    )
    db.sql("CREATE TABLE free (a INT); CREATE QUERY sources AS SELECT src FROM packets [NOW]")
    both = "SELECT a.src FROM tcp [NOW] a, sources b, hosts c WHERE a.src = b.src AND b.src = c.src"
    db.sql(f"CREATE QUERY both AS {both}")
    before = db._catalog._file.content()
    with pytest.raises(errors.CatalogError, match=message):
        db.sql(statement)
    assert db._catalog._file.content() == before


def test_a_column_cannot_be_renamed(db):
    with pytest.raises(errors.SqlError, match=r"a column cannot be renamed.*\n.*\n.*\n.*SELECT a AS b FROM"):
        db.sql("ALTER STREAM packets RENAME COLUMN src TO source")
