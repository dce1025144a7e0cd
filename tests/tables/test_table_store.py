from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from panes.catalog import Catalog
from panes.delta.delta import ALWAYS
from panes.errors import CatalogError, EpochGone, StateError
from panes.language import parse
from panes.language.statements import CreateStream, CreateTable
from panes.state.storage.epoch_log import NOTHING, EpochLog, EpochRecord, StreamProgress
from panes.state.storage.files import write_bytes
from panes.state.storage.followed import FollowedLog
from panes.tables.table_manifest import PIN
from panes.tables.table_store import Tables
from tests.tables.table_of_hosts import change, rows_of

SECOND = 1_000_000


class World:
    """The tables of a database without Spark: epochs apply what waits, and are committed."""

    def __init__(self, folder: Path, catalog: Catalog, term: str = "00000001-aaaaaaaa") -> None:
        self.folder = folder
        self.catalog = catalog
        self.log = EpochLog(folder / "epochs")
        self.tables = Tables(folder, self.log, catalog, term=term)
        self.tables.recover()

    def epoch(
        self,
        clock: int,
        *,
        horizon: int = ALWAYS,
        writer: str = "w",
        is_committed: bool = True,
        is_told: bool = True,
    ) -> None:
        """Runs an epoch that takes the one stream to a clock. `is_told`: the tables hear that it is committed."""
        before = self.log.latest() or NOTHING
        epoch, pins = before.epoch + 1, {name: pin for name, pin in before.pins.items() if name == PIN}
        taken = self.tables.take(before)
        if taken is not None:
            applied = self.tables.version_log.write(
                epoch, writer, before, taken, self.catalog.tables(), {1: horizon}
            )
            pins = {PIN: str(applied.manifest.head)}
        if is_committed:
            streams = {1: StreamProgress(clock=clock)}
            record = EpochRecord(epoch, -1, 0, 0.0, 0, streams=streams, pins=pins)
            self.log.commit(record)
            if is_told:
                self.tables.committed(record)

    def rows(self, name: str = "hosts") -> list[tuple[object, ...]]:
        return rows_of(self.tables.contents(name).rows())


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    with closing(Catalog(tmp_path / "catalog.sqlite")) as found:
        for text in (
            "CREATE STREAM packets (src BIGINT, ts BIGINT) TIMESTAMP BY ts SECONDS",
            "CREATE TABLE hosts (src BIGINT PRIMARY KEY, owner STRING)",
            "CREATE TABLE others (src BIGINT PRIMARY KEY, owner STRING)",
        ):
            (statement,) = parse(text)
            assert isinstance(statement, (CreateStream, CreateTable))
            found.create(statement)
        yield found


@pytest.fixture
def world(tmp_path: Path, catalog: Catalog) -> World:
    return World(tmp_path, catalog)


def test_what_is_accepted_shows_at_once_and_after_its_epoch(world: World) -> None:
    assert world.tables.accept({"hosts": change((1, "a", 1), (2, "b", 1))}) == 1
    assert world.rows() == [(1, "a"), (2, "b")]
    world.epoch(10)
    assert world.tables.accept({"hosts": change((1, "a", -1), (1, "c", 1))}) == 2
    assert world.rows() == [(1, "c"), (2, "b")]
    world.epoch(20)
    assert world.rows() == [(1, "c"), (2, "b")]
    assert world.tables.counts() == {"hosts": 2, "others": 0}
    assert not world.tables.has_pending


def test_a_restart_finds_what_was_applied_and_what_was_not(world: World) -> None:
    world.tables.accept({"hosts": change((1, "a", 1))})
    world.epoch(10)
    world.tables.accept({"hosts": change((2, "b", 1)), "others": change((3, "c", 1))})
    again = World(world.folder, world.catalog, "00000002-bbbbbbbb")
    assert again.rows() == [(1, "a"), (2, "b")]
    assert again.rows("others") == [(3, "c")]
    assert again.tables.accept({"hosts": change((4, "d", 1))}) == 3
    again.epoch(20)
    assert rows_of(again.tables.versions("hosts", {1}, 1)) == [
        (1, "a", 1, ALWAYS),
        (2, "b", 1, 11),
        (4, "d", 1, 11),
    ]


def test_a_crash_after_the_commit_applies_nothing_twice(world: World) -> None:
    world.tables.accept({"hosts": change((1, "a", 1))})
    (accepted,) = (world.folder / "tables" / "accepted").iterdir()
    content = accepted.read_bytes()
    world.epoch(10)
    assert not accepted.exists()
    write_bytes(accepted, content)  # the process ended before it was removed
    again = World(world.folder, world.catalog, "00000002-bbbbbbbb")
    assert again.rows() == [(1, "a")]
    assert not again.tables.has_pending
    assert not accepted.exists()


def test_an_epoch_that_fails_leaves_nothing_that_counts(world: World) -> None:
    world.tables.accept({"hosts": change((1, "a", 1))})
    world.epoch(10, writer="failed", is_committed=False)
    assert world.tables.has_pending
    world.epoch(10)
    assert rows_of(world.tables.versions("hosts", {1}, 0)) == [(1, "a", 1, ALWAYS)]
    world.tables.version_log.forget_attempt(world.catalog.tables(), 0, "failed")
    assert list((world.folder / "tables").rglob("*failed*")) == []


def test_what_an_epoch_left_that_was_never_committed_is_removed(world: World) -> None:
    world.tables.accept({"hosts": change((1, "a", 1))})
    world.epoch(10, writer="lost", is_committed=False)
    again = World(world.folder, world.catalog, "00000002-bbbbbbbb")
    assert list((world.folder / "tables").rglob("*lost*")) == []
    assert again.rows() == [(1, "a")]


def test_several_transactions_of_one_epoch_are_one_net_change(world: World) -> None:
    world.tables.accept({"hosts": change((1, "a", 1))})
    world.tables.accept({"hosts": change((1, "a", -1), (1, "b", 1))})
    world.epoch(10)
    assert rows_of(world.tables.versions("hosts", {1}, 0)) == [(1, "b", 1, ALWAYS)]
    world.tables.accept({"hosts": change((2, "x", 1))})
    world.tables.accept({"hosts": change((2, "x", -1))})
    world.epoch(20)
    assert rows_of(world.tables.versions("hosts", {1}, 1)) == [(1, "b", 1, ALWAYS)]


def test_a_transaction_that_changes_nothing_is_none(world: World) -> None:
    assert world.tables.accept({"hosts": change()}) == 0
    assert not world.tables.has_pending


def test_a_scheduled_change_is_not_shown_before_its_instant(world: World) -> None:
    world.epoch(10)
    world.tables.accept({"hosts": change((1, "a", 1))}, at=25)
    assert world.rows() == []
    assert rows_of(world.tables.contents("hosts", scheduled=True).rows()) == [(1, "a")]
    assert rows_of(world.tables.scheduled("hosts")) == [(1, "a", 1, 25)]
    world.epoch(20)
    again = World(world.folder, world.catalog, "00000002-bbbbbbbb")
    for found in (world, again):
        assert found.rows() == []
        assert rows_of(found.tables.scheduled("hosts")) == [(1, "a", 1, 25)]
    world.epoch(30)
    assert world.rows() == [(1, "a")]
    assert rows_of(world.tables.scheduled("hosts")) == []
    assert rows_of(world.tables.versions("hosts", {1}, 2)) == [(1, "a", 1, 25)]


def test_a_table_as_it_was(world: World) -> None:
    #  clock   10    20    30
    #             +a    -a +b
    with pytest.raises(EpochGone, match="not known yet: no stream has begun"):
        world.tables.contents_at("hosts", 5)
    world.epoch(10)
    world.tables.accept({"hosts": change((1, "a", 1))})
    world.epoch(20)
    world.tables.accept({"hosts": change((1, "a", -1), (1, "b", 1))})
    world.epoch(30)
    assert rows_of(world.tables.contents_at("hosts", 10)) == []
    assert rows_of(world.tables.contents_at("hosts", 11)) == [(1, "a")]
    assert rows_of(world.tables.contents_at("hosts", 20)) == [(1, "a")]
    assert rows_of(world.tables.contents_at("hosts", 21)) == [(1, "b")]
    with pytest.raises(EpochGone, match="not known yet"):
        world.tables.contents_at("hosts", 31)


def test_a_table_as_it_was_beyond_the_horizon_is_not_known(world: World) -> None:
    for epoch in range(12):
        world.epoch(SECOND * epoch, horizon=SECOND * (epoch - 2))
        before = [] if epoch == 0 else [(1, str(epoch - 1), -1)]
        world.tables.accept({"hosts": change(*before, (1, str(epoch), 1))})
    world.epoch(SECOND * 12)
    with pytest.raises(EpochGone, match="no longer kept"):
        world.tables.contents_at("hosts", SECOND)
    assert rows_of(world.tables.contents_at("hosts", SECOND * 12)) == [(1, "11")]


def test_old_files_go_when_no_epoch_needs_them(world: World) -> None:
    for epoch in range(30):
        world.epoch(10 * epoch)
        world.tables.accept({"hosts": change((epoch, "a", 1))})
    files = list((world.folder / "tables").rglob("*.*"))
    records = [world.log.record(epoch) for epoch in range(30)]
    for file in world.tables.version_log.released(records):
        assert isinstance(file, Path)
        file.unlink(missing_ok=True)
    left = [file for file in files if file.exists()]
    assert len(left) < 12 < len(files)
    assert len(World(world.folder, world.catalog, "00000002-bbbbbbbb").rows()) == 30


def test_those_who_only_read_see_what_is_accepted_and_what_is_applied(world: World) -> None:
    reader = Tables(world.folder, FollowedLog(world.folder / "epochs"), world.catalog, is_read_only=True)

    def seen() -> list[tuple[object, ...]]:
        return rows_of(reader.contents("hosts").rows())

    assert seen() == []
    world.tables.accept({"hosts": change((1, "a", 1))})
    assert seen() == [(1, "a")]
    world.epoch(10)
    assert seen() == [(1, "a")]
    world.tables.accept({"hosts": change((1, "a", -1), (2, "b", 1))})
    assert seen() == [(2, "b")]
    world.tables.accept({"hosts": change((3, "c", 1))})
    world.epoch(20)
    assert seen() == [(2, "b"), (3, "c")]


def test_those_who_only_read_go_with_the_driver_that_has_taken_over(world: World) -> None:
    reader = Tables(world.folder, FollowedLog(world.folder / "epochs"), world.catalog, is_read_only=True)
    world.tables.accept({"hosts": change((1, "a", 1))})
    again = World(world.folder, world.catalog, "00000002-bbbbbbbb")
    world.tables.accept({"hosts": change((2, "of the old driver", 1))})
    assert rows_of(reader.contents("hosts").rows()) == [(1, "a")]
    again.tables.accept({"hosts": change((2, "of the new driver", 1))})
    assert rows_of(reader.contents("hosts").rows()) == [(1, "a"), (2, "of the new driver")]
    third = World(world.folder, world.catalog, "00000003-cccccccc")
    assert rows_of(reader.contents("hosts").rows()) == third.rows() == [(1, "a"), (2, "of the new driver")]


def test_threads_share_flushes_and_each_transaction_shows_wholly(world: World) -> None:
    def write(number: int) -> None:
        for step in range(20):
            row = change((number * 100 + step, "x", 1))
            world.tables.accept({"hosts": row, "others": row})

    with ThreadPoolExecutor(20) as threads:
        writing = [threads.submit(write, number) for number in range(19)]
        while not all(done.done() for done in writing):
            found = world.tables.snapshot(["hosts", "others"])
            assert found["hosts"].row_count == found["others"].row_count
        for done in writing:
            done.result()
    assert world.tables.counts() == {"hosts": 380, "others": 380}
    assert len(list((world.folder / "tables" / "accepted").iterdir())) < 380


def test_a_transaction_that_cannot_be_stored_changes_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_path: Path, _content: bytes) -> None:
        raise StateError("the disk is full")

    world.tables.accept({"hosts": change((1, "a", 1))})
    with monkeypatch.context() as patch:
        patch.setattr("panes.tables.accepted.write_bytes", fail)
        with pytest.raises(StateError, match="the disk is full"):
            world.tables.accept({"hosts": change((2, "b", 1))})
    assert world.rows() == [(1, "a")]
    world.tables.accept({"hosts": change((3, "c", 1))})
    assert world.rows() == [(1, "a"), (3, "c")]
    assert World(world.folder, world.catalog, "00000002-bbbbbbbb").rows() == [(1, "a"), (3, "c")]


def test_a_table_that_is_dropped_leaves_nothing_and_its_number_is_not_used_again(world: World) -> None:
    hosts = world.catalog.table("hosts")
    assert hosts is not None
    world.tables.accept({"hosts": change((1, "a", 1)), "others": change((1, "a", 1))})
    world.epoch(10)
    world.tables.accept({"hosts": change((2, "b", 1)), "others": change((2, "b", 1))})
    world.catalog.drop("TABLE", "hosts")
    world.tables.forget(hosts)
    assert not (world.folder / "tables" / f"{hosts.number:06d}").exists()
    with pytest.raises(CatalogError, match="there is no table named 'hosts'; there are others"):
        world.tables.contents("hosts")
    world.catalog.create(replace(hosts, number=0))
    again = world.catalog.table("hosts")
    assert again is not None
    assert again.number != hosts.number
    world.epoch(20)
    assert world.rows() == []
    assert world.rows("others") == [(1, "a"), (2, "b")]
