"""Count windows."""

from __future__ import annotations

import pyarrow as pa
import pytest

from panes.delta.consolidate import contents_at
from panes.delta.delta import BEGINNING
from panes.operators.dataflow import Dataflow
from panes.operators.lower import lower
from panes.plan.nodes import StreamScan, Window
from panes.plan.schema import Schema
from panes.plan.types import STRING
from panes.plan.windows import RowsWindow

SCAN = StreamScan("s", "s", Schema.of([("s.a", STRING), ("s.part", STRING)]))


class Run:
    """A count window, moved on by hand."""

    def __init__(self, spec: RowsWindow) -> None:
        self.dataflow: Dataflow = lower(Window(SCAN, spec))
        self.clock = BEGINNING
        self.tables: list[pa.Table] = []

    def come(self, clock: int, *tuples: tuple[str, int]) -> str:
        """Tuples as ("a", ts), or ("a/part", ts); what the window holds at the clock, as sorted letters."""
        values = [(*value.partition("/")[::2], ts) for value, ts in tuples]
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


def test_the_youngest_are_held() -> None:
    run = Run(RowsWindow(2))
    assert run.come(3, ("a", 1), ("b", 2), ("c", 3)) == "bc"
    assert run.come(5) == "bc"
    assert run.come(6, ("d", 6)) == "cd"


def test_every_instant_inside_a_span_is_right() -> None:
    run = Run(RowsWindow(2))
    run.come(9, ("a", 1), ("b", 3), ("c", 5))
    assert [run.held(now) for now in range(7)] == ["", "a", "a", "ab", "ab", "bc", "bc"]


def test_of_one_time_those_that_came_later_are_younger() -> None:
    run = Run(RowsWindow(2))
    assert run.come(1, ("a", 1), ("b", 1), ("c", 1)) == "bc"


def test_rows_out_of_order_are_numbered_by_time() -> None:
    assert Run(RowsWindow(1)).come(5, ("b", 4), ("a", 2)) == "b"


def test_slide_moves_the_window_at_every_second_tuple() -> None:
    run = Run(RowsWindow(3, slide=2))
    assert run.come(1, ("a", 1)) == ""
    assert run.come(2, ("b", 2)) == "ab"
    assert run.come(3, ("c", 3)) == "ab"
    assert run.come(4, ("d", 4)) == "bcd"


def test_tuples_that_no_slide_shows_are_left_out() -> None:
    run = Run(RowsWindow(1, slide=3))
    assert run.come(3, ("a", 1), ("b", 2), ("c", 3)) == "c"
    assert run.come(5, ("d", 4), ("e", 5)) == "c"
    assert run.come(6, ("f", 6)) == "f"


def test_each_partition_has_its_own_window() -> None:
    run = Run(RowsWindow(1, partition_by=("s.part",)))
    assert run.come(2, ("a/x", 1), ("b/y", 1), ("c/x", 2)) == "bc"
    assert run.come(3, ("d/y", 3)) == "cd"


@pytest.mark.parametrize("spec", [RowsWindow(6, slide=6), RowsWindow(6)])
def test_equal_tuples_all_come_and_all_leave(spec: RowsWindow) -> None:
    run = Run(spec)
    for now in range(1, 7):
        run.come(now, ("a" if now % 2 else "b", 1))
    assert run.held(6) == "aaabbb"
    for now in range(7, 13):
        run.come(now, ("c", now))
    assert run.held(12) == "cccccc"


def test_late_tuple_counts_when_it_comes() -> None:
    run = Run(RowsWindow(2))
    run.come(5, ("a", 4), ("b", 5))
    assert run.come(6, ("c", 1)) == "bc"


@pytest.mark.parametrize("slide", [None, 3])
def test_state_holds_no_more_than_the_window_and_what_waits(slide: int | None) -> None:
    run = Run(RowsWindow(4, slide=slide))
    for now in range(200):
        run.come(now, (f"{now % 10}", now))
    live = {name: state.rows for name, state in run.dataflow.buffers.items()}
    assert sum(live.values()) < 3_000, live
