"""SHOW STATISTICS"""

from __future__ import annotations

from panes.optimizer.assumed import RATE, SPAN
from panes.testing import local


def shown(db, pattern: str = "%"):
    return db.sql(f"SHOW STATISTICS LIKE '{pattern}'").to_pylist()


def test_a_new_database_shows_what_it_assumes(db):
    rows = {(row["kind"], row["name"]): row for row in shown(db)}
    assert rows["rate", "packets"] == {
        "kind": "rate",
        "name": "packets",
        "value": RATE,
        "unit": "rows/s",
        "epochs": None,
        "source": "assumed",
    }
    assert rows["span", "epoch"]["value"] == SPAN
    assert {row["source"] for row in rows.values()} == {"assumed"}
    assert rows["cost", "Join visit"]["unit"] == "µs/pair"
    assert rows["cost", "Join fixed"]["unit"] == "µs/span"
    assert rows["cost", "other row"]["unit"] == "µs/row"


def test_the_rows_of_tables_are_counted_at_once(db):
    db.sql("CREATE TABLE words (word STRING)")
    assert [row["value"] for row in shown(db, "words")] == [0]
    db.sql("INSERT INTO words VALUES ('a'), ('b')")
    assert shown(db, "words") == [
        {"kind": "rows", "name": "words", "value": 2, "unit": "rows", "epochs": None, "source": "counted"}
    ]


def test_names_that_match_a_pattern_are_shown_by_kind_and_name(db):
    names = [row["name"] for row in shown(db, "join%")]
    parts = ["expire", "fixed", "insert", "probe", "row", "visit", "weigh"]
    assert names == [f"Join {part}" for part in parts]


def test_a_table_whose_file_is_damaged_is_named_with_the_reason(tmp_path):
    with local(tmp_path / "db") as db:
        db.sql("CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts SECONDS; CREATE TABLE words (word STRING)")
        db.sql("INSERT INTO words VALUES ('a'), ('b')")
        db.push("s", [(1,)])
        db.run()
    (versions,) = (tmp_path / "db" / "tables").glob("*/versions-*.arrow")
    versions.write_bytes(b"damaged")
    with local(tmp_path / "db") as db:
        (row,) = shown(db, "words")
        assert (row["kind"], row["value"]) == ("rows", None)
        assert row["source"].startswith("cannot be read: ")
        assert versions.name in row["source"]
