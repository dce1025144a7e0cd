"""The plans that registered queries have had, with when and why each was chosen, and the switches between them.

A switch takes two epochs. A plan that was chosen waits for the next epoch and begins in it, over the history of
its streams, beside the one that it replaces. When that epoch is committed, the epochs that follow run the new one
alone. An epoch that is done again finds everything as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from panes.sqlite_file import SqliteFile

PlanState = Literal["runs", "waits", "begins", "ended", "failed", "refused", "same"]
"""runs: epochs run it. waits: the next epoch begins it. begins: an epoch runs it beside the one that it replaces.
ended: another took its place. failed, refused: it never took a place. same: what was chosen ran already."""

_KEPT = 50
"""The number of plans of each query that stay in the history."""


class ChosenPlan(NamedTuple):
    """What there is to say of a plan when it is chosen."""

    at_us: int
    """Wall time."""
    reason: str
    shape: str
    """Its joins, negations and DISTINCTs in one line."""
    cost_before: float | None = None
    """CPU seconds per second of event time that the plan before it was expected to cost at that time."""
    cost_after: float | None = None
    """The same of this one."""


class PlanRow(NamedTuple):
    """An entry of the history."""

    number: int | None
    """None when the plan that was chosen ran already."""
    state: PlanState
    first_epoch: int | None
    last_epoch: int | None
    chosen: ChosenPlan


class Successor(NamedTuple):
    """A plan that an epoch begins, beside the one that runs a query."""

    query: int
    number: int
    first_epoch: int


class PlanHistory:
    """The tables of plans in the file of the catalog, which makes its changes in its own transactions."""

    SCHEMA = """
CREATE TABLE plans (id INTEGER PRIMARY KEY, plan TEXT NOT NULL);
CREATE TABLE plan_history (
  id INTEGER PRIMARY KEY, query INTEGER NOT NULL, origin INTEGER NOT NULL, number INTEGER, state TEXT NOT NULL,
  chosen_us INTEGER NOT NULL, first_epoch INTEGER, last_epoch INTEGER, reason TEXT NOT NULL,
  cost_before REAL, cost_after REAL, shape TEXT NOT NULL);
CREATE INDEX plan_history_by_query ON plan_history (query);
CREATE INDEX plan_history_by_state ON plan_history (state);
"""
    """`plans` has what runs, or is about to, by number. `plan_history` has all of them: `query` is the query or
    group, `origin` the number that it had at first, by which it is found after it was altered."""

    def __init__(self, file: SqliteFile) -> None:
        self._select, self._execute = file.select, file.execute

    def plan(self, number: int) -> str | None:
        """A stored plan; None when there is none."""
        rows = self._select("SELECT plan FROM plans WHERE id = ?", number)
        return str(rows[0][0]) if rows else None

    def add_first(self, query: int, origin: int, number: int, plan: str, chosen: ChosenPlan) -> None:
        """Stores the plan that a query begins with, unless another thread has: it made the same one."""
        if self._execute("INSERT INTO plans VALUES (?, ?) ON CONFLICT DO NOTHING", number, plan):
            self._add(query, origin, number, "runs", chosen)

    def add_successor(self, query: int, origin: int, number: int, plan: str, chosen: ChosenPlan) -> None:
        """Stores a plan that is to replace the one of a query; one that waits already does not come to it."""
        self._drop_waiting(query)
        self._execute("INSERT INTO plans VALUES (?, ?)", number, plan)
        self._add(query, origin, number, "waits", chosen)

    def add_same(self, query: int, origin: int, chosen: ChosenPlan) -> None:
        """Notes that a choice was made anew, and came out as before."""
        self._drop_waiting(query)
        self._add(query, origin, None, "same", chosen)

    def _add(self, query: int, origin: int, number: int | None, state: PlanState, chosen: ChosenPlan) -> None:
        columns = "query, origin, number, state, chosen_us, reason, shape, cost_before, cost_after"
        self._execute(
            f"INSERT INTO plan_history ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(query, origin, number, state, *chosen),
        )
        last = "SELECT id FROM plan_history WHERE origin = ? ORDER BY id DESC LIMIT ?"
        self._execute(
            "DELETE FROM plan_history WHERE origin = ? AND state NOT IN ('runs', 'waits', 'begins') "
            f"AND id NOT IN ({last})",
            *(origin, origin, _KEPT),
        )

    def _drop_waiting(self, query: int) -> None:
        waiting = "SELECT number FROM plan_history WHERE query = ? AND state = 'waits'"
        self._execute(f"DELETE FROM plans WHERE id IN ({waiting})", query)
        self._execute("DELETE FROM plan_history WHERE query = ? AND state = 'waits'", query)

    # Switches.

    def take_over(self, query: int, number: int, epoch: int, began: int | None) -> None:
        """Puts a plan that has begun in an epoch in the place of the one that it replaces. `began` is the epoch in
        which the query itself did."""
        self._end(query, epoch, began)
        self._execute("UPDATE plan_history SET state = 'runs' WHERE number = ?", number)

    def waiting(self) -> dict[int, int]:
        """The plans that wait for an epoch to begin them, by query."""
        rows = self._select("SELECT query, number FROM plan_history WHERE state = 'waits'")
        return {int(query): int(number) for query, number in rows}

    def begin(self, number: int, epoch: int) -> None:
        """Lets a plan that waits begin in an epoch."""
        begin = "UPDATE plan_history SET state = 'begins', first_epoch = ? WHERE number = ?"
        self._execute(begin, epoch, number)

    def successors(self) -> list[Successor]:
        """The plans that began and have not taken a place yet."""
        rows = self._select("SELECT query, number, first_epoch FROM plan_history WHERE state = 'begins'")
        return [Successor(*map(int, row)) for row in rows]

    def newest(self, query: int, current: int) -> int:
        """The number of the plan that runs a query after all switches that have begun; `current` is that of the
        one that runs now."""
        return next((found.number for found in self.successors() if found.query == query), current)

    def give_up(self, number: int, state: Literal["failed", "refused"], why: str) -> None:
        """Notes that a plan does not take the place for which it was chosen."""
        self._execute(
            "UPDATE plan_history SET state = ?, reason = reason || ?, last_epoch = first_epoch WHERE number = ?",
            *(state, f"; {state}: {why}", number),
        )
        self._execute("DELETE FROM plans WHERE id = ?", number)

    def _end(self, query: int, epoch: int, began: int | None) -> None:
        running = "SELECT number FROM plan_history WHERE query = ? AND state = 'runs'"
        self._execute(f"DELETE FROM plans WHERE id IN ({running})", query)
        self._execute(
            "UPDATE plan_history SET state = 'ended', last_epoch = ?, first_epoch = coalesce(first_epoch, ?) "
            "WHERE query = ? AND state = 'runs'",
            *(epoch, began, query),
        )

    # Queries that begin anew, or go.

    def forget_current(self, query: int, epoch: int, began: int | None) -> None:
        """Ends the plan of a query that begins anew, and drops those that were to replace it. `epoch` is the last
        one that may have run it."""
        self.drop_successors(query)
        self._end(query, epoch, began)

    def drop_successors(self, query: int) -> None:
        """Drops the plans that were to replace that of a query."""
        numbers = "SELECT number FROM plan_history WHERE query = ? AND state IN ('waits', 'begins')"
        self._execute(f"DELETE FROM plans WHERE id IN ({numbers})", query)
        self._execute("DELETE FROM plan_history WHERE query = ? AND state IN ('waits', 'begins')", query)

    def forget(self, origin: int) -> None:
        """Removes all plans of a query that is dropped."""
        self._execute(
            "DELETE FROM plans WHERE id IN (SELECT number FROM plan_history WHERE origin = ?)", origin
        )
        self._execute("DELETE FROM plan_history WHERE origin = ?", origin)

    def leave_to(self, query: int, origin: int) -> None:
        """Lets the plans of a query be those of an equal one, which has that number at first."""
        self._execute("UPDATE plan_history SET origin = ? WHERE query = ?", origin, query)

    def forget_groups(self) -> None:
        """Removes the plans of the groups that are there no longer."""
        there = "SELECT id FROM groups UNION ALL SELECT id FROM queries"
        self._execute(f"DELETE FROM plan_history WHERE state = 'runs' AND query NOT IN ({there})")
        live = "SELECT number FROM plan_history WHERE state IN ('runs', 'waits', 'begins')"
        self._execute(f"DELETE FROM plans WHERE id NOT IN ({live})")

    # Reading.

    def rows(self, origin: int, running: int) -> list[PlanRow]:
        """The plans of a query, and those that it shares with others under a number, in the order in which they
        were chosen."""
        columns = "number, state, first_epoch, last_epoch, chosen_us, reason, shape, cost_before, cost_after"
        rows = self._select(
            f"SELECT {columns} FROM plan_history WHERE origin = ? OR query = ? ORDER BY id",
            *(origin, running),
        )
        return [PlanRow(*row[:4], ChosenPlan(*row[4:])) for row in rows]  # type: ignore[call-arg]

    def last_switch(self, query: int) -> int | None:
        """The epoch in which the plan of a query began that runs it now, or is about to; None when that is the one
        that it began with."""
        rows = self._select(
            "SELECT max(first_epoch) FROM plan_history WHERE query = ? AND state IN ('runs', 'begins', 'failed')",
            query,
        )
        return None if rows[0][0] is None else int(rows[0][0])

    def queries_by_number(self) -> Mapping[int, int]:
        """The query or group of each plan that there is or was."""
        rows = self._select("SELECT number, query FROM plan_history WHERE number IS NOT NULL")
        return {int(number): int(query) for number, query in rows}
