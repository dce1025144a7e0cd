"""What statements hold after parsing."""

from __future__ import annotations

import pytest

from panes.config import SETTINGS
from panes.errors import SqlError
from panes.language import parse
from panes.language import statements as st
from panes.plan.schema import Schema
from panes.plan.stream import Source, Stream, TimestampBy
from panes.plan.types import BIGINT, STRING, TIMESTAMP


def one(sql: str) -> st.Statement:
    (statement,) = parse(sql)
    return statement


def test_a_stream_with_every_clause() -> None:
    stream = one(
        "CREATE STREAM p (ts BIGINT, name STRING) TIMESTAMP BY ts MILLISECONDS SLACK INTERVAL 2 SECONDS "
        "RETAIN INTERVAL 1 HOUR FROM FILES 'data/p' WITH (format = 'parquet', files_per_epoch = 1, a = 1.5)"
    )
    assert stream == st.CreateStream(
        Stream(
            name="p",
            columns=Schema.of([("ts", BIGINT), ("name", STRING)]),
            timestamp=TimestampBy("ts", "MILLISECONDS"),
            slack_us=2_000_000,
            retain_us=3_600_000_000,
            source=Source("FILES", "data/p", {"format": "parquet", "files_per_epoch": 1, "a": 1.5}),
        )
    )


def test_a_stream_without_clauses_is_pushed_and_takes_the_time_of_arrival() -> None:
    stream = one("CREATE STREAM p (x BIGINT)")
    assert isinstance(stream, st.CreateStream)
    stream = stream.stream
    assert (stream.timestamp, stream.slack_us, stream.retain_us) == (None, 0, None)
    assert stream.source == Source("PUSH", None, {})


def test_a_timestamp_column_needs_no_unit() -> None:
    stream = one("CREATE STREAM p (at TIMESTAMP) TIMESTAMP BY AT")
    assert isinstance(stream, st.CreateStream)
    assert stream.columns.types == (TIMESTAMP,)
    assert stream.stream.timestamp == TimestampBy("at", "TIMESTAMP")


def test_tables_are_retroactive_unless_they_say_otherwise() -> None:
    table = one("CREATE TABLE t (a BIGINT, b STRING, PRIMARY KEY (B, a))")
    assert isinstance(table, st.CreateTable)
    assert (table.primary_key, table.retroactive) == (("b", "a"), True)
    other = one("CREATE TABLE t (a BIGINT) NON RETROACTIVE")
    assert isinstance(other, st.CreateTable)
    assert (other.primary_key, other.retroactive) == ((), False)


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_can_be_set_by_its_name(name: str) -> None:
    assert one(f"SET {name} = 1") == one(f"SET {name.upper()} = 1") == st.SetSetting(name, 1)


def test_commands() -> None:
    assert one("INVOKE q") == st.Invoke("q")
    assert one("EXPLAIN q") == st.Explain("q", "TEXT")
    assert one("EXPLAIN (FORMAT JSON) q") == st.Explain("q", "JSON")
    assert one("EXPLAIN ANALYZE q") == st.Explain("q", "TEXT", analyze=True)
    assert one("EXPLAIN (ANALYZE, FORMAT JSON) q") == st.Explain("q", "JSON", analyze=True)
    assert one("EXPLAIN analyze") == st.Explain("analyze")
    assert one("SHOW TABLES") == st.Show("TABLES")
    assert one("DROP STREAM IF EXISTS s") == st.Drop("STREAM", "s", True)
    assert one("SET strategy = 'nt'") == st.SetSetting("strategy", "nt")
    assert one("SET Verify = FALSE") == st.SetSetting("verify", False)


def test_only_registered_queries_can_be_analyzed() -> None:
    with pytest.raises(SqlError, match="the name of a registered query, whose steps were measured"):
        parse("EXPLAIN ANALYZE SELECT a FROM s")


def test_changes_of_tables_name_their_table() -> None:
    insert, update, delete = parse("INSERT INTO t VALUES (1); UPDATE t SET a = 1; DELETE FROM t")
    assert isinstance(insert, st.InsertInto)
    assert isinstance(update, st.UpdateTable)
    assert isinstance(delete, st.DeleteFrom)
    assert {insert.table, update.table, delete.table} == {"t"}


def test_statements_that_read_the_same_are_the_same_value() -> None:
    assert one("select  a from s") == one("SELECT a\nFROM s -- comment\n")
    assert hash(one("SELECT a FROM s")) == hash(one("select a from s"))
    assert one("SELECT a FROM s") != one("SELECT b FROM s")
    assert one("CREATE QUERY q AS SELECT a FROM s") == one("create query q as select a from s;")


def test_nothing_is_no_statement() -> None:
    assert parse("") == []
    assert parse(" ;; -- only a comment\n ; /* and another */") == []


def test_an_error_in_the_second_statement_points_there() -> None:
    with pytest.raises(SqlError) as caught:
        parse("SELECT a FROM s;\n\n  SELECT a FRM s;\nSELECT a FROM s")
    error = caught.value
    assert (error.line, error.column) == (3, 16)
    assert str(error).splitlines()[1:3] == ["    SELECT a FRM s;", "                 ^"]


def test_an_error_at_the_end_of_the_first_statement_points_behind_its_last_word() -> None:
    with pytest.raises(SqlError) as caught:
        parse("SELECT a FROM ;\nSELECT b FROM s")
    assert (caught.value.line, caught.value.column) == (1, 14)


def test_the_caret_stands_under_the_word_also_behind_tabs() -> None:
    with pytest.raises(SqlError) as caught:
        parse("SELECT\t(a FROM s")
    assert str(caught.value).splitlines()[1:3] == ["  SELECT\t(a FROM s", "        \t   ^"]


def test_lines_may_end_as_they_do_on_any_system() -> None:
    for end in ("\n", "\r\n"):
        with pytest.raises(SqlError) as caught:
            parse(f"SELECT a{end}FROM s{end}WHERE (a = 1")
        assert caught.value.line == 3


def test_changes_of_tables_may_name_their_instant() -> None:
    insert, update, delete = parse(
        "INSERT INTO t VALUES (1) AT TIMESTAMP '1970-01-01 00:00:01'; UPDATE t SET a = 1; "
        "DELETE FROM t WHERE at = 1 AT TIMESTAMP '1970-01-01 01:00:00+01:00'"
    )
    assert isinstance(insert, st.TableStatement)
    assert isinstance(update, st.TableStatement)
    assert isinstance(delete, st.TableStatement)
    assert (insert.at, update.at, delete.at) == (1_000_000, None, 0)


def test_a_table_knows_which_columns_are_not_null_besides_its_key() -> None:
    table = one("CREATE TABLE t (a BIGINT NOT NULL, b STRING NOT NULL, c INT, PRIMARY KEY (a))")
    assert isinstance(table, st.CreateTable)
    assert table.not_null == ("b",)


def test_copy_has_its_file_and_options() -> None:
    copy = one("COPY t FROM 'a.csv' WITH (Header = TRUE, delimiter = ';')")
    assert isinstance(copy, st.CopyFrom)
    assert (copy.table, copy.location) == ("t", "a.csv")
    assert dict(copy.options) == {"header": True, "delimiter": ";"}
