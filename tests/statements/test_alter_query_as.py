"""ALTER QUERY … AS"""

from __future__ import annotations

import pytest

from panes import errors

SOURCES = "SELECT src, count(*) AS n FROM packets [RANGE 1 MINUTE] GROUP BY src"
PROTOS = "SELECT length(proto) AS src, count(*) AS n FROM packets [RANGE 1 HOUR] GROUP BY length(proto)"


@pytest.fixture
def chain(db):
    """A query, one that reads it, a derived stream over that, and a query over the stream."""
    db.register(SOURCES, name="sources")
    db.register("SELECT src FROM sources WHERE n > 1", name="loud")
    db.sql("CREATE STREAM entered AS SELECT Istream(*) FROM loud")
    db.register("SELECT src FROM entered [ROWS 5]", name="latest")
    db.register("SELECT src FROM packets [NOW]", name="beside")
    return db


def ids(db):
    return {record.name: record.id for record in db._catalog.queries()}


def contents(db):
    return db._catalog._file.content()


def test_the_query_and_all_that_read_it_begin_anew_under_their_names_and_the_others_go_on(chain):
    query, before = chain.query("sources"), ids(chain)
    chain.sql(f"ALTER QUERY Sources AS {PROTOS}")
    after = ids(chain)
    assert list(after) == list(before), "in the order of registration"
    assert {name for name in before if before[name] != after[name]} == {"sources", "loud", "latest"}
    assert min(after[name] for name in ("sources", "loud", "latest")) > max(before.values())
    assert "length(packets.proto)" in query.explain()
    assert "length(packets.proto)" in chain.sql("EXPLAIN latest")
    assert query.invoke().table.schema.names == ["src", "n"]


def test_the_same_text_changes_nothing(chain):
    before = contents(chain)
    chain.sql(f"ALTER QUERY sources AS {SOURCES.lower().replace('minute', 'minutes')}")
    assert contents(chain) == before


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("SELECT gone FROM packets [NOW]", errors.SqlError, "no column named 'gone'"),
        (
            "SELECT src FROM packets [NOW]",
            errors.CatalogError,
            "query 'loud' reads 'sources'.*named 'n'; drop",
        ),
        ("SELECT a.src, 1 AS n FROM loud a", errors.SqlError, "sources reads itself"),
        ("SELECT src, 1 AS n FROM latest", errors.SqlError, "sources reads itself"),
        ("SELECT src, 1 AS n FROM sources", errors.SqlError, "sources reads itself"),
        ("SELECT src, 1 AS n FROM hosts", errors.SqlError, "the query reads tables alone"),
        (
            "SELECT src, 1 AS n FROM packets BEGIN (NOW - INTERVAL 1 MINUTE) END (NOW)",
            errors.CatalogError,
            "stream 'entered' reads 'sources', and cannot with the new text: BEGIN … END is applied when",
        ),
    ],
)
def test_an_error_changes_nothing(chain, text, error, message):
    chain.sql("CREATE TABLE hosts (src BIGINT)")
    before, answers = contents(chain), chain.sql("EXPLAIN latest")
    with pytest.raises(error, match=message):
        chain.sql(f"ALTER QUERY sources AS {text}")
    assert contents(chain) == before
    assert chain.sql("EXPLAIN latest") == answers


def test_a_strategy_that_cannot_run_the_new_text_changes_nothing(db):
    db.sql("SET strategy = 'direct'")
    db.register("SELECT src FROM packets [RANGE 1 MINUTE]", name="sources")
    before = contents(db)
    with pytest.raises(errors.SettingError, match="use 'upa' or 'nt'"):
        db.sql("ALTER QUERY sources AS SELECT src FROM packets [ROWS 10]")
    assert contents(db) == before
    # The number that was taken back goes to another query, with a plan of its own.
    db.sql("SET strategy = 'upa'")
    assert "ROWS 20" in db.register("SELECT src FROM packets [ROWS 20]").explain()


def test_settings_stay_and_a_new_text_resumes_a_suspended_query_but_not_its_readers(chain):
    chain.sql("ALTER QUERY sources SET shards = 7; SET strategy = 'nt'")
    for record in chain._catalog.queries():
        chain._catalog.suspend(record.id, "a sum is too large")
    chain.sql(f"ALTER QUERY sources AS {PROTOS}")
    record = chain._catalog.query("sources")
    assert (record.shards, record.settings.strategy, record.error) == (7, "upa", None)
    assert chain._catalog.query("loud").error == "a sum is too large"
    chain.sql("ALTER QUERY loud RESUME")
    assert len(chain.query("loud").invoke()) == 0


def test_settings_of_its_own_stay_with_another_text_that_must_be_able_to_shed(db):
    db.sql(f"CREATE QUERY sources WITH (shed = 'auto', priority = 2) AS {SOURCES}")
    db.sql(f"ALTER QUERY sources AS {PROTOS}")
    record = db._catalog.query("sources")
    assert (record.settings.shed, record.settings.priority, record.given) == ("auto", 2, ("shed", "priority"))
    assert "Drop: keep" in db.sql("EXPLAIN sources")
    before = contents(db)
    with pytest.raises(errors.SqlError, match="rows cannot be dropped for the query: DISTINCT"):
        db.sql("ALTER QUERY sources AS SELECT DISTINCT src, 1 AS n FROM packets [RANGE 1 HOUR]")
    assert contents(db) == before
    db.sql("CREATE QUERY loud WITH (shed = 'auto') AS SELECT src FROM sources")
    with pytest.raises(errors.CatalogError, match=r"query 'loud' reads 'sources', .*: rows cannot be"):
        db.sql(f"CREATE OR REPLACE QUERY sources AS {SOURCES} LIMIT 2")


def test_a_query_leaves_the_group_that_it_shared_a_plan_with_and_may_join_another(db):
    db.sql("SET share_from = 2; SET shards = 3")
    text = "SELECT src, count(*) AS n FROM packets [RANGE 1 {unit}] WHERE src > {least} GROUP BY src"
    for least in range(3):
        db.register(text.format(unit="MINUTE", least=least), name=f"q{least}")
    group = db._catalog.query("q2").group
    assert group is not None
    db.sql(f"ALTER QUERY q2 AS {text.format(unit='HOUR', least=1)}")
    alone = db._catalog.query("q2")
    assert (alone.group, alone.shards) == (None, 3)
    db.sql(f"ALTER QUERY q2 AS {text.format(unit='MINUTE', least=9)}")
    assert db._catalog.query("q2").group == group


def test_readers_know_it_by_the_id_that_it_had_at_first(chain):
    cursors, query = chain._connection.readers._cursors, chain.query("sources")
    cursors.move(1, "phone", 3)
    chain.sql(f"ALTER QUERY sources AS {PROTOS}")
    assert query.readers() == {"phone": 3}
    for name in ("latest", "entered", "loud"):
        chain.sql(f"DROP {'STREAM' if name == 'entered' else 'QUERY'} {name}")
    query.drop()
    assert cursors.of_query(1) == {}


def test_comments_stay_as_long_as_their_columns_do(chain):
    chain.sql("DROP QUERY latest; DROP STREAM entered; DROP QUERY loud")
    chain.sql("COMMENT ON QUERY sources IS 'who'; COMMENT ON COLUMN sources.n IS 'how often'")
    chain.sql(f"COMMENT ON COLUMN sources.src IS 'the one'; ALTER QUERY sources AS {PROTOS}")
    assert chain._catalog.comments.of("sources") == {None: "who", "n": "how often", "src": "the one"}
    chain.sql("ALTER QUERY sources AS SELECT src FROM packets [NOW]; ALTER QUERY sources RENAME TO s")
    assert chain._catalog.comments.of("s") == {None: "who", "src": "the one"}
    assert chain._catalog.comments.of("sources") == {}
