"""The copy of the catalog: whoever comes with an empty folder has all that was ever promised."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from panes.catalog import Catalog
from panes.catalog.plan_history import ChosenPlan
from panes.errors import CatalogError, DriverReplaced, StateError
from panes.language import parse
from panes.query_settings import QuerySettings
from panes.state.storage import journal as journal_module
from panes.state.storage.catalog_copy import CatalogCopy, restore_catalog
from panes.state.storage.locations import Location, location_of
from panes.state.storage.terms import Term

CHOSEN = ChosenPlan(1, "registered", "s")


class Driver:
    """A driver of the database whose home is in a folder."""

    def __init__(self, home: Location, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.term = Term.claim(home / "terms")
        restore_catalog(home / "catalog", folder / "catalog.sqlite")
        self.catalog = Catalog(folder / "catalog.sqlite", database="d")
        copy = CatalogCopy(home / "catalog", self.term)
        copy.begin(self.catalog.content())
        self.catalog.copied_to(copy)


@pytest.fixture(params=["", "file://"])
def home(request, tmp_path) -> Location:
    return location_of(f"{request.param}{tmp_path}/home")


def objects(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "home" / "catalog").glob("*/*"))


def create(catalog: Catalog, sql: str) -> None:
    (statement,) = parse(sql)
    catalog.create(statement)


def rows(catalog: Catalog) -> object:
    tables = ("objects", "queries", "groups", "plans", "plan_history", "settings", "sqlite_sequence")
    return {table: catalog._select(f"SELECT * FROM {table}") for table in tables}


def change(catalog: Catalog) -> None:
    """A change of every kind."""
    create(catalog, "CREATE STREAM s (k BIGINT)")
    create(catalog, "CREATE STREAM gone (k BIGINT)")
    catalog.drop("STREAM", "gone")
    catalog.set("share_from", 2)
    for name in ("a", "b", "c"):
        record = catalog.register(name, "SELECT 1", 2, QuerySettings(), "template")
        catalog.set_plan(record, '{"plan": "é ’ \\n"}', CHOSEN)
    catalog.begin_queries(7, lambda _: -5, cores=2)
    catalog.suspend(1, "it failed: é")
    catalog.resume("a")
    catalog.drop_query("b")
    catalog.marks.note_readers()


def test_a_catalog_is_made_again_from_its_copy(home, tmp_path):
    with closing(Driver(home, tmp_path / "one").catalog) as catalog:
        change(catalog)
        expected = rows(catalog)
    with closing(Driver(home, tmp_path / "two").catalog) as again:
        assert rows(again) == expected
        assert again.database == "d"
        assert again.marks.has_readers
        create(again, "CREATE STREAM t (k BIGINT)")
        assert [stream.number for stream in again.base_streams()] == [1, 3]
    with closing(Driver(home, tmp_path / "one").catalog) as older:
        assert older.names() == ["s", "t", "a", "c"]


def test_an_epoch_without_news_writes_nothing(home, tmp_path):
    with closing(Driver(home, tmp_path / "one").catalog) as catalog:
        change(catalog)
        catalog.begin_queries(8, lambda _: 0, cores=2)
        before = objects(tmp_path)
        for epoch in range(9, 20):
            catalog.begin_queries(epoch, lambda _: 0, cores=2)
            catalog.marks.note_committed(epoch)
        assert objects(tmp_path) == before
        assert (catalog.marks.last_begun, catalog.marks.last_committed) == (19, 19)
    with closing(Driver(home, tmp_path / "two").catalog) as again:
        assert again.marks.last_committed == -1  # the epochs know
        again.marks.note_epochs(19)
        assert (again.marks.last_begun, again.marks.last_committed) == (19, 19)


def test_a_statement_is_one_object(home, tmp_path):
    with closing(Driver(home, tmp_path / "one").catalog) as catalog:
        assert objects(tmp_path) == ["base"]
        with catalog.transaction():
            record = catalog.register("a", "SELECT 1", 2, QuerySettings())
            catalog.set_plan(record, "{}", CHOSEN)
        assert objects(tmp_path) == ["0000000001", "base"]
        with pytest.raises(CatalogError):
            catalog.register("a", "SELECT 1", 2, QuerySettings())
        assert objects(tmp_path) == ["0000000001", "base"]


def test_what_an_old_driver_changes_is_refused_and_does_not_count(home, tmp_path):
    old = Driver(home, tmp_path / "one")
    create(old.catalog, "CREATE STREAM s (k BIGINT)")
    new = Driver(home, tmp_path / "two")
    with closing(old.catalog), closing(new.catalog):
        with pytest.raises(DriverReplaced, match="another driver has taken over"):
            create(old.catalog, "CREATE STREAM t (k BIGINT)")
        assert old.catalog.names() == ["s"]
        create(new.catalog, "CREATE STREAM u (k BIGINT)")
    with closing(Driver(home, tmp_path / "three").catalog) as again:
        assert again.names() == ["s", "u"]


def test_a_change_that_cannot_be_copied_does_not_count(home, tmp_path, monkeypatch):
    with closing(Driver(home, tmp_path / "one").catalog) as catalog:
        create(catalog, "CREATE STREAM s (k BIGINT)")

        def refuse(path, name, content, *rest):
            write(path, name, content, *rest)  # it was stored, and nobody was told
            raise StateError("the network is gone")

        write = journal_module.write_record
        with monkeypatch.context() as patched:
            patched.setattr(journal_module, "write_record", refuse)
            with pytest.raises(StateError, match="the network is gone"):
                create(catalog, "CREATE STREAM t (k BIGINT)")
        assert catalog.names() == ["s"]
        create(catalog, "CREATE STREAM u (k BIGINT)")
    with closing(Driver(home, tmp_path / "two").catalog) as again:
        assert again.names() == ["s", "u"]


def test_many_changes_are_read_again_from_few_objects(tmp_path):
    with closing(Driver(tmp_path / "home", tmp_path / "one").catalog) as catalog:
        for number in range(400):
            catalog.register(f"q{number}", "SELECT 1", 2, QuerySettings())
        expected = rows(catalog)
        assert len(objects(tmp_path)) < 300
    with closing(Driver(tmp_path / "home", tmp_path / "two").catalog) as again:
        assert rows(again) == expected
