"""Fragments before a shuffle over one table of rows: what several inputs have in common is computed once."""

from __future__ import annotations

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
from panes.sharing.shared_indexes import ForTasks
from panes.sharing.signer import signer
from panes.stages.physical_plan import PhysicalInput

_Key = tuple[str, ForTasks | None, int | None, BoxSchedule | None]

_KEEPS_ALL = BoxSchedule()


class FragmentRun:
    """Computes inputs over the rows of a stream (its columns, or those that are needed, and `_ts`), over the
    changes of a table (these, `_exp` and `_weight`), or over the delta of an earlier stage."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows
        self._done: dict[_Key, tuple[Delta, Measures]] = {}

    def input(
        self,
        source: PhysicalInput,
        since: int,
        members: ForTasks | None = None,
        box: BoxSchedule = _KEEPS_ALL,
    ) -> tuple[pa.Table, dict[str, Measures]]:
        """The rows of an input, and what its steps did.

        `since` is the clock before the epoch: rows that came late are seen after it. `members` are the indexes of
        the queries that rows are matched with, where they are. `box` says which share a drop box among the steps
        keeps.
        """
        fragment = source.fragment
        deltas: list[Delta] = []
        measures: dict[str, Measures] = {}
        shared = members if source.scan_number is not None else None
        seen_since = since if source.sees_since else None
        kept: BoxSchedule | None = None
        for step, digest in zip(fragment.steps, fragment.digests, strict=True):
            if step.operator == DropBox.__name__:
                kept = box  # what is below is the same for all queries
            key = (digest, shared, seen_since, kept)
            if key not in self._done:
                began = thread_time_ns()
                operator = step.make()
                if isinstance(operator, Entry):
                    inputs = [operator.taken_in(self._rows, FOREVER)]
                else:
                    inputs = [deltas[number] for number in step.inputs]
                if isinstance(operator, (Match, MatchAndSum)):
                    assert members is not None
                    operator.index = members.value[operator.matched.scan_number]
                if isinstance(operator, Sign):
                    operator.signer = signer(operator.signed.predicates)
                if isinstance(operator, DropBox):
                    operator.schedule = box
                delta = operator.process(inputs, since, FOREVER)
                self._done[key] = delta, measured(step, inputs, delta, began)
            delta, measures[step.name] = self._done[key]
            deltas.append(delta)
        return _routed(source, deltas[-1]), measures


def _routed(source: PhysicalInput, delta: Delta) -> pa.Table:
    """What goes through the shuffle: tuples of a stream have no end yet."""
    is_tuples = source.stream is not None and not source.sees_since
    return delta.table.drop_columns([EXP]) if is_tuples else delta.table
