"""SHOW CREATE …: statements that can be run again."""

from __future__ import annotations

from pathlib import Path

import pytest

import panes
from panes.errors import CatalogError

SCRIPT = """
CREATE STREAM visits (at TIMESTAMP, who STRING) TIMESTAMP BY at SLACK INTERVAL 2 SECONDS;
CREATE STREAM "odd one" AS SELECT who FROM visits WHERE who <> 'it''s';
CREATE TABLE people (who STRING PRIMARY KEY, n INT NOT NULL DEFAULT 1 + 1, d DATE DEFAULT '2026-01-31')
  NON RETROACTIVE;
CREATE QUERY counts AS SELECT who, count(*) AS n FROM visits [RANGE 1 MINUTE] GROUP BY who;
COMMENT ON STREAM visits IS 'who came, and when';
COMMENT ON COLUMN visits.who IS 'a name; or two';
COMMENT ON TABLE people IS 'it''s them';
COMMENT ON QUERY counts IS 'visits per minute';
COMMENT ON COLUMN counts.n IS 'how many';
"""
OBJECTS = (("STREAM", "visits"), ("STREAM", '"odd one"'), ("TABLE", "people"), ("QUERY", "counts"))


def shown(db: panes.Database) -> list[str]:
    return [str(db.sql(f"SHOW CREATE {kind} {name}")) for kind, name in OBJECTS]


def test_what_is_shown_makes_the_same_again(tmp_path: Path) -> None:
    with panes.connect() as db:
        db.sql(SCRIPT)
        texts = shown(db)
    assert texts[0].splitlines()[1:] == [
        "COMMENT ON STREAM visits IS 'who came, and when';",
        "COMMENT ON COLUMN visits.who IS 'a name; or two'",
    ]
    with panes.connect(tmp_path / "db") as db:
        db.sql(";".join(texts))
        assert shown(db) == texts
        with panes.connect(tmp_path / "db", read_only=True) as reader:
            assert shown(reader) == texts
            db.sql("COMMENT ON STREAM visits IS NULL")
            assert shown(reader) != texts
    with panes.connect(tmp_path / "db") as db:
        assert "who came" not in shown(db)[0]
        assert shown(db)[1:] == texts[1:]


def test_another_kind_of_thing_is_an_error(db: panes.Database) -> None:
    with pytest.raises(CatalogError, match="'packets' is a stream, not a table"):
        db.sql("SHOW CREATE TABLE packets")
