"""Operators that go by the newest tuple they have received: what they give is right, and late."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pyarrow as pa
import pytest

from panes.delta.consolidate import contents_at
from panes.delta.delta import BEGINNING, FOREVER, Delta
from panes.operators import input_triggered
from panes.operators.dataflow import Dataflow
from panes.operators.input_triggered import InputTriggered
from panes.operators.lower import fragment_of
from panes.plan.expressions import Aggregate, Call, Column, Literal
from panes.plan.nodes import Distinct, GroupBy, Intersect, Join, Node, Select, StreamScan, Window
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, BOOLEAN
from panes.plan.windows import RangeWindow
from panes.testing import Oracle, same_rows
from tests.properties.running import connection
from tests.properties.streams import Arrivals

ITEMS = Schema.of([("s.item", BIGINT)])
OTHERS = StreamScan("r", "r", Schema.of([("r.item", BIGINT)]))


def items(*tuples: tuple[int, int]) -> dict[str, pa.Table]:
    """Arrivals from (ts, item)."""
    ts, item = zip(*tuples, strict=True)
    return {"s": pa.table({"item": pa.array(item, pa.int64()), "_ts": pa.array(ts, pa.int64())})}


def favorites(range_: int) -> Node:
    """How many of the items with a number above 3 are in the window."""
    window = Window(StreamScan("s", "s", ITEMS), RangeWindow(range_))
    condition = Call(BOOLEAN, "gt", (Column(BIGINT, "s.item"), Literal(BIGINT, 3)))
    return GroupBy(Select(window, condition), (), (Aggregate("n", "count", None, BIGINT),))


def test_a_count_is_late_until_a_tuple_passes_the_filter():
    #  time        0  1  2  3  4  5  6  7  8  9  10    window of 5
    #  item        4  5     5  4  2  1           5
    #  count       1  2  2  3  4  3  2  2  1  0  1
    #  told        1  2  2  3  4  4  4  4  4  4  1
    came = {0: 4, 1: 5, 3: 5, 4: 4, 5: 2, 6: 1, 10: 5}
    dataflow = InputTriggered(fragment_of(favorites(5), every_instant=True))
    exact = Dataflow(fragment_of(favorites(5), every_instant=True))
    rows: dict[str, list[pa.Table]] = {"told": [], "count": []}
    shown: dict[str, list[int]] = {"told": [], "count": []}
    as_of = []
    for now in range(11):
        arrivals = items((now, came[now])) if now in came else {}
        since = BEGINNING if now == 0 else now - 1
        for name, flow in (("told", dataflow), ("count", exact)):
            delta = flow.process(arrivals, since, now)
            rows[name].append(delta.table)
            found = contents_at(pa.concat_tables(rows[name]), delta.clock).to_pylist()
            shown[name].append(found[0]["n"] if found else 0)
        as_of.append(dataflow.told_to(now))
    assert shown["count"] == [1, 2, 2, 3, 4, 3, 2, 2, 1, 0, 1]
    assert shown["told"] == [1, 2, 2, 3, 4, 4, 4, 4, 4, 4, 1]
    assert as_of == [0, 1, 1, 3, 4, 4, 4, 4, 4, 4, 10]


def test_negative_tuples_keep_the_same_count_current():
    #  one for each row that leaves: at 5, 6, 8 and 9
    dataflow = Dataflow(fragment_of(favorites(5), strategy="nt", every_instant=True))
    came = items((0, 4), (1, 5), (3, 5), (4, 4), (5, 2), (6, 1), (10, 5))
    delta = dataflow.process(came, BEGINNING, 10)
    at = [contents_at(delta.table, now).to_pylist()[0]["n"] for now in range(11)]
    assert at == [1, 2, 2, 3, 4, 3, 2, 2, 1, 0, 1]
    steps = dataflow.fragment.steps
    (passed,) = (dataflow.measures[step.name] for step in steps if step.operator == "ExplicitExpiry")
    assert (passed.positive, passed.expired) == (7, 5), "also those that do not pass the filter"


def test_an_intersection_replaces_a_row_that_expires_while_an_equal_one_is_there():
    #  s   1  1                 5         window of 5: the first 1 leaves at 6
    #  r   1  1                 5
    #      1  2  3  4  5  6  7
    plan = Intersect(Window(StreamScan("s", "s", ITEMS), RangeWindow(5)), Window(OTHERS, RangeWindow(5)))
    dataflow = InputTriggered(fragment_of(plan))
    tables = []
    for since, clock, tuples in ((BEGINNING, 2, [(1, 1), (2, 1)]), (2, 6, [(6, 5)])):
        rows = items(*tuples)["s"]
        tables.append(dataflow.process({"s": rows, "r": rows}, since, clock).table)
    assert dataflow.told_to(6) == 6
    found = contents_at(pa.concat_tables([t.select(tables[0].column_names) for t in tables]), 6)
    assert sorted(row["s.item"] for row in found.to_pylist()) == [1, 5]


def test_nothing_is_due_but_what_came_before_its_time():
    dataflow = InputTriggered(fragment_of(favorites(5)))
    dataflow.process(items((1, 4)), BEGINNING, 2)
    assert dataflow.next_change(2) == FOREVER, "the row leaves when the next one comes"
    dataflow.process(items((9, 4)), 2, 3)
    assert dataflow.next_change(3) == 9


def window(stream: str, range_: int) -> Node:
    columns = Schema.of([(f"{stream}.{name}", kind) for name, kind in (("k", BIGINT),)])
    return Window(StreamScan(stream, stream, columns), RangeWindow(range_))


PLANS = {
    "selection": window("s", 6),
    "groups": GroupBy(window("s", 6), ("s.k",), (Aggregate("n", "count", None, BIGINT),)),
    "distinct": Distinct(window("s", 6)),
    "join": Join(window("s", 6), window("t", 9), ("s.k",), ("t.k",)),
}


def answers(plan: Node, arrivals: Arrivals, *, restarts: bool) -> list[tuple[int, pa.Table]]:
    """The answer after each span, and what it is as of."""
    dataflow = InputTriggered(fragment_of(plan))
    deltas: list[pa.Table] = []
    found = []
    for came, since, clock in arrivals.spans():
        delta = dataflow.process({name: came[name] for name in dataflow.inputs}, since, clock)
        deltas.append(delta.table)
        found.append((delta.clock, contents_at(pa.concat_tables(deltas), delta.clock)))
        if restarts:
            new = InputTriggered(dataflow.fragment)
            for name, buffer in new.buffers.items():
                buffer.restore(dataflow.buffers[name].chunks)
            dataflow = new
    return found


def check(name: str) -> int:
    """Compares drawn answers with those of the oracle; returns how far they lag behind in all."""
    lag = 0
    for seed in range(6):
        arrivals = Arrivals.drawn(Random(seed), most_rows=24, most_clocks=8)
        oracle = Oracle(arrivals.tables, connection())
        for (as_of, answer), clock in zip(
            answers(PLANS[name], arrivals, restarts=seed % 2 == 0), arrivals.clocks, strict=True
        ):
            if as_of > BEGINNING:
                difference = same_rows(answer, oracle.answer_at(PLANS[name], as_of))
                assert difference is None, f"seed {seed}, as of {as_of}: {difference}"
                lag += clock - as_of
    return lag


@pytest.mark.parametrize("name", PLANS)
def test_an_answer_is_that_of_the_oracle_at_its_own_clock_which_lags_behind(name: str) -> None:
    assert check(name) > 0


def test_an_operator_that_is_ahead_of_its_tuples_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    newest = input_triggered._newest

    def ahead(deltas: Sequence[Delta], own: int, clock: int) -> int:
        return newest(deltas, own, clock) - 1 if any(d.rows for d in deltas) else own

    monkeypatch.setattr(input_triggered, "_newest", ahead)
    with pytest.raises(AssertionError):
        check("groups")
