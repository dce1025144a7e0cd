"""The arithmetic of windows against the definition of what each of them holds, over small integers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panes.plan.windows import (
    BeginEndWindow,
    NowWindow,
    RangeWindow,
    RowsWindow,
    SessionWindow,
    UnboundedWindow,
    WindowSpec,
    round_up,
)

INSTANTS = range(-30, 31)

instants = st.integers(-12, 12)
lengths = st.integers(1, 9)
slides = st.none() | lengths
offsets = st.integers(-9, 0)
ago = st.integers(0, 9)


@st.composite
def begin_end(draw: st.DrawFn) -> BeginEndWindow:
    begin_is_relative, end_is_relative = draw(st.booleans()), draw(st.booleans())
    begin, end = (
        draw(offsets if begin_is_relative else instants),
        draw(offsets if end_is_relative else instants),
    )
    if begin_is_relative == end_is_relative:
        begin, end = min(begin, end), max(begin, end)
    return BeginEndWindow(begin, begin_is_relative, end, end_is_relative)


timed = st.one_of(
    st.builds(RangeWindow, lengths, slides, ago),
    st.builds(NowWindow, ago),
    st.builds(UnboundedWindow, ago),
    begin_end(),
)
counted = st.builds(RowsWindow, lengths, slides)


def holds(spec: WindowSpec, ts: int, seen: int, now: int) -> bool:
    """What the page of windows says: whether a tuple that is seen from an instant on is in the window."""
    match spec:
        case RangeWindow(range_us=length, slide_us=slide, offset_us=offset):
            at = now if slide is None else max(i for i in range(now - slide + 1, now + 1) if i % slide == 0)
            return seen <= at and ts <= at - offset < ts + length
        case NowWindow(offset_us=offset):
            return seen <= now and ts == now - offset
        case UnboundedWindow(offset_us=offset):
            return seen <= now and ts <= now - offset
        case BeginEndWindow():
            begin = now + spec.begin_us if spec.begin_is_relative else spec.begin_us
            end = now + spec.end_us if spec.end_is_relative else spec.end_us
            return seen <= now and begin <= ts <= end
    raise TypeError(spec)


def rows_held(spec: RowsWindow, tuples: int) -> Sequence[int]:
    """The numbers of the tuples that a count window holds after so many have come."""
    moved = max(n for n in range(tuples + 1) if n % (spec.slide or 1) == 0)
    return range(1, moved + 1)[-spec.rows :]


@given(spec=timed, ts=instants, late=st.integers(0, 9))
def test_a_lifetime_is_when_the_window_holds_the_tuple(spec: WindowSpec, ts: int, late: int):
    enters, leaves = spec.lifetime(np.array([ts]), np.array([ts + late]))
    for now in INSTANTS:
        assert (enters[0] <= now < leaves[0]) == holds(spec, ts, ts + late, now), now


@given(spec=timed, times=st.lists(instants, min_size=1).map(sorted))
def test_lifetimes_of_tuples_in_time_begin_and_end_in_their_order(spec: WindowSpec, times: list[int]):
    ts = np.array(times)
    for instants_of in spec.lifetime(ts, ts):
        assert (np.diff(instants_of.astype(object)) >= 0).all()


@given(spec=timed, ts=instants, late=st.integers(0, 9), now=instants)
def test_what_a_window_holds_is_within_its_reach(spec: WindowSpec, ts: int, late: int, now: int):
    reach = spec.reach(now)
    is_within = reach.since <= ts <= reach.until and ts + late <= spec.last_slide(now)
    assert is_within == holds(spec, ts, ts + late, now)


@given(spec=timed)
def test_no_tuple_is_needed_for_longer_than_it_is_retained(spec: WindowSpec):
    length = spec.retained()
    if length is None:
        assert isinstance(spec, UnboundedWindow) or spec.begins_at is not None
        return
    # A tuple whose last instant in the window is the last one before it may be forgotten is the longest kept.
    last = [
        max((now - ts for now in INSTANTS if holds(spec, ts, ts, now)), default=-1) for ts in range(-9, 1)
    ]
    assert max(last) < length
    if spec.slide_us is None:
        assert max(last) == length - 1 or -1 in last


@given(spec=timed, ts=instants, now=instants)
def test_fixed_ends_bound_what_a_window_holds(spec: WindowSpec, ts: int, now: int):
    if holds(spec, ts, ts, now):
        assert spec.begins_at is None or spec.begins_at <= ts
        assert spec.ends_at is None or ts <= spec.ends_at


@given(spec=timed | counted, now=instants)
def test_slides_are_the_instants_at_which_a_window_moves(spec: WindowSpec, now: int):
    slides_at = [i for i in INSTANTS if spec.slide_us is None or i % spec.slide_us == 0]
    assert spec.last_slide(now) == max(i for i in slides_at if i <= now)
    assert spec.next_slide(now) == min(i for i in slides_at if i > now)


@given(spec=timed, ts=instants, now=instants)
def test_without_its_slide_a_window_holds_what_it_holds_at_the_slide(spec: WindowSpec, ts: int, now: int):
    at = spec.last_slide(now)
    assert spec.without_slide().slide_us is None
    assert holds(spec.without_slide(), ts, ts, at) == holds(spec, ts, ts, at)


@given(spec=counted, tuples=st.integers(0, 30))
def test_count_windows_hold_tuples_by_their_numbers(spec: RowsWindow, tuples: int):
    number = np.arange(1, 40)
    enters, leaves = spec.numbers(number)
    held = number[(enters <= tuples) & (tuples < leaves)].tolist()
    assert held == list(rows_held(spec, tuples))
    assert spec.youngest is not None
    assert all(number > tuples - spec.youngest for number in held)


def test_the_youngest_tuples_of_a_partitioned_window_may_be_of_any_age():
    assert RowsWindow(3, partition_by=("a",)).youngest is None


def test_any_number_of_tuples_may_be_younger_than_those_of_a_count_window_that_slides_in_time():
    assert RowsWindow(3, slide_us=10).youngest is None
    assert RowsWindow(3, slide_us=10).reach(27).until == 20


def test_a_count_window_gives_no_lifetime():
    assert not RowsWindow(3).is_timed
    assert not SessionWindow(3).is_timed
    with pytest.raises(TypeError, match="at no known time"):
        RowsWindow(3).lifetime(np.array([1]), np.array([1]))
    with pytest.raises(TypeError, match="at no known time"):
        SessionWindow(3).lifetime(np.array([1]), np.array([1]))


@pytest.mark.parametrize(
    ("spec", "has_slide"),
    [
        (RangeWindow(5), False),
        (RangeWindow(5, 2), True),
        (RowsWindow(5), False),
        (RowsWindow(5, 2), True),
        (RowsWindow(5, slide_us=2), True),
    ],
)
def test_a_window_has_a_slide_in_time_or_in_rows(spec: WindowSpec, has_slide: bool):
    assert spec.has_slide == has_slide
    assert (spec.slide_us is not None) == (has_slide and spec != RowsWindow(5, 2))


@given(values=st.lists(instants), step=lengths)
def test_rounding_up_gives_the_next_multiple(values: list[int], step: int):
    expected = [min(i for i in range(v, v + step) if i % step == 0) for v in values]
    assert round_up(np.array(values, np.int64), step).tolist() == expected


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (RangeWindow(60_000_000), "[RANGE 1 MINUTE]"),
        (RangeWindow(60_000_000, 1_000, internal=True), "[RANGE 1 MINUTE SLIDE 1 MILLISECOND INTERNAL]"),
        (RangeWindow(60_000_000, None, 3_600_000_000), "[RANGE 1 MINUTE OFFSET 1 HOUR]"),
        (RangeWindow(60_000_000, 1_000, 2_000), "[RANGE 1 MINUTE OFFSET 2 MILLISECONDS SLIDE 1 MILLISECOND]"),
        (NowWindow(1_000_000), "[NOW OFFSET 1 SECOND]"),
        (UnboundedWindow(1_000_000), "[RANGE UNBOUNDED OFFSET 1 SECOND]"),
        (RowsWindow(7, 2), "[ROWS 7 SLIDE 2]"),
        (RowsWindow(7, None, ("a",), 2_000_000), "[PARTITION BY <a> ROWS 7 SLIDE 2 SECONDS]"),
        (RowsWindow(7, partition_by=("a", "b")), "[PARTITION BY <a>, <b> ROWS 7]"),
        (SessionWindow(7_000_000), "[SESSION 7 SECONDS]"),
        (SessionWindow(7_000, partition_by=("a", "b")), "[PARTITION BY <a>, <b> SESSION 7 MILLISECONDS]"),
        (NowWindow(internal=True), "[NOW INTERNAL]"),
        (UnboundedWindow(), "[RANGE UNBOUNDED]"),
        (BeginEndWindow(-1_000_000, True, 0, True), "BEGIN (NOW - INTERVAL 1 SECOND) END (NOW)"),
        (BeginEndWindow(0, False, 0, True), "BEGIN (TIMESTAMP '1970-01-01 00:00:00') END (NOW)"),
    ],
)
def test_a_window_is_shown_as_it_is_written(spec: WindowSpec, text: str):
    assert spec.text(lambda name: f"<{name}>") == text
