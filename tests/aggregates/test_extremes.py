"""The extremes of groups against all of their rows, moment by moment."""

from __future__ import annotations

import math
from datetime import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.aggregates.extremes import Extremes
from panes.aggregates.frequencies import GROUP, VALUE
from panes.aggregates.steps import steps_of
from panes.delta.delta import EXP, FOREVER, TS

Row = tuple[int, Any, int, int]
"""Group, value, ts and exp."""


class Run:
    """A state and all rows that came to it."""

    def __init__(self, type_: pa.DataType, *, greatest: bool, every_instant: bool = True) -> None:
        self.type, self.greatest, self.every_instant = type_, greatest, every_instant
        self.rows: list[Row] = []
        self.since = 0
        self.state = Extremes(type_, greatest=greatest)

    def restore(self) -> None:
        chunks = self.state.chunks
        self.state = Extremes(self.type, greatest=self.greatest)
        self.state.restore(chunks)

    def span(self, came: list[Row], clock: int) -> None:
        """Follows the rows through a span, and compares each moment with the rows that live at it."""
        going = [row for row in self.rows if self.since < row[3] <= clock]
        gone = [row for row in came if row[3] <= clock]
        events = [(g, ts) for g, _, ts, _ in came] + [(g, exp) for g, _, _, exp in going + gone]
        self.rows += came
        if not events:
            self.since = clock
            return
        first = np.array([g for g, _ in events], np.uint64) << np.uint64(60)
        instants = np.array([t if self.every_instant else clock for _, t in events])
        steps = steps_of(first, first, instants, {0: np.ones(len(events), np.int64)}, keep_still=True)
        lives = pa.table(
            {TS: pa.array([r[2] for r in came], pa.int64()), EXP: pa.array([r[3] for r in came], pa.int64())}
        )
        values = pa.chunked_array([pa.array([r[1] for r in came], self.type)])
        found = self.state.follow(steps, values, lives, self.since, clock)
        moments: list[tuple[int, int]] = []
        for group in dict.fromkeys(steps.first.tolist()):
            at = steps.instants[steps.first == group].tolist()
            moments += [(group >> 60, t) for t in [self.since, *at]]
        assert told(found, len(moments)) == [self.expected(g, t) for g, t in moments]
        self.since = clock

    def expected(self, group: int, at: int) -> Any:
        held = [v for g, v, ts, exp in self.rows if g == group and ts <= at < exp and v is not None]
        return shown((max if self.greatest else min)(held, key=order, default=None))


def order(value: Any) -> Any:
    return (isinstance(value, float) and math.isnan(value), value)


def shown(value: Any) -> Any:
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def told(found: pl.DataFrame, moments: int) -> list[Any]:
    values: list[Any] = [None] * moments
    for at, value in zip(found[GROUP].to_list(), found[VALUE].to_list(), strict=True):
        values[at] = shown(value)
    return values


TYPES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "BIGINT": (pa.int64(), st.integers(-2, 2) | st.sampled_from([2**62, -(2**62)])),
    "DOUBLE": (pa.float64(), st.sampled_from([0.0, -0.0, 1.5, math.nan, math.inf, -math.inf])),
    "VARCHAR": (pa.string(), st.sampled_from(["", "a", "ab", "b", "ä"])),
    "BOOLEAN": (pa.bool_(), st.booleans()),
    "DECIMAL": (pa.decimal128(20, 2), st.sampled_from([Decimal("1.10"), Decimal("-3.00"), Decimal("7.25")])),
    "TIMESTAMP": (pa.timestamp("us"), st.sampled_from([datetime(2020, 1, 1), datetime(2021, 5, 3)])),
    "pairs": (pa.binary(), st.sampled_from([b"\x01", b"\x02\x00", b"\x02"])),
}


def check(data: st.DataObject, type_: pa.DataType, values: st.SearchStrategy[Any]) -> None:
    run = Run(type_, greatest=data.draw(st.booleans()), every_instant=data.draw(st.booleans()))
    for _ in range(data.draw(st.integers(1, 6))):
        clock = run.since + data.draw(st.integers(1, 8))
        drawn = data.draw(
            st.lists(
                st.tuples(
                    st.integers(0, 2),
                    st.none() | values,
                    st.integers(run.since + 1, clock),
                    st.integers(1, 12),
                ),
                max_size=6,
            )
        )
        run.span([(g, v, ts, ts + life if life < 12 else FOREVER) for g, v, ts, life in drawn], clock)
        if data.draw(st.booleans()):
            run.restore()


@pytest.mark.parametrize("name", TYPES)
@settings(max_examples=25)
@given(data=st.data())
def test_the_extreme_at_every_moment_is_that_of_all_rows_that_live(data: st.DataObject, name: str):
    check(data, *TYPES[name])


@pytest.mark.parametrize("greatest", [True, False], ids=["greatest", "least"])
def test_of_input_that_only_grows_one_value_of_each_group_is_kept(greatest: bool):
    run, random = Run(pa.int64(), greatest=greatest), np.random.default_rng(2)
    for clock in range(20, 400, 20):
        ts = random.integers(clock - 19, clock + 1, 30).tolist()
        run.span([(t % 3, int(random.integers(1000)), t, FOREVER) for t in ts], clock)
    run.state.compact()
    assert run.state.rows == 3


def test_over_a_window_few_values_are_kept():
    run, random = Run(pa.int64(), greatest=True, every_instant=False), np.random.default_rng(3)
    for clock in range(100, 3_000, 100):
        run.span(
            [(0, int(random.integers(10**6)), t, t + 1_000) for t in range(clock - 99, clock + 1)], clock
        )
        assert run.state.rows < 60
    run.state.compact()
    assert run.state.rows < 20


def test_values_that_rise_leave_one_and_values_that_fall_stay_while_they_live():
    #  1 2 3 4 5 6 7 8     each lives for 8
    rising, falling = (Run(pa.int64(), greatest=True) for _ in range(2))
    for clock in range(1, 9):
        rising.span([(0, clock, clock, clock + 8)], clock)
        falling.span([(0, -clock, clock, clock + 8)], clock)
    for run in (rising, falling):
        run.state.compact()
    assert rising.state.rows == 1
    assert falling.state.rows == 8


def test_groups_that_nothing_happens_to_leave_no_rows_behind():
    run = Run(pa.int64(), greatest=True, every_instant=False)
    run.span([(g % 8, g, 1, 10) for g in range(50)], 1)
    run.span([(9, 5, 20, 40)], 20)
    assert run.state.rows == 1


def test_a_state_that_was_restored_knows_what_has_expired():
    run = Run(pa.int64(), greatest=True)
    run.span([(0, 9, 1, 5), (0, 3, 2, 30)], 3)
    run.restore()
    run.span([], 4)
    run.span([(0, 1, 8, 30)], 8)
