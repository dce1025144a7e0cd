"""COMMENT ON …"""

from __future__ import annotations

import pytest

import panes
from panes.errors import CatalogError


def test_comments_are_shown_and_can_be_changed_and_taken_away(db: panes.Database) -> None:
    db.sql(
        "CREATE TABLE hosts (a INT); COMMENT ON TABLE HOSTS IS 'first'; COMMENT ON TABLE hosts IS 'second'"
    )
    db.register("SELECT src FROM packets [NOW]", name="q")
    db.sql("COMMENT ON QUERY q IS ?; COMMENT ON STREAM packets IS ?", ["it's", ""])
    assert db.sql("SHOW TABLES").to_pylist()[0]["comment"] == "second"
    assert db.sql("SHOW QUERIES").to_pylist()[0]["comment"] == "it's"
    assert db.sql("SHOW STREAMS").to_pylist()[0]["comment"] == ""
    db.sql("COMMENT ON TABLE hosts IS NULL")
    assert db.sql("SHOW TABLES").to_pylist()[0]["comment"] is None


@pytest.mark.parametrize(
    ("make", "drop", "comment"),
    [
        ("CREATE TABLE x (a INT)", "DROP TABLE X", "TABLE x"),
        ("CREATE STREAM x (a INT)", "DROP STREAM X", "STREAM x"),
        ("CREATE QUERY x AS SELECT src AS a FROM packets [NOW]", "DROP QUERY X", "QUERY x"),
    ],
)
def test_comments_go_with_what_they_are_about(db: panes.Database, make: str, drop: str, comment: str) -> None:
    db.sql(f"{make}; COMMENT ON {comment} IS 'old'; COMMENT ON COLUMN x.a IS 'old'; {drop}; {make}")
    assert "old" not in str(db.sql(f"SHOW CREATE {comment}"))


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("COMMENT ON TABLE nothing IS 'x'", "there is no stream, table or query named 'nothing'"),
        ("COMMENT ON TABLE packets IS 'x'", "'packets' is a stream, not a table"),
        (
            "COMMENT ON COLUMN packets.source IS 'x'",
            "packets has no column named 'source'; did you mean 'src'",
        ),
    ],
)
def test_what_is_not_there_has_no_comment(db: panes.Database, sql: str, problem: str) -> None:
    with pytest.raises(CatalogError, match=problem):
        db.sql(sql)


def test_comments_follow_a_new_name(db: panes.Database) -> None:
    db.sql("COMMENT ON STREAM packets IS 'sent'; COMMENT ON COLUMN packets.src IS 'who'")
    db.sql("ALTER STREAM packets RENAME TO datagrams")
    assert str(db.sql("SHOW CREATE STREAM datagrams")).splitlines()[1:] == [
        "COMMENT ON STREAM datagrams IS 'sent';",
        "COMMENT ON COLUMN datagrams.src IS 'who'",
    ]
