"""The rows of a synopsis: named by what they hold, merged by group."""

from __future__ import annotations

import pyarrow as pa

from panes.aggregates.linear import ROWS
from panes.delta.delta import TS
from panes.plan.expressions import Aggregate
from panes.plan.types import BIGINT, DOUBLE
from panes.synopses.layout import UPTO, Layout, own_rows
from tests.synopses.figure import COUNT, MAX, MIN, SUM, X, group_by_of, partial_rows, values

AVG = Aggregate("mean", "avg", X, DOUBLE)
DISTINCT = Aggregate("d", "count", X, BIGINT, distinct=True)


def test_sum_count_and_average_have_the_same_columns():
    assert Layout.of(group_by_of(AVG)).schema == Layout.of(group_by_of(SUM)).schema
    assert set(Layout.of(group_by_of(COUNT)).schema.names) < set(Layout.of(group_by_of(SUM)).schema.names)


def test_of_the_least_and_the_greatest_two_rows_are_enough():
    group_by = group_by_of(MIN, MAX)
    layout = Layout.of(group_by)
    rows = partial_rows(group_by, (3, 5, 7, 2)).drop_columns([TS, "_exp"])
    merged = layout.merged(rows)
    assert values(merged) == [2, 7]
    assert sum(merged.column(ROWS).to_pylist()) == 4
    assert values(layout.merged(pa.concat_tables([merged, merged]))) == [2, 7]


def test_values_that_are_counted_stay_apart():
    group_by = group_by_of(DISTINCT, MAX)
    assert Layout.of(group_by).ends == ()
    merged = Layout.of(group_by).merged(partial_rows(group_by, (3, 5, 3, 2)).drop_columns([TS, "_exp"]))
    assert values(merged) == [2, 3, 5]


def test_rows_of_different_panes_stay_apart():
    group_by = group_by_of(SUM)
    rows = partial_rows(group_by, (1, 2)).drop_columns(["_exp"])
    rows = rows.append_column(UPTO, rows.column(TS))
    assert Layout.of(group_by).merged(rows).num_rows == 2


def test_a_query_finds_its_columns_among_those_of_others():
    group_by, own = group_by_of(COUNT, SUM, AVG), group_by_of(AVG)
    rows = own_rows(own, own, partial_rows(group_by, (4,)))
    assert rows.to_pylist() == [{ROWS: 1, "_count_0": 1, "_sum_0": 4}]


def test_only_sums_of_integers_can_be_subtracted():
    average = Aggregate("m", "sum", X, DOUBLE)
    assert Layout.of(group_by_of(SUM, COUNT, average)).is_subtractable
    assert not Layout.of(group_by_of(MAX)).is_subtractable
