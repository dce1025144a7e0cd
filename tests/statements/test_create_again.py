"""CREATE … IF NOT EXISTS and CREATE OR REPLACE …"""

from __future__ import annotations

import pytest

from panes import errors

SCRIPT = """
    CREATE {0} TABLE {1} hosts (src BIGINT PRIMARY KEY);
    CREATE {0} STREAM {1} pushed (ts BIGINT, src BIGINT) TIMESTAMP BY ts SECONDS;
    CREATE {0} STREAM {1} few AS SELECT src FROM pushed WHERE src < 9;
    CREATE {0} QUERY {1} sources AS SELECT src, count(*) AS n FROM few [RANGE 1 MINUTE] GROUP BY src
"""


@pytest.mark.parametrize("words", [("OR REPLACE", ""), ("", "IF NOT EXISTS")])
def test_a_script_can_be_run_again(db, words):
    db.sql(SCRIPT.format(*words))
    before = db._catalog._file.content()
    db.sql(SCRIPT.format(*words))
    assert db._catalog._file.content() == before


def test_what_is_there_stays_whatever_it_is(db):
    db.sql(SCRIPT.format("", ""))
    before = db._catalog._file.content()
    db.sql(
        "CREATE TABLE IF NOT EXISTS Hosts (a INT); CREATE STREAM IF NOT EXISTS pushed AS SELECT * FROM packets"
    )
    db.sql("CREATE QUERY IF NOT EXISTS sources AS SELECT src FROM packets [NOW]")
    assert db._catalog._file.content() == before


def test_a_query_is_replaced_by_its_new_text(db):
    db.register("SELECT src FROM packets [NOW]", name="sources")
    db.sql("CREATE OR REPLACE QUERY Sources AS SELECT src, proto FROM packets [NOW]")
    assert [(query.name, query.invoke().table.schema.names) for query in db.queries()] == [
        ("sources", ["src", "proto"])
    ]
    query = db.register("SELECT proto FROM packets [NOW]", name="sources", replace=True)
    assert query.invoke().table.schema.names == ["proto"]
    assert db.register("SELECT proto FROM packets [NOW]", name="protos", replace=True).name == "protos"
    again = db.register("CREATE OR REPLACE QUERY protos AS SELECT src FROM packets [NOW]")
    assert again.invoke().table.schema.names == ["src"]
    assert db.register("CREATE QUERY IF NOT EXISTS protos AS SELECT ts FROM packets [NOW]").name == "protos"
    assert len(db.queries()) == 2


def test_a_query_is_replaced_with_the_settings_that_its_statement_gives(db):
    text = "SELECT src FROM packets [RANGE 1 MINUTE]"
    db.sql(
        f"SET strategy = 'nt'; CREATE QUERY q WITH (priority = 2, shed = 'auto') AS {text}; SET strategy = 'upa'"
    )
    before = db._catalog.query("q")
    db.sql(f"CREATE OR REPLACE QUERY q WITH (priority = 2, shed = 'auto') AS {text}")
    db.sql(f"CREATE QUERY IF NOT EXISTS q WITH (priority = 9) AS {text}")
    assert db._catalog.query("q") == before
    db.sql(f"SET shed = 'never'; CREATE OR REPLACE QUERY q WITH (priority = 5) AS {text}")
    after = db._catalog.query("q")
    assert after.id > before.id
    assert after.given == ("priority",)
    assert after.settings == before.settings._replace(priority=5, shed="never"), (
        "the strategy was never given"
    )
    assert "Drop" not in db.sql("EXPLAIN q")


def test_a_derived_stream_that_nothing_reads_is_replaced(db):
    db.sql("CREATE STREAM tcp AS SELECT src FROM packets WHERE proto = 'tcp'")
    db.sql("CREATE OR REPLACE STREAM tcp AS SELECT ts FROM packets WHERE proto = 'TCP'")
    assert db.sql("SELECT * FROM tcp").table.schema.names == ["ts"]
    with pytest.raises(errors.SqlError, match="no column named 'gone'"):
        db.sql("CREATE OR REPLACE STREAM tcp AS SELECT gone FROM packets")
    assert db.sql("SELECT * FROM tcp").table.schema.names == ["ts"]
    db.sql("CREATE QUERY latest AS SELECT ts FROM tcp [ROWS 1]")
    with pytest.raises(errors.CatalogError, match="'tcp' is read by query 'latest'; drop that first"):
        db.sql("CREATE OR REPLACE STREAM tcp AS SELECT src FROM packets")


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            "OR REPLACE STREAM pushed (a INT)",
            "'pushed' is there with another definition.*DROP STREAM pushed",
        ),
        ("OR REPLACE STREAM few (a INT)", "stream 'few' is there with another definition"),
        (
            "OR REPLACE STREAM pushed AS SELECT * FROM packets",
            "stream 'pushed' is there with another definition",
        ),
        ("OR REPLACE TABLE hosts (a INT)", "table 'hosts' is there with another definition"),
        ("OR REPLACE TABLE pushed (a INT)", "already a stream or table named 'pushed'"),
        (
            "OR REPLACE QUERY hosts AS SELECT src FROM packets [NOW]",
            "already a stream or table named 'hosts'",
        ),
        ("TABLE IF NOT EXISTS sources (a INT)", "already a query named 'sources'"),
    ],
)
def test_what_has_rows_is_not_replaced_and_neither_is_something_else(db, statement, message):
    db.sql(SCRIPT.format("", ""))
    before = db._catalog._file.content()
    with pytest.raises(errors.CatalogError, match=message):
        db.sql(f"CREATE {statement}")
    assert db._catalog._file.content() == before
