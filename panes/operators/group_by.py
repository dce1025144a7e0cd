"""Group-by: the stateful half, from partial rows to results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from panes.aggregates import holistic
from panes.aggregates.accumulator_table import FIRST, SECOND, AccumulatorTable
from panes.aggregates.base import Accumulators, Ints
from panes.aggregates.choose_state import choose_for_ends, choose_for_sums, choose_for_values
from panes.aggregates.extremes import Extremes
from panes.aggregates.frequencies import (
    COUNT,
    GROUP,
    VALUE,
    Frequencies,
    amount_name,
    held,
    not_counting_null,
)
from panes.aggregates.linear import ROWS, Linear, is_linear, is_of_distinct
from panes.aggregates.partials import (
    KeptValue,
    bound_name,
    cut_schema,
    kept_value,
    value_name,
    values_of,
)
from panes.aggregates.replay import STEP, replayed
from panes.aggregates.steps import Steps, steps_of
from panes.delta.delta import EXP, FOREVER, TS, UNTIL, WEIGHT, Delta, Instants, delta_schema
from panes.delta.hashing import Hashes, hash_pair, hash_rows, in_buckets_of
from panes.delta.rows import concat, take, where
from panes.operators.base import Operator
from panes.plan import nodes
from panes.plan.expressions import Aggregate
from panes.state.buffers.base import State
from panes.state.buffers.choose import choose_for_waiting
from panes.state.buffers.timer_queue import TimerQueue

Flags = npt.NDArray[np.bool_]

_VALUES_AT_ONCE = 2_000_000
"""What is held in memory at once where all values of groups are read: those of a group for each of its steps."""

_VALUES_PER_SEARCH, _VALUES_PER_GROUP = 20_000, 50
"""How many values can be read in the time that a search for the least or greatest values of groups takes, for each
instant, and for each group that changes at it."""

_BORN = -1
"""The accumulator that says, where there are no keys, that the row of the one group was given out."""


@dataclass
class GroupBy(Operator):
    """One row per group with its aggregates, kept current.

    Output: when a group's value changes at e, `(old row, e, FOREVER, -1)` and `(new row, e, FOREVER, +1)`;
        STRICT. With `every_instant` e is each instant at which the input changes, without it the clock of the
        span.
    State: the accumulators of each group, and the partial rows that are still to expire; for DISTINCT and for
        holistic aggregates (min, quantile, array_agg, …) how often each group holds each value, or each pair.
        Where all of these take the least or the greatest value and rows leave at known times, only the values that
        may become so.
    Cost: the rows that come and those that expire; of the groups, only those that change are touched. For
        holistic aggregates the distinct values of those groups are read, once per instant; for those that take
        the least or the greatest one (min, max_by, first, …) either these or only a few at the end, whichever is
        cheaper.
    """

    node: nodes.GroupBy
    every_instant: bool
    has_until: bool = False
    """Whether the plan has an INTERNAL window, so that its edges carry `_until`."""
    lies_by: tuple[str, ...] = ()
    """The keys that decide the shard of a group, where these are not all of them in their order."""
    leaves_early: bool = True
    """Whether rows may leave before the time that is known for them."""
    linear: Linear = field(init=False)
    groups: AccumulatorTable = field(init=False)
    expiring: TimerQueue = field(init=False)
    distinct: Mapping[str, AccumulatorTable] = field(init=False)
    """How often each group holds each value, for each column whose distinct values are counted."""
    frequencies: Mapping[str, Frequencies] = field(init=False)
    """The same in the order of values, for each column that has to be read in it."""
    extremes: Mapping[str, Extremes] = field(init=False)
    """The values that may become the least or the greatest, in place of frequencies where these are enough."""
    holistic: Mapping[str, Aggregate] = field(init=False)

    def __post_init__(self) -> None:
        aggregates = {a.name: a for a in self.node.aggregates if not is_linear(a)}
        self.holistic = {name: a for name, a in aggregates.items() if not is_of_distinct(a)}
        self.linear = Linear(self.node.aggregates)
        self.groups = choose_for_sums(self.node.keys, "sums of a group change by adding and subtracting")
        schema = cut_schema(self.node).arrow
        counted = {value_name(self.node, KeptValue(arg)) for arg in self.linear.distinct}
        keys, why = self.node.keys, "copies of each value of a group are counted"
        self.distinct = {name: choose_for_sums((*keys, name), why) for name in sorted(counted)}
        ordered = sorted({self._kept(a) for a in self.holistic.values()})
        why = "values of a group are read in their order"
        types = {name: schema.field(name).type for name in ordered}
        self.frequencies, self.extremes = {}, {}
        if self._are_ends:
            self.extremes = {
                self._end_of(a): choose_for_ends(
                    types[self._kept(a)], keys, greatest=holistic.ENDS[a.function]
                )
                for a in self.holistic.values()
            }
            # The values leave the extremes by themselves.
            schema = pa.schema([f for f in schema if f.name not in ordered or f.name in counted])
        else:
            self.frequencies = {
                name: choose_for_values(types[name], keys, why, self._amounts_of(value))
                for name, value in values_of(self.node)
                if name in ordered
            }
        for name, type_ in ((FIRST, pa.uint64()), (SECOND, pa.uint64()), (EXP, pa.int64())):
            schema = schema.append(pa.field(name, type_))
        self.expiring = choose_for_waiting(schema, "partial sums are subtracted when they leave")

    @property
    def buffers(self) -> Mapping[str, State]:
        buffers: dict[str, State] = {"groups": self.groups, "expiring": self.expiring}
        buffers |= {f"distinct{name}": table for name, table in self.distinct.items()}
        buffers |= {f"extremes{name}": table for name, table in self.extremes.items()}
        return buffers | {f"frequencies{name}": table for name, table in self.frequencies.items()}

    @property
    def _are_ends(self) -> bool:
        """Whether only the least and the greatest values matter, and no row leaves before its time."""
        if self.leaves_early or not all(a.function in holistic.ENDS for a in self.holistic.values()):
            return False
        return not any(self._amounts_of(kept_value(self.node, a)) for a in self.holistic.values())

    def _end_of(self, aggregate: Aggregate) -> str:
        """The name of the extremes that an aggregate takes the end of."""
        end = "greatest" if holistic.ENDS[aggregate.function] else "least"
        return f"{self._kept(aggregate)}_{end}"

    def _kept(self, aggregate: Aggregate) -> str:
        """The column of what a holistic aggregate keeps."""
        return value_name(self.node, kept_value(self.node, aggregate))

    def _amounts_of(self, value: KeptValue) -> int:
        """How many amounts are summed for each value that is kept."""
        return len(self.linear.sum_of(value.weight)) if value.weight is not None else int(value.has_bounds)

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:
        (delta,) = inputs
        events = self._events(delta, since, clock)
        if not self.node.keys and since < clock:
            events = self._with_birth(events, since)
        if not self.every_instant:
            events = events.at(clock)
        parts = [delta_schema(self.node.schema, weighted=True).empty_table()]
        if self.frequencies:
            parts += [
                table for part, ends in self._in_blocks(events) for table in self._apply(part, ends=ends)
            ]
        else:
            parts += self._apply(events)
        return Delta(self._finished(pa.concat_tables(parts)), clock)

    def _events(self, delta: Delta, since: int, clock: int) -> _Events:
        """The partial rows that come and those that go."""
        rows = delta.table
        first, second = hash_pair([rows.column(key) for key in self.node.keys], rows.num_rows)
        if self.lies_by:
            first = in_buckets_of(first, hash_rows(rows, self.lies_by))
        rows = rows.append_column(FIRST, pa.array(first)).append_column(SECOND, pa.array(second))
        exp = delta.exp
        going = self.expiring.due(since, clock)
        stays = (exp > clock) & (exp < FOREVER)
        self.expiring.insert(rows if stays.all() else take(rows, where(stays)))
        rows = rows.select(going.column_names)
        gone = where(exp <= clock)
        table = concat([rows, going, take(rows, gone)] if len(gone) else [rows, going])
        instants = np.concatenate([delta.ts, going.column(EXP).to_numpy(), exp[gone]])
        came = rows.num_rows
        changes = {number: _signed(lifted, came) for number, lifted in self.linear.lift(table).items()}
        amounts: dict[str, tuple[Ints, ...]] = {}
        for name, value in values_of(self.node):
            if value.weight is not None:
                nothing = np.zeros(len(instants), np.int64)
                amounts[name] = tuple(changes.get(n, nothing) for n in self.linear.sum_of(value.weight))
            elif value.has_bounds:
                amounts[name] = (_signed(_zero_filled(table, bound_name(name)), came),)
        counts = _signed(table.column(ROWS).to_numpy(), came)
        return _Events(table, instants, changes, counts, amounts, delta, since)

    def _with_birth(self, events: _Events, since: int) -> _Events:
        """Without keys there is a row from the first instant on, even if nothing ever comes."""
        nobody = np.zeros(1, np.uint64)
        born = self.groups.look_up(nobody, nobody).get(_BORN)
        if born is not None and born[0]:
            return events
        names = events.rows.schema
        columns = {name: pa.nulls(1, names.field(name).type) for name in names.names}
        columns |= {FIRST: pa.array(nobody), SECOND: pa.array(nobody)}
        rows = pa.concat_tables([events.rows, pa.table(columns, schema=names)])
        changes = {number: np.append(change, 0) for number, change in events.changes.items()}
        changes[_BORN] = np.append(np.zeros(len(events.instants), np.int64), 1)
        amounts = {name: tuple(np.append(a, 0) for a in some) for name, some in events.amounts.items()}
        instants, counts = np.append(events.instants, since + 1), np.append(events.counts, 0)
        return replace(events, rows=rows, instants=instants, changes=changes, counts=counts, amounts=amounts)

    def _apply(self, events: _Events, *, ends: bool = False) -> list[pa.Table]:
        """Moves the state on by the events, and says what changed.

        With `ends` they are of one instant, and only the least and greatest values of groups are looked for.
        """
        first, second = events.hashes
        changes = events.changes | self._appearances(events)
        # Where values matter, a group may change although its counts and sums do not.
        steps = steps_of(first, second, events.instants, changes, keep_still=bool(self.holistic))
        if not len(steps.instants):
            return []
        before, after = self._advance(self.groups, steps)
        old_values, new_values = self._values(events, steps, ends=ends)
        keys = take(events.rows, steps.event, self.node.keys)
        old, new = self._rows(keys, before, old_values), self._rows(keys, after, new_values)
        had, has = self._is_there(before, old.num_rows), self._is_there(after, new.num_rows)
        changed = (had != has) | _differ(old, new, self.node.keys)
        return [_at(old, steps.instants, had & changed, -1), _at(new, steps.instants, has & changed, 1)]

    def _appearances(self, events: _Events) -> Accumulators:
        """What is added to counts and sums of distinct values, at an event of each group, value and instant at
        which the group comes to hold the value or ceases to."""
        appearances: Accumulators = {}
        for arg in self.linear.distinct:
            name = value_name(self.node, KeptValue(arg))
            there = np.flatnonzero(events.rows.column(name).is_valid())
            rows = events.rows.take(pa.array(there))
            first, second = hash_pair([rows.column(n) for n in (FIRST, SECOND, name)], len(there))
            # A value lies where its group does.
            first = in_buckets_of(first, rows.column(FIRST).to_numpy())
            steps = steps_of(first, second, events.instants[there], {0: events.counts[there]})
            before, after = self._advance(self.distinct[name], steps)
            if len(steps.event):
                held_now = (after[0] > 0).astype(np.int64) - (before[0] > 0)
                values = rows.column(name).take(pa.array(steps.event))
                for number, added in self.linear.appeared(arg, values, held_now).items():
                    appearances[number] = np.zeros(len(events.instants), np.int64)
                    appearances[number][there[steps.event]] = added
        return appearances

    def _advance(self, table: AccumulatorTable, steps: Steps) -> tuple[Accumulators, Accumulators]:
        """Adds the steps to a table; the accumulators before and after each step."""
        starts = steps.starts
        return steps.running(table.add(steps.first[starts], steps.second[starts], steps.totals()))

    def _in_blocks(self, events: _Events) -> Iterator[tuple[_Events, bool]]:
        """The events of some instants at a time, and whether to look only for the ends of groups.

        The values of the groups that change at these instants must fit into memory. The least and greatest are
        found without the others; but where instants are many and groups small, to read all values of many
        instants at once is far cheaper than a search for each.
        """
        if not len(events.instants):
            return
        first, _ = events.hashes
        order = np.lexsort((first, events.instants))
        instants, groups = events.instants[order], first[order]
        begins = np.append(True, instants[1:] != instants[:-1])
        is_step = begins | np.append(True, groups[1:] != groups[:-1])
        starts = np.flatnonzero(begins)
        read = np.add.reduceat(np.where(is_step, self._values_held(events)[order], 0), starts)
        only_ends = all(aggregate.function in holistic.ENDS for aggregate in self.holistic.values())
        search = _VALUES_PER_SEARCH * len(starts) + _VALUES_PER_GROUP * np.count_nonzero(is_step)
        if only_ends and read.sum() > search:
            cuts = starts[1:]
        else:
            only_ends = False
            block = np.cumsum(read) // _VALUES_AT_ONCE
            cuts = starts[1:][block[1:] != block[:-1]]
        for at in np.split(order, cuts):
            yield events.take(at), only_ends

    def _values_held(self, events: _Events) -> Ints:
        """For each event, how many values its group may hold before and after the span."""
        first, _ = events.hashes
        most = np.zeros(len(first), np.int64)
        for name, frequencies in self.frequencies.items():
            new = pl.DataFrame(events.rows.select([FIRST, name])).unique()[FIRST].to_numpy()
            groups, counts = np.unique(new, return_counts=True)
            held_values = counts[np.searchsorted(groups, first)] + frequencies.sizes(first)
            most = np.maximum(most, held_values)
        return most

    def _values(
        self, events: _Events, steps: Steps, *, ends: bool
    ) -> tuple[Mapping[str, pa.Array], Mapping[str, pa.Array]]:
        """The holistic aggregates before and after each step; the state moves on."""
        if not self.holistic:
            return {}, {}
        if ends:
            before = self._ends(steps)
            self._count(events)
            return before, self._ends(steps)
        starts = steps.starts
        lengths = np.diff(np.append(starts, len(steps.first)))
        group_of = np.repeat(np.arange(len(starts)), lengths)
        moment = np.arange(len(steps.first)) + group_of
        if self.extremes:
            ends_of = {self._end_of(aggregate): aggregate for aggregate in self.holistic.values()}
            held_at = {name: self._followed(aggregate, events, steps) for name, aggregate in ends_of.items()}
        else:
            held_at = {
                name: self._replayed(name, events, steps, starts, lengths, group_of)
                for name in self.frequencies
            }
            self._count(events)
        whole = {
            name: holistic.result(
                a, held_at[self._end_of(a) if self.extremes else self._kept(a)], len(moment) + len(starts)
            )
            for name, a in self.holistic.items()
        }
        old = {name: found.take(pa.array(moment)) for name, found in whole.items()}
        return old, {name: found.take(pa.array(moment + 1)) for name, found in whole.items()}

    def _followed(self, aggregate: Aggregate, events: _Events, steps: Steps) -> pl.DataFrame:
        """The least or the greatest value of each group at each moment."""
        came = events.came
        values = came.table.column(self._kept(aggregate))
        extremes = self.extremes[self._end_of(aggregate)]
        return extremes.follow(steps, values, came.table.select([TS, EXP]), events.since, came.clock)

    def _replayed(
        self, name: str, events: _Events, steps: Steps, starts: Ints, lengths: Ints, group_of: Ints
    ) -> pl.DataFrame:
        base = held(self.frequencies[name].of(steps.first[starts], steps.second[starts]))
        group = group_of[steps.step_of]
        changes = pl.DataFrame(
            {
                GROUP: group,
                STEP: steps.step_of - starts[group],
                VALUE: pl.from_arrow(events.rows.column(name)),
                COUNT: events.counts,
            }
            | {amount_name(number): amount for number, amount in enumerate(events.amounts.get(name, ()))}
        )
        return replayed(base, not_counting_null(changes), lengths)

    def _ends(self, steps: Steps) -> Mapping[str, pa.Array]:
        results: dict[str, pa.Array] = {}
        for name, aggregate in self.holistic.items():
            frequencies, greatest = self.frequencies[self._kept(aggregate)], holistic.ENDS[aggregate.function]
            values = frequencies.ends(steps.first, steps.second, greatest=greatest)
            results[name] = holistic.result(aggregate, values, len(steps.first))
        return results

    def _count(self, events: _Events) -> None:
        for name, frequencies in self.frequencies.items():
            amounts = events.amounts.get(name, ())
            frequencies.add(*events.hashes, events.rows.column(name), events.counts, *amounts)

    def _rows(self, keys: pa.Table, accumulators: Accumulators, values: Mapping[str, pa.Array]) -> pa.Table:
        columns = dict(zip(keys.column_names, keys.columns, strict=True))
        count = len(next(iter(accumulators.values())))
        columns |= self.linear.results(accumulators, count)
        columns |= values
        schema = self.node.schema
        return pa.table({field.name: columns[field.name] for field in schema}, schema.arrow)

    def _is_there(self, accumulators: Accumulators, count: int) -> Flags:
        counted = accumulators.get(0 if self.node.keys else _BORN)
        return np.zeros(count, np.bool_) if counted is None else counted > 0

    def _finished(self, rows: pa.Table) -> pa.Table:
        return rows.append_column(UNTIL, rows.column(EXP)) if self.has_until else rows


@dataclass(frozen=True)
class _Events:
    """Partial rows that come or go, in no order."""

    rows: pa.Table
    instants: Instants
    changes: Accumulators
    counts: Ints
    """How many rows each of them stands for, below zero for those that go."""
    amounts: Mapping[str, tuple[Ints, ...]]
    """What else is summed for each value, by the column of the values."""
    came: Delta
    """The partial rows that come, which are the first events, as they came after `since`."""
    since: int

    @property
    def hashes(self) -> tuple[Hashes, Hashes]:
        return self.rows.column(FIRST).to_numpy(), self.rows.column(SECOND).to_numpy()

    def at(self, clock: int) -> _Events:
        """The same, as if all happened at the clock."""
        return replace(self, instants=np.full(len(self.instants), clock))

    def take(self, places: Ints) -> _Events:
        """The events at these places."""
        changes = {number: change[places] for number, change in self.changes.items()}
        amounts = {name: tuple(a[places] for a in some) for name, some in self.amounts.items()}
        return replace(
            self,
            rows=self.rows.take(pa.array(places)),
            instants=self.instants[places],
            changes=changes,
            counts=self.counts[places],
            amounts=amounts,
        )


def _zero_filled(table: pa.Table, name: str) -> Ints:
    return np.asarray(table.column(name).fill_null(0).to_numpy())


def _signed(amounts: Ints, came: int) -> Ints:
    """The amounts of the rows that come as they are, those of the rows that go below zero."""
    return np.concatenate([amounts[:came], -amounts[came:]])


def _differ(old: pa.Table, new: pa.Table, keys: Sequence[str]) -> Flags:
    """Which rows of the same keys are not the same; NULL is the same as NULL, and NaN as NaN."""
    differ = np.zeros(old.num_rows, np.bool_)
    for name in old.column_names:
        if name not in keys:
            differ |= pl.Series(old.column(name)).ne_missing(pl.Series(new.column(name))).to_numpy()
    return differ


def _at(rows: pa.Table, instants: Instants, mask: Flags, weight: int) -> pa.Table:
    places = where(mask)
    rows = take(rows, places)
    count = len(places)
    return (
        rows.append_column(TS, pa.array(instants[places]))
        .append_column(EXP, pa.array(np.full(count, FOREVER)))
        .append_column(WEIGHT, pa.array(np.full(count, weight)))
    )
