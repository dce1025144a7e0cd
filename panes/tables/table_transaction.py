"""A transaction under way: statements that see each other's changes, and take effect together or not at all."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pyarrow as pa

from panes.clock import to_datetime
from panes.delta.consolidate import AT
from panes.delta.delta import WEIGHT
from panes.delta.rows import int64, take, where, with_column
from panes.errors import CatalogError
from panes.language.statements import CreateTable
from panes.state.buffers.chunked import cluster, matching
from panes.tables.constraints import Scheduled, shown
from panes.tables.net_change import net_change
from panes.tables.row_counts import RowCounts
from panes.tables.table_change import TableChange
from panes.tables.table_contents import Contents, key_of
from panes.tables.table_store import Tables


class TableTransaction:
    """Collects changes. Nothing has happened until `accept`, so whoever fails before leaves nothing behind."""

    def __init__(self, tables: Tables, at: int | None = None) -> None:
        """For one who holds the lock of the tables. `at` is the instant of event time at which the transaction
        takes effect; None: as soon as it can."""
        self._tables = tables
        self._at = at
        self._contents: dict[str, Contents] = {}
        """The tables, after all changes but the last one of each: most transactions have just one."""
        self._changes: dict[str, list[pa.Table]] = {}
        self._scheduled: dict[str, pa.Table] = {}

    def change(self, table: CreateTable, change_of: Callable[[Contents], TableChange]) -> RowCounts:
        """Adds a change of the contents after those before it. Raises Violation when the table refuses it."""
        if table.name not in self._contents:
            self._begin(table)
        changes = self._changes[table.name]
        if changes:
            self._contents[table.name] = self._contents[table.name].applied(changes[-1])
        change = change_of(self._contents[table.name])
        self._check_not_scheduled(table, change.rows)
        changes.append(change.rows)
        return change.counts

    def contents(self, name: str) -> Contents:
        """The rows of a table after the statements so far."""
        if name not in self._contents:
            return self._tables.contents(name)
        changes = self._changes[name]
        return self._contents[name].applied(changes[-1]) if changes else self._contents[name]

    def accept(self) -> None:
        """Makes all changes durable."""
        changes = {
            name: parts[0] if len(parts) == 1 else net_change(self._contents[name].definition, parts)
            for name, parts in self._changes.items()
        }
        changes = {name: change for name, change in changes.items() if change.num_rows}
        if changes:
            self._tables.accept(changes, self._at)

    def _begin(self, table: CreateTable) -> None:
        """Reads the table as it will be when the transaction takes effect, and what is scheduled for later."""
        contents = self._tables.contents(table.name, scheduled=self._at is not None)
        if contents.definition.number != table.number:
            raise CatalogError(f"table {table.name!r} was dropped and made anew meanwhile; try again")
        later = self._tables.scheduled(table.name)
        if self._at is not None:
            later = take(later, where(int64(later, AT) > self._at))
            undone = with_column(later, WEIGHT, -int64(later, WEIGHT))
            contents = contents.applied(net_change(table, [undone]))
        self._contents[table.name] = contents
        self._changes[table.name] = []
        self._scheduled[table.name] = later

    def _check_not_scheduled(self, table: CreateTable, change: pa.Table) -> None:
        """A key that is to change later cannot change before: the later change was made from what is there now."""
        later = self._scheduled[table.name]
        if not later.num_rows or not change.num_rows:
            return
        key = list(key_of(table))
        touched, waiting = cluster(change.select(key), key), cluster(later.select([*key, AT]), key)
        at, _, waiting_at = matching(touched, key, waiting, key, nulls_equal=True)
        if len(at):
            instant = to_datetime(int(int64(waiting, AT)[waiting_at[0]]))
            raise Scheduled(shown(touched.select(key), int(at[0])), _text(instant))


def _text(instant: datetime) -> str:
    """An instant as AT TIMESTAMP takes it."""
    return instant.replace(tzinfo=None).isoformat(" ")
