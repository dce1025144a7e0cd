"""Conditions on now(), windows with an offset, and count windows that slide in time, at every instant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from panes.delta.delta import FOREVER, TS, Delta, delta_schema
from panes.operators.base import Operator
from panes.operators.release_on_time import ReleaseOnTime
from panes.operators.rows_window import RowsWindow
from panes.operators.temporal_filter import TemporalFilter
from panes.operators.tools.edge import Edge
from panes.operators.window import TimeWindow
from panes.plan import windows
from panes.plan.expressions import Column
from panes.plan.patterns import Pattern
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, TIMESTAMP
from tests.operators.pointwise import LAST, Row, exact, relation, rows_of

SCHEMA = Schema.of([("a", BIGINT), ("at", TIMESTAMP)])
TESTS = {
    "lt": lambda one, other: one < other,
    "le": lambda one, other: one <= other,
    "gt": lambda one, other: one > other,
    "ge": lambda one, other: one >= other,
    "eq": lambda one, other: one == other,
}


def time(instant: int) -> datetime:
    return datetime.fromtimestamp(0, UTC).replace(microsecond=instant)


def table(rows: Sequence[Row], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_arrays(
        [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(schema)], schema=schema
    )


def through(
    steps: Sequence[Operator], rows: Sequence[Row], schema: pa.Schema, cuts: Sequence[int]
) -> list[Row]:
    """What leaves the last step, over spans that end at the cuts."""
    place, given = schema.names.index(TS), []
    for since, clock in pairwise([0, *cuts]):
        delta = Delta(table([row for row in rows if since < row[place] <= clock], schema), clock)
        for step in steps:
            delta = step.process([delta], since, clock)
        given += rows_of(delta)
    return given


def drawn_cuts(data: st.DataObject) -> list[int]:
    return sorted(data.draw(st.sets(st.integers(1, 2 * LAST)), "cuts") | {3 * LAST})


def check_temporal_filter(data: st.DataObject) -> None:
    """A row and its retraction are seen while the condition holds, tested at slides where there are some."""
    op = data.draw(st.sampled_from(sorted(TESTS)), "op")
    distance = data.draw(st.integers(-8, 8), "distance")
    slides = data.draw(st.sampled_from([(), (3,), (2, 5)]), "slides")
    rows: list[Row] = []
    instant = st.integers(1, LAST)
    for value, at, *ends in data.draw(
        st.lists(st.tuples(st.integers(0, 1), instant, instant, instant), max_size=5)
    ):
        came, left = min(ends), max(ends) + 1
        if slides:
            came, left = (int(min(windows.round_up(x, slide) for slide in slides)) for x in (came, left))
        if came < left and data.draw(st.booleans()):
            rows += [(value, time(at), came, FOREVER, 1), (value, time(at), left, FOREVER, -1)]
        elif came < left:
            rows.append((value, time(at), came, left, 1))
    steps = [
        TemporalFilter(Column(TIMESTAMP, "at"), op, distance, slides),
        ReleaseOnTime(Edge(SCHEMA, Pattern.STRICT), cancels=True),
    ]
    output = through(steps, rows, delta_schema(SCHEMA, weighted=True), drawn_cuts(data))
    for now in range(1, 3 * LAST):
        tested = max((now - now % slide for slide in slides), default=now)
        bound = time(0) + timedelta(microseconds=tested + distance)
        expected = {row: n for row, n in relation(rows, now).items() if TESTS[op](row[1], bound)}
        assert relation(output, now) == expected


def drawn_stream(data: st.DataObject) -> list[Row]:
    times = sorted(data.draw(st.lists(st.integers(1, LAST), max_size=8), "times"))
    return [(number, ts) for number, ts in enumerate(times)]


ARRIVING = pa.schema([("a", pa.int64()), (TS, pa.int64())])
NUMBERED = Schema.of([("a", BIGINT)])


def check_offset(data: st.DataObject) -> None:
    """`[RANGE d OFFSET o SLIDE s]` holds what `[RANGE d]` held o before the last slide."""
    length, offset = data.draw(st.integers(1, 6), "range"), data.draw(st.integers(1, 9), "offset")
    slide = data.draw(st.none() | st.integers(1, 4), "slide")
    tuples = drawn_stream(data)
    spec = windows.RangeWindow(length, slide, offset)
    steps = [TimeWindow(spec), ReleaseOnTime(Edge(NUMBERED, Pattern.WEAKEST))]
    output = through(steps, tuples, ARRIVING, drawn_cuts(data))
    for now in range(1, 3 * LAST):
        at = (now if slide is None else now - now % slide) - offset
        assert relation(output, now) == Counter((a,) for a, ts in tuples if ts <= at < ts + length)


def check_rows_sliding_in_time(data: st.DataObject) -> None:
    """`[ROWS n SLIDE s]` holds what `[ROWS n]` held at the last slide."""
    count, slide = data.draw(st.integers(1, 4), "rows"), data.draw(st.integers(1, 5), "slide")
    tuples = drawn_stream(data)
    steps = [
        RowsWindow(windows.RowsWindow(count, slide_us=slide)),
        ReleaseOnTime(Edge(NUMBERED, Pattern.STRICT), cancels=True),
    ]
    output = through(steps, tuples, ARRIVING, drawn_cuts(data))
    for now in range(1, 3 * LAST):
        known = [(a,) for a, ts in tuples if ts <= now - now % slide]
        assert relation(output, now) == Counter(known[-count:])


@exact
@given(data=st.data())
def test_rows_are_seen_while_a_condition_on_now_holds(data: st.DataObject) -> None:
    check_temporal_filter(data)


@exact
@given(data=st.data())
def test_a_window_with_an_offset_is_the_window_as_it_was(data: st.DataObject) -> None:
    check_offset(data)


@exact
@given(data=st.data())
def test_a_count_window_that_slides_in_time_is_that_of_the_last_slide(data: st.DataObject) -> None:
    check_rows_sliding_in_time(data)
