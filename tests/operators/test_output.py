"""Istream, Dstream, Rstream and Wstream."""

from __future__ import annotations

import pyarrow as pa

from panes.delta.consolidate import contents_at
from panes.delta.delta import ALWAYS, BEGINNING, FOREVER
from panes.operators.lower import lower
from panes.plan.expressions import Aggregate, Column
from panes.plan.nodes import (
    Dstream,
    GroupBy,
    Istream,
    Join,
    Node,
    Project,
    Rstream,
    StreamScan,
    TableScan,
    Union,
    Window,
    Wstream,
)
from panes.plan.schema import Schema
from panes.plan.types import BIGINT
from panes.plan.windows import RangeWindow, RowsWindow, WindowSpec


def window(spec: WindowSpec, stream: str = "s") -> Node:
    return Window(StreamScan(stream, stream, Schema.of([(f"{stream}.k", BIGINT)])), spec)


def joined(spec: WindowSpec) -> Node:
    return Join(window(spec), window(spec, "t"), ("s.k",), ("t.k",))


def keys(*tuples: tuple[int, int]) -> pa.Table:
    """Arrivals from (ts, k)."""
    return pa.table({"k": pa.array([k for _, k in tuples]), "_ts": pa.array([ts for ts, _ in tuples])})


def told(
    plan: Node, *spans: tuple[int, dict[str, pa.Table]], since: int = BEGINNING
) -> list[tuple[int, int]]:
    """(ts, k) of all that comes out, in the order of time."""
    dataflow = lower(plan)
    rows: list[tuple[int, int]] = []
    for clock, arrivals in spans:
        delta = dataflow.process(arrivals, since, clock)
        rows += [(row["_ts"], row["s.k"]) for row in delta.table.to_pylist()]
        since = clock
    return sorted(rows)


def test_istream_gives_what_enters() -> None:
    assert told(Istream(window(RangeWindow(5))), (4, {"s": keys((1, 7), (3, 8))})) == [(1, 7), (3, 8)]


def test_rstream_repeats_nothing_while_the_clock_stands_still() -> None:
    spans = [(2, {"s": keys((1, 7))}), (2, {}), (2, {})]
    assert told(Rstream(window(RangeWindow(5))), *spans) == [(1, 7)]


def test_tuple_that_takes_the_place_of_an_equal_one_neither_enters_nor_leaves() -> None:
    #  1   2   3   4   5   6   7   8
    #  7-----------)                    leaves at 4,
    #              7-----------)        when an equal one comes
    spans = [(2, {"s": keys((1, 7))}), (9, {"s": keys((4, 7))})]
    assert told(Istream(window(RangeWindow(3))), *spans) == [(1, 7)]
    assert told(Dstream(window(RangeWindow(3))), *spans) == [(7, 7)]


def test_dstream_gives_what_leaves_when_it_leaves() -> None:
    assert told(Dstream(window(RangeWindow(3))), (2, {"s": keys((1, 7))}), (3, {}), (9, {})) == [(4, 7)]


def test_rstream_repeats_the_relation_at_every_slide() -> None:
    plan = Rstream(window(RangeWindow(4, 2)))
    assert told(plan, (3, {"s": keys((1, 7))}), (9, {"s": keys((4, 8))})) == [(2, 7), (4, 7), (4, 8), (6, 8)]


def test_rstream_repeats_the_relation_at_every_change_when_nothing_slides() -> None:
    #  1   2   3   4   5   6   7
    #  7---------------)            leaves at 5
    #          8---------------)    comes at 3: both; stays at 5: it alone; leaves at 7: nothing is left
    plan = Rstream(window(RangeWindow(4)))
    assert told(plan, (3, {"s": keys((1, 7), (3, 8))}), (4, {}), (9, {})) == [(1, 7), (3, 7), (3, 8), (5, 8)]


def test_rstream_says_nothing_when_a_tuple_takes_the_place_of_an_equal_one() -> None:
    assert told(Rstream(window(RangeWindow(3))), (9, {"s": keys((1, 7), (4, 7))})) == [(1, 7)]


def test_rstream_of_a_group_without_keys_begins_with_its_first_change() -> None:
    plan = Rstream(
        Project(
            GroupBy(window(RangeWindow(4, 2)), (), (Aggregate("n", "count", None, BIGINT),)),
            (("s.k", Column(BIGINT, "n")),),
        )
    )
    at_once = told(plan, (12, {"s": keys((5, 7))}))
    assert at_once == [(6, 1), (8, 1), (10, 0), (12, 0)]
    assert told(plan, (3, {}), (4, {}), (7, {"s": keys((5, 7))}), (12, {})) == at_once


def test_pair_that_lives_between_two_slides_is_given_only_with_restore() -> None:
    #  0   1   2   3   4   5   6   7   8   9  10
    #      s.7-----------)                           [1, 5)
    #              t.7-----------)                   [3, 7): the pair lives from 3 to 5, between the slides
    arrivals = {"s": keys((1, 7)), "t": keys((3, 7))}
    assert told(Istream(joined(RangeWindow(4, 10))), (20, arrivals), since=0) == []
    assert told(Istream(joined(RangeWindow(4, 10)), restore=True), (20, arrivals), since=0) == [(10, 7)]
    assert told(Rstream(joined(RangeWindow(4, 10)), restore=True), (20, arrivals), since=0) == [(10, 7)]


def test_restored_pair_comes_at_the_slide_although_the_span_was_cut_before() -> None:
    spans = [(2, {"s": keys((1, 7))}), (6, {"t": keys((3, 7))}), (9, {}), (12, {})]
    assert told(Istream(joined(RangeWindow(4, 10)), restore=True), *spans) == [(10, 7)]


def test_restored_rstream_repeats_what_lives_and_adds_what_came_and_went() -> None:
    #  0   1   2   3   4   5   6   7   8   9  10
    #      7-------)                                 came and went
    #                              7-------------)   lives at 10
    arrivals = {"s": keys((1, 7), (8, 7))}
    assert told(Rstream(window(RangeWindow(5, 10)), restore=True), (10, arrivals), since=0) == [
        (10, 7),
        (10, 7),
    ]
    assert told(Rstream(window(RangeWindow(5, 10))), (10, arrivals), since=0) == [(10, 7)]


def test_wstream_keeps_the_last_results_even_when_they_have_expired() -> None:
    dataflow = lower(Wstream(window(RangeWindow(1)), RowsWindow(2)))
    delta = dataflow.process({"s": keys((1, 7), (2, 8), (3, 9))}, 0, 9)
    changes = sorted((row["_ts"], row["_exp"] < 10, row["s.k"]) for row in delta.table.to_pylist())
    assert changes == [(1, True, 7), (2, False, 8), (3, False, 9)]


def test_results_of_one_instant_are_counted_in_the_order_of_their_values() -> None:
    plan = Wstream(window(RangeWindow(9)), RowsWindow(2))
    for order in ((3, 1, 2), (1, 2, 3), (2, 3, 1)):
        delta = lower(plan).process({"s": keys(*((5, k) for k in order))}, 0, 9)
        assert sorted(contents_at(delta.table, 9).column("s.k").to_pylist()) == [2, 3]


def test_row_that_was_always_there_leaves_but_never_entered() -> None:
    counted = GroupBy(window(RangeWindow(4)), (), (Aggregate("n", "count", None, BIGINT),))
    relation = Project(counted, (("s.k", Column(BIGINT, "n")),))
    spans = [(3, {}), (9, {"s": keys((5, 7))})]
    assert told(Istream(relation), *spans) == [(5, 1), (9, 0)]
    assert told(Dstream(relation), *spans) == [(5, 0), (9, 1)]
    assert told(Rstream(relation), *spans) == [(5, 1), (9, 0)]


def test_rstream_restore_tells_what_came_and_went_before_any_slide_held_a_tuple() -> None:
    plan = Rstream(window(RangeWindow(1, 4)), restore=True)
    assert told(plan, (4, {"s": keys((3, 7))})) == [(4, 7)]
    assert told(plan, (2, {}), (3, {"s": keys((3, 7))}), (4, {})) == [(4, 7)]


def beside_table(spec: WindowSpec) -> Node:
    """A window and the rows of a table."""
    return Union(window(spec), TableScan("t", "t", Schema.of([("t.k", BIGINT)]), retroactive=True))


def changed(*changes: tuple[int, int, int]) -> pa.Table:
    """Changes of a table from (instant, k, weight)."""
    instants, values, weights = (pa.array(column, pa.int64()) for column in zip(*changes, strict=True))
    forever = pa.array([FOREVER] * len(changes))
    return pa.table({"k": values, "_ts": instants, "_exp": forever, "_weight": weights})


def test_rows_that_a_table_always_had_are_not_generated() -> None:
    rows = {"s": keys((1, 7)), "t": changed((ALWAYS, 8, 1), (2, 9, 1))}
    assert told(Wstream(beside_table(RangeWindow(5)), RowsWindow(3)), (3, rows)) == [(1, 7), (2, 9)]


def test_rstream_beside_a_table_repeats_the_relation_whenever_it_changes_and_not_at_slides() -> None:
    rows = {"s": keys((1, 7)), "t": changed((ALWAYS, 8, 1), (3, 8, -1))}
    #  1   2   3   4   5   6
    #      7-----------)           a window that slides by 2
    #  8-------)                   a row of the table
    assert told(Rstream(beside_table(RangeWindow(4, 2))), (5, rows)) == [(2, 7), (2, 8), (3, 7)]


def test_rstream_has_something_to_do_at_every_slide_while_the_relation_holds_rows() -> None:
    dataflow = lower(Rstream(window(RangeWindow(40, 10))))
    dataflow.process({}, BEGINNING, 0)
    assert dataflow.next_change(0) == FOREVER
    dataflow.process({"s": keys((1, 7))}, 0, 5)
    assert dataflow.next_change(5) == 10, "the row waits for the first slide"
    dataflow.process({}, 5, 25)
    assert dataflow.next_change(25) == 30
    dataflow.process({}, 25, 60)
    assert dataflow.next_change(60) == FOREVER
