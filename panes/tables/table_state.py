"""A table as its writers and readers know it: its rows, and the changes whose instant has not come."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from panes.delta.delta import BEGINNING, WEIGHT
from panes.delta.rows import concat, take, where, with_column
from panes.language.statements import CreateTable
from panes.tables.net_rows import net_rows
from panes.tables.table_contents import Contents
from panes.tables.table_versions import Versions
from panes.tables.version_clocks import AT, named


class Scheduled(NamedTuple):
    """A change that AT TIMESTAMP names an instant for."""

    at: int
    change: pa.Table
    is_shown: bool
    """Whether the contents have it."""


@dataclass(frozen=True)
class TableState:
    contents: Contents
    """Without scheduled changes whose instant has not come."""
    scheduled: tuple[Scheduled, ...] = ()
    """Those whose instant may not have come on all streams."""

    @classmethod
    def of(cls, table: CreateTable, versions: Versions) -> TableState:
        """The table after all versions of it."""
        rows = versions.rows.select([*table.columns.names, WEIGHT])
        instants = named(versions.rows)
        at_once = net_rows(take(rows, where(instants == BEGINNING)))
        scheduled = tuple(
            Scheduled(int(at), net_rows(take(rows, where(instants == at))), False)
            for at in np.unique(instants[instants != BEGINNING])
        )
        return cls(Contents(table).applied(at_once), scheduled)

    def after(self, change: pa.Table, at: int | None) -> TableState:
        """The table after a change."""
        if at is None:
            return replace(self, contents=self.contents.applied(change))
        return replace(self, scheduled=(*self.scheduled, Scheduled(at, change, False)))

    def at(self, furthest: int, slowest: int) -> TableState:
        """The table when the streams have come so far: those whose instant has come are shown, and forgotten once
        it has come on all streams."""
        if not self.scheduled:
            return self
        contents = self.contents
        scheduled: list[Scheduled] = []
        for found in sorted(self.scheduled, key=lambda scheduled: scheduled.at):
            if not found.is_shown and found.at <= furthest:
                contents = contents.applied(found.change)
                found = found._replace(is_shown=True)
            if found.at > slowest:
                scheduled.append(found)
        return TableState(contents, tuple(scheduled))

    def with_scheduled(self) -> Contents:
        """The rows after all changes, whenever they take effect."""
        contents = self.contents
        for found in self.scheduled:
            contents = contents if found.is_shown else contents.applied(found.change)
        return contents

    def waiting(self) -> pa.Table:
        """The scheduled changes: the columns, `_weight` and `_at`."""
        empty = self.contents.definition.columns.arrow.append(pa.field(WEIGHT, pa.int64())).empty_table()
        tables = [with_column(empty, AT, np.zeros(0, np.int64))]
        tables += [with_column(s.change, AT, np.full(s.change.num_rows, s.at)) for s in self.scheduled]
        return concat(tables)
