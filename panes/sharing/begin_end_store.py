"""The store of BEGIN … END aggregates as epochs see it."""

from __future__ import annotations

from panes.sharing.store import Arrivals
from panes.synopses.timed_store import TimedStore


class BeginEndStore(TimedStore):
    """Tuples by group and time, brought up to date for the queries of a group."""

    def advance(self, arrivals: Arrivals) -> None:
        """Takes in the queries and the tuples of an epoch, and forgets tuples that no query needs any more."""
        (kept,) = arrivals.members.kept
        measures = arrivals.members.measures
        self.admit(measures)
        for rows in arrivals.rows.values():
            self.add(rows, measures, arrivals.seen_since)
        self.expire(arrivals.since, kept.all.keeps)
