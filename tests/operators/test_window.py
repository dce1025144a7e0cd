"""Time windows, with and without SLIDE, for tuples on time, early and late."""

from __future__ import annotations

import pyarrow as pa

from panes.delta.delta import BEGINNING, FOREVER
from panes.operators.dataflow import Dataflow
from panes.operators.lower import lower
from panes.plan.nodes import StreamScan, Union, Window
from panes.plan.schema import Schema
from panes.plan.types import STRING
from panes.plan.windows import NowWindow, RangeWindow, UnboundedWindow, WindowSpec

SCAN = StreamScan("s", "s", Schema.of([("s.a", STRING)]))


def windowed(spec: WindowSpec) -> Dataflow:
    return lower(Window(SCAN, spec))


def lifetimes(
    dataflow: Dataflow, arrivals: dict[str, int], since: int, clock: int
) -> dict[str, tuple[int, int]]:
    """The lifetimes that come out of a span, by the value of the tuple."""
    table = pa.table(
        {"a": pa.array(list(arrivals), pa.string()), "_ts": pa.array(arrivals.values(), pa.int64())}
    )
    delta = dataflow.process({"s": table}, since, clock)
    return {row["s.a"]: (row["_ts"], row["_exp"]) for row in delta.table.to_pylist()}


def test_tuple_lives_for_the_length_of_the_window() -> None:
    assert lifetimes(windowed(RangeWindow(5)), {"a": 1, "b": 3}, BEGINNING, 3) == {"a": (1, 6), "b": (3, 8)}


def test_now_is_one_instant() -> None:
    assert lifetimes(windowed(NowWindow()), {"a": 1}, BEGINNING, 3) == {"a": (1, 2)}


def test_unbounded_window_forgets_nothing() -> None:
    assert lifetimes(windowed(UnboundedWindow()), {"a": 1}, BEGINNING, 3) == {"a": (1, FOREVER)}


def test_slide_rounds_both_ends_up() -> None:
    #  0   1   2   3   4   5   6   7   8   9
    #      a-------------------)                  [1, 6) is seen at 3, and gone at 6
    #              b-------------------)          [3, 8) is seen at 3 and 6, and gone at 9
    dataflow = windowed(RangeWindow(5, 3))
    assert lifetimes(dataflow, {"a": 1, "b": 3}, BEGINNING, 3) == {"a": (3, 6), "b": (3, 9)}


def test_tuple_waits_for_its_slide() -> None:
    dataflow = windowed(RangeWindow(5, 3))
    assert lifetimes(dataflow, {"a": 1}, BEGINNING, 2) == {}
    assert dataflow.buffers["02_hold.waiting"].rows == 1
    assert lifetimes(dataflow, {}, 2, 3) == {"a": (3, 6)}
    assert dataflow.buffers["02_hold.waiting"].rows == 0


def test_tuple_that_comes_and_goes_between_two_slides_is_not_seen() -> None:
    dataflow = windowed(RangeWindow(1, 5))
    assert lifetimes(dataflow, {"a": 2, "b": 5}, BEGINNING, 9) == {"b": (5, 10)}
    assert dataflow.measures["01_window"].dropped == 1


def test_tuple_before_1970_is_rounded_up_as_well() -> None:
    assert lifetimes(windowed(RangeWindow(5, 3)), {"a": -4}, -10, 0) == {"a": (-3, 3)}


def test_tuple_of_the_future_comes_in_its_own_span() -> None:
    dataflow = windowed(RangeWindow(5))
    assert lifetimes(dataflow, {"a": 4, "b": 2}, BEGINNING, 3) == {"b": (2, 7)}
    assert lifetimes(dataflow, {}, 3, 4) == {"a": (4, 9)}


def test_late_tuple_is_seen_for_what_is_left_of_its_time() -> None:
    dataflow = windowed(RangeWindow(5))
    lifetimes(dataflow, {}, BEGINNING, 10)
    assert lifetimes(dataflow, {"a": 7}, 10, 11) == {"a": (11, 12)}


def test_tuple_that_comes_after_its_time_is_dropped_and_counted() -> None:
    dataflow = windowed(RangeWindow(5))
    lifetimes(dataflow, {}, BEGINNING, 10)
    assert lifetimes(dataflow, {"a": 6, "b": 5}, 10, 12) == {}
    assert dataflow.measures["01_window"].dropped == 2


def test_late_tuple_is_seen_from_the_next_slide_on() -> None:
    dataflow = windowed(RangeWindow(10, 5))
    lifetimes(dataflow, {}, BEGINNING, 11)
    assert lifetimes(dataflow, {"a": 8}, 11, 12) == {}
    assert lifetimes(dataflow, {}, 12, 15) == {"a": (15, 20)}


def test_tuple_that_came_late_before_the_span_enters_when_it_came_and_leaves_by_its_time() -> None:
    came = {"a": pa.array(["a", "b"]), "_ts": pa.array([1, 3]), "_came": pa.array([4, 2])}
    plain = windowed(RangeWindow(5)).process({"s": pa.table(came)}, BEGINNING, 12)
    assert plain.table.select(["_ts", "_exp"]).to_pydict() == {"_ts": [4, 3], "_exp": [6, 8]}
    slides = windowed(RangeWindow(10, 3)).process({"s": pa.table(came)}, BEGINNING, 12)
    assert slides.table.select(["_ts", "_exp"]).to_pydict() == {"_ts": [6, 3], "_exp": [12, 15]}


def test_sides_of_a_union_may_differ_in_whether_they_say_when_tuples_came() -> None:
    other = StreamScan("t", "t", Schema.of([("t.a", STRING)]))
    union = lower(Window(Union(SCAN, other), UnboundedWindow()))
    came = {"a": pa.array(["a"]), "_ts": pa.array([1]), "_came": pa.array([4])}
    table = union.process({"s": pa.table(came)}, BEGINNING, 12).table
    assert table.column("_ts").to_pylist() == [4]
