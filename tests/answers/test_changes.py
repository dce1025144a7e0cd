"""The changes of an answer add up to the answer, at every instant."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa

from panes.answers.changes import Change
from panes.clock import to_datetime, to_microseconds
from panes.delta.delta import BEGINNING
from panes.plan.expressions import Aggregate
from panes.plan.nodes import GroupBy, Istream, StreamScan, Window
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, STRING
from panes.plan.windows import RangeWindow
from panes.testing import Oracle, counted
from tests.answers.kept import Kept
from tests.properties.drawn import Case, Cases, drawn
from tests.properties.running import DIRECT, NT, UPA, connection

SCAN = StreamScan("s", "s", Schema.of([("s.a", STRING)]))
NUMBER = Aggregate("n", "count", None, BIGINT)
COUNT = GroupBy(Window(SCAN, RangeWindow(4, 2)), ("s.a",), (NUMBER,))


def came(*rows: tuple[str, int]) -> dict[str, pa.Table]:
    values, times = zip(*rows, strict=True) if rows else ((), ())
    return {"s": pa.table({"a": pa.array(values, pa.string()), "_ts": pa.array(times, pa.int64())})}


def events(change: Change) -> list[tuple[Any, ...]]:
    """Instant, weight and values of each row, in order."""
    return sorted(
        (to_microseconds(row.pop("_at")), row.pop("_weight"), *row.values())
        for row in change.table.to_pylist()
    )


def replayed(changes: Iterable[Change], until: int) -> Counter[tuple[Any, ...]]:
    """What the changes up to an instant add up to."""
    bag: Counter[tuple[Any, ...]] = Counter()
    for change in changes:
        weights = change.table.column("_weight").to_pylist()
        happened = [at <= to_datetime(until) for at in change.table.column("_at").to_pylist()]
        values = pa.table(change.table.columns[:-2], names=change.table.column_names[:-2])
        for row, weight, has in zip(values.to_pylist(), weights, happened, strict=True):
            if has:
                (key,) = counted(pa.Table.from_pylist([row], schema=values.schema))
                bag[key] += weight
    assert all(count >= 0 for count in bag.values())
    return +bag


def test_changes_of_groups_are_net_per_epoch_or_those_of_every_instant(tmp_path):
    #  1   2   3   4   5   6
    #  a---------------)             counts 1 from 1, 2 from 2, 1 from 5
    #      a---------------)         and none from 6
    plan = GroupBy(Window(SCAN, RangeWindow(4)), ("s.a",), (NUMBER,))
    net, exact = Kept(tmp_path / "net", plan), Kept(tmp_path / "exact", plan, every_instant=True)
    told = []
    for database in (net, exact):
        database.epoch(came(("a", 1), ("a", 2)), 3)
        database.epoch(came(), 5)
        told.append([events(change) for change in database.readers.changes(database.standing, "r")])
    assert told[0] == [[(3, 1, "a", 2)], [(5, -1, "a", 2), (5, 1, "a", 1)]]
    assert told[1] == [[(1, 1, "a", 1), (2, -1, "a", 1), (2, 1, "a", 2)], [(5, -1, "a", 2), (5, 1, "a", 1)]]
    assert net.readers.invoke(net.standing, to_datetime(4)).table.to_pylist() == [{"s.a": "a", "n": 2}]
    assert exact.readers.invoke(exact.standing, to_datetime(1)).table.to_pylist() == [{"s.a": "a", "n": 1}]


def test_a_row_that_appears_and_leaves_by_itself_is_told_at_both_instants(tmp_path):
    #  1   2   3   4   5   6   7
    #  a-----------)                 leaves at 4, in the second epoch
    #      b-----------)
    #          |               |     epochs end at 3 and 7
    database = Kept(tmp_path, Window(SCAN, RangeWindow(3)))
    database.epoch(came(("a", 1), ("b", 2)), 3)
    database.epoch(came(), 7)
    first, second = database.readers.changes(database.standing, "r")
    assert events(first) == [(1, 1, "a"), (2, 1, "b")]
    assert events(second) == [(4, -1, "a"), (5, -1, "b")]
    assert (first.as_of, second.as_of) == (to_datetime(3), to_datetime(7))
    assert (first.is_whole, second.is_whole) == (True, False)
    assert second.deleted.to_pydict() == {"s.a": ["a", "b"]}
    assert len(second.inserted) == 0


def test_a_row_that_comes_and_goes_within_one_epoch_is_told_twice(tmp_path):
    database = Kept(tmp_path, Window(SCAN, RangeWindow(2)))
    database.epoch(came(("a", 1)), 9)
    (change,) = database.readers.changes(database.standing, "r")
    assert events(change) == [(1, 1, "a"), (3, -1, "a")]


def test_what_appears_as_its_equal_leaves_is_no_change(tmp_path):
    database = Kept(tmp_path, Window(SCAN, RangeWindow(2)))
    database.epoch(came(("a", 1)), 2)
    database.epoch(came(("a", 3)), 4)
    _, second = database.readers.changes(database.standing, "r")
    assert events(second) == []
    assert len(second) == 0


def test_equal_rows_are_one_with_their_number_as_weight(tmp_path):
    database = Kept(tmp_path, Window(SCAN, RangeWindow(5)), shards=2)
    database.epoch(came(("a", 1), ("a", 1), ("a", 1)), 2)
    (change,) = database.readers.changes(database.standing, "r")
    assert events(change) == [(1, 3, "a")]
    assert change.inserted.to_pydict() == {"s.a": ["a", "a", "a"]}


def test_every_slide_inside_a_large_epoch_is_told(tmp_path):
    #  0   2   4   6   8            slides
    #   a a   a
    database = Kept(tmp_path, COUNT)
    database.epoch(came(("a", 1), ("a", 2), ("a", 3)), 9)
    (change,) = database.readers.changes(database.standing, "r")
    assert events(change) == [
        (2, 1, "a", 2),
        (4, -1, "a", 2),
        (4, 1, "a", 3),
        (6, -1, "a", 3),
        (6, 1, "a", 1),
        (8, -1, "a", 1),
    ]


def test_results_of_istream_stay(tmp_path):
    database = Kept(tmp_path, Istream(Window(SCAN, RangeWindow(2))))
    database.epoch(came(("a", 1)), 2)
    database.epoch(came(("b", 4)), 9)
    first, second = database.readers.changes(database.standing, "r")
    assert (events(first), events(second)) == ([(1, 1, "a")], [(4, 1, "b")])


def test_a_count_over_nothing_begins_with_the_first_tuple_and_not_with_time_itself(tmp_path):
    plan = GroupBy(Window(SCAN, RangeWindow(4, 2)), (), (NUMBER,))
    database = Kept(tmp_path, plan)
    database.epoch(came(), 1)
    database.epoch(came(("a", 3)), 5)
    first, second = database.readers.changes(database.standing, "r")
    assert events(first) == [(1, 1, 0)]
    assert events(second) == [(4, -1, 0), (4, 1, 1)]


def test_history_is_one_change_at_the_clock_at_which_the_query_was_registered(tmp_path):
    #  1   2   3   4   5   6   7   8
    #  a-------------------)            history up to 4, when the query comes
    #  b-----------)
    #          c-------------------)
    #                  |   d------
    database = Kept(tmp_path, Window(SCAN, RangeWindow(5)), first_epoch=3, since=4)
    database.epoch(came(("a", 1), ("b", -1), ("c", 3), ("d", 5)), 6, history=True)
    (change,) = database.readers.changes(database.standing, "r")
    assert events(change) == [(4, 1, "a"), (4, 1, "c"), (5, 1, "d"), (6, -1, "a")]
    assert change.is_whole


def test_an_epoch_that_does_not_move_the_clock_from_the_beginning_has_no_change(tmp_path):
    database = Kept(tmp_path, Window(SCAN, RangeWindow(5)))
    database.epoch(came(), BEGINNING)
    database.epoch(came(("a", 1)), 2)
    (change,) = database.readers.changes(database.standing, "r")
    assert (change.epoch, change.is_whole) == (1, True)


def check_replay(case: Case) -> None:
    strategy = case.way.strategy
    with tempfile.TemporaryDirectory() as folder:
        database = Kept(Path(folder), case.plan, strategy=strategy)
        for arrived, _, clock in case.arrivals.spans():
            database.epoch(arrived, clock)
        standing = database.standing
        changes = list(database.readers.changes(standing, "r"))
        oracle = Oracle(case.arrivals.tables, connection())
        clocks = case.arrivals.clocks
        instants = set(clocks)
        if standing.is_known_between_clocks:
            told = sorted(
                {to_microseconds(at) for change in changes for at in change.table.column("_at").to_pylist()}
            )
            instants |= {*told[:: max(1, len(told) // 6)], clocks[0] + 1, clocks[-1] - 1}
        for instant in sorted(at for at in instants if at <= clocks[-1]):
            expected = counted(oracle.answer_at(case.plan, instant))
            assert replayed(changes, instant) == expected, f"at {instant}"
            if instant >= min(clocks) or standing.is_known_between_clocks:
                answer = database.readers.invoke(standing, to_datetime(instant))
                assert counted(answer.table) == expected, f"as of {instant}"
        for before, after in pairwise(changes):
            assert (after.epoch, after.is_whole) == (before.epoch + 1, False)
        for change in changes:
            at = change.table.column("_at").to_pylist()
            assert at == sorted(at)
        database.readers.close()


@drawn(Cases(deepest=2, ways=(UPA, NT), most_rows=24), share=0.02)
def test_changes_add_up_to_the_answer_of_the_oracle_at_every_instant(case: Case) -> None:
    check_replay(case)


@drawn(Cases(deepest=2, retracts=False, ways=(DIRECT,), most_rows=24), share=0.005)
def test_changes_add_up_when_buffers_are_scanned(case: Case) -> None:
    check_replay(case)


@drawn(Cases(deepest=2, ways=(UPA, NT), most_rows=24, out_of_order=True), share=0.005)
def test_changes_add_up_when_tuples_come_early_or_late(case: Case) -> None:
    check_replay(case)
