"""Fragments before a shuffle over one table of rows: what several inputs have in common is computed once."""

from __future__ import annotations

from dataclasses import replace
from time import thread_time_ns

import pyarrow as pa

from panes.delta.delta import EXP, FOREVER, Delta
from panes.operators.dataflow import measured
from panes.operators.drop_box import DropBox
from panes.operators.input import Entry
from panes.operators.match import Match
from panes.operators.match_and_sum import MatchAndSum
from panes.operators.measures import Measures
from panes.operators.sign import Sign
from panes.plan.box_schedule import BoxSchedule
from panes.sharing.group_matcher import GroupMatcher
from panes.sharing.shared_indexes import ForTasks, Slices
from panes.sharing.tuple_batch import TupleBatch
from panes.stages.physical_plan import PhysicalInput

_Key = tuple[str, Slices | None, int | None, BoxSchedule | None]

_KEEPS_ALL = BoxSchedule()


class FragmentRun:
    """Computes inputs over the rows of a stream (its columns, or those that are needed, and `_ts`), over the
    changes of a table (these, `_exp` and `_weight`), or over the delta of an earlier stage."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows
        self._done: dict[_Key, tuple[Delta, Measures]] = {}
        self._batches: dict[ForTasks, TupleBatch] = {}
        """The rows with what was looked up in the index of their stream, for all groups."""

    @property
    def looked_up_us(self) -> float:
        """The CPU time that it took to look up values in the indexes of streams. It is no part of what steps did:
        all groups have what it gives."""
        return sum(batch.looked_up_us for batch in self._batches.values())

    def input(
        self,
        source: PhysicalInput,
        since: int,
        members: Slices | None = None,
        box: BoxSchedule = _KEEPS_ALL,
    ) -> tuple[pa.Table, dict[str, Measures]]:
        """The rows of an input, and what its steps did.

        `since` is the clock before the epoch: rows that came late are seen after it. `members` are the slices
        of the queries that rows are matched with, where they are. `box` says which share a drop box among the
        steps keeps.
        """
        fragment = source.fragment
        deltas: list[Delta] = []
        measures: dict[str, Measures] = {}
        shared = members if source.is_matched else None
        seen_since = since if source.sees_since else None
        kept: BoxSchedule | None = None
        for step, digest in zip(fragment.steps, fragment.digests, strict=True):
            if step.operator == DropBox.__name__:
                kept = box  # what is below is the same for all queries
            key = (digest, shared, seen_since, kept)
            if key not in self._done:
                began, before_us = thread_time_ns(), self.looked_up_us
                operator = step.make()
                if isinstance(operator, Entry):
                    inputs = [operator.taken_in(self._rows, FOREVER)]
                else:
                    inputs = [deltas[number] for number in step.inputs]
                if isinstance(operator, (Match, MatchAndSum)):
                    operator.index = self._matcher(members, operator.matched.scan_number)
                if isinstance(operator, Sign):
                    operator.signer = self._matcher(members, 0)
                if isinstance(operator, DropBox):
                    operator.schedule = box
                delta = operator.process(inputs, since, FOREVER)
                did = measured(step, inputs, delta, began)
                self._done[key] = delta, replace(did, cpu_us=did.cpu_us - (self.looked_up_us - before_us))
            delta, measures[step.name] = self._done[key]
            deltas.append(delta)
        return _routed(source, deltas[-1]), measures

    def _matcher(self, members: Slices | None, scan_number: int) -> GroupMatcher:
        """The queries of a group at work on the rows. Steps that match stand right above the one that takes rows
        in, so rows are still those that came."""
        assert members is not None
        mine = members[scan_number]
        if mine.index not in self._batches:
            self._batches[mine.index] = mine.index.value.batch(self._rows)
        return mine.value.over_batch(self._batches[mine.index])


def _routed(source: PhysicalInput, delta: Delta) -> pa.Table:
    """What goes through the shuffle: tuples of a stream have no end yet."""
    is_tuples = source.stream is not None and not source.sees_since
    return delta.table.drop_columns([EXP]) if is_tuples else delta.table
