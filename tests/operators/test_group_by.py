"""Group-by over time windows, slide by slide and clock by clock."""

from __future__ import annotations

import math
from random import Random

import pyarrow as pa
import pytest

from panes.aggregates.partials import partial_schema
from panes.delta.consolidate import contents_at
from panes.delta.delta import BEGINNING
from panes.errors import EvaluationError
from panes.operators import group_by
from panes.operators.input import Input
from panes.operators.lower import lower
from panes.plan.expressions import Aggregate, Call, Cast, Column, Literal
from panes.plan.nodes import GroupBy, Istream, Project, Select, StreamScan, Window
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, BOOLEAN, DOUBLE, STRING, list_of
from panes.plan.windows import RangeWindow, UnboundedWindow, WindowSpec
from tests.properties.running import history
from tests.reference.relations import Reference

SCAN = StreamScan("s", "s", Schema.of([("s.k", BIGINT), ("s.n", BIGINT), ("s.x", DOUBLE)]))
COUNT = Aggregate("n", "count", None, BIGINT)
Row = tuple[object, ...]


def by_key(spec: WindowSpec, *aggregates: Aggregate) -> GroupBy:
    return GroupBy(Window(SCAN, spec), ("s.k",), aggregates)


def rows(*values: tuple[int, int | None, int | None, float | None]) -> dict[str, pa.Table]:
    """Arrivals from (ts, k, n, x)."""
    ts, k, n, x = zip(*values, strict=True)
    return {
        "s": pa.table(
            {
                "k": pa.array(k, pa.int64()),
                "n": pa.array(n, pa.int64()),
                "x": pa.array(x, pa.float64()),
                "_ts": pa.array(ts, pa.int64()),
            }
        )
    }


def told(table: pa.Table) -> list[Row]:
    """The rows of a delta as (ts, weight, values…), by time."""
    told = [
        (row.pop("_ts"), row.pop("_weight"), *(v for name, v in row.items() if name != "_exp"))
        for row in table.to_pylist()
    ]
    return sorted(told, key=str)


def test_each_slide_inside_a_span_gets_its_own_value() -> None:
    #  1   2   3   4   5   6   7   8   9
    #  a-----------)                        in at 2, out at 6 (slide 2, range 4)
    #          a-----------)                in at 4, out at 8
    dataflow = lower(by_key(RangeWindow(4, 2), COUNT))
    delta = dataflow.process(rows((1, 7, 0, 0.0), (3, 7, 0, 0.0)), BEGINNING, 9)
    assert told(delta.table) == [
        (2, 1, 7, 1),
        (4, -1, 7, 1),
        (4, 1, 7, 2),
        (6, -1, 7, 2),
        (6, 1, 7, 1),
        (8, -1, 7, 1),
    ]


def test_without_slide_the_value_of_the_clock_is_given_once() -> None:
    dataflow = lower(by_key(RangeWindow(4), COUNT))
    delta = dataflow.process(rows((1, 7, 0, 0.0), (3, 7, 0, 0.0), (3, 8, 0, 0.0)), BEGINNING, 5)
    assert told(delta.table) == [(5, 1, 7, 1), (5, 1, 8, 1)]


def test_group_whose_rows_have_all_left_is_gone() -> None:
    dataflow = lower(by_key(RangeWindow(4), COUNT))
    dataflow.process(rows((1, 7, 0, 0.0)), BEGINNING, 1)
    assert told(dataflow.process({}, 1, 5).table) == [(5, -1, 7, 1)]
    assert dataflow.buffers["04_group_by.groups"].rows == 0


def test_null_is_a_group_of_its_own() -> None:
    dataflow = lower(by_key(RangeWindow(4), COUNT))
    delta = dataflow.process(rows((1, None, 0, 0.0), (1, 0, 0, 0.0), (1, None, 0, 0.0)), BEGINNING, 1)
    assert told(delta.table) == [(1, 1, 0, 1), (1, 1, None, 2)]


def test_value_that_does_not_change_is_not_given_again() -> None:
    dataflow = lower(by_key(RangeWindow(2), COUNT))
    dataflow.process(rows((1, 7, 0, 0.0)), BEGINNING, 1)
    delta = dataflow.process(rows((3, 7, 0, 0.0)), 1, 3)
    assert delta.rows == 0


def test_aggregate_without_keys_has_a_row_from_the_beginning() -> None:
    total = Aggregate("t", "sum", Column(BIGINT, "s.n"), BIGINT)
    dataflow = lower(GroupBy(Window(SCAN, RangeWindow(4)), (), (COUNT, total)))
    assert told(dataflow.process({}, BEGINNING, 0).table) == [(0, 1, 0, None)]
    assert told(dataflow.process({}, 0, 1).table) == []
    assert told(dataflow.process(rows((2, 1, 5, 0.0)), 1, 2).table) == [(2, -1, 0, None), (2, 1, 1, 5)]
    assert told(dataflow.process({}, 2, 9).table) == [(9, -1, 1, 5), (9, 1, 0, None)]


def test_great_value_that_leaves_a_sum_leaves_no_trace() -> None:
    total = Aggregate("t", "sum", Column(DOUBLE, "s.x"), DOUBLE)
    dataflow = lower(by_key(RangeWindow(4), total))
    dataflow.process(rows((1, 7, 0, 1e300), (1, 7, 0, -3e-300), (3, 7, 0, 0.1)), BEGINNING, 3)
    assert told(dataflow.process({}, 3, 5).table)[-1] == (5, 1, 7, 0.1)


def test_infinite_value_that_leaves_a_sum_leaves_no_trace() -> None:
    total = Aggregate("t", "sum", Column(DOUBLE, "s.x"), DOUBLE)
    dataflow = lower(by_key(RangeWindow(4), total))
    first = dataflow.process(rows((1, 7, 0, math.inf), (2, 7, 0, -math.inf), (3, 7, 0, 2.5)), BEGINNING, 3)
    ((_, _, _, mixed),) = told(first.table)
    assert isinstance(mixed, float)
    assert math.isnan(mixed)
    assert told(dataflow.process({}, 3, 5).table)[-1] == (5, 1, 7, -math.inf)
    assert told(dataflow.process({}, 5, 6).table)[-1] == (6, 1, 7, 2.5)


def test_sum_beyond_64_bits_is_an_error_only_while_it_is() -> None:
    total = Aggregate("t", "sum", Column(BIGINT, "s.n"), BIGINT)
    dataflow = lower(by_key(UnboundedWindow(), total))
    delta = dataflow.process(rows((1, 7, 2**63 - 1, 0.0), (1, 7, 5, 0.0), (1, 7, -6, 0.0)), BEGINNING, 1)
    assert told(delta.table) == [(1, 1, 7, 2**63 - 2)]
    with pytest.raises(EvaluationError, match="does not fit into 64 bits"):
        dataflow.process(rows((2, 7, 5, 0.0)), 1, 2)


def test_distinct_values_are_counted_once_however_often_they_come() -> None:
    different = Aggregate("d", "count", Column(BIGINT, "s.n"), BIGINT, distinct=True)
    dataflow = lower(by_key(RangeWindow(4, 2), different))
    delta = dataflow.process(
        rows((2, 7, 1, 0.0), (2, 7, 1, 0.0), (3, 7, 2, 0.0), (3, 7, None, 0.0)), BEGINNING, 9
    )
    assert told(delta.table) == [
        (2, 1, 7, 1),
        (4, -1, 7, 1),
        (4, 1, 7, 2),
        (6, -1, 7, 2),
        (6, 1, 7, 1),
        (8, -1, 7, 1),
    ]


def test_next_value_takes_over_when_the_least_leaves() -> None:
    least = Aggregate("m", "min", Column(BIGINT, "s.n"), BIGINT)
    dataflow = lower(by_key(RangeWindow(4), least))
    dataflow.process(rows((1, 7, 1, 0.0), (2, 7, 5, 0.0), (3, 7, 3, 0.0)), BEGINNING, 3)
    assert told(dataflow.process({}, 3, 5).table) == [(5, -1, 7, 1), (5, 1, 7, 3)]


def test_value_replaced_by_another_at_one_instant_changes_the_median() -> None:
    median = Aggregate("m", "median", Column(DOUBLE, "s.x"), DOUBLE)
    dataflow = lower(by_key(RangeWindow(4), median))
    dataflow.process(rows((1, 7, 0, 1.0), (2, 7, 0, 2.0)), BEGINNING, 2)
    delta = dataflow.process(rows((5, 7, 0, 7.0)), 2, 5)
    assert told(delta.table) == [(5, -1, 7, 1.5), (5, 1, 7, 4.5)]


def test_top_k_orders_by_count_and_then_by_value() -> None:
    top = Aggregate("top", "top_k", Column(BIGINT, "s.n"), list_of(BIGINT), parameters=(2,))
    dataflow = lower(by_key(RangeWindow(4), top))
    values = (9, 5, 9, 3, 5, None, 3)
    delta = dataflow.process(rows(*((1, 7, n, 0.0) for n in values)), BEGINNING, 1)
    assert told(delta.table) == [(1, 1, 7, [3, 5])]


def test_having_is_a_selection_above() -> None:
    plan = by_key(RangeWindow(4), COUNT)
    having = Select(plan, Call(BOOLEAN, "gt", (Column(BIGINT, "n"), Literal(BIGINT, 1))))
    dataflow = lower(having)
    first = dataflow.process(rows((1, 7, 0, 0.0), (1, 8, 0, 0.0), (2, 7, 0, 0.0)), BEGINNING, 2)
    assert told(first.table) == [(2, 1, 7, 2)]
    assert told(dataflow.process({}, 2, 5).table) == [(5, -1, 7, 2)]


def test_partial_rows_from_elsewhere_give_the_same_as_rows() -> None:
    plan = by_key(RangeWindow(4, 2), COUNT, Aggregate("t", "sum", Column(BIGINT, "s.n"), BIGINT))
    dataflow = lower(plan, inputs={plan: Input("partials", "partials")})
    assert partial_schema(plan).names == ("s.k", "_rows", "_count_0", "_sum_0")
    partials = pa.table(
        {
            "s.k": [7, 7],
            "_rows": [2, 1],
            "_count_0": [2, 1],
            "_sum_0": [10, 4],
            "_ts": [2, 4],
            "_exp": [6, 8],
        }
    )
    # Partial rows may come before their slide: the second is seen when the clock has reached it.
    assert told(dataflow.process({"partials": partials}, BEGINNING, 3).table) == [(2, 1, 7, 2, 10)]
    assert told(dataflow.process({}, 3, 4).table) == [(4, -1, 7, 2, 10), (4, 1, 7, 3, 14)]


def test_only_groups_that_change_are_touched() -> None:
    dataflow = lower(by_key(UnboundedWindow(), COUNT))
    dataflow.process(rows(*((1, k, 0, 0.0) for k in range(10_000))), BEGINNING, 1)
    before = dataflow.measures["04_group_by"].touched
    dataflow.process(rows((2, 17, 0, 0.0)), 1, 2)
    assert dataflow.measures["04_group_by"].touched - before == 1


def test_strings_that_are_keys_are_told_apart() -> None:
    scan = StreamScan("s", "s", Schema.of([("s.a", STRING), ("s.b", STRING)]))
    plan = GroupBy(Window(scan, RangeWindow(4)), ("s.a", "s.b"), (COUNT,))
    values = [("a", "bc"), ("ab", "c"), ("", None), (None, ""), ("ab", "c")]
    arrivals = pa.table({"a": [a for a, _ in values], "b": [b for _, b in values], "_ts": [1] * 5})
    delta = lower(plan).process({"s": arrivals}, BEGINNING, 1)
    assert told(delta.table) == [
        (1, 1, "", None, 1),
        (1, 1, "a", "bc", 1),
        (1, 1, "ab", "c", 2),
        (1, 1, None, "", 1),
    ]


def test_sum_beyond_64_bits_is_an_error_also_within_one_slide() -> None:
    dataflow = lower(by_key(RangeWindow(4, 2), Aggregate("t", "sum", Column(BIGINT, "s.n"), BIGINT)))
    with pytest.raises(EvaluationError, match="64 bits"):
        dataflow.process(rows((1, 7, 2**62, 0.0), (1, 7, 2**62, 0.0)), BEGINNING, 3)


def test_least_integer_leaves_a_sum_by_a_negative_tuple() -> None:
    total = Aggregate("t", "sum", Column(BIGINT, "s.n"), BIGINT)
    dataflow = lower(by_key(RangeWindow(3), total), strategy="nt")
    dataflow.process(rows((1, 7, -(2**63), 0.0), (2, 7, 5, 0.0)), BEGINNING, 2)
    assert told(dataflow.process({}, 2, 4).table) == [(4, -1, 7, -(2**63) + 5), (4, 1, 7, 5)]


def test_group_of_zero_is_one_whatever_its_sign() -> None:
    #  1   2   3   4
    #  -0--)              the text of the key must not change while the group lives
    #      0---)
    groups = GroupBy(Window(SCAN, RangeWindow(1)), ("s.x",), (COUNT,))
    text = Project(groups, (("x", Cast(STRING, Column(DOUBLE, "s.x"))), ("n", Column(BIGINT, "n"))))
    dataflow = lower(text)
    tables = [dataflow.process(rows((1, 7, 0, -0.0)), 0, 1).table]
    tables.append(dataflow.process(rows((2, 7, 0, 0.0), (2, 8, 0, 0.0)), 1, 2).table)
    tables.append(dataflow.process({}, 2, 3).table)
    assert [contents_at(pa.concat_tables(tables), now).num_rows for now in (1, 2, 3)] == [1, 1, 0]


def test_nothing_is_given_before_the_clock_has_moved() -> None:
    dataflow = lower(GroupBy(Window(SCAN, RangeWindow(4)), (), (COUNT,)))
    assert dataflow.process({}, 5, 5).rows == 0
    assert told(dataflow.process({}, 5, 6).table) == [(6, 1, 0)]


def test_median_of_infinite_values_is_infinite() -> None:
    median = Aggregate("m", "median", Column(DOUBLE, "s.x"), DOUBLE)
    delta = lower(by_key(RangeWindow(4), median)).process(
        rows((1, 7, 0, math.inf), (1, 7, 0, math.inf)), BEGINNING, 1
    )
    assert told(delta.table) == [(1, 1, 7, math.inf)]


@pytest.mark.parametrize(
    ("values_at_once", "values_per_search"),
    [(2_000_000, 10**9), (1, 10**9), (50, 10**9), (2_000_000, -(10**9))],
    ids=["all at once", "instant by instant", "in blocks", "ends alone"],
)
def test_values_of_every_instant_are_the_same_however_they_are_read(
    monkeypatch, values_at_once, values_per_search
):
    monkeypatch.setattr(group_by, "_VALUES_AT_ONCE", values_at_once)
    monkeypatch.setattr(group_by, "_VALUES_PER_SEARCH", values_per_search)
    random = Random(3)
    values = [(1.5, 2.0, None, 7.0), (0, 1, 2)]
    came = [
        (ts, random.choice(values[1]), 0, random.choice(values[0])) for ts in range(1, 46) for _ in range(2)
    ]
    value = Column(DOUBLE, "s.x")
    ends = [Aggregate("least", "min", value, DOUBLE), Aggregate("greatest", "max", value, DOUBLE)]
    plan = Istream(by_key(RangeWindow(5), *ends))
    dataflow = lower(plan)
    deltas = [
        dataflow.process(rows(*(row for row in came if since < row[0] <= clock)), since, clock)
        for since, clock in ((BEGINNING, 17), (17, 50))
    ]
    assert history([delta.table for delta in deltas], 50) == Reference(rows(*came), 50).history(plan)
