"""SHOW …"""

from __future__ import annotations

from panes.config import SETTINGS


def test_queries_are_shown_with_their_text_and_their_error(db):
    db.register("SELECT src FROM packets [NOW]", name="well")
    db.register("SELECT ts FROM packets [NOW]", name="failed")
    db._catalog.suspend(2, "a sum is too large")
    assert db.sql("SHOW QUERIES").to_pylist() == [
        {"name": "well", "sql": "SELECT src FROM packets [NOW]", "error": None},
        {"name": "failed", "sql": "SELECT ts FROM packets [NOW]", "error": "a sum is too large"},
    ]


def test_streams_and_tables_are_shown_with_the_statements_that_make_them(db):
    db.sql("CREATE STREAM tcp AS SELECT src FROM packets; CREATE TABLE hosts (src BIGINT)")
    streams = db.sql("SHOW STREAMS").to_pylist()
    assert [row["name"] for row in streams] == ["packets", "tcp"]
    assert streams[1]["sql"] == "CREATE STREAM tcp AS SELECT src FROM packets"
    assert db.sql("SHOW TABLES").to_pylist() == [{"name": "hosts", "sql": "CREATE TABLE hosts (src BIGINT)"}]


def test_all_settings_are_shown_with_their_values(db):
    db.sql("SET strategy = 'nt'")
    shown = {row["name"]: row["value"] for row in db.sql("SHOW SETTINGS").to_pylist()}
    assert shown == {name: str(setting.default) for name, setting in SETTINGS.items()} | {"strategy": "nt"}
