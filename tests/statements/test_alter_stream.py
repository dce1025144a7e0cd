"""ALTER STREAM … SET: other clauses for a stream. `test_altered_streams` has what epochs make of it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

import panes
from panes.errors import CatalogError, SqlError


def sql_of(db: panes.Database, name: str) -> str:
    return str(db.sql(f"SHOW CREATE STREAM {name}"))


def test_clauses_are_changed_and_the_others_stay(tmp_path: Path) -> None:
    with panes.connect(tmp_path / "db") as db:
        db.sql("CREATE STREAM s (at TIMESTAMP, a INT) TIMESTAMP BY at SLACK INTERVAL 1 SECOND")
        db.sql("ALTER STREAM S SET (RETAIN = INTERVAL 1 HOUR, idle_advance = TRUE)")
        assert sql_of(db, "s") == (
            "CREATE STREAM s (at TIMESTAMP, a INT) TIMESTAMP BY at SLACK INTERVAL 1 SECOND IDLE ADVANCE "
            "RETAIN INTERVAL 1 HOUR"
        )
        db.sql("ALTER STREAM s SET slack = ?", [timedelta(0)])
        db.sql("ALTER STREAM s SET (retain = NULL, ahead = INTERVAL 2 DAYS, idle_advance = FALSE)")
    with panes.connect(tmp_path / "db") as db:
        assert sql_of(db, "s") == (
            "CREATE STREAM s (at TIMESTAMP, a INT) TIMESTAMP BY at AHEAD INTERVAL 2 DAYS"
        )


def test_a_stream_keeps_its_number(db: panes.Database) -> None:
    (before,) = db._catalog.base_streams()
    db.sql("ALTER STREAM packets SET (slack = INTERVAL 1 MINUTE)")
    (after,) = db._catalog.base_streams()
    assert (after.number, after.slack_us) == (before.number, 60_000_000)


@pytest.mark.parametrize(
    ("sql", "kind", "problem"),
    [
        ("ALTER STREAM nothing SET slack = INTERVAL 1 SECOND", CatalogError, "there are packets, plain"),
        (
            "ALTER STREAM tcp SET slack = INTERVAL 1 SECOND",
            CatalogError,
            "'tcp' is derived from other streams",
        ),
        ("ALTER STREAM plain SET idle_advance = TRUE", CatalogError, "for streams with TIMESTAMP BY"),
        ("ALTER STREAM packets SET (slack = 5)", SqlError, "expected INTERVAL and a length"),
        ("ALTER STREAM packets SET (slack = NULL)", SqlError, "expected INTERVAL and a length"),
        ("ALTER STREAM packets SET (idle_advance = 1)", SqlError, "expected TRUE or FALSE"),
        (
            "ALTER STREAM packets SET (files_per_epoch = 1)",
            SqlError,
            "slack, ahead, idle_advance and retain can",
        ),
        (
            "ALTER STREAM packets SET (slack = INTERVAL 1 DAY, SLACK = INTERVAL 1 DAY)",
            SqlError,
            "given twice",
        ),
        ("ALTER VIEW packets", SqlError, "expected QUERY"),
    ],
)
def test_what_cannot_be_changed_is_refused(
    db: panes.Database, sql: str, kind: type[Exception], problem: str
) -> None:
    db.sql("CREATE STREAM plain (a INT); CREATE STREAM tcp AS SELECT src FROM packets")
    before = db.sql("SHOW STREAMS")
    with pytest.raises(kind, match=problem):
        db.sql(sql)
    assert db.sql("SHOW STREAMS") == before


def test_what_was_altered_is_there_for_a_driver_elsewhere(tmp_path: Path) -> None:
    with panes.connect(tmp_path / "here", state=tmp_path / "home") as db:
        db.sql(
            "CREATE STREAM s (a INT); ALTER STREAM s SET retain = INTERVAL 1 HOUR;"
            "ALTER STREAM s ADD COLUMN b INT; COMMENT ON COLUMN s.b IS 'new'"
        )
        before = sql_of(db, "s")
        streams = db._catalog.base_streams()
    with panes.connect(tmp_path / "there", state=tmp_path / "home") as db:
        assert sql_of(db, "s") == before
        assert db._catalog.base_streams() == streams
        assert streams[0].added_columns == ("b",)
        assert db._catalog.retains_from(streams[0].number) is not None
