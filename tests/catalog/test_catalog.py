"""The catalog: what is stored, found again, refused and removed."""

import sqlite3
from contextlib import closing

import pytest

from panes.catalog import Catalog
from panes.errors import CatalogError, SettingError, StateError
from panes.language import parse
from panes.query_settings import QuerySettings


def created(catalog, sql):
    (statement,) = parse(sql)
    catalog.create(statement)
    return statement


def test_names_are_taken_in_any_case(catalog):
    created(catalog, "CREATE STREAM packets (value BIGINT) FROM RATE")
    with pytest.raises(CatalogError, match="already a stream or table named 'PACKETS'"):
        created(catalog, "CREATE STREAM PACKETS (value BIGINT) FROM RATE")
    catalog.register("q", "SELECT 1", 2, QuerySettings())
    with pytest.raises(CatalogError, match="already a query named 'Q'"):
        catalog.register("Q", "SELECT 2", 2, QuerySettings())


def test_a_query_begins_in_the_first_epoch_after_it_was_registered(catalog):
    clocks = {"early": 30, "late": 40}

    def clock_of(record):
        return clocks[record.name]

    catalog.register("early", "SELECT 1", 2, QuerySettings())
    assert [q.first_epoch for q in catalog.begin_queries(4, clock_of, 2)] == [4]
    catalog.register("late", "SELECT 2", 2, QuerySettings("nt"))
    assert [q.first_epoch for q in catalog.queries()] == [4, None]
    assert [q.first_epoch for q in catalog.begin_queries(5, clock_of, 2)] == [4, 5]
    # Epoch 5 failed and is done again.
    clocks["late"] = 41
    assert [(q.first_epoch, q.first_clock) for q in catalog.begin_queries(5, clock_of, 2)] == [
        (4, 30),
        (5, 40),
    ]


def test_the_id_of_a_dropped_query_is_not_used_again(catalog):
    first = catalog.register("q", "SELECT 1", 2, QuerySettings())
    assert catalog.has_query(first.id, first.origin)
    catalog.drop_query("q")
    assert catalog.register("q", "SELECT 1", 2, QuerySettings()).id > first.id
    assert not catalog.has_query(first.id, first.origin)
    with pytest.raises(CatalogError, match="no query named 'x'; there are q"):
        catalog.drop_query("x")


def test_settings_have_defaults_and_are_checked(catalog):
    assert catalog.setting("shards") == "auto"
    catalog.set("shards", 7)
    assert catalog.setting("shards") == 7
    with pytest.raises(SettingError, match="shards takes 'auto' or a whole number from 1 to 4,096, not 0"):
        catalog.set("shards", 0)
    with pytest.raises(SettingError, match="no setting named 'shard'"):
        catalog.setting("shard")


def test_a_catalog_knows_its_database_and_how_far_the_epochs_have_come(tmp_path):
    catalog = Catalog(tmp_path / "catalog.sqlite")
    assert (catalog.marks.last_begun, catalog.marks.last_committed, catalog.marks.has_readers) == (
        -1,
        -1,
        False,
    )
    catalog.marks.begin_epoch(4)
    catalog.marks.note_readers()
    again = Catalog(tmp_path / "catalog.sqlite", read_only=True)
    assert (again.marks.last_begun, again.marks.last_committed, again.marks.has_readers) == (4, 3, True)
    assert again.database == catalog.database
    catalog.marks.note_committed(4)
    assert (again.marks.last_begun, again.marks.last_committed) == (4, 4)
    again.close()
    catalog.close()


def test_a_catalog_of_the_layout_before_is_refused_in_a_sentence(tmp_path):
    path = tmp_path / "catalog.sqlite"
    Catalog(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.create_function("row_checksum", -1, lambda *_: 0)
        for table in ("queries", "groups"):
            connection.execute(f"ALTER TABLE {table} RENAME COLUMN calendar_days TO partitions")
        connection.execute("PRAGMA user_version = 2")
    told = (
        r"catalog\.sqlite is of layout 2, and this version of Panes reads layout 9: "
        "open the database with the version that made it, or make a new one from the sources"
    )
    with pytest.raises(StateError, match=told):
        Catalog(path)


def test_the_setting_of_calendar_queues_goes_by_their_days(catalog):
    assert catalog.setting("calendar_days") == 10
    with pytest.raises(SettingError, match=r"no setting named 'partitions'; there are .*calendar_days"):
        catalog.set("partitions", 10)


def test_queries_that_follow_the_cores_have_their_number_from_the_next_epoch_on(catalog):
    for name, shards in (("fixed", 3), ("follows", None)):
        catalog.register(name, "SELECT 1", shards, QuerySettings())

    def shards_with(cores):
        return {record.name: record.shards for record in catalog.begin_queries(1, lambda _: 0, cores)}

    assert [record.shards for record in catalog.queries()] == [3, None]
    assert shards_with(cores=2) == {"fixed": 3, "follows": 2}
    assert shards_with(cores=8) == {"fixed": 3, "follows": 8}
    catalog.set_shards("follows", 5)
    catalog.set_shards("fixed", None)
    assert shards_with(cores=16) == {"fixed": 16, "follows": 5}
