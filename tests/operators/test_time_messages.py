"""Operators that hear of time when rows of their inputs expire: how many messages there are, and who is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pytest

from panes.delta.consolidate import contents_at
from panes.delta.delta import ALWAYS, BEGINNING, EXP, FOREVER, TS, WEIGHT
from panes.operators import time_messages
from panes.operators.dataflow import Dataflow
from panes.operators.lower import fragment_of
from panes.operators.measures import Measures
from panes.operators.time_messages import TimeMessages
from panes.plan.expressions import Aggregate, Call, Column, Literal
from panes.plan.nodes import AntiJoin, GroupBy, Join, Node, Select, StreamScan, TableScan, Union, Window
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, BOOLEAN
from panes.plan.windows import RangeWindow
from panes.testing import same_rows

Tuples = Sequence[tuple[int, int, int]]
_COUNT = Aggregate("n", "count", None, BIGINT)
_NAMES = ("store", "price")


def columns(alias: str) -> Schema:
    return Schema.of([(f"{alias}.{name}", BIGINT) for name in _NAMES])


def window(stream: str, range_: int = 5) -> Node:
    return Window(StreamScan(stream, stream, columns(stream)), RangeWindow(range_))


def by_store(left: Node, right: Node) -> Join:
    return Join(left, right, (left.schema.names[0],), (right.schema.names[0],))


def counted(child: Node) -> Node:
    return GroupBy(child, (), (_COUNT,))


def greatest_price() -> Node:
    """The maximum over a join of two windows of five instants: query 2 of the paper."""
    price = Column(BIGINT, "s2.price")
    return GroupBy(by_store(window("s1"), window("s2")), (), (Aggregate("most", "max", price, BIGINT),))


def came(**streams: Tuples) -> dict[str, pa.Table]:
    """Arrivals from (ts, store, price)."""
    found = {}
    for name, tuples in streams.items():
        ts, store, price = zip(*tuples, strict=True) if tuples else ((), (), ())
        values = {TS: ts, "store": store, "price": price}
        found[name] = pa.table({column: pa.array(value, pa.int64()) for column, value in values.items()})
    return found


def between(arrivals: Mapping[str, pa.Table], since: int, clock: int) -> dict[str, pa.Table]:
    found = {}
    for name, table in arrivals.items():
        ts = table.column(TS).to_numpy()
        found[name] = table.filter(pa.array((ts > since) & (ts <= clock)))
    return found


def _kind(step: str) -> str:
    """The name of a step without its number."""
    return step.partition("_")[2]


class Run:
    """A plan with messages beside the same plan without, in a span for each instant."""

    def __init__(self, plan: Node, arrivals: Mapping[str, pa.Table], last: int) -> None:
        # Negations keep the known lifetimes of their rows.
        self.with_messages = TimeMessages(fragment_of(plan, leaves_early=False, every_instant=True))
        self.without = Dataflow(self.with_messages.fragment)
        self.heard: dict[int, dict[str, int]] = {}
        """At each instant at which there was one, how many messages came to each step, and to the answer."""
        self.run_at: dict[str, list[int]] = {}
        """When each step was run."""
        self.tables: list[pa.Table] = []
        since = BEGINNING
        for clock in range(1, last + 1):
            self._span(between(arrivals, since, clock), since, clock)
            since = clock

    def _span(self, arrivals: Mapping[str, pa.Table], since: int, clock: int) -> None:
        before = dict(self.with_messages.measures)
        found = self.with_messages.process(arrivals, since, clock)
        expected = self.without.process(arrivals, since, clock)
        difference = same_rows(expected.table, found.table.select(expected.table.column_names))
        assert difference is None, f"at {clock}: {difference}"
        self.tables.append(found.table.select(expected.table.column_names))
        after = self.with_messages.measures
        heard = {_kind(name): int(after[name].messages - before[name].messages) for name in after}
        heard["answer"] = self.with_messages.told_answer
        if any(heard.values()):
            self.heard[clock] = {name: count for name, count in heard.items() if count}
        for name in after:
            if after[name].spans > before[name].spans:
                self.run_at.setdefault(_kind(name), []).append(clock)

    def answer(self, now: int) -> list[dict[str, object]]:
        return contents_at(pa.concat_tables(self.tables), now).to_pylist()


def test_a_count_hears_when_tuples_that_passed_the_filter_expire():
    #  time        1  2  3  4  5  6  7  8  9  10 11    window of 5
    #  store       4  5     5  4  2  1           5
    #  count       1  2  2  3  4  3  2  2  1  0  1
    tuples = [(1, 4, 0), (2, 5, 0), (4, 5, 0), (5, 4, 0), (6, 2, 0), (7, 1, 0), (11, 5, 0)]
    favorite = Call(BOOLEAN, "gt", (Column(BIGINT, "s.store"), Literal(BIGINT, 3)))
    run = Run(counted(Select(window("s"), favorite)), came(s=tuples), 15)
    assert [run.answer(now)[0]["n"] for now in range(1, 12)] == [1, 2, 2, 3, 4, 3, 2, 2, 1, 0, 1]
    assert list(run.heard) == [6, 7, 9, 10], "and not at 11 and 12, when those expire that did not pass"


def test_a_join_sends_one_message_for_all_results_of_a_tuple_that_expires():
    #  time       1  2  3  4  5  6  7        windows of 5, the number is the store
    #  s1         6----------------)         three results expire with it
    #  s2            6  6  6                 which leave the window at 7, 8 and 9: nobody is told
    arrivals = came(s1=[(1, 6, 0)], s2=[(2, 6, 10), (3, 6, 30), (4, 6, 20)])
    run = Run(greatest_price(), arrivals, 10)
    assert [run.answer(now)[0]["most"] for now in range(1, 8)] == [None, 10, 30, 30, 30, None, None]
    assert run.heard == {6: {"join": 1, "group_by": 1}, 7: {"join": 1}, 8: {"join": 1}, 9: {"join": 1}}
    assert run.run_at["group_by"] == [1, 2, 3, 4, 6]

    negative = Dataflow(fragment_of(greatest_price(), strategy="nt", every_instant=True))
    negative.process(arrivals, BEGINNING, 10)
    assert given(negative, "Join").expired == 3


def test_only_the_tuple_that_expires_first_is_counted_for_a_result():
    #  time       1  2  3  4  5  6  7  8
    #  s1         1----------------)         counted, so that there is a message at 6
    #  s2               1----------------)   not counted: none at 8
    run = Run(greatest_price(), came(s1=[(1, 1, 0)], s2=[(3, 1, 7)]), 9)
    assert [at for at, heard in run.heard.items() if "group_by" in heard] == [6]
    assert [at for at, heard in run.heard.items() if "join" in heard] == [6, 8]


def test_there_is_one_message_for_an_instant_however_many_tuples_expire():
    run = Run(greatest_price(), came(s1=[(1, 1, 0), (1, 1, 1), (1, 2, 2)], s2=[(2, 1, 7), (2, 2, 8)]), 8)
    assert run.heard == {6: {"join": 1, "group_by": 1}, 7: {"join": 1}}


def test_of_a_join_with_a_table_those_tuples_are_told_of_that_joined():
    #  time       1  2  3        the table has store 1
    #  s1         1  2  1
    table = TableScan("r", "r", columns("r"), retroactive=False, stream="s1")
    rows = {"store": [1], "price": [5], TS: [ALWAYS], EXP: [FOREVER], WEIGHT: [1]}
    arrivals = came(s1=[(1, 1, 0), (2, 2, 0), (3, 1, 0)]) | {"r": pa.table(rows)}
    run = Run(counted(by_store(window("s1"), table)), arrivals, 9)
    assert [run.answer(now)[0]["n"] for now in range(1, 9)] == [1, 1, 2, 2, 2, 1, 1, 0]
    assert [at for at, heard in run.heard.items() if "group_by" in heard] == [6, 8]


def test_an_operator_above_a_selective_join_is_not_run_when_none_of_its_results_expires():
    tuples = [(at, at, 0) for at in range(1, 40)]
    run = Run(counted(by_store(window("s1"), window("s2"))), came(s1=tuples, s2=[(20, 19, 0)]), 50)
    assert run.run_at["group_by"] == [1, 20, 24], "when the answer begins, a result comes, and it goes"
    assert len(run.run_at["join"]) == 44


def test_an_answer_hears_when_its_rows_expire():
    run = Run(by_store(window("s1"), window("s2")), came(s1=[(1, 6, 0)], s2=[(2, 6, 0), (2, 6, 1)]), 8)
    assert {at: heard["answer"] for at, heard in run.heard.items() if "answer" in heard} == {6: 1}


def not_sold_elsewhere() -> Node:
    """The tuples of a window and of those of another that have no match in a third."""
    left = Union(window("s1", 12), window("s2", 6))
    return AntiJoin(left, window("s3"), ("s1.store",), ("s3.store",))


def without_match(**streams: Tuples) -> Run:
    arrivals = came(**{"s1": (), "s2": (), "s3": (), **streams})
    return Run(GroupBy(not_sold_elsewhere(), ("s1.store",), (_COUNT,)), arrivals, 20)


def stores(run: Run, now: int) -> list[object]:
    return sorted(row["s1.store"] for row in run.answer(now))


def test_a_row_that_was_taken_back_before_its_time_is_not_told_of():
    #  time       1  2  3  4  5  6  7  8
    #  s2         1----------------)            taken back at 3
    #  s3               1-------------)
    run = without_match(s2=[(1, 1, 0)], s3=[(3, 1, 0)])
    assert [stores(run, now) for now in range(1, 9)] == [[1], [1], [], [], [], [], [], []]
    assert run.run_at["group_by"] == [1, 3]


def test_a_row_that_comes_back_does_not_make_up_for_one_that_leaves():
    #  time       1  2  3  4  5  6  7  8  9
    #  s1         1---            ----------    hidden by s3 from 3 to 8
    #  s3               1-------------)
    #  s2            2----------------)         leaves when the other one comes back
    run = without_match(s1=[(1, 1, 0)], s2=[(2, 2, 0)], s3=[(3, 1, 0)])
    assert [stores(run, now) for now in range(1, 10)] == [[1], [1, 2], *[[2]] * 5, [1], [1]]


def test_nobody_sleeps_through_a_message():
    flow = TimeMessages(fragment_of(greatest_price()))
    flow.process(came(s1=[(1, 6, 0)], s2=[(2, 6, 1)]), BEGINNING, 3)
    assert flow.next_change(3) == 6
    flow.process({}, 3, 6)
    assert flow.next_change(6) == 7, "the join lets go of the other tuple"
    flow.process({}, 6, 7)
    assert flow.next_change(7) == FOREVER


def given(flow: Dataflow, operator: str) -> Measures:
    return flow.measures[next(step.name for step in flow.fragment.steps if step.operator == operator)]


def test_a_message_that_is_lost_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    summed = time_messages._summed
    monkeypatch.setattr(time_messages, "_summed", lambda exp, weight: summed(exp[1:], weight[1:]))
    with pytest.raises(AssertionError, match="at 6"):
        test_a_join_sends_one_message_for_all_results_of_a_tuple_that_expires()


def test_a_count_from_which_nothing_is_subtracted_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    summed = time_messages._summed
    monkeypatch.setattr(time_messages, "_summed", lambda exp, weight: summed(exp, weight * 0 + 1))
    with pytest.raises(AssertionError):
        test_a_row_that_was_taken_back_before_its_time_is_not_told_of()


def test_rows_that_make_up_for_each_other_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_messages, "hash_rows", lambda table, _: np.ones(table.num_rows, np.uint64))
    with pytest.raises(AssertionError):
        test_a_row_that_comes_back_does_not_make_up_for_one_that_leaves()
