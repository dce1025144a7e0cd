"""ALTER QUERY … SET shards = …"""

from __future__ import annotations

import json

import pytest

from panes import errors


def shards(db, name):
    return json.loads(db.sql(f"EXPLAIN (FORMAT JSON) {name}"))["shards"]


def test_a_query_follows_the_cores_until_it_is_given_a_number(db):
    db.register("SELECT src FROM packets [RANGE 1 MINUTE]", name="sources")
    assert shards(db, "sources") == "auto"
    assert "Spread over a shard per core" in db.sql("EXPLAIN sources")
    db.sql("ALTER QUERY sources SET shards = 5")
    assert shards(db, "sources") == 5
    assert "Spread over 5 shards" in db.sql("EXPLAIN sources")
    db.sql("ALTER QUERY sources SET shards = 'auto'")
    assert shards(db, "sources") == "auto"


def test_queries_that_share_a_plan_are_spread_together(db):
    db.sql("SET share_from = 1")
    for name, least in (("one", 1), ("two", 2)):
        db.register(f"SELECT src FROM packets [RANGE 1 MINUTE] WHERE src > {least}", name=name)
    db.sql("ALTER QUERY two SET shards = 7")
    assert shards(db, "one") == shards(db, "two") == 7


def test_a_number_of_shards_is_checked(db):
    db.register("SELECT src FROM packets [RANGE 1 MINUTE]", name="sources")
    for wrong in ("0", "-1", "2.5", "TRUE", "many", "65537"):
        with pytest.raises(
            errors.SettingError, match="shards takes 'auto' or a whole number from 1 to 4,096"
        ):
            db.sql(f"ALTER QUERY sources SET shards = {wrong}")
    assert shards(db, "sources") == "auto"


def test_a_query_that_is_not_there_or_has_no_shards_is_refused(db):
    with pytest.raises(errors.CatalogError, match="there is no query named 'gone'"):
        db.sql("ALTER QUERY gone SET shards = 2")
    db.register("SELECT src FROM packets BEGIN (NOW - INTERVAL 10 SECONDS) END (NOW)", name="past")
    with pytest.raises(errors.CatalogError, match="it is not spread over shards"):
        db.sql("ALTER QUERY past SET shards = 2")
