"""Session windows."""

from __future__ import annotations

import pyarrow as pa

from panes.delta.consolidate import contents_at
from panes.delta.delta import BEGINNING
from panes.operators.dataflow import Dataflow
from panes.operators.lower import lower
from panes.plan import nodes
from panes.plan.expressions import Aggregate
from panes.plan.nodes import StreamScan, Window
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, STRING
from panes.plan.windows import NowWindow, SessionWindow

SCAN = StreamScan("s", "s", Schema.of([("s.a", STRING), ("s.part", STRING)]))


class Run:
    """A session window, moved on by hand."""

    def __init__(self, spec: SessionWindow) -> None:
        self.dataflow: Dataflow = lower(Window(SCAN, spec))
        self.clock = BEGINNING
        self.tables: list[pa.Table] = []

    def come(self, clock: int, *tuples: tuple[str, int]) -> str:
        """Tuples as ("a", ts), or ("a/part", ts); what the window holds at the clock, as sorted letters."""
        values = [(a, part or None, ts) for (a, _, part), ts in ((v.partition("/"), ts) for v, ts in tuples)]
        arrivals = pa.table(
            {
                "a": pa.array([a for a, _, _ in values], pa.string()),
                "part": pa.array([part for _, part, _ in values], pa.string()),
                "_ts": pa.array([ts for _, _, ts in values], pa.int64()),
            }
        )
        self.tables.append(self.dataflow.process({"s": arrivals}, self.clock, clock).table)
        self.clock = clock
        return self.held(clock)

    def held(self, now: int) -> str:
        return "".join(sorted(contents_at(pa.concat_tables(self.tables), now).column("s.a").to_pylist()))

    @property
    def state_rows(self) -> int:
        return sum(state.rows for name, state in self.dataflow.buffers.items() if "window" in name)


def test_all_tuples_of_a_session_leave_together() -> None:
    #  1   2   3   4   5   6   7   8
    #  a-----------------------)
    #      b-------------------)
    #              c-----------)          nothing came for 3
    run = Run(SessionWindow(3))
    run.come(9, ("a", 1), ("b", 2), ("c", 4))
    assert [run.held(now) for now in range(1, 9)] == ["a", "ab", "ab", "abc", "abc", "abc", "", ""]


def test_a_tuple_at_the_end_of_a_session_begins_another() -> None:
    run = Run(SessionWindow(3))
    run.come(9, ("a", 1), ("b", 4))
    assert [run.held(now) for now in range(1, 8)] == ["a", "a", "a", "b", "b", "b", ""]


def test_a_later_span_extends_a_session() -> None:
    run = Run(SessionWindow(3))
    assert run.come(2, ("a", 1)) == "a"
    assert run.come(3, ("b", 3)) == "ab"
    assert run.come(5) == "ab"
    assert run.come(6) == ""
    assert [run.held(now) for now in (4, 5, 6)] == ["ab", "ab", ""]


def test_a_session_ends_on_time_when_the_clock_jumps() -> None:
    run = Run(SessionWindow(3))
    run.come(2, ("a", 1))
    assert run.come(90, ("b", 89)) == "b"
    assert [run.held(now) for now in (3, 4, 88)] == ["a", "", ""]
    assert run.come(500) == ""


def test_partitions_have_sessions_of_their_own_and_null_is_one() -> None:
    run = Run(SessionWindow(3, ("s.part",)))
    run.come(4, ("a/x", 1), ("b/y", 2), ("c/x", 3), ("d", 4))
    assert [run.held(now) for now in (3, 4)] == ["abc", "abcd"]
    assert run.come(5, ("e", 5)) == "acde"
    assert run.come(6) == "de"
    assert run.come(8) == ""


def test_a_late_tuple_is_of_the_session_that_is_open_when_it_comes() -> None:
    run = Run(SessionWindow(3))
    assert run.come(5, ("a", 4)) == "a"
    assert run.come(6, ("b", 1)) == "ab"
    assert run.held(5) == "a"
    assert run.come(8) == "ab"
    assert run.come(9) == ""


def test_equal_tuples_all_come_and_all_leave() -> None:
    run = Run(SessionWindow(3))
    for clock in range(1, 9):
        run.come(clock, ("a", clock), ("a", clock))
    assert run.held(8) == "a" * 16
    assert run.come(10) == "a" * 16
    assert run.come(11) == ""
    assert run.come(12, ("a", 12)) == "a"


def test_the_state_of_sessions_that_ended_goes() -> None:
    run = Run(SessionWindow(3))
    for clock in range(1, 500, 4):
        run.come(clock, ("a", clock))
    assert run.state_rows < 400


def test_partitions_to_which_nothing_comes_are_not_touched() -> None:
    run = Run(SessionWindow(1_000, ("s.part",)))
    run.come(10, *((f"a/{number}", 10) for number in range(20_000)))
    before = run.dataflow.measures["02_window"].touched
    run.come(11, ("b/7", 11))
    run.come(12)
    assert run.dataflow.measures["02_window"].touched - before < 10


def test_sessions_that_ended_are_groups_of_what_leaves_at_one_instant() -> None:
    #  1   2   3   4   5   6   7   8
    #  x---x-----------)                2 of x from 1 to 2, told at 5
    #          y-----------)            1 of y, told at 6
    plan = nodes.Dstream(Window(SCAN, SessionWindow(3, ("s.part",))))
    count = Aggregate("n", "count", None, BIGINT)
    ended = nodes.Istream(nodes.GroupBy(Window(plan, NowWindow()), ("s.part",), (count,)))
    dataflow = lower(ended)
    arrivals = pa.table({"a": list("abc"), "part": list("xxy"), "_ts": pa.array([1, 2, 3], pa.int64())})
    told = dataflow.process({"s": arrivals}, BEGINNING, 9).table
    assert sorted(zip(*(told.column(name).to_pylist() for name in ("_ts", "s.part", "n")), strict=True)) == [
        (5, "x", 2),
        (6, "y", 1),
    ]
