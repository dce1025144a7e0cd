"""DESCRIBE name."""

from __future__ import annotations

import pytest

import panes
from panes.errors import CatalogError


def described(db: panes.Database, name: str) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in db.sql(f"DESCRIBE {name}").to_pylist()]


def test_a_stream_has_its_columns_and_its_event_time(db: panes.Database) -> None:
    db.sql("COMMENT ON COLUMN packets.src IS 'who sent it'")
    assert db.sql("SHOW COLUMNS FROM Packets").column_names == [
        "column",
        "type",
        "role",
        "default",
        "comment",
    ]
    assert described(db, "Packets") == [
        ("ts", "BIGINT", "TIMESTAMP BY MILLISECONDS", None, None),
        ("src", "BIGINT", None, None, "who sent it"),
        ("proto", "STRING", None, None, None),
    ]


def test_a_table_has_its_constraints_and_defaults(db: panes.Database) -> None:
    db.sql("CREATE TABLE t (b INT NOT NULL DEFAULT 1 + 1, a DATE, c STRING, PRIMARY KEY (a))")
    assert described(db, "t") == [
        ("b", "INT", "NOT NULL", "1 + 1", None),
        ("a", "DATE", "PRIMARY KEY", None, None),
        ("c", "STRING", None, None, None),
    ]


def test_a_derived_stream_has_the_columns_of_its_query(db: panes.Database) -> None:
    db.sql("CREATE STREAM tcp AS SELECT src + 1 AS next, proto FROM packets")
    assert described(db, "tcp") == [
        ("next", "BIGINT", None, None, None),
        ("proto", "STRING", None, None, None),
    ]


def test_a_query_has_the_pattern_of_its_answer(db: panes.Database) -> None:
    db.register("SELECT proto, count(*) AS n FROM packets [RANGE 1 MINUTE] GROUP BY proto", name="counts")
    db.sql("COMMENT ON COLUMN counts.n IS 'packets'")
    assert described(db, "counts") == [
        ("proto", "STRING", None, None, None, "STRICT"),
        ("n", "BIGINT", None, None, "packets", "STRICT"),
    ]


def test_a_name_that_nothing_has_is_an_error_with_a_hint(db: panes.Database) -> None:
    with pytest.raises(
        CatalogError, match="no stream, table or query named 'packet'; did you mean 'packets'"
    ):
        db.sql("DESCRIBE packet")
