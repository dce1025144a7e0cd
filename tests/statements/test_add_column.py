"""ALTER STREAM … ADD COLUMN. `test_altered_streams` has what epochs make of it."""

from __future__ import annotations

from pathlib import Path

import pytest

import panes
from panes.errors import CatalogError, PanesError, SourceError, SqlError


def columns(db: panes.Database, name: str) -> list[str]:
    return [row["column"] for row in db.sql(f"DESCRIBE {name}").to_pylist()]


def test_a_column_comes_last_and_can_be_read_at_once(db: panes.Database) -> None:
    db.sql('ALTER STREAM Packets ADD COLUMN dst BIGINT; ALTER STREAM packets ADD "a b" DOUBLE')
    assert columns(db, "packets") == ["ts", "src", "proto", "dst", "a b"]
    (stream,) = db._catalog.base_streams()
    assert stream.added_columns == ("dst", "a b")
    db.register("SELECT dst FROM packets [NOW]")
    db.sql("ALTER STREAM packets SET slack = INTERVAL 1 SECOND")
    (stream,) = db._catalog.base_streams()
    assert stream.added_columns == ("dst", "a b")


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE QUERY q AS SELECT src FROM packets [NOW]",
        "CREATE QUERY q AS SELECT ts, src, proto FROM packets [NOW]",
        "CREATE QUERY q AS SELECT count(*) FROM packets [RANGE 1 MINUTE] GROUP BY src",
        "CREATE QUERY q AS SELECT src FROM packets [NOW] WHERE src IN (SELECT ts FROM packets [ROWS 3])",
        "CREATE QUERY q AS SELECT p.src, rate FROM packets p JOIN rates r ON p.src = r.src",
        "CREATE QUERY q AS SELECT x.src FROM (SELECT * FROM packets [NOW]) x",
        "CREATE STREAM q AS SELECT src FROM packets",
    ],
)
def test_those_that_do_not_meet_the_column_go_on(db: panes.Database, sql: str) -> None:
    db.sql("CREATE TABLE rates (src BIGINT PRIMARY KEY, rate INT) NON RETROACTIVE")
    db.sql(sql)
    before = columns(db, "q")
    db.sql("ALTER STREAM packets ADD COLUMN dst BIGINT")
    with panes.connect(db.path, read_only=True) as reader:
        assert columns(reader, "q") == columns(db, "q") == before


@pytest.mark.parametrize(
    ("sql", "reader"),
    [
        ("CREATE QUERY q AS SELECT * FROM packets [NOW]", "query 'q' would be another one with dst"),
        ("CREATE QUERY q AS SELECT x.* FROM (SELECT * FROM packets [NOW]) x", "it reads packets with [*]"),
        ("CREATE STREAM d AS SELECT * FROM packets", "stream 'd' would be another one"),
        ("CREATE QUERY q AS SELECT src FROM (SELECT DISTINCT * FROM packets [NOW]) x", "query 'q'"),
        (
            "CREATE QUERY q AS SELECT dst FROM packets [NOW], hosts WHERE src = a",
            "with dst, query 'q' could not be read: 'dst' could be packets.dst or hosts.dst",
        ),
        (
            "CREATE QUERY q AS SELECT a FROM hosts WHERE EXISTS (SELECT src FROM packets [NOW] WHERE src = dst)",
            "query 'q' would be another one with dst",
        ),
    ],
)
def test_those_that_would_be_others_with_the_column_are_in_its_way(
    db: panes.Database, sql: str, reader: str
) -> None:
    db.sql("CREATE TABLE hosts (a BIGINT, dst BIGINT)")
    db.sql(sql)
    with pytest.raises(CatalogError, match=reader):
        db.sql("ALTER STREAM packets ADD COLUMN dst BIGINT")
    assert columns(db, "packets") == ["ts", "src", "proto"]


@pytest.mark.parametrize(
    ("sql", "kind", "problem"),
    [
        ("ALTER STREAM packets ADD COLUMN SRC INT", CatalogError, "has a column named 'SRC' already"),
        ("ALTER STREAM packets ADD COLUMN _x INT", SqlError, "do not begin with an underscore"),
        ("ALTER STREAM packets ADD COLUMN x MONEY", SqlError, "there is no type MONEY"),
        ("ALTER STREAM packets ADD COLUMN x INT NOT NULL", SqlError, "expected the end of the statement"),
        ("ALTER STREAM ticks ADD COLUMN x INT", SourceError, "FROM RATE makes no column 'x'"),
        ("ALTER STREAM lines ADD COLUMN x INT", SourceError, "'lines' reads CSV"),
        ("ALTER STREAM packets DROP COLUMN src", SqlError, "expected RENAME TO, SET or ADD COLUMN"),
        ("ALTER TABLE hosts ADD COLUMN x INT", SqlError, "the columns of a table cannot be changed"),
    ],
)
def test_what_cannot_be_added_is_refused(
    db: panes.Database, tmp_path: Path, sql: str, kind: type[PanesError], problem: str
) -> None:
    (tmp_path / "csv").mkdir()
    db.sql(
        "CREATE STREAM ticks (value BIGINT) FROM RATE;"
        f"CREATE STREAM lines (a INT) FROM FILES '{tmp_path}/csv' WITH (format = 'csv');"
        "CREATE TABLE hosts (a INT)"
    )
    with pytest.raises(kind, match=problem):
        db.sql(sql)
