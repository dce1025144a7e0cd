"""SHOW STATISTICS"""

from __future__ import annotations

from panes.optimizer.assumed import RATE, SPAN


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
    assert names == ["Join expire", "Join fixed", "Join insert", "Join probe", "Join row", "Join visit"]
