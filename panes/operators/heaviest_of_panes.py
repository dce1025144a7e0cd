"""Of each pane only its most frequent values, before they are added up (Algorithm 6 of Golab's thesis)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from panes.aggregates.linear import ROWS, signed
from panes.aggregates.partials import bound_name, cut_schema, cut_values_of, partials_of
from panes.delta.delta import EXP, FOREVER, PANE, TS, WEIGHT, Delta
from panes.delta.rows import with_column
from panes.operators.base import Operator
from panes.operators.tools.combined_partials import combined_partials
from panes.plan import nodes
from panes.plan.window_of_panes import PANED, pane_numbers
from panes.plan.windows import RangeWindow, RowsWindow
from panes.state.buffers.base import State
from panes.state.buffers.calendar import Calendar
from panes.state.buffers.choose import choose_for_expiry, choose_for_retractions
from panes.state.buffers.keyed import Keyed

_N, _ROW, _RANK, _BOUND, _LENGTH = "_n", "_row", "_rank", "_bound", "_length"


@dataclass
class HeaviestOfPanes(Operator):
    """Keeps the most frequent values of each pane and group, for the aggregates that need no others.

    A pane is the rows that come into a window together and leave it together. They are counted when the pane
    has closed, so it does not matter over how many spans they came. Of values that occur equally often, the
    smaller ones are kept. A tuple that comes late for its pane adds to its value if that is on the list, is put
    on the list while that has room, and else raises how often a value may occur that is not on it.

    Output: the partial rows, in which a value that is not on the list of its pane is NULL, and rows with the
        bounds of the pane (`cut_schema`). Of a count window the rows of a pane that leaves are taken back.
    State: of a time window the lists of all panes, of a count window the rows that it gave for them.
    Cost: one grouped pass over the delta, and one more for each instant at which late tuples come.
    """

    node: nodes.GroupBy
    window: PANED
    lists: Mapping[str, Calendar] = field(init=False)
    inside: Keyed = field(init=False)

    def __post_init__(self) -> None:
        why = "a late tuple finds the list of its pane"
        keys = (*self.node.keys, PANE)
        self.lists = {
            name: choose_for_expiry(keys, why, nulls_equal=True) for name, _, _ in cut_values_of(self.node)
        }
        self.inside = choose_for_retractions((PANE,), "a pane that leaves is found by its number")

    @property
    def is_counted(self) -> bool:
        """Whether panes are those of a count window, which leave at times that nobody knows before."""
        return isinstance(self.window, RowsWindow)

    @property
    def buffers(self) -> Mapping[str, State]:
        if self.is_counted:
            return {"inside": self.inside}
        return {f"lists{name}": lists for name, lists in self.lists.items()}

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:  # noqa: ARG002
        (delta,) = inputs
        rows = delta.table
        columns = cut_schema(self.node).arrow
        for name in (TS, EXP, PANE):
            columns = columns.append(pa.field(name, pa.int64()))
        if isinstance(self.window, RangeWindow):
            rows = with_column(rows, PANE, pane_numbers(self.window, delta.ts, delta.exp))
        is_leaving = rows.column(ROWS).to_numpy() < 0
        leaving, rows = rows.filter(pa.array(is_leaving)), rows.filter(pa.array(~is_leaving))
        for name in columns.names:
            if name not in rows.column_names:
                rows = with_column(rows, name, np.zeros(rows.num_rows, np.int64))
        for name, value, most in cut_values_of(self.node):
            frame = pl.DataFrame(rows.select([*self.node.keys, PANE, EXP, TS, name, ROWS]))
            cut = _Cut(self.node.keys, name, most)
            lists = cut.run(frame, self._known(name, frame, rows.schema))
            rows = cut.applied(rows, has_bounds=value.has_bounds)
            if not self.is_counted:
                self._remember(name, lists, rows.schema, clock)
        rows = combined_partials(self.node, rows.select(columns.names).cast(columns), is_weighted=False)
        if self.is_counted:
            gone = self._taken_back(leaving, columns)
            stays = rows.filter(pa.array(rows.column(EXP).to_numpy() == FOREVER)).drop_columns([TS])
            self.inside.insert(with_column(stays, WEIGHT, np.ones(stays.num_rows, np.int64)))
            rows = pa.concat_tables([rows, gone])
        return Delta(rows.drop_columns([PANE]), clock)

    def _known(self, name: str, frame: pl.DataFrame, schema: pa.Schema) -> pl.DataFrame:
        """What is on the lists of the panes that rows came for."""
        by = [*self.node.keys, PANE]
        panes = frame.select(by).unique()
        if self.is_counted or not panes.height or not self.lists[name].rows:
            return frame.select(*by, name).clear()
        _, found = self.lists[name].probe(_arrow(panes, schema))
        return pl.DataFrame(found).select(*by, name) if found.num_rows else frame.select(*by, name).clear()

    def _remember(self, name: str, new: pl.DataFrame, schema: pa.Schema, clock: int) -> None:
        """Puts values on the lists of their panes."""
        self.lists[name].forget(clock)
        new = new.filter(pl.col(EXP) > clock)
        if new.height:
            self.lists[name].insert(_arrow(new, schema))

    def _taken_back(self, leaving: pa.Table, columns: pa.Schema) -> pa.Table:
        """What was given for the panes whose rows leave, with negative counts."""
        panes = pl.DataFrame(leaving.select([PANE, TS])).unique()
        which, found = self.inside.probe(pa.table({PANE: panes[PANE].to_numpy()}))
        if not len(which):
            return columns.empty_table()
        self.inside.remove(found)
        rows = with_column(found, TS, panes[TS].to_numpy()[which])
        # Equal rows that were given for a pane may have become one row of the state.
        copies = np.repeat(np.arange(rows.num_rows), rows.column(WEIGHT).to_numpy())
        rows = rows.select(columns.names).take(pa.array(copies))
        minus = np.full(rows.num_rows, -1)
        names = [partial.name for partial in partials_of(self.node)]
        names += [bound_name(name) for name, value, _ in cut_values_of(self.node) if value.has_bounds]
        for name in names:
            place = rows.column_names.index(name)
            rows = rows.set_column(place, name, signed(rows.column(name), minus))
        return rows.cast(columns)


class _Cut:
    """Which values of a column go on the lists of their panes, and what that leaves open.

    It works on the counts of values by pane, group and the instant at which they come.
    """

    def __init__(self, keys: Sequence[str], name: str, most: int) -> None:
        self._by = [*keys, PANE]
        self._name = name
        self._at = [*self._by, TS, name]
        self._most = most
        self._listed: list[pl.DataFrame] = []
        """Values that are on a list, by the instants at which they come."""
        self._bounds: list[pl.DataFrame] = []
        """What is added to bounds: of a pane (the value is NULL) and of each value on its list."""

    def run(self, frame: pl.DataFrame, lists: pl.DataFrame) -> pl.DataFrame:
        """Decides for all rows; gives the values that are put on lists now. `lists` has those that are on them."""
        there = frame.filter(pl.col(self._name).is_not_null())
        counted = there.group_by(*self._by, EXP, TS, self._name).agg(pl.col(ROWS).sum().alias(_N))
        known = lists.select(self._by).unique()
        came = counted.join(known, on=self._by, how="anti", nulls_equal=True)
        is_first = pl.col(TS) == pl.col(TS).min().over(self._by)
        new = [self._closed(came.filter(is_first))]
        late = pl.concat(
            [counted.join(known, on=self._by, how="semi", nulls_equal=True), came.filter(~is_first)]
        )
        for instant in late[TS].unique().sort():
            now = pl.concat([lists, *(some.drop(EXP) for some in new)])
            new.append(self._late(late.filter(pl.col(TS) == instant), now))
        return pl.concat(new)

    def _closed(self, fresh: pl.DataFrame) -> pl.DataFrame:
        """The heaviest values of panes of which nothing was known: their lists."""
        ranked = self._ranked(fresh)
        listed = ranked.filter(pl.col(_RANK) <= self._most)
        last = listed.filter(pl.col(_RANK) == self._most).select(*self._by, pl.col(_N).alias(_BOUND))
        self._listed.append(listed.select(self._at))
        self._add_bounds(last, listed)
        return listed.select(*self._by, EXP, self._name)

    def _late(self, came: pl.DataFrame, lists: pl.DataFrame) -> pl.DataFrame:
        """The values that are put on lists by tuples that came late, all at one instant."""
        on = [*self._by, self._name]
        listed = came.join(lists, on=on, how="semi", nulls_equal=True)
        others = self._ranked(came.join(lists, on=on, how="anti", nulls_equal=True))
        lengths = lists.group_by(self._by).agg(pl.len().alias(_LENGTH))
        others = others.join(lengths, on=self._by, how="left", nulls_equal=True)
        has_room = pl.col(_RANK) + pl.col(_LENGTH) <= self._most
        new = others.filter(has_room).drop(_LENGTH)
        self._listed += [listed.select(self._at), new.select(self._at)]
        raised = others.filter(~has_room).group_by(self._by).agg(pl.col(_N).sum().alias(_BOUND))
        moment = came.select(*self._by, EXP, TS).unique()
        on_lists = pl.concat([lists, new.select(*self._by, self._name)])
        self._add_bounds(raised, on_lists.join(moment, on=self._by, nulls_equal=True))
        return new.select(*self._by, EXP, self._name)

    def _add_bounds(self, bounds: pl.DataFrame, listed: pl.DataFrame) -> None:
        """Adds to the bounds of panes, once for the pane and once for each value on its list."""
        columns = [*self._by, EXP, TS, self._name, _BOUND]
        of_values = listed.join(bounds, on=self._by, nulls_equal=True).select(columns)
        nothing = pl.lit(None, listed.schema[self._name]).alias(self._name)
        self._bounds += [of_values, of_values.with_columns(nothing).unique()]

    def _ranked(self, counted: pl.DataFrame) -> pl.DataFrame:
        """With the place of each value in its pane and group, from 1."""
        ordered = counted.sort(_N, self._name, descending=[True, False])
        return ordered.with_columns(pl.col(_N).cum_count().over(self._by).alias(_RANK))

    def applied(self, rows: pa.Table, *, has_bounds: bool) -> pa.Table:
        """The rows, without the values that are on no list; with rows for bounds."""
        frame = pl.DataFrame(rows.select(self._at)).with_row_index(_ROW)
        listed = frame.join(pl.concat(self._listed), on=self._at, how="semi", nulls_equal=True)
        is_listed = np.zeros(rows.num_rows, np.bool_)
        is_listed[listed[_ROW].to_numpy()] = True
        place = rows.column_names.index(self._name)
        kept = pc.if_else(
            pa.array(is_listed), rows.column(place), pa.scalar(None, rows.schema.field(place).type)
        )
        rows = rows.set_column(place, self._name, kept)
        if not has_bounds:
            return rows
        bounds = pl.concat(self._bounds).rename({_BOUND: bound_name(self._name)})
        nothing = {name: pa.nulls(bounds.height, rows.schema.field(name).type) for name in rows.column_names}
        nothing[ROWS] = pa.array(np.zeros(bounds.height, np.int64))
        table = _arrow(bounds, rows.schema)
        columns = nothing | {name: table.column(name) for name in table.column_names}
        return pa.concat_tables([rows, pa.table(columns, schema=rows.schema)])


def _arrow(frame: pl.DataFrame, schema: pa.Schema) -> pa.Table:
    """The frame with the types of a schema that has its columns."""
    return frame.to_arrow().cast(pa.schema([schema.field(name) for name in frame.columns]))
