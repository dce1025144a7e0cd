"""What is known of a database when somebody asks: the facts of its last epoch, and the rows of its tables."""

from __future__ import annotations

from contextlib import suppress

from panes.connection import Connection
from panes.errors import PanesError
from panes.optimizer.known_facts import KnownFacts, statistics_of
from panes.optimizer.statistics import Statistics
from panes.runtime.epoch_stores import EpochStores
from panes.state.storage.epoch_log import NOTHING


class CurrentStatistics:
    """Gives the statistics of now when it is called; those of one epoch are made once."""

    def __init__(self, connection: Connection, stores: EpochStores) -> None:
        self._connection = connection
        self._stores = stores
        self._made: tuple[KnownFacts, dict[str, int], Statistics] = {}, {}, Statistics()

    def __call__(self) -> Statistics:
        facts = self._stores.facts(self._connection.log.latest() or NOTHING)
        rows = self._table_rows()
        known, counted, made = self._made
        if known is not facts or counted != rows:
            made = statistics_of(facts, rows)
            self._made = facts, rows, made
        return made

    def _table_rows(self) -> dict[str, int]:
        """The rows of the tables that can be read: whoever needs another one is told when it is read."""
        rows: dict[str, int] = {}
        for table in self._connection.catalog.tables():
            with suppress(PanesError):
                rows[table.name] = self._connection.tables.contents(table.name).row_count
        return rows
