"""SHOW …"""

from __future__ import annotations

from panes.config import SETTINGS
from panes.plan.box_schedule import BoxSchedule
from panes.state.storage.epoch_log import EpochRecord


def test_queries_are_shown_with_their_text_and_their_error(db):
    db.register("SELECT src FROM packets [NOW]", name="well")
    db.register("SELECT ts FROM packets [NOW]", name="failed")
    db._catalog.suspend(2, "a sum is too large")
    assert db.sql("SHOW QUERIES").to_pylist() == [
        {
            "name": "well",
            "sql": "SELECT src FROM packets [NOW]",
            "shed": "never",
            "error": None,
            "comment": None,
        },
        {
            "name": "failed",
            "sql": "SELECT ts FROM packets [NOW]",
            "shed": "never",
            "error": "a sum is too large",
            "comment": None,
        },
    ]


def test_queries_are_shown_with_what_they_shed(db):
    db.sql("CREATE QUERY whole AS SELECT src FROM packets [RANGE 1 MINUTE]; SET shed = 'auto'")
    db.sql("CREATE QUERY sampled AS SELECT src FROM packets [RANGE 1 MINUTE]")
    db.sql("CREATE QUERY several AS SELECT DISTINCT src FROM packets [RANGE 1 MINUTE]")
    reason = "DISTINCT cannot tell how many values are missing"
    assert shed(db) == {"whole": "never", "sampled": "auto", "several": f"never: {reason}"}
    assert db.status().not_shed == {"several": reason}
    boxes = {2: {1: BoxSchedule(((100, 0.314),))}, 3: {1: BoxSchedule(((100, 0.5), (200, 1.0)))}}
    db._log.commit(EpochRecord(0, 0, 0, 0.0, 0, boxes=boxes, shed={2: {1: 77}}))
    assert shed(db)["sampled"] == "keeps 31.4 % of packets"
    assert "Drop: keep 31.4 % of packets" in db.sql("EXPLAIN sampled")
    assert db.status().kept == {"sampled": {"packets": 0.314}}
    assert db.status().shed == {"sampled": {"packets": 77}}


def shed(db):
    return {row["name"]: row["shed"] for row in db.sql("SHOW QUERIES").to_pylist()}


def test_streams_are_shown_with_the_statements_that_make_them(db):
    db.sql("CREATE STREAM tcp AS SELECT src FROM packets")
    streams = db.sql("SHOW STREAMS").to_pylist()
    assert [row["name"] for row in streams] == ["packets", "tcp"]
    assert streams[1]["sql"] == "CREATE STREAM tcp AS SELECT src FROM packets"


def test_tables_are_shown_with_their_rows_and_what_they_are(db):
    db.sql("CREATE TABLE hosts (src BIGINT, at DATE, name STRING, PRIMARY KEY (src, at)) NON RETROACTIVE")
    db.sql("CREATE TABLE words (word STRING NOT NULL); INSERT INTO words VALUES ('a'), ('a'), ('b')")
    assert db.sql("SHOW TABLES").to_pylist() == [
        {
            "name": "hosts",
            "rows": 0,
            "kind": "NON RETROACTIVE",
            "primary_key": "src, at",
            "columns": "src BIGINT, at DATE, name STRING",
            "comment": None,
        },
        {
            "name": "words",
            "rows": 3,
            "kind": "RETROACTIVE",
            "primary_key": None,
            "columns": "word STRING NOT NULL",
            "comment": None,
        },
    ]


def test_all_settings_are_shown_with_their_values(db):
    db.sql("SET strategy = 'nt'")
    shown = {row["name"]: row["value"] for row in db.sql("SHOW SETTINGS").to_pylist()}
    assert shown == {name: str(setting.default) for name, setting in SETTINGS.items()} | {"strategy": "nt"}


def test_names_that_match_a_pattern_are_shown_in_any_case(db):
    db.sql("CREATE TABLE hosts (a INT); CREATE TABLE ghosts (a INT); CREATE TABLE h_sts (a INT)")
    assert [row["name"] for row in db.sql("SHOW TABLES LIKE 'H%'").to_pylist()] == ["hosts", "h_sts"]
    assert [row["name"] for row in db.sql("SHOW TABLES LIKE '%hosts'").to_pylist()] == ["hosts", "ghosts"]
    assert db.sql("SHOW STREAMS LIKE 'none'").num_rows == 0
    assert [row["name"] for row in db.sql("SHOW SETTINGS LIKE 'shar%'").to_pylist()] == [
        "shards",
        "share_from",
    ]
