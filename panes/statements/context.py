"""What the handlers of statements work on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from panes.catalog import Catalog
from panes.connection import Connection
from panes.onetime.one_time import OneTime
from panes.optimizer.statistics import Statistics
from panes.reads import Reads
from panes.refreshing import Refreshing
from panes.registered import Registered
from panes.replanning import Replanning
from panes.runs import Runs
from panes.runtime.engine import Engine
from panes.standing_answers import StandingAnswers
from panes.tables.table_store import Tables


@dataclass(frozen=True)
class Context:
    """The parts of an open database, each made once when it was opened."""

    connection: Connection
    engine: Engine
    registered: Registered
    replanning: Replanning
    refreshing: Refreshing
    one_time: OneTime
    answers: StandingAnswers
    runs: Runs
    statistics: Callable[[], Statistics]
    """Gives what is known of streams and operators."""
    reads: Reads
    as_of: datetime | str | None = None
    """The instant that answers are asked for; None: now."""
    isolation: str | None = None
    """The isolation level of reads; None: that of the database."""
    epoch: int | None = None
    """The epoch that answers are asked for, which is held; None: what the isolation level says."""

    @property
    def catalog(self) -> Catalog:
        return self.connection.catalog

    @property
    def tables(self) -> Tables:
        return self.connection.tables
