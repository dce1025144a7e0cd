"""Duplicate elimination over input without negative tuples (the δ* operator)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panes.delta.delta import BEGINNING, EXP, Delta, Instants
from panes.delta.grouped import cummax_within, sort_groups_by_time
from panes.delta.hashing import HASH
from panes.delta.rows import Positions, concat, int64, take, take_and_set, where, without
from panes.operators.base import Operator
from panes.operators.tools.edge import Edge
from panes.operators.tools.numbered_values import NumberedValues
from panes.plan.patterns import Pattern
from panes.state.buffers.base import State
from panes.state.buffers.choose import choose_for_duplicates
from panes.state.buffers.chunked import ChunkedBuffer, equal_runs

YOUNGEST = "_youngest"
"""Until when the youngest duplicate of a value lives; `_exp` is until when the shown row does."""


def keep_youngest(table: pa.Table, order: Positions) -> pa.Table:
    """One row per value and shown row, with the youngest of all duplicates."""
    values = [name for name in table.column_names if name not in (YOUNGEST, HASH, EXP)]
    order, starts = equal_runs(table, values, order)
    if len(starts) == len(order):
        return take(table, order)
    youngest = int64(table, YOUNGEST)[order]
    is_again = np.ones(len(order), dtype=np.bool_)
    is_again[starts] = False
    again = where(is_again)
    greatest = youngest[starts]
    np.maximum.at(greatest, np.searchsorted(starts, again) - 1, youngest[again])
    return take_and_set(table, order[starts], YOUNGEST, greatest)


def count_younger(table: pa.Table) -> int:
    """How many rows only tell of a younger duplicate of a value that is shown already."""
    return int(np.count_nonzero(int64(table, YOUNGEST) > int64(table, EXP)))


@dataclass
class DistinctStar(Operator):
    """Keeps one live row per value.

    Output: a row when its value first appears, as long as it is known to stay by the end of the span; when
        the shown row expires and a duplicate lives, that one with the lifetime that is left. Nothing is
        retracted, so WEAKEST and WEAK input give WEAK output.
    State: of each value, until when it is shown and until when its youngest duplicate lives, by the former.
        At most two rows for a value, over all values.
    Cost: one sort of the delta by value and time; expiry touches only what expires.
    """

    edge: Edge
    state: ChunkedBuffer = field(init=False)

    def __post_init__(self) -> None:
        self.state = choose_for_duplicates(
            self.edge.strategy,
            self.edge.schema.names,
            combine=keep_youngest,
            updates=count_younger,
            calendar_days=self.edge.calendar_days,
        )

    @property
    def buffers(self) -> Mapping[str, State]:
        return {"shown": self.state}

    @cached_property
    def output(self) -> Edge:
        """The edge that leaves this operator."""
        pattern = Pattern.MONOTONIC if self.edge.pattern is Pattern.MONOTONIC else Pattern.WEAK
        return self.edge.derived(self.edge.schema, pattern)

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:
        (delta,) = inputs
        ended = self.state.expire_clustered(clock, since)
        if not delta.rows and not ended.num_rows:
            return Delta(self.output.columns.empty_table(), clock)
        parts: list[pa.Table] = []
        kept: list[pa.Table] = []
        went_on = np.zeros(ended.num_rows, dtype=np.bool_)
        if delta.rows:
            known = _Known(delta, self.edge.schema.names, self.state, ended, clock)
            parts.append(self._follow(delta, known, clock, kept))
            went_on[known.ended_at] = known.went_on
        if ended.num_rows:
            parts.append(self._continue(ended, where(~went_on), clock, kept))
        self.state.insert_together(kept)
        return Delta(concat(parts), clock)

    def _follow(self, delta: Delta, known: _Known, clock: int, kept_rows: list[pa.Table]) -> pa.Table:
        """The time ranges during which the values of the delta are held: a run goes on from the state,
        or begins in the span. Adds to the rows to be kept."""
        code, first = known.codes, known.starts
        order, ts = sort_groups_by_time(known.order, code, delta.ts)
        covered = cummax_within(delta.exp[order], first)
        before = np.empty_like(covered)
        before[1:] = covered[:-1]
        before[first] = BEGINNING
        begins = ts > np.maximum(before, known.youngest[code])
        is_run = begins.copy()
        is_run[first] = True
        heads = np.flatnonzero(is_run)
        group, is_new = code[heads], begins[heads]
        shown, youngest = known.shown[group], known.youngest[group]
        # A run that begins in the span ends after all that was there before, and one that goes on not before it.
        until = np.maximum(covered[np.append(heads[1:], len(code)) - 1], youngest)
        known.note_runs_that_go_on(group, ~is_new)
        # Of the runs that go on, those whose shown row has expired need another one; of the others, those
        # that a younger duplicate prolongs only have to be remembered so.
        is_over = ~is_new & (shown <= clock)
        is_given = is_new | (is_over & (until > shown))
        is_longer = ~is_new & ~is_over & (until > youngest)
        kept = where((is_given | is_longer) & (until > clock))
        kept_until = until[kept]
        kept_shown = np.where(is_given[kept], kept_until, shown[kept])
        kept_rows += self._kept(known.take(group[kept]), kept_shown, kept_until)
        given = where(is_given)
        start = np.where(is_new[given], ts[heads[given]], shown[given])
        return self._shown(take(known.values, order[heads[given]]), start, until[given])

    def _continue(self, ended: pa.Table, rows: Positions, clock: int, kept_rows: list[pa.Table]) -> pa.Table:
        """A shown row that expired gives way to the youngest duplicate that came before the span. Adds to the rows
        to be kept."""
        shown, youngest = int64(ended, EXP), int64(ended, YOUNGEST)
        rows = rows[where(youngest[rows] > shown[rows])]
        values = take(without(ended, EXP, YOUNGEST), rows)
        alive = where(youngest[rows] > clock)
        kept_rows += self._kept(take(values, alive), youngest[rows[alive]], youngest[rows[alive]])
        return self._shown(values, shown[rows], youngest[rows])

    def _shown(self, values: pa.Table, ts: Instants, exp: Instants) -> pa.Table:
        arrays = [values.column(name) for name in self.edge.schema.names]
        return pa.Table.from_arrays([*arrays, pa.array(ts), pa.array(exp)], schema=self.output.columns)

    def _kept(self, values: pa.Table, shown: Instants, youngest: Instants) -> list[pa.Table]:
        """The rows of state that say it; none when there is nothing to say."""
        if not len(shown):
            return []
        table = values.append_column(EXP, pa.array(shown)).append_column(YOUNGEST, pa.array(youngest))
        return [table.select([*self.edge.schema.names, EXP, YOUNGEST, *_hash_of(table)])]


class _Known:
    """What the state knows of each value of a delta: until when it is shown, and its youngest duplicate."""

    def __init__(
        self, delta: Delta, names: Sequence[str], state: ChunkedBuffer, ended: pa.Table, clock: int
    ) -> None:
        self._numbered = NumberedValues([delta.table.select(list(names))], names)
        self.values = delta.table.select(list(names))
        self.order, self.codes, self.starts = (
            self._numbered.order,
            self._numbered.ordered_codes,
            self._numbered.starts,
        )
        self.shown: Instants = np.full(self._numbered.count, BEGINNING)
        self.youngest: Instants = np.full(self._numbered.count, BEGINNING)
        codes, (exp, youngest) = self._numbered.stored(state, [EXP, YOUNGEST], after=clock)
        self._note(codes, exp, youngest)
        self._ended_codes = self.ended_at = np.zeros(0, dtype=np.int64)
        if ended.num_rows:
            self._ended_codes, at = self._numbered.found_in(ended)
            self._note(self._ended_codes, int64(ended, EXP)[at], int64(ended, YOUNGEST)[at])
            self.ended_at = at
        self._goes_on = np.zeros(self._numbered.count, dtype=np.bool_)

    def take(self, codes: Positions) -> pa.Table:
        """The values of rising codes, as rows ready for state."""
        return self._numbered.take(codes, with_hash=True)

    def _note(self, codes: Positions, shown: Instants, youngest: Instants) -> None:
        np.maximum.at(self.shown, codes, shown)
        np.maximum.at(self.youngest, codes, youngest)

    def note_runs_that_go_on(self, codes: Positions, goes_on: npt.NDArray[np.bool_]) -> None:
        self._goes_on[codes[where(goes_on)]] = True

    @property
    def went_on(self) -> npt.NDArray[np.bool_]:
        """For each of `ended_at`, whether its run goes on with rows of the delta."""
        return self._goes_on[self._ended_codes]


def _hash_of(table: pa.Table) -> list[str]:
    return [HASH] if HASH in table.column_names else []
