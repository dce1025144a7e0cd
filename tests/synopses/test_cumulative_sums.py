"""Windows that are read together hold what each of them holds when it is read alone."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as some

from panes.delta.delta import TS
from panes.plan.expressions import Column
from panes.plan.nodes import StreamScan
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, DOUBLE, STRING, Type
from panes.synopses.basic_interval import BasicInterval
from panes.synopses.cumulative_sums import cumulative_sums
from panes.synopses.definition import SynopsisSource
from panes.synopses.layout import UPTO, Layout
from tests.synopses.figure import COUNT, MAX, SUM, group_by_of

PANES = 8


def layout_of(*types: Type) -> Layout:
    """That of sums and counts by keys of some types."""
    keys = [(f"s.k{number}", type_) for number, type_ in enumerate(types)]
    scan = StreamScan("s", "s", Schema.of([*keys, ("s.x", BIGINT)]))
    source = SynopsisSource(scan, tuple(Column(type_, name) for name, type_ in keys), ())
    return Layout.of(group_by_of(SUM, COUNT, source=source))


def pane_rows(layout: Layout, drawn: list[tuple[int, tuple[object, ...], int | None]]) -> pa.Table:
    """A row of one tuple each: its pane, its keys and its value."""
    columns: dict[str, list[object]] = {name: [] for name in layout.schema.names}
    for pane, keys, value in drawn:
        own = dict(zip(layout.keys, keys, strict=True)) | {TS: pane, UPTO: pane, "_rows": 1}
        for name, column in columns.items():
            default = 1 if name.startswith("_count") else value
            column.append(own.get(name, default))
    return pa.table(columns, schema=layout.schema)


def held(rows: pa.Table) -> list[str]:
    return sorted(map(str, rows.to_pylist()))


LAYOUTS = [layout_of(), layout_of(BIGINT), layout_of(BIGINT, STRING)]
KEYS = (some.none() | some.integers(0, 2), some.none() | some.sampled_from("ab"))


@settings(max_examples=60)
@given(some.data())
def test_windows_that_are_read_together_hold_the_same_as_alone(data: some.DataObject):
    layout = data.draw(some.sampled_from(LAYOUTS))
    row = some.tuples(
        some.integers(1, PANES), some.tuples(*KEYS[: len(layout.keys)]), some.none() | some.integers(-9, 9)
    )
    rows = pane_rows(layout, data.draw(some.lists(row, max_size=30)))
    panes = BasicInterval(layout, 1)
    panes.add(rows)
    lengths = data.draw(some.lists(some.integers(1, PANES), min_size=2, max_size=5, unique=True))
    at = data.draw(some.integers(1, PANES))
    together = panes.windows(at, lengths)
    for length, probed in zip(lengths, together, strict=True):
        alone = panes.window(at, length)
        assert held(_without_nulls(probed.rows)) == held(_without_nulls(alone.rows))
        assert probed.rows.schema == alone.rows.schema
        assert probed.probes == alone.probes == length


def _without_nulls(rows: pa.Table) -> pa.Table:
    """A sum of nothing but NULL is 0 where it was added to others, and NULL where it was alone: the count says
    that there is nothing."""
    for number, name in enumerate(rows.column_names):
        if name.startswith("_sum"):
            rows = rows.set_column(number, rows.schema.field(name), rows.column(name).fill_null(0))
    return rows


def test_sums_that_do_not_fit_are_not_made():
    layout = layout_of(BIGINT)
    rows = pane_rows(layout, [(1, (0,), 2**62), (2, (0,), 2**62)])
    assert cumulative_sums(layout, rows, 2, [1, 2]) is None
    panes = BasicInterval(layout, 1)
    panes.add(rows)
    short, long = (probed.rows for probed in panes.windows(2, [1, 2]))
    assert (short.num_rows, long.num_rows) == (1, 2), "rows that cannot be added up stay apart"


def test_only_sums_of_integers_by_keys_that_arrow_groups_are_made_together():
    numbers = layout_of(DOUBLE)
    assert cumulative_sums(numbers, numbers.schema.empty_table(), 2, [1, 2]) is None
    ends = Layout.of(group_by_of(MAX))
    assert cumulative_sums(ends, ends.schema.empty_table(), 2, [1, 2]) is None
