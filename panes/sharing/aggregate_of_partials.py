"""Aggregates that are computed from partial rows which others use as well.

A query may do with its groups what it likes: HAVING, projections, DISTINCT, ORDER BY … LIMIT. That is done to the
partial rows of its windows when somebody reads it, by the operators of its own plan.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from panes.delta.consolidate import AT, CHANGE, changes_of, contents_at
from panes.delta.delta import BEGINNING, EXP, FOREVER, TS, WEIGHT
from panes.delta.rows import int64, take, where, with_column
from panes.operators.dataflow import Dataflow
from panes.operators.input import Input
from panes.operators.lower import lower
from panes.plan.nodes import Distinct, GroupBy, Node, Project, Select, TopN
from panes.sharing.store import Chunks
from panes.synopses.layout import Layout, own_rows

_PARTIALS = Input("partials", kind="partials")
_ABOVE = (Select, Project, Distinct, TopN)
"""What may stand above the group-by."""


@dataclass(frozen=True)
class AggregateOfPartials(ABC):
    """A query over what is kept for many, and how it is finished."""

    plan: Node
    """The query, without the order in which its answer is read."""
    group_by: GroupBy
    """Its own group-by, in its own names."""

    @property
    @abstractmethod
    def canonical(self) -> GroupBy:
        """The same group-by over the streams as synopses know them, with aggregates in the same order."""

    @abstractmethod
    def last_slide(self, instant: int) -> int:
        """The last instant, not after the one that is given, at which the windows moved on."""

    @abstractmethod
    def held_at(self, shards: Sequence[Chunks], at: int) -> pa.Table:
        """The partial rows that the windows hold which end at an instant, of all shards."""

    @abstractmethod
    def held_in(self, chunks: Chunks, since: int, clock: int) -> pa.Table:
        """The partial rows that the windows hold at `since`, and those that enter them up to `clock`, with the
        times at which they enter and leave, of one shard."""

    def own(self, rows: pa.Table) -> pa.Table:
        """Of the rows that are kept for all queries those that are for this one."""
        return rows

    @cached_property
    def layout(self) -> Layout:
        """The columns that it needs."""
        return Layout.of(self.canonical)

    def answer(self, rows: pa.Table, at: int) -> pa.Table:
        """The answer at an instant, from the partial rows of the window that ends there."""
        count = rows.num_rows
        held = own_rows(self.group_by, self.canonical, rows)
        held = held.append_column(TS, pa.repeat(at, count)).append_column(EXP, pa.repeat(FOREVER, count))
        return contents_at(self._operators().process(_given(held), at - 1, at).table, at)

    def changes(self, rows: pa.Table, since: int, clock: int) -> pa.Table:
        """What comes into the answer and goes from it after `since` and up to `clock`, from the partial rows of
        that time with their lifetimes: the columns, when (`_at`) and how (`_weight`)."""
        operators = self._operators()
        held = own_rows(self.group_by, self.canonical, rows)
        held = held.append_column(TS, rows.column(TS)).append_column(EXP, rows.column(EXP))
        enters = int64(rows, TS)
        if since > BEGINNING:
            before = take(held, where(enters <= since))
            before = with_column(before, TS, np.full(before.num_rows, since))
            operators.process(_given(before), since - 1, since)
        delta = operators.process(_given(take(held, where(enters > since))), since, clock)
        changes = changes_of(delta.table)
        changes = changes.filter(pa.array(int64(changes, AT) <= clock))
        names = [WEIGHT if name == CHANGE else name for name in changes.column_names]
        return changes.rename_columns(names)

    def _operators(self) -> Dataflow:
        return lower(self.plan, inputs={self.group_by: _PARTIALS})


def group_by_in(plan: Node) -> GroupBy | None:
    """The group-by that the answer of a plan is made of; None when there is anything else above it."""
    while isinstance(plan, _ABOVE):
        plan = plan.child
    return plan if isinstance(plan, GroupBy) else None


def _given(rows: pa.Table) -> dict[str, pa.Table]:
    return {_PARTIALS.name: rows}
