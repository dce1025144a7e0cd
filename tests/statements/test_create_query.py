"""CREATE QUERY, and `register`: names, and what is refused when a query is registered."""

from __future__ import annotations

import pyarrow as pa
import pytest

from panes import errors


def test_a_query_without_a_name_gets_a_free_one(db):
    names = [db.register("SELECT src FROM packets [NOW]").name for _ in range(2)]
    assert names == ["query_1", "query_2"]


def test_a_name_that_was_given_by_hand_is_no_longer_free(db):
    db.register("SELECT src FROM packets [NOW]", name="query_2")
    assert db.register("SELECT src FROM packets [NOW]").name == "query_3"


@pytest.mark.parametrize("name", [7, "", "a\x00b"])
def test_what_cannot_be_a_name_is_refused(db, name):
    with pytest.raises(errors.CatalogError, match="cannot be the name of a query"):
        db.register("SELECT src FROM packets [NOW]", name=name)
    assert db.queries() == []


def test_register_takes_create_query_too(db):
    query = db.register("CREATE QUERY named AS SELECT src FROM packets [NOW]")
    assert query.name == "named"
    with pytest.raises(errors.SqlError, match="register takes one query"):
        db.register("SHOW STREAMS")


def test_a_strategy_that_cannot_run_a_query_refuses_it_at_once(db):
    db.sql("SET strategy = 'direct'")
    db.register("SELECT src FROM packets [RANGE 1 MINUTE]")
    with pytest.raises(errors.SettingError, match="use 'upa' or 'nt'"):
        db.register("SELECT src FROM packets [ROWS 10]")
    assert len(db.queries()) == 1


def test_a_query_that_has_seen_nothing_has_an_empty_answer(db):
    answer = db.register("SELECT src AS host FROM packets [RANGE 1 MINUTE]").invoke()
    assert (len(answer), answer.as_of) == (0, None)
    assert answer.table.schema == pa.schema([("host", pa.int64())])
    assert repr(answer) == (
        "<Answer of host: no epoch has taken in a row yet: db.run() or db.start() takes in rows>"
    )


def test_a_query_has_no_name_of_a_stream_or_table_and_none_has_its(db):
    db.sql("CREATE TABLE hosts (src BIGINT); CREATE QUERY sources AS SELECT src FROM packets [NOW]")
    for name in ("packets", "Hosts"):
        with pytest.raises(errors.CatalogError, match="already a stream or table named"):
            db.register("SELECT src FROM packets [NOW]", name=name)
    for create in (
        "TABLE sources (a INT)",
        "STREAM SOURCES (a INT)",
        "STREAM sources AS SELECT * FROM packets",
    ):
        with pytest.raises(errors.CatalogError, match="already a query named"):
            db.sql(f"CREATE {create}")
    assert [query.name for query in db.queries()] == ["sources"]


def test_a_query_that_reads_one_that_is_not_there_is_refused(db):
    db.sql("CREATE QUERY sources AS SELECT src FROM packets [NOW]")
    with pytest.raises(
        errors.SqlError, match=r"no stream, table or query named 'source'\n.*\n.*\n.*'sources'"
    ):
        db.register("SELECT src FROM source")
