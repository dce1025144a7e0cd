"""Streams and tables in the catalog: each comes back as it was written, under its number."""

from dataclasses import replace

from panes.language import parse
from panes.language.statements import CreateStream


def created(catalog, sql):
    (statement,) = parse(sql)
    catalog.create(statement)
    return statement


def test_streams_and_tables_come_back_as_they_were_written(catalog):
    base = created(
        catalog, "CREATE STREAM s (a BIGINT, t TIMESTAMP) TIMESTAMP BY t SLACK INTERVAL 2 SECONDS FROM RATE"
    )
    derived = created(catalog, "CREATE STREAM d AS SELECT a FROM s WHERE a > 1")
    table = created(catalog, "CREATE TABLE hosts (a BIGINT, PRIMARY KEY (a)) NON RETROACTIVE")
    numbered = CreateStream(replace(base.stream, number=1))
    assert catalog.stream("s") == numbered
    assert catalog.streams() == [numbered, derived]
    assert catalog.table("hosts") == table
    assert catalog.tables() == [table]
    assert (catalog.stream("hosts"), catalog.table("s"), catalog.stream("x")) == (None, None, None)
    assert catalog.names() == ["s", "d", "hosts"]


def test_a_base_stream_keeps_its_number_for_life(catalog):
    for name in "abc":
        created(catalog, f"CREATE STREAM {name} (value BIGINT) FROM RATE")
    catalog.drop("STREAM", "b")
    created(catalog, "CREATE STREAM b (value BIGINT) FROM RATE")
    assert [(stream.number, stream.name) for stream in catalog.base_streams()] == [
        (1, "a"),
        (3, "c"),
        (4, "b"),
    ]


def test_a_renamed_stream_has_its_new_name_in_its_statement_too(catalog):
    created(catalog, "CREATE STREAM s (value BIGINT) FROM RATE")
    catalog.rename("STREAM", "S", "t")
    assert [(stream.number, stream.name) for stream in catalog.base_streams()] == [(1, "t")]
    assert catalog.definitions.find("t").sql.startswith("CREATE STREAM t ")
    assert (catalog.definitions.has("s"), catalog.definitions.has("T")) == (False, True)


def test_a_stream_that_keeps_more_says_from_when_on(catalog):
    created(catalog, "CREATE STREAM s (value BIGINT) FROM RATE")
    stream = catalog.stream("s")
    assert catalog.retains_from(1) is None
    catalog.definitions.alter(stream, retains_from=30)
    catalog.definitions.alter(stream)
    assert catalog.retains_from(1) == 30


def test_a_table_is_not_dropped_as_a_stream(catalog):
    created(catalog, "CREATE TABLE hosts (a BIGINT, PRIMARY KEY (a))")
    assert not catalog.definitions.drop("STREAM", "hosts")
    assert catalog.definitions.drop("TABLE", "hosts")
    assert catalog.names() == []
