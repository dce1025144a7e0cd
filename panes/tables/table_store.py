"""The tables of a database: transactions are accepted here, epochs take them from here, and readers ask here.

A transaction is evaluated against the contents of the tables while `lock` is held, and accepted: when the block
ends it is safely stored. The next epoch applies it (`version_log.py`), and once that is committed the accepted
transaction is removed. So it is stored in one of two places at any moment, and a manifest says up to which number
it is the second.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from panes.catalog import Catalog
from panes.clock import to_datetime
from panes.delta.consolidate import contents_at
from panes.delta.delta import BEGINNING, EXP, FOREVER, TS
from panes.delta.rows import int64, take, where, with_column
from panes.errors import CatalogError, EpochGone, StateError
from panes.language.statements import CreateTable
from panes.state.storage.epoch_log import EpochLog, EpochRecord
from panes.state.storage.heads import Head
from panes.state.storage.locations import Location
from panes.state.storage.recently_used import RecentlyUsed
from panes.tables.accepted import ACCEPTED_FOLDER, Accepted, last_in
from panes.tables.combine_transactions import combine_transactions
from panes.tables.shared_flush import SharedFlush
from panes.tables.table_contents import Contents
from panes.tables.table_manifest import TableManifest
from panes.tables.table_state import TableState
from panes.tables.transaction import Transaction
from panes.tables.version_intervals import version_intervals
from panes.tables.version_log import Taken, VersionLog, taken_of

TABLES_FOLDER = "tables"
"""In the home of a database."""
_VERSIONS_IN_MEMORY = 8
_ATTEMPTS = 100
"""How many times one who only reads looks again, because another process has removed what it was about to read."""

States = Mapping[int, TableState]
_Key = tuple[Head, int, frozenset[int]]
"""A manifest, the number of a table, and the streams of a query."""


class _Item(NamedTuple):
    """A transaction to be stored, and the tables after it."""

    transaction: Transaction
    states: States


class Tables:
    """For any number of threads. Those who only read see what is safely stored, each transaction wholly or not."""

    def __init__(
        self,
        home: Location,
        log: EpochLog,
        catalog: Catalog,
        *,
        term: str = "",
        is_read_only: bool = False,
    ) -> None:
        """`term` is that of the driver; one who only reads has none."""
        folder = home / TABLES_FOLDER
        self._log = log
        self._catalog = catalog
        self._accepted = Accepted(folder / ACCEPTED_FOLDER, term, log.check_term)
        self.version_log = VersionLog(folder)
        self._is_read_only = is_read_only
        self.lock: SharedFlush[_Item] = SharedFlush(self._store, self._give_up)
        """To be held while a transaction is evaluated and accepted."""
        self._mutex = threading.RLock()
        """Guards what follows; nobody waits for a disk while it is held."""
        self._shown: States = {}
        """The tables that were asked for, by number, after all transactions that are stored."""
        self._latest: dict[int, TableState] = {}
        """The same after all transactions."""
        self._pending: list[Transaction] = []
        """Those that are stored, and that no committed epoch has applied."""
        self._last = 0
        """The number of the last transaction."""
        self._seen: tuple[Head, frozenset[str]] | None = None
        """What one who only reads has seen when it looked last."""
        self._versions: RecentlyUsed[_Key, pa.Table] = RecentlyUsed(_VERSIONS_IN_MEMORY)
        self._intervals: RecentlyUsed[_Key, pa.Table] = RecentlyUsed(_VERSIONS_IN_MEMORY)
        self._rows: RecentlyUsed[tuple[Head, int, frozenset[int], int], pa.Table] = RecentlyUsed(
            _VERSIONS_IN_MEMORY
        )
        """Those of a table for a query over some streams, after a number of changes."""

    def recover(self) -> None:
        """Takes over what other drivers have accepted, and removes what they have left. To be called by the driver
        before anything else."""
        applied = self._manifest().applied
        self._pending = self._accepted.take_over(applied)
        self._last = max([applied, *(transaction.number for transaction in self._pending)])
        self.version_log.forget_after(self._log.last, {table.number for table in self._catalog.tables()})

    def check(self) -> None:
        """Raises StateError when `recover` could not read what is stored; changes nothing."""
        self._accepted.check(self._manifest().applied)

    # For statements.

    def contents(self, name: str, *, scheduled: bool = False) -> Contents:
        """The rows of a table after all transactions, without scheduled changes whose instant has not come, or
        with them. Whoever holds the lock sees the transactions that are about to be stored."""
        state = self._state(self._table(name), is_latest=self.lock.is_mine)
        return state.with_scheduled() if scheduled else state.contents

    def snapshot(self, names: Iterable[str]) -> dict[str, Contents]:
        """The rows of several tables, of one moment."""
        tables = {name: self._table(name) for name in names}
        states = self._states(tables.values(), is_latest=False)
        return {name: states[table.number].contents for name, table in tables.items()}

    def scheduled(self, name: str) -> pa.Table:
        """The changes of a table whose instant has not come on all streams: its columns, `_weight` and `_at`."""
        return self._state(self._table(name), is_latest=self.lock.is_mine).waiting()

    def counts(self) -> dict[str, int]:
        """How many rows each table has."""
        names = [table.name for table in self._catalog.tables()]
        return {name: contents.row_count for name, contents in self.snapshot(names).items()}

    def accept(self, changes: Mapping[str, pa.Table], at: int | None = None) -> int:
        """Accepts a transaction: the net change of each table, its columns and `_weight`. Gives its number.

        It is safely stored when the block that holds the lock ends, or when this returns if nobody does.
        """
        with self.lock:
            tables = {self._table(name): change for name, change in changes.items() if change.num_rows}
            if not tables:
                return self._last
            before = self._states(tables, is_latest=True)
            after = {table.number: before[table.number].after(change, at) for table, change in tables.items()}
            with self._mutex:
                number = self._last + 1
                transaction = Transaction(number, at, {table.number: c for table, c in tables.items()})
                self.lock.hand_over(_Item(transaction, after))
                self._last = number
                self._latest |= after
            return number

    def forget(self, table: CreateTable) -> None:
        """Removes everything of a table: it was dropped."""
        with self.lock:
            with self._mutex:
                self._shown = {
                    number: state for number, state in self._shown.items() if number != table.number
                }
                self._latest.pop(table.number, None)
            self.version_log.forget(table.number)

    # For queries.

    @property
    def furthest(self) -> int:
        """The clock of the stream that has come furthest: a query that reads tables alone has no other."""
        return self._reached()[0]

    def versions(self, name: str, streams: Set[int], epoch: int) -> pa.Table:
        """What the epochs up to one have changed in a table: its columns, `_weight`, and `_ts`, the instant at
        which each change takes effect for a query over some streams."""
        table = self._table(name)
        manifest = self.version_log.manifest(self._log.record(epoch) if epoch >= 0 else None)
        key = manifest.head, table.number, frozenset(streams)
        return self._versions.get(
            key, lambda: self.version_log.versions(table, manifest).effective(frozenset(streams))
        )

    def rows_at(self, name: str, streams: Set[int], epoch: int, now: int) -> pa.Table:
        """The rows of a table at an instant of a query over some streams, after the epochs up to one."""
        versions = self.versions(name, streams, epoch)
        come = where(int64(versions, TS) <= now)
        # One asks again and again, and between two changes nothing is different but the instant.
        key = self._head(epoch), self._table(name).number, frozenset(streams), len(come)
        return self._rows.get(key, lambda: contents_at(_lasting(take(versions, come)), now))

    def intervals(self, name: str, streams: Set[int], epoch: int) -> pa.Table:
        """The rows that a table ever had, as far as that is known after the epochs up to one: its columns, `_ts`
        and `_exp` by the clocks of a query over some streams."""
        key = self._head(epoch), self._table(name).number, frozenset(streams)
        return self._intervals.get(key, lambda: version_intervals(self.versions(name, streams, epoch)))

    def _head(self, epoch: int) -> Head:
        return self.version_log.manifest(self._log.record(epoch) if epoch >= 0 else None).head

    def contents_at(self, name: str, instant: int) -> pa.Table:
        """The rows of a table at an instant of the clock of the furthest stream.

        Raises EpochGone when that is not known any more, or not yet.
        """
        asked = f"what table {name!r} holds at {to_datetime(instant).isoformat()}"
        record = self._log.latest()
        if record is None or instant > record.clock:
            come_to = "no stream has begun"
            if record is not None and record.clock > BEGINNING:
                come_to = f"the furthest stream has come to {to_datetime(record.clock).isoformat()}"
            raise EpochGone(f"{asked} is not known yet: {come_to}; ask without as_of for what it holds now")
        table = self._table(name)
        settled_to = self.version_log.manifest(record).of(table.number).settled_to
        if instant < settled_to:
            raise EpochGone(
                f"{asked} is no longer kept: what is kept begins at {to_datetime(settled_to).isoformat()}; "
                "a stream with RETAIN INTERVAL … keeps the versions of tables as long as its rows"
            )
        return self.rows_at(name, frozenset(), record.epoch, instant)

    # For epochs.

    @property
    def has_pending(self) -> bool:
        """Whether transactions wait for an epoch."""
        return bool(self._pending)

    def take(self, before: EpochRecord) -> Taken | None:
        """What an epoch that begins now, after another one, applies; None when nothing waits."""
        applied = self.version_log.manifest(before).applied
        with self._mutex:
            pending = [transaction for transaction in self._pending if transaction.number > applied]
        return taken_of(pending, before.epoch + 1, {table.number for table in self._catalog.tables()})

    def committed(self, record: EpochRecord) -> None:
        """Forgets the transactions that a committed epoch has applied."""
        applied = self.version_log.manifest(record).applied
        with self._mutex:
            self._pending = [t for t in self._pending if t.number > applied]
        self._accepted.remove(applied)

    # States of tables.

    def _table(self, name: str) -> CreateTable:
        table = self._catalog.table(name)
        if table is None:
            known = ", ".join(table.name for table in self._catalog.tables()) or "none yet"
            raise CatalogError(f"there is no table named {name!r}; there are {known}")
        return table

    def _manifest(self) -> TableManifest:
        return self.version_log.manifest(self._log.latest())

    def _state(self, table: CreateTable, *, is_latest: bool) -> TableState:
        """A table at this moment."""
        return self._states([table], is_latest=is_latest)[table.number]

    def _states(self, tables: Iterable[CreateTable], *, is_latest: bool) -> States:
        """Tables at one moment, by number."""
        tables = list(tables)

        def read() -> States:
            for table in tables:
                if table.number not in self._latest:
                    self._load(table)
            known = self._latest if is_latest else self._shown
            return {table.number: known[table.number] for table in tables}

        with self._mutex:
            found = self._look(read) if self._is_read_only else read()
        if not any(state.scheduled for state in found.values()):
            return found
        # The catalog is not asked while the mutex is held: whoever is changing the catalog may ask for a table.
        furthest, slowest = self._reached()
        reached = {number: state.at(furthest, slowest) for number, state in found.items()}
        with self._mutex:
            known = dict(self._latest if is_latest else self._shown)
            known |= {
                number: state for number, state in reached.items() if known.get(number) is found[number]
            }
            if is_latest:
                self._latest = known
            else:
                self._shown = known
        return reached

    def _load(self, table: CreateTable) -> None:
        """Reads what is stored of a table. Nothing of it is about to be stored: whoever changes it has read it."""
        manifest = self._manifest()
        state = TableState.of(table, self.version_log.versions(table, manifest))
        mine = [
            replace(transaction, changes={table.number: transaction.changes[table.number]})
            for transaction in self._pending
            if transaction.number > manifest.applied and table.number in transaction.changes
        ]
        for transaction in combine_transactions(mine):
            state = state.after(transaction.changes[table.number], transaction.at)
        self._latest[table.number] = state
        self._shown = {**self._shown, table.number: state}

    def _reached(self) -> tuple[int, int]:
        """The clocks of the furthest and of the slowest stream."""
        record = self._log.latest()
        streams = {} if record is None else record.streams
        clocks = [
            streams[stream.number].clock if stream.number in streams else BEGINNING
            for stream in self._catalog.base_streams()
        ]
        return (BEGINNING if record is None else record.clock), min(clocks, default=BEGINNING)

    def _store(self, items: list[_Item]) -> None:
        self._accepted.put([item.transaction for item in items])
        with self._mutex:
            shown = dict(self._shown)
            for item in items:
                shown |= item.states
            self._shown = shown
            self._pending += [item.transaction for item in items]

    def _give_up(self) -> None:
        with self._mutex:
            self._latest = dict(self._shown)

    # For those who only read: another process accepts, applies and removes.

    def _look(self, read: Callable[[], States]) -> States:
        """Brings what is known up to date, and reads; looks again when what it was about to read is gone."""
        for _ in range(_ATTEMPTS):
            manifest, names = self._manifest(), self._accepted.names()
            try:
                self._follow(manifest, names)
                return read()
            except StateError:
                self._seen = None
                if (self._manifest(), self._accepted.names()) == (manifest, names):
                    raise
        raise StateError("tables change faster than they can be read; try again")

    def _follow(self, manifest: TableManifest, names: frozenset[str]) -> None:
        seen = manifest.head, names
        if seen == self._seen:
            return
        self._pending = self._accepted.after(manifest.applied)
        gone = frozenset() if self._seen is None else self._seen[1] - names
        # What another driver has not taken over does not count, though it was seen.
        is_undone = any(last_in(name) > manifest.applied for name in gone)
        if self._seen is None or is_undone or self._last < manifest.applied:
            self._latest, self._shown = {}, {}
        else:
            for transaction in self._pending:
                if transaction.number > self._last:
                    for number in transaction.changes.keys() & self._latest.keys():
                        after = self._latest[number].after(transaction.changes[number], transaction.at)
                        self._latest[number] = after
            self._shown = dict(self._latest)
        self._last = max([manifest.applied, *(transaction.number for transaction in self._pending)])
        self._seen = seen


def _lasting(versions: pa.Table) -> pa.Table:
    """Versions as rows of a delta: whatever ends one is another one."""
    return with_column(versions, EXP, np.full(versions.num_rows, FOREVER))
